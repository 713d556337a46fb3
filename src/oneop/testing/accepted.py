"""Which values of inputs are drawn, where an op refuses some and its author gave no ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from oneop.testing.case import is_taken, make_case
from oneop.testing.domain.accepted_values import find_accepted
from oneop.testing.domain.probe import Domain, usual_attrs
from oneop.testing.report import PASSED, SKIPPED, Outcome
from oneop.testing.subject import Bounds

_SIZES = (5, 3, 4, 2)


def with_accepted_values(domain: Domain) -> tuple[Domain, Outcome | None]:
    """Return what the op takes with ranges of values, and what the report says of them."""
    names = _names(domain)
    choice = domain.choices[0]
    template = min(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
    shapes = template.shapes({symbol: _SIZES[i % len(_SIZES)] for i, symbol in enumerate(template.symbols)})
    if not names or domain.device != "cpu" or not is_taken(make_case(domain, choice, shapes, usual_attrs(domain))):
        return domain, None

    def call(values: Mapping[str, Bounds]) -> None:
        for seed in range(2):
            case = make_case(replace(domain, values=values), choice, shapes, usual_attrs(domain), seed=seed)
            case.run(case.make())

    accepted = find_accepted(names, call)
    if not accepted.refusal:
        return domain, None
    told = Outcome(family="inputs", status=PASSED if accepted.values else SKIPPED, note=accepted.note)
    return replace(domain, values=accepted.values), told


def _names(domain: Domain) -> dict[str, bool]:
    """Return the inputs that have no range yet, and whether they are integers; integers beside floats have one."""
    choice, subject = domain.choices[0], domain.subject
    places = [arg.name for arg, count in zip(subject.op.inputs, choice.counts, strict=True) for _ in range(count)]
    has_floats = any(dtype.is_floating_point for dtype in choice.dtypes)
    names = {}
    for name, dtype in zip(places, choice.dtypes, strict=True):
        is_integer = not dtype.is_floating_point and not dtype.is_complex and str(dtype) != "torch.bool"
        if name not in subject.hints.values and (dtype.is_floating_point or (is_integer and not has_floats)):
            names[name] = is_integer
    return names
