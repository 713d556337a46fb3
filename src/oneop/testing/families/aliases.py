"""Tensors that share memory: the same input twice, and results that are no copies."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from oneop.testing.case import Case
from oneop.testing.compare import assert_same
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, usual_cases
from oneop.testing.report import Outcome


def aliases(context: Context) -> Outcome:
    """The same tensor for several inputs gives what copies give, and no result shares memory with an input."""

    def holds(case: Case) -> None:
        tensors = case.make()
        results = case.bind(tensors)()
        assert_own_memory([results] if isinstance(results, torch.Tensor) else list(results or ()), tensors)
        for place, other in _alike(case):
            shared = case.make()
            # Of the two that which has a range of values: the other one is drawn from all.
            kept = other if case.tensors[other].bounds is not None else place
            shared[place] = shared[other] = shared[kept]
            copies = [tensor.clone() for tensor in shared]
            try:
                expected = case.run(copies)
            except Exception:
                continue  # it refuses equal values, such as a divisor that is the dividend
            names = case.names()
            what = f"with the same tensor for {names[place]} and {names[other]}"
            assert_same(expected, case.run(shared), what, context.output_names())

    return context.run("aliases", usual_cases(context, (5,)), holds)


def assert_own_memory(results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
    """Raise `Broken` if a result lies in the memory of an input: a change of one would change the other."""
    places = {tensor.untyped_storage().data_ptr() for tensor in inputs if tensor.numel()}
    for place, result in enumerate(results):
        if result.numel() and result.untyped_storage().data_ptr() in places:
            raise Broken(f"result {place} shares its memory with an input, which the schema does not say")


def _alike(case: Case) -> list[tuple[int, int]]:
    """Return pairs of inputs that may be one tensor: the same shape and dtype, and none is changed."""
    if any(arg.is_mutable for arg in case.subject.op.inputs):
        raise NotForThis
    kinds = [(recipe.shape, recipe.dtype) for recipe in case.tensors]
    return [(i, j) for i in range(len(kinds)) for j in range(i + 1, len(kinds)) if kinds[i] == kinds[j]][:6]
