"""Sizes that are symbols while torch traces: plans that hold for all of them, and guards where one does not.

A plan is made for the numbers that the symbols stand for now. Where it provably holds for every size, the sizes stay
symbols. Otherwise they become constants, and a guard sees to it that another size is planned for. torch drops guards on
the outer size of a DTensor once that is constant, and never compares one that was constant from the start: on a rank
whose local size stays the same, a compiled call would go on with the old outer size. So those guards are added here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError
from oneop.sbp import split_axis

Shape = tuple[int, ...]

if TYPE_CHECKING:
    from torch.distributed.tensor.placement_types import Placement


def hint(size: Any) -> int:
    """Return the number that a size stands for now, without a guard. Raises `ArgumentError` where it has none."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    constant = size.node.maybe_as_int()
    number = size.node.hint if constant is None else constant
    if number is None:
        raise ArgumentError(
            f"the size {size} depends on data, so nothing is known of how the tensor is split\n"
            "  call the op outside torch.compile, or on tensors whose sizes are known"
        )
    return int(number)


def hints(shape: Iterable[Any]) -> tuple[int, ...]:
    """Return the numbers that the sizes of a shape stand for."""
    return tuple(hint(size) for size in shape)


def is_symbol(size: Any) -> bool:
    """Tell whether a size is a symbol that may still stand for other numbers."""
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def fix(sizes: Iterable[Any]) -> None:
    """Make sizes constants; torch guards on them where it can, `guard_outer_sizes` where it does not."""
    for size in sizes:
        if is_symbol(size):
            int(size)


def holds_for_all_sizes(shapes: Sequence[Sequence[Any]], placements: Sequence[Sequence[Placement]]) -> bool:
    """Tell whether the parts of these tensors fit each other whatever the symbols in their shapes stand for.

    The shapes are those of inputs and outputs, the latter as inference computes them from the former. If a symbol is
    split the same way wherever it occurs, and stands alone there, then inference on the parts, which has the part's
    size in its place, gives the parts' sizes. A size made of several symbols must not be split, nor any of them.
    """
    how: dict[str, tuple[int, ...]] = {}
    for shape, placed in zip(shapes, placements, strict=True):
        for axis, size in enumerate(shape):
            if not is_symbol(size):
                continue
            split_by = tuple(dim for dim, placement in enumerate(placed) if split_axis(placement) == axis)
            expression = size.node.expr
            if not expression.is_symbol and split_by:
                return False
            for symbol in expression.free_symbols:
                if how.setdefault(str(symbol), split_by) != split_by:
                    return False
    return True


#: Sizes of parts for which a plan is tried: none, few, many, and numbers that hardly anything divides.
_SAMPLES = (0, 1, 2, 3, 4, 5, 8, 13, 1021, 4096)


def sampled_parts(shapes: Sequence[Sequence[Any]], placements: Sequence[Sequence[Placement]]) -> Iterator[list[Shape]]:
    """Give shapes of parts in numbers: several for each symbol that is split, and what the others stand for now."""
    split = {
        str(size): None
        for shape, placed in zip(shapes, placements, strict=True)
        for axis, size in enumerate(shape)
        if is_symbol(size) and any(split_axis(placement) == axis for placement in placed)
    }
    for sample in _SAMPLES if split else ():
        numbers = {symbol: sample + 7 * i for i, symbol in enumerate(split)}
        yield [tuple(numbers.get(str(size), hint(size)) for size in shape) for shape in shapes]


def guard_outer_sizes() -> None:
    """Guard on every constant outer size of the DTensors that torch.compile is given, if it is tracing."""
    from torch._guards import TracingContext
    from torch.distributed.tensor import DTensor

    context = TracingContext.try_get()
    shape_env = getattr(getattr(context, "fake_mode", None), "shape_env", None)
    if context is None or shape_env is None:
        return
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.source import TensorProperty, TensorPropertySource

    guards = context.guards_context.dynamo_guards
    for tracked in shape_env.tracked_fakes or ():
        if isinstance(tracked.fake, DTensor):
            for axis, size in enumerate(tracked.fake.shape):
                if not is_symbol(size):
                    source = TensorPropertySource(tracked.source, TensorProperty.SIZE, axis)
                    guards.add(source.make_guard(functools.partial(GuardBuilder.EQUALS_MATCH)))
