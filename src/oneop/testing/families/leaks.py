"""Memory that a kernel takes at each call and never gives back."""

from __future__ import annotations

import ctypes
import gc
import itertools
from collections.abc import Callable

import torch

from oneop.testing.case import Case
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.memory import usual_cases
from oneop.testing.report import Outcome

#: Calls before the first measurement, calls between two, and how many are made.
WARM_UP, CALLS, WINDOWS = 40, 60, 4
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

        def growth() -> int:
            sizes = [run(CALLS) for _ in range(WINDOWS + 1)]
            return min(after - before for before, after in itertools.pairwise(sizes)) // CALLS

        run(WARM_UP)
        if growth() < LEAST_BYTES:
            return
        gc.collect()  # slow, so only where something grows
        before = in_use()
        run(WINDOWS * CALLS)
        gc.collect()
        kept = (in_use() - before) // (WINDOWS * CALLS)
        if kept >= LEAST_BYTES:
            raise Broken(f"each call keeps {kept} bytes of memory that are never freed")

    return context.run("leaks", usual_cases(context, (257,)), holds)


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
