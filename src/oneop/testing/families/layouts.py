"""Strides, and where tensors begin in their memory."""

from __future__ import annotations

from oneop.testing.case import Case, Restriction, make_case
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.domain.probe import usual_attrs
from oneop.testing.explore import NotForThis
from oneop.testing.families.context import Context, template_cases, together, usual_cases
from oneop.testing.families.sizes import many_axes
from oneop.testing.report import PASSED, Outcome
from oneop.testing.values import LAYOUTS, OFFSETS

#: A few vectors of the widest registers and a rest, and kinds of calls that are tried at each offset.
LONG, MOST_KINDS = 67, 4


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
    outcome = context.explore("layouts", wanted, holds, examples=context.examples * 2)
    if outcome.status != PASSED or context.repeat is not None:
        return outcome
    cases = [*_in_every_layout(context), *_at_every_offset(context), *_of_many_axes(context)]
    return together(outcome, context.run("layouts", cases, holds))


def _in_every_layout(context: Context) -> list[Case]:
    """Return calls of two axes or so, whose inputs all have one layout after the other."""
    cases = [case for case in template_cases(context, most=6) if any(len(tensor.shape) == 2 for tensor in case.tensors)]
    return [case.like(layout=layout) for case in cases[:MOST_KINDS] for layout in LAYOUTS[1:]]


def _at_every_offset(context: Context) -> list[Case]:
    """Return calls on tensors long enough for vectors, that begin at each part of the widest one."""
    cases = usual_cases(context, (LONG,))[:MOST_KINDS]
    return [case.like(layout="offset", seed=seed) for case in cases for seed in range(OFFSETS)]


def _of_many_axes(context: Context) -> list[Case]:
    """Return calls on tensors of five and six axes, of which all have other strides than dense ones."""
    return [
        make_case(context.domain, choice, shapes, usual_attrs(context.domain), layouts=[layout] * len(shapes))
        for choice in context.domain.choices[:MOST_KINDS]
        for shapes in many_axes(choice)
        for layout in ("strided", "reversed")
    ]
