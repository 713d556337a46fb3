"""Strides, and where tensors begin in their memory."""

from __future__ import annotations

from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import NotForThis
from oneop.testing.families.context import Context
from oneop.testing.report import Outcome
from oneop.testing.values import LAYOUTS


def layouts(context: Context) -> Outcome:
    """Inputs that are transposed, strided, begin inside their memory or repeat an axis give what plain ones give."""
    hints = context.subject.hints

    def holds(case: Case) -> None:
        tensors = case.make()
        if all(tensor.is_contiguous() and tensor.storage_offset() == 0 for tensor in tensors):
            raise NotForThis
        plain = [tensor.contiguous().clone() for tensor in tensors]
        mutable = case.changed(tensors)
        if any(0 in tensor.stride() for tensor in mutable):
            raise NotForThis  # torch refuses to write to memory that elements share
        expected = case.run(plain)
        assert_close(
            expected,
            case.run(tensors),
            f"with {', '.join(tensor.layout for tensor in case.tensors)} inputs",
            context.output_names(),
            rtol=hints.rtol,
            atol=hints.atol,
            scale=largest_value(plain),
        )

    wanted = Restriction(layouts=(*LAYOUTS[1:], "contiguous"), sizes=(3, 2, 1, 5, 8))
    return context.explore("layouts", wanted, holds, examples=context.examples * 2)
