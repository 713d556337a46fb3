"""The stream of a call: kernels wait for what was enqueued before them, and work on no other stream."""

from __future__ import annotations

import time
from typing import Any

import torch

from oneop.testing.case import Case
from oneop.testing.compare import assert_same, same_bits
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, skipped, usual_cases
from oneop.testing.memory.guards import LATE_SECONDS
from oneop.testing.report import Outcome

#: What keeps a stream busy for some ten milliseconds.
_CYCLES = 20_000_000


def streams(context: Context) -> Outcome:
    """A call on a stream that is still busy works on what that stream writes before it, and is done when that is."""
    if context.domain.device != "cuda":
        return skipped("streams", "the CPU has none")
    mutable = any(arg.is_mutable for arg in context.subject.op.inputs)

    def settled(case: Case, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Return what a call gives when nothing else runs and all that it started is done."""
        torch.cuda.synchronize()
        results = case.run(tensors)
        torch.cuda.synchronize()
        return [result.clone() for result in results]

    def holds(case: Case) -> None:
        if mutable or not case.tensors:
            raise NotForThis
        expected = settled(case, case.make())
        cuda: Any = torch.cuda
        stream = cuda.Stream()
        late = case.make()
        poison = case.like(seed=9).make()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            cuda._sleep(_CYCLES)
            for tensor, values in zip(poison, late, strict=True):
                tensor.copy_(values)
            results = case.run(poison)
            copies = [result.clone() for result in results]
            stream.synchronize()
        if not _same(expected, copies) and not all(_same(expected, settled(case, poison)) for _ in range(4)):
            raise NotForThis  # it differs without a busy stream too: the cause is another one
        assert_same(expected, copies, "on a stream that is busy", context.output_names())
        before = [result.clone() for result in results]
        torch.cuda.synchronize()
        time.sleep(LATE_SECONDS)
        torch.cuda.synchronize()
        if not _same(before, results):
            raise Broken("a result changes after its stream is done: something writes to it from elsewhere")

    return context.run("streams", usual_cases(context, (17, 1025)), holds)


def _same(old: list[torch.Tensor], new: list[torch.Tensor]) -> bool:
    return all(same_bits(a, b) for a, b in zip(old, new, strict=True))
