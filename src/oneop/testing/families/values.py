"""Magnitudes, full mantissas, and each value of each attribute, for each kind of call."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import torch

from oneop.testing.case import Case, inferred_shapes, is_taken, make_case
from oneop.testing.domain.probe import DEFAULT, Choice, usual_attrs
from oneop.testing.edges.calls import cases_at_edges, is_exact
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import kernels_agree, reference_agrees
from oneop.testing.families.context import Context, sizes_taken, skipped, together
from oneop.testing.families.special import keeps_elements_apart
from oneop.testing.memory.isolation import first_death
from oneop.testing.report import Outcome
from oneop.testing.values import UNUSUAL_FILLS

FILLS = ("full", "large", "tiny", "shifted")
#: Of elementwise ops also these: of others huge integers may be sizes or places.
ELEMENTWISE_FILLS = (*FILLS, "huge", "extreme")
#: Results of float64 with so few elements may have few bits by chance.
_LEAST_ELEMENTS = 8


def values(context: Context) -> Outcome:
    """Large, tiny and full values, and every value of every attribute, give what the reference or float64 gives."""
    cases = [*_cases_of_fills(context), *_cases_of_attributes(context)]

    def holds(case: Case) -> None:
        _refusing(case, lambda: _assert_meant(case))
        is_judged = False
        compared = _compared(case, lambda: _has_all_bits(case))
        if context.subject.hints.reference is not None:
            is_judged = _compared(case, lambda: reference_agrees(context, case))
        # Results of "extreme" say nothing without a judge of where they overflow; those at jumps, of where they hang on
        # roundings.
        if not _has_fill(case, "extreme") and not is_exact(case):
            compared |= _compared(case, lambda: kernels_agree(context, case, is_judged=is_judged))
        if not (compared or is_judged):
            raise NotForThis

    outcome = context.run("values", cases, holds)
    if outcome.failure is None and context.repeat is None:
        outcome = together(outcome, context.run("values", cases_at_edges(context), holds))
    return outcome if outcome.cases or outcome.failure else skipped("values", "nothing to compare with")


def _compared(case: Case, compare: Callable[[], None]) -> bool:
    """Compare, and tell whether there was something to compare."""
    try:
        _refusing(case, compare)
    except NotForThis:
        return False
    return True


def _refusing(case: Case, compare: Callable[[], None]) -> None:
    """Compare; an op may refuse values of another magnitude than usual."""
    try:
        compare()
    except (Broken, NotForThis):
        raise
    except Exception:
        if case.tensors and case.tensors[0].fill in UNUSUAL_FILLS:
            raise NotForThis from None
        raise


def _cases_of_fills(context: Context) -> list[Case]:
    cases = []
    for choice in context.domain.choices:
        for template in sorted(choice.templates, key=lambda template: abs(len(template.symbols) - 2))[:2]:
            sizes = sizes_taken(context, choice, template, (5, 17, 3))
            is_elementwise = context.subject.infer_kind() in ("elementwise", "broadcast") or _keeps_shape(
                context, choice
            )
            for fill in _fills(context, choice, is_elementwise):
                cases.append(
                    make_case(
                        context.domain, choice, template.shapes(sizes), usual_attrs(context.domain), fill=fill, seed=5
                    )
                )
    return cases


def _fills(context: Context, choice: Choice, is_elementwise: bool) -> list[str]:
    """Return the fills that say something of this kind of call."""
    fills = list(ELEMENTWISE_FILLS if is_elementwise else FILLS)
    if not any(dtype.is_floating_point or dtype.is_complex for dtype in choice.dtypes):
        fills = [fill for fill in fills if fill not in ("shifted", "extreme")]
        is_alone = len(choice.dtypes) == 1 and not any(context.subject.dynamic_axes)
        if is_alone and not is_elementwise and context.domain.device == "cpu":
            fills.append("wide")  # there is no other tensor that integers could be places in
            if choice.dtypes == (torch.int64,) and context.subject.hints.reference is not None:
                fills.append("long")
    has_complex = any(dtype.is_complex for dtype in choice.dtypes)  # whose overflows are no single infinity
    if has_complex or context.subject.hints.reference is None or "reference" in context.failed:
        fills = [fill for fill in fills if fill != "extreme"]
    return fills


def _assert_meant(case: Case) -> None:
    """Raise `NotForThis` for values that the op cannot mean to take."""
    if (_has_fill(case, "wide") or _has_fill(case, "long")) and first_death(
        [lambda: case.run(case.make())]
    ) is not None:
        raise NotForThis  # they are places in a table of the op's own
    if _has_fill(case, "long") and not all(result.dtype == torch.int64 for result in case.run(case.make())):
        raise NotForThis  # a mean of integers may add them up in float64
    if _has_fill(case, "extreme"):
        if case.subject.infer_kind() not in ("elementwise", "broadcast") and not keeps_elements_apart(case):
            raise NotForThis  # products of several overflow, in one order and not in another
        if not all(result.is_floating_point() for result in case.run(case.make())):
            raise NotForThis  # no integer holds them


def _has_fill(case: Case, fill: str) -> bool:
    return any(recipe.fill == fill for recipe in case.tensors)


def _keeps_shape(context: Context, choice: Choice) -> bool:
    """Tell whether the results have the shape of all inputs, which then are no indices into each other."""
    template = max(choice.templates, key=lambda template: len(template.symbols))
    shapes = template.shapes({symbol: 3 + i for i, symbol in enumerate(template.symbols)})
    results = inferred_shapes(make_case(context.domain, choice, shapes, usual_attrs(context.domain)))
    return results is not None and len({*map(tuple, shapes), *results}) == 1


def _cases_of_attributes(context: Context) -> list[Case]:
    """Return calls in which one attribute after the other has each of its values, on the template with most axes."""
    usual = dict(usual_attrs(context.domain))
    cases = []
    for choice in context.domain.choices:
        template = max(choice.templates, key=lambda template: len(template.symbols) - 9 * (len(template.symbols) > 4))
        sizes = sizes_taken(context, choice, template, (3, 4, 2, 3))
        plain = make_case(context.domain, choice, template.shapes(sizes), tuple(usual.items()), fill="full")
        for name, tried in context.domain.attrs.items():
            for value in tried:
                if value is DEFAULT or repr(usual.get(name)) == repr(value):
                    continue
                case = replace(plain, attrs=tuple({**usual, name: value}.items()))
                if is_taken(case):
                    cases.append(case)
        flags = [attr.name for attr in context.subject.op.attrs if attr.type == "bool"][:3]
        for values in itertools.product((False, True), repeat=len(flags)) if len(flags) > 1 else ():
            cases.append(replace(plain, attrs=tuple({**usual, **dict(zip(flags, values, strict=True))}.items())))
    return cases


def _has_all_bits(case: Case) -> None:
    """Float64 results of full float64 inputs have more bits than float32, unless they have few anyway."""
    floating = [recipe for recipe in case.tensors if recipe.dtype.is_floating_point]
    if case.subject.is_random or case.subject.hints.reference is not None:
        raise NotForThis
    if not floating or any(recipe.dtype != torch.float64 or recipe.fill != "full" for recipe in floating):
        raise NotForThis
    for result in case.run(case.make()):
        if result.dtype != torch.float64 or result.numel() < _LEAST_ELEMENTS:
            continue
        numbers = result[result.isfinite()]
        mantissas = torch.frexp(numbers).mantissa * 2.0**16
        has_some = int((mantissas != mantissas.round()).sum()) * 2 > result.numel()
        if has_some and torch.equal(numbers.float().double(), numbers):
            raise Broken("results of float64 have the 24 bits of float32 only: the kernel computes in float")
