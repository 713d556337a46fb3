"""Strides, and sizes that are zero, odd or large."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from oneop.testing.case import Case, Restriction, make_case
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import NotForThis
from oneop.testing.families.agreement import kernels_agree, reference_agrees
from oneop.testing.families.context import Context
from oneop.testing.families.memory import memory_holds
from oneop.testing.probe import DEFAULT, Choice
from oneop.testing.report import Outcome
from oneop.testing.templates import Shape, Template
from oneop.testing.values import LAYOUTS

LARGE = 200_000
SLOW_SECONDS = 0.01  # for a thousand elements: then fewer are tried


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


def sizes(context: Context) -> Outcome:
    """Sizes of zero, no dimensions, odd and large sizes: the checks of memory, kernels and reference."""
    attrs = tuple((name, values[0]) for name, values in context.domain.attrs.items() if values and values[0] != DEFAULT)
    cases = []
    for choice in context.domain.choices:
        for shapes in [*_zero_shapes(choice), *_odd_shapes(choice), *large_shapes(context, choice, LARGE)]:
            cases.append(make_case(context.domain, choice, shapes, attrs))

    def holds(case: Case) -> None:
        compared: list[Callable[[], None]] = [lambda: kernels_agree(context, case), lambda: _runs(case)]
        if context.domain.device == "cpu":
            compared.insert(0, lambda: memory_holds(case))
        if context.subject.hints.reference is not None:
            compared.append(lambda: reference_agrees(context, case))
        for compare in compared:
            with contextlib.suppress(NotForThis):
                compare()

    return context.run("sizes", sorted(cases, key=lambda case: case.size), holds)


def _zero_shapes(choice: Choice) -> list[list[Shape]]:
    shapes = []
    for template in choice.templates:
        for symbol in template.symbols:
            shapes.append(template.shapes({name: 0 if name == symbol else 2 for name in template.symbols}))
        if not template.symbols:
            shapes.append(template.shapes({}))
    return shapes[:8]


def _odd_shapes(choice: Choice) -> list[list[Shape]]:
    shapes = []
    for template in choice.templates:
        if template.symbols:
            for size in (1, 7, 31, 33, 127) if len(template.symbols) == 1 else (1, 7):
                shapes.append(template.shapes(dict.fromkeys(template.symbols, size)))
    return shapes[:8]


def large_shapes(context: Context, choice: Choice, elements: int) -> list[list[Shape]]:
    """Return shapes of about so many elements, fewer for an op that is slow."""
    small = _of_size(choice, 1000)
    if not small:
        return []
    case = make_case(context.domain, choice, small[0], _needed(context))
    try:
        tensors = case.make()
        started = time.perf_counter()
        case.run(tensors)
        took = time.perf_counter() - started
    except Exception:
        return []
    return _of_size(choice, elements if took < SLOW_SECONDS else 2000)


def _needed(context: Context) -> tuple[tuple[str, object], ...]:
    return tuple((name, values[0]) for name, values in context.domain.attrs.items() if values and values[0] != DEFAULT)


def _of_size(choice: Choice, elements: int) -> list[list[Shape]]:
    shapes: list[list[Shape]] = []
    templates: Sequence[Template] = [template for template in choice.templates if template.symbols]
    for template in sorted(templates, key=lambda template: len(template.symbols))[:1]:
        rank = max(sum(axis in template.symbols for axis in axes) for axes in template.axes)
        side = max(2, round(elements ** (1 / max(rank, len(template.symbols) if len(template.axes) > 1 else 1, 1))))
        shapes.append(template.shapes(dict.fromkeys(template.symbols, side + 1)))
    return shapes


def _runs(case: Case) -> None:
    case.run(case.make())
