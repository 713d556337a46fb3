"""Inference against the real result."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from oneop.testing.case import Case, Restriction
from oneop.testing.compare import describe
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context
from oneop.testing.report import Outcome


def inference(context: Context) -> Outcome:
    """Results have the shape and dtype that inference says, for fake tensors too, and it says the same each time."""

    def holds(case: Case) -> None:
        tensors = case.make()
        real = case.run(tensors)
        for attempt in ("inference on fake tensors", "inference asked again"):
            plain = case.make()  # before the mode, under which each step of it is traced
            with FakeTensorMode() as mode:
                fakes = [mode.from_tensor(tensor) for tensor in plain]
                flat = context.subject.infer(case.group(fakes), case.attributes)
                flat += case.changed(fakes)
            for name, result, other in zip(context.output_names(), real, flat, strict=False):
                if describe(_shown(result, other, dynamic)) != describe(other):
                    most = "at most " if dynamic else ""
                    raise Broken(
                        f"{attempt} says that {name} is {most}{describe(other)}, the result is {describe(result)}"
                    )
            if len(real) != len(flat):
                raise Broken(f"{attempt} gives {len(flat)} results, the call {len(real)}")

    dynamic = any(context.subject.dynamic_axes)
    return context.explore("inference", Restriction(sizes=(2, 0, 1, 3, 5)), holds)


def _shown(result: torch.Tensor, largest: torch.Tensor, dynamic: bool) -> torch.Tensor:
    """Return a result in the size that inference gives, where its size depends on data and is smaller."""
    if not dynamic or result.dim() != largest.dim() or any(map(int.__gt__, result.shape, largest.shape)):
        return result
    return result.new_empty(largest.shape)
