"""Sizes that are zero, odd or large, and many axes."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from oneop.testing.accuracy import LOW
from oneop.testing.case import Case, is_taken, make_case
from oneop.testing.domain.probe import Choice, usual_attrs
from oneop.testing.domain.templates import Shape, Template
from oneop.testing.explore import Broken, NotForThis, run_all
from oneop.testing.families.agreement import kernels_agree, reference_agrees
from oneop.testing.families.context import MOST_ELEMENTS, Context, elements_of, outcome_of, run_and_compare_inputs
from oneop.testing.families.memory import memory_holds
from oneop.testing.report import Outcome

#: Sizes of one axis around the widths of vectors and blocks, and numbers of elements at which indices and grids change.
ODD = (1, 7, 31, 33, 63, 65, 127, 129, 255, 257, 1023, 1025, 4097)
#: Sizes for which kernels often have code of their own, such as those of the heads of an attention.
COMMON = (4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 512, 1000, 1024)
LARGE, LARGER, LONG_AXIS = 70_000, 1_100_000, 70_001
#: Of positive values so many give a sum that float16 holds, but not while it grows by one of them; and one of which
#: bfloat16 does not hold that it grows by a block.
LONG_SUMS = (8001, LONG_AXIS)
#: What a thousand elements, and `LARGE` ones, may take: else fewer are tried.
SLOW_SECONDS, SLOW_LARGE_SECONDS = 0.01, 0.05
_TRIES, _FIRST = 5, 8
#: Kinds of calls that are tried with common sizes and with many rows; an op with optional inputs has a dozen kinds.
_MOST_COMMON = 3
#: So many times slower than that no call is by the load of a machine alone.
_SURELY_SLOW = 20


def sizes(context: Context) -> Outcome:
    """Sizes of zero, no dimensions, five and six of them, odd and large sizes: memory, kernels and reference."""
    if context.repeat is not None:
        return context.run("sizes", [], lambda case: _holds(context, case))
    cases = [
        make_case(context.domain, choice, shapes, usual_attrs(context.domain), fill=fill)
        for number, choice in enumerate(context.domain.choices)
        for shapes, fill in [
            *((shapes, "plain") for shapes in (*_zero_shapes(choice), *_odd_shapes(choice), *many_axes(choice))),
            *((shapes, "plain") for shapes in _common_shapes(choice) if number < _MOST_COMMON),
            *((shapes, "full") for shapes in large_shapes(context, choice, LARGE)),
            *((shapes, "full") for shapes in _larger_shapes(context, choice, with_rows=number < _MOST_COMMON)),
            *((shapes, "positive") for shapes in _long_sums(context, choice)),
        ]
    ]
    by_size = sorted((case for case in cases if elements_of(case) <= MOST_ELEMENTS), key=lambda case: case.size)
    # Large ones after the first few: whatever is left when time runs out, it is not a kind of size.
    large = [case for case in by_size if case.size[0] >= LARGE]
    small = [case for case in by_size if case.size[0] < LARGE]
    ordered = [*small[:_FIRST], *large, *small[_FIRST:]]
    exploration = run_all(ordered, lambda case: _holds(context, case), seconds=2 * context.seconds)
    if exploration.case in large:  # perhaps a smaller one fails too
        again = run_all(small[_FIRST:], lambda case: _holds(context, case), seconds=context.seconds)
        exploration = again if again.broken is not None else exploration
    if exploration.case is not None and exploration.broken is not None:
        case, broken = _smaller(context, exploration.case, exploration.broken)
        return outcome_of("sizes", replace(exploration, case=case, broken=broken))
    return outcome_of("sizes", exploration)


def _holds(context: Context, case: Case) -> None:
    comparisons: list[Callable[[], None]] = [lambda: kernels_agree(context, case), lambda: _runs(case)]
    if context.domain.device == "cpu" and case.size[0] <= 2 * LARGE:
        comparisons.insert(0, lambda: memory_holds(case))
    if context.subject.hints.reference is not None:
        comparisons.append(lambda: reference_agrees(context, case))
    for compare in comparisons:
        with contextlib.suppress(NotForThis):
            compare()


def _runs(case: Case) -> None:
    run_and_compare_inputs(case, case.make())


def _smaller(context: Context, case: Case, broken: Broken) -> tuple[Case, Broken]:
    """Return the smallest call of this kind that fails: each axis after the other is made shorter by bisection."""
    ends = time.process_time() + context.seconds
    for size in sorted({size for recipe in case.tensors for size in recipe.shape if size > 1}, reverse=True):
        good, bad = 0, size
        while bad - good > 1 and time.process_time() < ends:
            middle = (good + bad) // 2
            shapes = [tuple(middle if axis == size else axis for axis in recipe.shape) for recipe in case.tensors]
            tried = replace(
                case,
                tensors=tuple(replace(recipe, shape=shape) for recipe, shape in zip(case.tensors, shapes, strict=True)),
            )
            failure = run_all([tried], lambda other: _holds(context, other), seconds=context.seconds)
            if failure.broken is not None:
                bad, case, broken = middle, tried, failure.broken
            else:
                good = middle
    return case, broken


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
    for template in sorted(choice.templates, key=lambda template: len(template.symbols))[:3]:
        if template.symbols:
            for size in ODD if len(template.symbols) == 1 else (1, 7):
                shapes.append(template.shapes(dict.fromkeys(template.symbols, size)))
    return shapes


def _common_shapes(choice: Choice) -> list[list[Shape]]:
    template = _least_axes(choice)
    if template is None or len(template.symbols) != 1:
        return []
    return [template.shapes(dict.fromkeys(template.symbols, size)) for size in COMMON]


def many_axes(choice: Choice) -> list[list[Shape]]:
    """Return shapes of five and six axes, where all inputs have the same shape."""
    alike = any(len(set(template.axes)) == 1 and template.symbols for template in choice.templates)
    return [[shape] * len(choice.dtypes) for shape in ((2, 1, 3, 2, 2), (2, 3, 1, 2, 2, 2))] if alike else []


def large_shapes(context: Context, choice: Choice, elements: int) -> list[list[Shape]]:
    """Return shapes of about so many elements, fewer for an op that is slow."""
    small = _of_size(choice, 1000)
    seconds = _seconds(context, choice, small[0]) if small else None
    if seconds is None:
        return []
    return _of_size(choice, elements if seconds < SLOW_SECONDS else 2000)


def _larger_shapes(context: Context, choice: Choice, *, with_rows: bool) -> Iterator[list[Shape]]:
    """Yield more than a million elements, and one long axis, where the op is quick enough for them."""
    large = _of_size(choice, LARGE)
    seconds = _seconds(context, choice, _of_size(choice, 1000)[0]) if large else None
    if seconds is None or seconds > SLOW_SECONDS:
        return
    taken = _seconds(context, choice, large[0])
    template = _least_axes(choice)
    # An op of rows takes a single row too, and then its many rows count alone.
    rows = next((other for other in choice.templates if len(other.symbols) == 2), template)
    if taken is not None and taken < SLOW_LARGE_SECONDS:
        yield from _of_size(choice, LARGER)
        if with_rows and rows is not template and rows is not None:
            taken = _seconds(context, choice, _shapes_of(rows, LARGE))
            if taken is not None and taken < SLOW_LARGE_SECONDS:
                yield _shapes_of(rows, LARGER)
    if with_rows and rows is not None and (template is None or len(template.symbols) < 2):
        template = rows
    for symbol in template.symbols[:3] if template is not None and len(template.symbols) > 1 else ():
        assert template is not None
        # Work that grows with the square of an axis shows here already.
        sizes = {name: 2000 if name == symbol else 2 for name in template.symbols}
        taken = _seconds(context, choice, template.shapes(sizes))
        if taken is not None and taken < SLOW_SECONDS:
            yield template.shapes({**sizes, symbol: LONG_AXIS})


def _long_sums(context: Context, choice: Choice) -> list[list[Shape]]:
    """Return shapes of a long axis for half precision, where a sum that is kept in it no longer grows."""
    template = _least_axes(choice)
    if template is None or not any(dtype in LOW for dtype in choice.dtypes):
        return []
    chosen = []
    for size in LONG_SUMS:
        shapes = template.shapes({name: size if name == template.symbols[-1] else 2 for name in template.symbols})
        seconds = _seconds(context, choice, shapes)
        chosen += [shapes] if seconds is not None and seconds < SLOW_LARGE_SECONDS else []
    return chosen


def _seconds(context: Context, choice: Choice, shapes: list[Shape]) -> float | None:
    """Return what a call takes, or None if the op does not take it or it would fill the memory."""
    case = make_case(context.domain, choice, shapes, usual_attrs(context.domain))
    if elements_of(case) > MOST_ELEMENTS or not is_taken(case):
        return None
    least = math.inf
    try:
        tensors = case.make()
        for _ in range(_TRIES):  # a busy machine must not make an op slow, or its large sizes are not tried
            started = time.perf_counter()
            case.run(tensors)
            least = min(least, time.perf_counter() - started)
            if least < SLOW_SECONDS or least > _SURELY_SLOW * SLOW_SECONDS:
                break
    except Exception:
        return None
    return least


def _least_axes(choice: Choice) -> Template | None:
    templates = [template for template in choice.templates if template.symbols]
    return min(templates, key=lambda template: len(template.symbols), default=None)


def _of_size(choice: Choice, elements: int) -> list[list[Shape]]:
    template = _least_axes(choice)
    return [] if template is None else [_shapes_of(template, elements)]


def _shapes_of(template: Template, elements: int) -> list[Shape]:
    """Return shapes with about so many elements in the largest input, all axes of about one size."""
    rank = max(sum(not axis.isdigit() for axis in axes) for axes in template.axes)
    side = max(2, math.ceil(elements ** (1 / max(rank, len(template.symbols) if len(template.axes) > 1 else 1, 1))))
    return template.shapes(dict.fromkeys(template.symbols, side + 1))
