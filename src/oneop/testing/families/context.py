"""What every family is given, and the outcomes it may return."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from oneop.testing.accuracy import Statistics
from oneop.testing.case import Case, Restriction, inferred_shapes, is_taken, make_case, strategy_of
from oneop.testing.compare import same_bits
from oneop.testing.domain.probe import DEFAULT, Choice, Domain, usual_attrs
from oneop.testing.domain.templates import Template
from oneop.testing.explore import Broken, Exploration, Property, explore, run_all
from oneop.testing.report import FAILED, PARTIAL, PASSED, SKIPPED, Failure, Outcome, lines_for
from oneop.testing.subject import Subject

#: Of the inputs and outputs of a call; a larger one is not made.
MOST_ELEMENTS = 6_000_000
_MOST_GROUPS = 5
#: How often, and how long, a call that does not fail is repeated.
REPEATED, REPEATED_SECONDS = 500, 1.0


@dataclass(frozen=True, kw_only=True)
class Context:
    """The op, what it takes, how much to try, and what the families before found.

    `seconds` are of processor time, so a busy machine tries no less. `failed` names families that failed: a family
    leaves out what would fail for the same cause. `repeat` is the only call to try, where a failure is repeated.
    `by_reference` names families in which the op does as its reference does, and not as numbers would have it: the
    gradient of an embedding leaves out the row of padding.
    """

    subject: Subject
    domain: Domain
    examples: int
    seconds: float
    repeat: Case | None = None
    failed: set[str] = field(default_factory=set)
    by_reference: set[str] = field(default_factory=set)
    accuracy: dict[torch.dtype, Statistics] = field(default_factory=dict)

    def explore(self, family: str, wanted: Restriction, holds: Property, *, examples: int | None = None) -> Outcome:
        """Run a property on drawn calls."""
        if self.repeat is not None:
            return self.run(family, [], holds)
        strategy = strategy_of(self.domain, wanted)
        exploration = explore(strategy, holds, examples=examples or self.examples, seconds=self.seconds)
        return outcome_of(family, exploration)

    def run(self, family: str, cases: list[Case], holds: Property) -> Outcome:
        """Run a property on given calls."""
        if self.repeat is None:
            return outcome_of(family, run_all(cases, holds, seconds=self.seconds))
        # A kernel may be wrong from some call on, and many came before the one that is repeated.
        ends = time.process_time() + REPEATED_SECONDS
        for _ in range(REPEATED):
            exploration = run_all([self.repeat], holds, seconds=self.seconds)
            if exploration.broken is not None or exploration.count == 0 or time.process_time() > ends:
                break
        return outcome_of(family, exploration)

    def output_names(self) -> list[str]:
        """Return names for the results of a call: outputs, changed inputs, and more for lists of them."""
        names = [arg.name for arg in self.subject.op.outputs]
        names += [arg.name for arg in self.subject.op.inputs if arg.is_mutable]
        return [*names, *(f"result {i}" for i in range(len(names), 64))]


Family = Callable[[Context], Outcome]


def outcome_of(family: str, exploration: Exploration) -> Outcome:
    """Return the outcome of an exploration."""
    if exploration.broken is not None and exploration.case is not None:
        return failed(family, exploration.broken.message, exploration.case, exploration.broken.lines)
    if exploration.count == 0:
        return Outcome(family=family, status=SKIPPED, note="no call that it applies to")
    if exploration.left_out:
        note = f"out of time: {exploration.left_out} more calls were not tried"
        return Outcome(family=family, status=PARTIAL, cases=exploration.count, note=note)
    return Outcome(family=family, status=PASSED, cases=exploration.count)


def failed(family: str, message: str, case: Case, lines: tuple[str, ...] = ()) -> Outcome:
    """Return a failure with the lines that reproduce it."""
    failure = Failure(message=message, case=str(case), reproduce=lines_for(case, family, lines))
    return Outcome(family=family, status=FAILED, failure=failure)


def usual_cases(context: Context, sizes: tuple[int, ...], *, is_first: bool = False) -> list[Case]:
    """Return one call of each size for each kind of call, of the template with the most axes up to two.

    The last axis has the size; with `is_first` the first one, if there are several. A call that would fill the memory,
    such as a square matrix of that size, is made smaller.
    """
    cases = []
    for choice in context.domain.choices:
        template = min(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
        if is_first and len(template.symbols) < 2:
            continue
        for size in sizes:
            case = _call_of_size(context, choice, template, size, is_first)
            while size > 3 and elements_of(case) > MOST_ELEMENTS:
                size //= 2
                case = _call_of_size(context, choice, template, size, is_first)
            if is_taken(case):
                cases.append(case)
    return cases


def sizes_taken(context: Context, choice: Choice, template: Template, sizes: tuple[int, ...]) -> dict[str, int]:
    """Return a size for each symbol, in an order that the op takes: one axis may have to be longer than another."""
    symbols = template.symbols
    named = {symbol: sizes[i % len(sizes)] for i, symbol in enumerate(symbols)}
    if not sizes:
        return named
    for tried in (named, dict(zip(reversed(symbols), named.values(), strict=True)), dict.fromkeys(symbols, max(sizes))):
        if is_taken(make_case(context.domain, choice, template.shapes(tried), usual_attrs(context.domain))):
            return tried
    return named


def _call_of_size(context: Context, choice: Choice, template: Template, size: int, is_first: bool) -> Case:
    named = {symbol: 3 for symbol in template.symbols}
    if template.symbols:
        named[template.symbols[0 if is_first else -1]] = size
    return make_case(context.domain, choice, template.shapes(named), usual_attrs(context.domain))


def elements_of(case: Case) -> int:
    """Return how many elements the inputs and outputs of a call have."""
    return case.size[0] + sum(math.prod(shape) for shape in inferred_shapes(case) or ())


def template_cases(
    context: Context,
    *,
    dtypes: tuple[torch.dtype, ...] | None = None,
    sizes: tuple[int, ...] = (3, 2, 4, 2),
    most: int = 16,
) -> list[Case]:
    """Return a call of each template of each kind of call: drawn calls leave some out.

    Where there are many, each number of axes comes first.
    """
    cases = []
    for choice in context.domain.choices:
        if dtypes is not None and not any(dtype in dtypes for dtype in choice.dtypes):
            continue
        seen: dict[tuple[int, ...], int] = {}
        ordered = []
        for place, template in enumerate(choice.templates):
            ranks = tuple(map(len, template.axes))
            seen[ranks] = seen.get(ranks, -1) + 1
            ordered.append((seen[ranks], place, template))
        for _, _, template in sorted(ordered, key=lambda entry: entry[:2])[:most]:
            named = sizes_taken(context, choice, template, sizes)
            case = make_case(context.domain, choice, template.shapes(named), usual_attrs(context.domain))
            if is_taken(case):
                cases.append(case)
    return cases


def with_each_attribute(
    context: Context, case: Case, *, also: Callable[[Any], Any] = lambda value: value, most: int = 40
) -> list[Case]:
    """Return a call with one attribute after the other at each of its values, and at what `also` makes of them."""
    usual = dict(usual_attrs(context.domain))
    cases = []
    for name, tried in context.domain.attrs.items():
        for value in {repr(value): value for value in (*tried, *map(also, tried))}.values():
            if value is DEFAULT or repr(usual.get(name)) == repr(value):
                continue
            changed = replace(case, attrs=tuple({**usual, name: value}.items()))
            changed = changed if is_taken(changed) else _of_multiples(context, changed, value)
            if is_taken(changed):
                cases.append(changed)
    return cases[:most]


def _of_multiples(context: Context, case: Case, value: Any) -> Case:
    """Return the call with sizes of twice an integer attribute: channels are whole groups."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 < value <= _MOST_GROUPS:
        return case
    choices = [choice for choice in context.domain.choices if choice.dtypes == tuple(t.dtype for t in case.tensors)]
    for template in choices[0].templates if choices else ():
        shapes = template.shapes(dict.fromkeys(template.symbols, 2 * value))
        larger = make_case(context.domain, choices[0], shapes, case.attrs)
        if is_taken(larger):
            return larger
    return case


def with_pairs_of_attributes(context: Context, case: Case, *, most: int = 24) -> list[Case]:
    """Return calls in which two attributes have another value than the usual one, two values of each: flags combine."""
    usual = dict(usual_attrs(context.domain))
    others = {
        name: [value for value in tried if value is not DEFAULT and repr(usual.get(name)) != repr(value)][:2]
        for name, tried in context.domain.attrs.items()
    }
    cases = []
    for first, second in itertools.combinations(others, 2):
        for pair in itertools.product(others[first], others[second]):
            changed = replace(case, attrs=tuple({**usual, first: pair[0], second: pair[1]}.items()))
            if is_taken(changed):
                cases.append(changed)
    return cases[:most]


def together(outcome: Outcome, more: Outcome) -> Outcome:
    """Return the outcome of calls that were drawn and of more calls of the same family; a failure stays one."""
    if outcome.failure is not None:
        return outcome
    if more.failure is not None or not outcome.cases:
        return more
    is_cut = outcome.status != PARTIAL and more.status == PARTIAL
    status, note = (more.status, more.note) if is_cut else (outcome.status, outcome.note)
    return replace(outcome, status=status, cases=outcome.cases + more.cases, note=note)


def run_and_compare_inputs(case: Case, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Run a call and return its results. Raises `Broken` where an input changes that the op does not declare."""
    before = [tensor.clone() for tensor in tensors]
    results = case.run(tensors)
    may_change = {id(tensor) for tensor in case.changed(tensors)}
    for name, old, tensor in zip(case.names(), before, tensors, strict=True):
        if id(tensor) not in may_change and not same_bits(old, tensor):
            raise Broken(f'the call changes its input "{name}", which the op does not declare as changed in place')
    return results


def skipped(family: str, note: str) -> Outcome:
    """Return an outcome that says why nothing was verified."""
    return Outcome(family=family, status=SKIPPED, note=note)
