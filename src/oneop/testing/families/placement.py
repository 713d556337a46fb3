"""Where an op runs: GPU against CPU, and its SBP signatures."""

from __future__ import annotations

import torch

from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.families.context import Context, skipped
from oneop.testing.report import MISSING, Outcome


def devices(context: Context) -> Outcome:
    """A call on the GPU gives what it gives on the CPU."""
    subject = context.subject
    if subject.op.cpu_only:
        return skipped("devices", "declared as cpu only")
    if not subject.kernels("cuda"):
        return Outcome(family="devices", status=MISSING, note="no kernel for cuda")
    if not torch.cuda.is_available():
        return skipped("devices", "there is no GPU here")

    def holds(case: Case) -> None:
        tensors = case.make()
        found = case.run([tensor.cuda() for tensor in tensors])
        assert_close(
            case.run(tensors),
            [result.cpu() for result in found],
            "on cuda and on the cpu",
            context.output_names(),
            rtol=subject.hints.rtol,
            atol=subject.hints.atol,
            scale=largest_value(tensors),
        )

    return context.explore("devices", Restriction(), holds)
