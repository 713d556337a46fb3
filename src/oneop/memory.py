"""Memory that oneop keeps for the outputs of later calls."""

from __future__ import annotations

from oneop.runtime.core import core


def empty_cache() -> None:
    """Give the memory that oneop keeps for outputs on the CPU back to the system.

    Freed outputs of 16 KiB and more are kept for later calls, up to the limit of `set_cache_limit`. A cache of 64 MiB
    or more is given back by itself when it has not been used for five to ten seconds. Tensors that are in use are not
    touched. See also `torch.cuda.empty_cache`, which does the same for torch's memory on a GPU.
    """
    core().empty_host_cache()


def set_cache_limit(size: int) -> None:
    """Keep at most `size` bytes of freed outputs on the CPU; 0 keeps none. The default is 512 MiB."""
    if not isinstance(size, int) or not 0 <= size < 2**63:
        raise ValueError(f"set_cache_limit: expected a number of bytes from 0 to 2**63 - 1, found {size!r}")
    core().set_host_cache_limit(size)
