"""Calls on values at which ops decide: ties, thresholds, rows far from zero, and rows that a mask hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from oneop.testing.case import Case, is_taken, make_case
from oneop.testing.domain.probe import Choice, usual_attrs
from oneop.testing.domain.source_values import numbers_in_code
from oneop.testing.domain.templates import Template
from oneop.testing.edges.numbers import EXACT_EDGES
from oneop.testing.families.context import Context, sizes_taken, with_each_attribute

#: Sizes of axes by the number of those that are open: enough elements for all thresholds, few enough for an attention.
_SIZES = {0: (), 1: (193,), 2: (11, 33), 3: (5, 17, 3)}
_SIZES_OF_MANY = (3, 5, 2, 16)
_TEMPLATES = 2
_BF16_BITS = 8


def cases_at_edges(context: Context) -> list[Case]:
    """Return the calls, for each kind of call; those that only a reference judges where there is one."""
    has_reference = context.subject.hints.reference is not None and "reference" not in context.failed
    cases: list[Case] = []
    for choice in context.domain.choices:
        templates = sorted(choice.templates, key=lambda template: abs(len(template.symbols) - 2))[:_TEMPLATES]
        for template in templates:
            plain = _call(context, choice, template, usual_attrs(context.domain))
            if not is_taken(plain):
                continue
            for fill, seed in _fills(choice, has_reference):
                cases.append(_filled(context, plain, fill, seed))
        if has_reference:
            cases += _of_attributes(context, choice)
    return cases


def _fills(choice: Choice, has_reference: bool) -> Iterator[tuple[str, int]]:
    """Yield the fills that say something of this kind of call, each with a seed."""
    has_floats = any(dtype.is_floating_point for dtype in choice.dtypes)
    has_integers = any(not (dtype.is_floating_point or dtype.is_complex) for dtype in choice.dtypes)
    if not (has_floats or has_integers):
        return
    if has_reference:
        yield from (("ties", 4), ("ties", 5))
        if has_floats:
            yield "thresholds", 4
    yield from (("low", 4), ("low", 5), ("high", 4), ("high", 5))
    if has_floats and has_integers:
        yield from (("masked", 4), ("masked", 5))


def _call(context: Context, choice: Choice, template: Template, attrs: tuple[tuple[str, Any], ...]) -> Case:
    sizes = _SIZES.get(len(template.symbols), _SIZES_OF_MANY)
    return make_case(context.domain, choice, template.shapes(sizes_taken(context, choice, template, sizes)), attrs)


def _filled(context: Context, case: Case, fill: str, seed: int) -> Case:
    if fill not in EXACT_EDGES:
        return case.like(fill=fill, seed=seed)
    numbers = [*_numbers_of(case), *numbers_in_code(context.subject.op, context.subject.hints.reference)]
    among = tuple(dict.fromkeys(numbers)) if fill == "thresholds" else tuple(dict.fromkeys(_numbers_of(case)))
    return case.like(fill=fill, seed=seed, among=among)


def _numbers_of(case: Case) -> list[float]:
    """Return the numbers that the attributes of a call have, the defaults of those left out too."""
    inputs = case.group(case.make())
    return [
        number
        for value in case.subject.torch_args(inputs, case.attributes)[len(inputs) :]
        for number in _numbers_in(value)
    ]


def _numbers_in(value: Any) -> list[float]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in _numbers_in(item)]
    return [float(value)] if isinstance(value, (int, float)) and abs(value) < 6e4 else []


def _of_attributes(context: Context, choice: Choice) -> list[Case]:
    """Return calls on ties in which one attribute after the other has each of its values."""
    template = max(choice.templates, key=lambda template: len(template.symbols) - 9 * (len(template.symbols) > 4))
    plain = _call(context, choice, template, usual_attrs(context.domain))
    return [_filled(context, case, "ties", 4) for case in with_each_attribute(context, plain, also=short)]


def short(value: Any) -> Any:
    """Return a value whose numbers every dtype holds: only of those is it known what equals them."""
    if isinstance(value, (list, tuple)) and any(isinstance(item, float) for item in value):
        return type(value)(short(item) for item in value)
    if not isinstance(value, float) or not np.isfinite(value) or value == 0:
        return value
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.round(np.ldexp(mantissa, _BF16_BITS)), exponent - _BF16_BITS))


def is_exact(case: Case) -> bool:
    """Tell whether a call is on ties or thresholds."""
    return any(recipe.fill in EXACT_EDGES for recipe in case.tensors)


def with_inexact_numbers_moved(case: Case, factor: float) -> Case:
    """Return the call with attributes times a factor, where a float has not all of their digits."""
    inputs = case.group(case.make())
    values = case.subject.torch_args(inputs, case.attributes)[len(inputs) :]
    moved = {attr.name: _times(value, factor) for attr, value in zip(case.subject.op.attrs, values, strict=False)}
    by_name = {attr.name: value for attr, value in zip(case.subject.op.attrs, values, strict=False)}
    changed = {name: value for name, value in moved.items() if value != by_name[name]}
    return replace(case, attrs=tuple({**case.attributes, **changed}.items()))


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_times(item, factor) for item in value)
    return value * factor if isinstance(value, float) and float(np.float32(value)) != value else value
