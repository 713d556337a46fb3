"""Calls that follow each other: what one computed must not become the result of the next."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from oneop.testing.case import Case
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import NotForThis
from oneop.testing.families import repetition
from oneop.testing.families.context import Context, together, usual_cases
from oneop.testing.memory.isolation import first_death
from oneop.testing.report import FAILED, Outcome

#: Values that no other family draws: a kernel that keeps results does not know them yet.
FRESH = 97
SECONDS = 3.0


def determinism(context: Context) -> Outcome:
    """The same call gives the same bits, and a call after one of the same values in another order its own ones."""
    if context.repeat is not None and all(recipe.seed >= FRESH for recipe in context.repeat.tensors):
        return context.run("determinism", [], lambda case: _is_its_own(context, case))  # before any other call
    outcome = repetition.determinism(context)
    if outcome.status == FAILED or not outcome.cases or context.domain.device != "cpu":
        return outcome
    cases = [case.like(seed=FRESH + i) for i, case in enumerate(usual_cases(context, (5,))[:2])]
    return together(outcome, context.run("determinism", cases, lambda case: _is_its_own(context, case)))


def _is_its_own(context: Context, case: Case) -> None:
    """Run a call after another one of the same values, here, and before any such call, in a child. Raises `Broken`."""
    if any(arg.is_mutable for arg in context.subject.op.inputs) or context.subject.is_random:
        raise NotForThis
    tensors = case.make()
    moved = [_moved(tensor) for tensor in tensors]
    if all(torch.equal(left, right) for left, right in zip(tensors, moved, strict=True)):
        raise NotForThis
    alone = _in_a_child(case, moved)
    if alone is None:
        raise NotForThis
    case.run(tensors)
    what = "after a call with the same values in another order, a call gives another result than without"
    assert_close(alone, case.run(moved), what, context.output_names(), scale=largest_value(tensors))


def _moved(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor with its values in another order, the first and the last where they were."""
    flat = tensor.clone().reshape(-1)
    if len(flat) > 3:
        flat[1:-1] = flat[1:-1].flip(0)
    return flat.view(tensor.shape)


def _in_a_child(case: Case, tensors: list[torch.Tensor]) -> list[torch.Tensor] | None:
    """Return the results of a call that this process does not make, or None where the child has none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results"

        def call() -> None:
            torch.save(case.run(tensors), file)

        if first_death([call], seconds=SECONDS) is not None or not file.is_file():
            return None
        results: list[torch.Tensor] = torch.load(file, weights_only=True)
        return results
