"""`check_sbp`: proving SBP signatures on one process.

A signature claims that an op on parts gives parts of what it gives on the whole. So that is run: the inputs are cut as
the signature says, the op is called on each part as the adapter for DTensors would call it, and the parts of the
outputs are put together and compared. What holds without being declared is found the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError, SbpError
from oneop.registry import ArgDef, OpDef, get_op
from oneop.runtime.core import core, find_op
from oneop.sbp import (
    BROADCAST,
    NO_MEAN,
    PARTIAL_SUM,
    SPLIT,
    Sbp,
    broadcast,
    has_no_mean,
    partial_sum,
    split,
)
from oneop.sharding.random import is_random
from oneop.signatures import Signature, declared_signatures, own_attrs, text_of
from oneop.testing.sbp_backward import backward_calls, composition_problem
from oneop.testing.sbp_samples import calls_with_other_attrs, samples_of
from oneop.testing.sbp_shards import Call, Sample, compare, fitting, refusal, run_shards

if TYPE_CHECKING:
    from oneop._core import Op

#: Discovery stops here: arguments have that many combinations of placements.
MOST_CANDIDATES = 20_000
#: Into how many parts tensors are cut; and one more than an axis has elements, so that a part is empty.
PARTS = (2, 3, 4, 5, 6, 8)
_GUESSED_SAMPLES = 2  # values of int attributes are many, and each is tried on so many inputs


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a signature holds; None where it could not be tried."""

    holds: bool | None
    problem: str = ""
    is_refused: bool = False  # by inference: nothing would ever run under it


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A signature and what came out; `problem` is empty for one that holds."""

    signature: str
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class SbpReport:
    """What `check_sbp` found. Printing it shows everything; `lines` are those an author would add."""

    op: str
    proved: tuple[Finding, ...]
    wrong: tuple[Finding, ...]
    untried: tuple[Finding, ...]
    undeclared: tuple[str, ...]
    lines: tuple[str, ...]
    backward: tuple[SbpReport, ...] = ()  #: of the ops that the gradient calls

    def __str__(self) -> str:
        """Return a line for each signature."""
        lines = [f'op "{self.op}": {len(self.proved)} signatures hold, {len(self.wrong)} do not']
        lines += [
            f"  holds     {finding.signature}" + (f"  ({finding.problem})" * bool(finding.problem))
            for finding in self.proved
        ]
        lines += [f"  WRONG     {finding.signature}  {finding.problem}" for finding in self.wrong]
        lines += [f"  not tried {finding.signature}  {finding.problem}" for finding in self.untried]
        for other in self.backward:
            lines += [f"  backward: {line}" for line in str(other).splitlines() if other.wrong or "hold" in line]
        if self.undeclared:
            lines.append("  these hold too and are not declared; to add them:")
            lines += [f"    {line}" for line in self.lines]
        return "\n".join(lines)


def check_sbp(
    op: Op | str,
    inputs: Sequence[Any],
    /,
    *,
    discover: bool = True,
    backward: bool = True,
    rtol: float | None = None,
    choices: Mapping[str, Sequence[Any]] | None = None,
    **attrs: Any,
) -> SbpReport:
    """Prove every declared SBP signature of an op for these inputs, and find those that hold and are not declared.

    No process group is needed: parts are made and run one after another here, as calls with DTensors would run them.
    Tensors are cut into 2 to 8 parts, even and uneven ones, and with one that is empty. Inputs are tried at several
    magnitudes, negated, in another order, and in float64 where the op takes it; each value of a bool attribute, of a
    str attribute those that stand in the op's Python code or in `choices`, and of an int attribute small ones, those
    in the code and their successors, where the op takes them (compiled kernels: those below the given one). Each
    element of a result is compared by itself. The ops that the gradient calls are proved on what it gives them.

    Args:
        op: the op or its name.
        inputs: a tensor for each input argument, a list for a variadic one, None for one that is left out. Axes of 3
            elements or more can be cut in all ways; 12 is a good length.
        discover: also try signatures that are not declared, print those that hold and the line that adds them.
        backward: also prove the gradient.
        rtol: how much an element may differ, relative to itself; by default what rounding its inputs does to it.
        choices: further values of attributes to try, {"mode": ["sum", "max"]}.
        attrs: attributes of the call; one that is named as an argument here gets an underscore, `rtol_=...`.

    Returns:
        What was found.

    Raises:
        SbpError: a declared signature does not hold.
    """
    name = op if isinstance(op, str) else str(op.__name__)
    definition = get_op(name)
    if is_random(definition):
        raise ArgumentError(f'check_sbp: op "{name}" is random: parts and the whole cannot be compared')
    attrs = own_attrs(definition, attrs, ("discover", "backward", "rtol", "choices"))
    call = _make_call(definition, inputs, attrs)
    report = _prove(call, rtol, choices or {}, discover)
    if backward:
        report = replace(report, backward=tuple(_prove_backward(call, rtol)))
    if report.wrong or any(other.wrong for other in report.backward):
        raise SbpError(f"{report}\n  defined at {definition.source}")
    if report.undeclared:
        print(report)
    return report


def _prove(call: Call, rtol: float | None, choices: Mapping[str, Sequence[Any]], discover: bool) -> SbpReport:
    """Prove the signatures for a call and for its other attributes."""
    by_text: dict[str, Verdict] = {}
    declared: tuple[Signature, ...] = ()
    samples: list[Sample] = []
    for other, note, is_guessed in calls_with_other_attrs(call, choices):
        own = samples_of(other, rtol)
        if not own:
            other.run(other.tensors)  # raises what the op says
        if is_guessed:
            by_text |= {
                text_of(call.op, call.counts, signature): replace(verdict, problem=f"{note}, {verdict.problem}")
                for signature, verdict in _judge_declared(other, own[:_GUESSED_SAMPLES]).items()
                if verdict.holds is False and not verdict.is_refused
            }
            continue
        verdicts = _judge_declared(other, own)
        if other is call:
            declared, samples = tuple(verdicts), own
        for signature, verdict in verdicts.items():
            text = text_of(call.op, call.counts, signature)
            if verdict.holds is False and note:
                verdict = replace(verdict, problem=f"{note}, {verdict.problem}")
            known = by_text.get(text)
            if known is None or known.holds is None or verdict.holds is False:
                by_text[text] = verdict
    undeclared = _discover(call, samples, declared) if discover else []
    kept = {
        holds: [Finding(signature=text, problem=v.problem) for text, v in by_text.items() if v.holds is holds]
        for holds in (True, False, None)
    }
    return SbpReport(
        op=call.op.name,
        proved=tuple(kept[True]),
        wrong=tuple(kept[False]),
        untried=tuple(kept[None]),
        undeclared=tuple(text_of(call.op, call.counts, signature) for signature in undeclared),
        lines=tuple(_line(call.op, call.counts, signature) for signature in undeclared),
    )


def _prove_backward(call: Call, rtol: float | None) -> Iterator[SbpReport]:
    seen = set()
    for name, inputs, attrs in backward_calls(call):
        definition = get_op(name)
        key = (name, repr(attrs), *(tuple(t.shape) for t in inputs if isinstance(t, torch.Tensor)))
        if key in seen or is_random(definition) or not core().op_info(name)["has_sbp"]:
            continue
        seen.add(key)
        own = {schema: attr for attr, schema in find_op(name)._trace_names.attrs.items()}  # type: ignore[attr-defined]
        schema_attrs = {own.get(attr, attr): value for attr, value in attrs.items() if attr != "device"}
        yield _prove(_make_call(definition, inputs, schema_attrs), rtol, {}, False)


def _make_call(op: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Call:
    if len(inputs) > len(op.inputs):
        raise ArgumentError(
            f'check_sbp: op "{op.name}" has {len(op.inputs)} inputs, found {len(inputs)}\n'
            f"  give one entry for each: {', '.join(arg.name for arg in op.inputs)}; a list for a variadic one"
        )
    groups = []
    for arg, item in itertools.zip_longest(op.inputs, inputs):
        tensors = [] if item is None else list(item) if isinstance(item, (list, tuple)) else [item]
        for tensor in tensors:
            if not isinstance(tensor, torch.Tensor):
                raise ArgumentError(
                    f'check_sbp: op "{op.name}", input "{arg.name}": expected a tensor, found {type(tensor).__name__}'
                )
        groups.append(tensors)
    return Call(op=op, overload=find_op(op.name).overload, groups=groups, attrs=dict(attrs))


def _judge_declared(call: Call, samples: Sequence[Sample]) -> dict[Signature, Verdict]:
    """Judge what an op declares; each signature on those numbers of devices for which it is declared."""
    numbers = sorted({*PARTS, *(size + 1 for t in call.tensors for size in t.shape if size < max(PARTS))})
    allowed: dict[Signature, list[int]] = {}
    for parts in numbers:
        for signature in declared_signatures(
            call.op.name, call.specs(), call.output_counts, call.attrs, parts, keep_small=True
        ).signatures[:-1]:
            allowed.setdefault(signature, []).append(parts)
    return {signature: _judge(call, samples, signature, numbers) for signature, numbers in allowed.items()}


def _judge(call: Call, samples: Sequence[Sample], signature: Signature, numbers: Sequence[int] = PARTS) -> Verdict:
    """Try a signature with several numbers of parts: even, uneven and empty ones."""
    count = len(call.tensors)
    sizes = [call.tensors[i].shape[sbp.axis] for i, sbp in enumerate(signature[:count]) if sbp.kind == SPLIT]
    dtypes = [tensor.dtype for tensor in [*call.tensors, *samples[0].outputs]]
    if any(has_no_mean(sbp, dtype) for sbp, dtype in zip(signature, dtypes, strict=False)):
        return Verdict(holds=None, problem=f"never used for these dtypes: {NO_MEAN}")
    if any(
        sbp.kind not in (SPLIT, BROADCAST) and dtype == torch.bool
        for sbp, dtype in zip(signature, dtypes[:count], strict=False)
    ):
        return Verdict(holds=None, problem="a tensor of bool cannot be cut into partial values: give it as numbers")
    if any(size < 2 for size in sizes):
        return Verdict(holds=None, problem="an axis has fewer than 2 elements")
    empty = sorted({size + 1 for size in sizes})[:1]  # each other number leaves every part something
    tried = [parts for parts in numbers if all(size >= parts for size in sizes) or parts in empty]
    refused: dict[int, str] = {}
    note = ""
    for parts in tried:
        problem = refusal(samples[0], signature, parts)
        if problem is not None:
            refused[parts] = problem.text
            continue
        for sample in samples:
            results = run_shards(sample, signature, parts)
            if isinstance(results, str):
                if results.startswith("an empty part"):
                    note = "not on empty parts"  # a loud refusal; no wrong result comes of it
                    break
                return Verdict(holds=False, problem=f"{parts} parts{sample.note}: {results}")
            wrong = compare(sample, signature, parts, results)
            if wrong:
                return Verdict(holds=False, problem=f"{parts} parts{sample.note}: {wrong}")
        wrong = composition_problem(samples[0], signature, parts) if parts == tried[0] else ""
        if wrong:
            return Verdict(holds=False, problem=f"{parts} parts: {wrong}")
    if len(refused) == len(tried):
        return _judge_refused(call, samples, signature, next(iter(refused.items()), (2, "it was not tried")))
    is_even = [parts for parts in tried if all(size % parts == 0 for size in sizes)]
    if refused and sizes and not any(parts in refused for parts in is_even):
        note = "even parts only"
    elif refused and not note:
        note = f"not on {', '.join(map(str, refused))} parts, which inference refuses"
    return Verdict(holds=True, problem=note)


def _judge_refused(call: Call, samples: Sequence[Sample], signature: Signature, first: tuple[int, str]) -> Verdict:
    """Judge a signature whose parts inference never takes: wrong, unless these axes are only too short for it."""
    longer = []
    for tensor, sbp in zip(call.tensors, signature, strict=False):
        repeats = [4 if sbp.kind == SPLIT and axis == sbp.axis else 1 for axis in range(tensor.ndim)]
        longer.append(tensor.repeat(*repeats) if tensor.ndim else tensor)
    rest = iter(longer)
    other = Call(
        op=call.op, overload=call.overload, groups=[[next(rest) for _ in g] for g in call.groups], attrs=call.attrs
    )
    is_longer = any(a.shape != b.shape for a, b in zip(longer, call.tensors, strict=True))
    own = samples_of(other, samples[0].rtol) if is_longer else []
    parts = [n for n in PARTS if own and refusal(own[0], signature, n) is None]
    if not parts:
        return Verdict(holds=False, problem=f"{first[0]} parts: {first[1]}", is_refused=True)
    verdict = _judge(other, own, signature, parts)
    return replace(verdict, problem=verdict.problem or "with longer axes") if verdict.holds else verdict


def _discover(call: Call, samples: Sequence[Sample], declared: Sequence[Signature]) -> list[Signature]:
    """Return all signatures that hold and are not declared."""
    options = [_options(tensors) for tensors in call.groups]
    total = 1
    for choice in options:
        total *= len(choice)
    if total > MOST_CANDIDATES:
        raise ArgumentError(
            f'check_sbp: op "{call.op.name}" has {total} ways to place its inputs, too many to try\n'
            "  pass discover=False, or inputs of fewer axes"
        )
    holding = []
    for chosen in itertools.product(*options):
        placed = tuple(sbp for sbp, tensors in zip(chosen, call.groups, strict=True) for _ in tensors)
        if all(sbp.kind == BROADCAST for sbp in placed):
            continue
        holding += [(*placed, *outputs) for outputs in _outputs_for(call, samples, placed, declared)]
    return holding


def _outputs_for(
    call: Call, samples: Sequence[Sample], placed: Signature, declared: Sequence[Signature]
) -> Iterator[Signature]:
    """Yield placements of the outputs with which these of the inputs make a signature; not where one is declared."""
    if any(signature[: len(placed)] == placed for signature in declared):
        return
    for parts in (2, 3):
        fits = fitting(samples[0], placed, parts)
        if isinstance(fits, str):
            continue
        for outputs in itertools.product(*fits):
            if _judge(call, samples, (*placed, *outputs)).holds:
                yield outputs
                return  # another could hold by accident only: all of an output is the same or zero
        return


def _options(tensors: Sequence[torch.Tensor]) -> list[Sbp]:
    """Return the placements of one argument; those of a variadic one are the same for all."""
    if not tensors:
        return [broadcast]
    ndim = min(tensor.ndim for tensor in tensors)
    options = [broadcast, *(split(axis) for axis in range(ndim) if all(t.shape[axis] >= 2 for t in tensors))]
    if all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors):
        options.append(partial_sum)
    return options


def _line(op: OpDef, counts: Sequence[int], signature: Signature) -> str:
    """Return what the author of the op would write to declare a signature."""
    if op.source.library.startswith("python:"):
        return f'"{text_of(op, counts, signature)}",  # to register_sbp(...) or sbp=[...]'
    calls, rest = [], iter(signature)
    acts: dict[int, Callable[[str, Sbp], str]] = {
        SPLIT: lambda arg, sbp: f".Split({arg}, {sbp.axis})",
        BROADCAST: lambda arg, sbp: f".Broadcast({arg})",
        PARTIAL_SUM: lambda arg, sbp: f".PartialSum({arg})",
    }
    if any(sbp.kind not in acts for sbp in signature):
        return f"{text_of(op, counts, signature)}: C++ has no builder for it"
    arguments: tuple[ArgDef, ...] = (*op.inputs, *op.outputs)
    for arg, count in zip(arguments, counts, strict=True):
        for index in range(count):
            sbp = next(rest)
            calls.append(acts[sbp.kind](f'user_op::OpArg("{arg.name}", {index})', sbp))
    return f"ctx->NewBuilder(){''.join(calls)}.Build();"
