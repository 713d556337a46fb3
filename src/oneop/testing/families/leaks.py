"""Memory that a kernel takes at each call and never gives back."""

from __future__ import annotations

import ctypes
import gc
import mmap
import time
from collections.abc import Callable
from pathlib import Path

import torch

from oneop.testing.case import Case
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context, skipped, usual_cases
from oneop.testing.report import Outcome

#: Calls before the first measurement, and those in which open files and mapped pages are counted: a process may have a
#: thousand open files.
WARM_UP, FEW = 60, 840
#: Calls in a window. Each window has twice as many as all before it, so that memory that grows by doubling grows in
#: each, also where the op was called before. The last two windows count; a slow op has fewer.
CALLS, SECONDS = (1800, 5400, 16200), 0.4
#: Growth by less than this at each call is the interpreter's.
LEAST_BYTES = 16


def leaks(context: Context) -> Outcome:
    """Calls do not keep memory: what is allocated does not grow with the number of calls."""
    in_use = _allocated_bytes()
    if in_use is None:
        return skipped("leaks", "the allocator of this system does not tell what is in use")
    if context.domain.device != "cpu":
        return skipped("leaks", "measured on the CPU only")

    def holds(case: Case) -> None:
        tensors = case.make()
        if case.changed(tensors):
            tensors = [tensor.clone() for tensor in tensors]
        call = case.bind(tensors)

        def run(count: int) -> int:
            with torch.no_grad():
                for _ in range(count):
                    call()
            return in_use()

        def growth() -> tuple[int, int]:
            """Return the least growth of the last windows, in bytes for each call, and how many calls were made."""
            kept, total = [few_bytes], FEW
            before = in_use()
            for count in CALLS:
                if time.monotonic() > ends:
                    break
                after = run(count)
                kept.append((after - before) // count)
                before, total = after, total + count
            return min(kept[-2:]), total

        before, ends = run(WARM_UP), time.monotonic() + SECONDS
        files, pages = _open_files(), _mapped_bytes()
        few_bytes = (run(FEW) - before) // FEW
        if _open_files() - files >= FEW:
            raise Broken("each call keeps a file open")
        if few_bytes < LEAST_BYTES and (_mapped_bytes() - pages) // FEW >= mmap.PAGESIZE:
            raise Broken("each call keeps memory that it has mapped")
        bytes_of_calls, total = growth()
        if bytes_of_calls < LEAST_BYTES:
            return
        gc.collect()  # slow, so only where something grows
        before = in_use()
        run(total)
        gc.collect()
        if (in_use() - before) // total >= LEAST_BYTES:
            raise Broken(f"each call keeps {bytes_of_calls} bytes of memory that are never freed")

    return context.run("leaks", usual_cases(context, (257,)), holds)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


def _allocated_bytes() -> Callable[[], int] | None:
    """Return what tells how many bytes malloc has handed out, or None where the C library cannot."""

    class Mallinfo2(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks")]
        _fields_ += [(name, ctypes.c_size_t) for name in ("fsmblks", "uordblks", "fordblks", "keepcost")]

    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return None
    mallinfo2.restype = Mallinfo2

    def in_use() -> int:
        info = mallinfo2()
        return int(info.uordblks + info.hblkhd)

    return in_use
