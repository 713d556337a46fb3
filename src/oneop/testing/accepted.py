"""Which calls are drawn, where an op refuses some that nothing it declares rules out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from oneop.testing.case import Case, is_taken, make_case
from oneop.testing.domain.accepted_values import Guess, Open, find_accepted
from oneop.testing.domain.probe import DEFAULT, Choice, Domain, usual_attrs
from oneop.testing.report import PASSED, SKIPPED, Outcome

_SIZES = (5, 3, 4, 2)
#: Where there may be indices: such sizes show that something else than a size is their limit.
_LARGE_SIZES = (17, 13, 19, 11)
_INTEGER_ATTRS = ("int32", "int64")


def with_accepted_values(domain: Domain) -> tuple[Domain, Outcome | None]:
    """Return what the op takes with what was guessed, and what the report says of it."""
    unknown = _unknown(domain)
    has_guesses = bool(unknown.values or unknown.dtypes)
    if not has_guesses or domain.device != "cpu" or not is_taken(next(_calls(domain))):
        return domain, None

    def call(guess: Guess) -> None:
        guessed = _with_guess(domain, guess)
        for place, case in enumerate(_calls(guessed)):
            if place == 0 or is_taken(case):
                case.run(case.make())

    accepted = find_accepted(unknown, call)
    if not accepted.refusal:
        return domain, None
    told = Outcome(family="inputs", status=PASSED if accepted.guess else SKIPPED, note=accepted.note)
    return _with_guess(domain, accepted.guess), told


def _calls(domain: Domain) -> Iterator[Case]:
    """Yield calls that show whether the op takes what is drawn; with integers also other sizes and attributes."""
    choice = domain.choices[0]
    template = min(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
    has_integers = any(map(_is_integer, choice.dtypes))
    usual = usual_attrs(domain)
    for sizes in (_SIZES, _LARGE_SIZES) if has_integers else (_SIZES,):
        shapes = template.shapes({symbol: sizes[i % len(sizes)] for i, symbol in enumerate(template.symbols)})
        for seed in range(2):
            yield make_case(domain, choice, shapes, usual, seed=seed)
    for attr in domain.subject.op.attrs if has_integers else ():
        for value in domain.attrs[attr.name] if attr.type in _INTEGER_ATTRS else ():
            if value is not DEFAULT:
                yield make_case(domain, choice, shapes, tuple({**dict(usual), attr.name: value}.items()))


def _with_guess(domain: Domain, guess: Guess) -> Domain:
    """Return the domain in which calls are drawn as the guess says."""
    args = domain.subject.op.inputs
    choices: dict[Any, Choice] = {}
    for choice in domain.choices:
        names = [arg.name for arg, count in zip(args, choice.counts, strict=True) for _ in range(count)]
        dtypes = tuple(guess.dtypes.get(name, dtype) for name, dtype in zip(names, choice.dtypes, strict=True))
        choices.setdefault((choice.counts, dtypes), replace(choice, dtypes=dtypes))
    attrs = {**domain.attrs, **guess.attrs}
    return replace(domain, choices=tuple(choices.values()), attrs=attrs, values={**domain.values, **guess.values})


def _unknown(domain: Domain) -> Open:
    """Return the inputs that have no range yet, and those whose dtype no kernel declares.

    Integers beside floats have a range, that of indices, but one which the op may refuse.
    """
    subject, choice = domain.subject, domain.choices[0]
    names = [arg.name for arg, count in zip(subject.op.inputs, choice.counts, strict=True) for _ in range(count)]
    dtypes = dict(zip(names, choice.dtypes, strict=True))
    values = {
        name: _is_integer(dtype)
        for name, dtype in dtypes.items()
        if name not in subject.hints.values and (dtype.is_floating_point or _is_integer(dtype))
    }
    declared = {name for _, kernel in subject.kernels(domain.device) for name, _, _ in kernel.dtypes}
    undeclared = [name for name in list(dtypes)[1:] if name not in declared]
    attrs = [
        attr.name for attr in subject.op.attrs if attr.type in _INTEGER_ATTRS and attr.name not in subject.hints.attrs
    ]
    return Open(values=values, dtypes=undeclared, attrs=attrs)


def _is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype != torch.bool
