"""`check_sbp`: proving SBP signatures on one process.

A signature claims that an op on parts gives parts of what it gives on the whole. So that is run: the inputs are cut as
the signature says, the op is called on each part, and the parts of the outputs are put together and compared. What
holds without being declared is found the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from oneop._runtime import find_op
from oneop.errors import ArgumentError, SbpError
from oneop.registry import ArgDef, OpDef, get_op
from oneop.sbp import BROADCAST, PARTIAL_SUM, SPLIT, Sbp, broadcast, partial_sum, split
from oneop.sharding.random import is_random
from oneop.signatures import Signature, declared_signatures, text_of
from oneop.testing.sbp_shards import Call, Sample, Verdict, run_shards

if TYPE_CHECKING:
    from oneop._core import Op

#: Discovery stops here: arguments have that many combinations of placements.
MOST_CANDIDATES = 20_000


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

    def __str__(self) -> str:
        """Return a line for each signature."""
        lines = [f'op "{self.op}": {len(self.proved)} signatures hold, {len(self.wrong)} do not']
        lines += [f"  holds     {one.signature}" + (f"  ({one.problem})" * bool(one.problem)) for one in self.proved]
        lines += [f"  WRONG     {one.signature}  {one.problem}" for one in self.wrong]
        lines += [f"  not tried {one.signature}  {one.problem}" for one in self.untried]
        if self.undeclared:
            lines.append("  these hold too and are not declared; to add them:")
            lines += [f"    {line}" for line in self.lines]
        return "\n".join(lines)


def check_sbp(
    op: Op | str,
    inputs: Sequence[Any],
    *,
    discover: bool = True,
    rtol: float | None = None,
    **attrs: Any,
) -> SbpReport:
    """Prove every declared SBP signature of an op for these inputs, and find those that hold and are not declared.

    No process group is needed: parts are made and run one after another here. They are uneven, parts of sums are of
    both signs, and everything is tried again with negated inputs, so that accidents do not pass.

    Args:
        op: the op or its name.
        inputs: a tensor for each input argument, a list for a variadic one, None for one that is left out. Axes of 3
            elements or more can be cut in all ways.
        discover: also try signatures that are not declared, print those that hold and the line that adds them.
        rtol: how much results may differ, relative to the largest of them; by default as the dtype allows.
        attrs: attributes of the call.

    Returns:
        What was found.

    Raises:
        SbpError: a declared signature does not hold.
    """
    name = op if isinstance(op, str) else str(op.__name__)  # type: ignore[attr-defined]
    definition = get_op(name)
    if is_random(definition):
        raise ArgumentError(f'check_sbp: op "{name}" is random: parts and the whole cannot be compared')
    call = _make_call(definition, inputs, attrs)
    samples = [sample for sample in (call.sample(1, rtol), call.sample(-1, rtol)) if sample is not None]
    if not samples:
        call.whole(call.tensors)  # raises what the op says
    declared = declared_signatures(name, call.specs(), call.output_counts, attrs)
    proved: list[Finding] = []
    wrong: list[Finding] = []
    untried: list[Finding] = []
    for signature in declared.signatures[:-1]:
        verdict = _judge(call, samples, signature)
        finding = Finding(signature=text_of(definition, call.counts, signature), problem=verdict.problem)
        (untried if verdict.holds is None else proved if verdict.holds else wrong).append(finding)
    undeclared = [one for one in _discover(call, samples) if one not in declared.signatures] if discover else []
    report = SbpReport(
        op=name,
        proved=tuple(proved),
        wrong=tuple(wrong),
        untried=tuple(untried),
        undeclared=tuple(text_of(definition, call.counts, one) for one in undeclared),
        lines=tuple(_line(definition, call.counts, one) for one in undeclared),
    )
    if wrong:
        raise SbpError(f"{report}\n  defined at {definition.source}")
    if undeclared:
        print(report)
    return report


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


def _judge(call: Call, samples: Sequence[Sample], signature: Signature) -> Verdict:
    """Try a signature with several numbers of parts, even and uneven."""
    count = len(call.tensors)
    sizes = [call.tensors[i].shape[sbp.axis] for i, sbp in enumerate(signature[:count]) if sbp.kind == SPLIT]
    numbers = [parts for parts in (2, 3) if all(size >= parts for size in sizes)]
    if not numbers:
        return Verdict(holds=None, problem="an axis has fewer than 2 elements")
    uneven_problem = ""
    for parts, sample in itertools.product(numbers, samples):
        results = run_shards(call, sample, signature[:count], parts, signature[count:])
        problem = results if isinstance(results, str) else results.compare(signature[count:])
        if problem and any(size % parts for size in sizes):
            uneven_problem = uneven_problem or f"{parts} parts: {problem}"
        elif problem:
            return Verdict(holds=False, problem=f"{parts} parts{sample.note}: {problem}")
    if uneven_problem and not any(all(size % parts == 0 for size in sizes) for parts in numbers):
        return Verdict(holds=False, problem=uneven_problem)
    if uneven_problem and "shape" not in uneven_problem:
        return Verdict(holds=False, problem=uneven_problem)
    return Verdict(holds=True, problem="even parts only" if uneven_problem else "")


def _discover(call: Call, samples: Sequence[Sample]) -> list[Signature]:
    """Return all signatures that hold, but for the one of broadcasts."""
    options = [_options(tensors) for tensors in call.groups]
    total = 1
    for choice in options:
        total *= len(choice)
    if total > MOST_CANDIDATES:
        raise ArgumentError(
            f'check_sbp: op "{call.op.name}" has {total} ways to place its inputs, too many to try\n'
            "  pass discover=False, or inputs of fewer axes"
        )
    found = []
    for chosen in itertools.product(*options):
        placed = tuple(sbp for sbp, tensors in zip(chosen, call.groups, strict=True) for _ in tensors)
        if all(sbp.kind == BROADCAST for sbp in placed):
            continue
        found += [(*placed, *outputs) for outputs in _outputs_for(call, samples, placed)]
    return found


def _outputs_for(call: Call, samples: Sequence[Sample], placed: Signature) -> Iterator[Signature]:
    """Yield placements of the outputs with which these of the inputs make a signature."""
    results = run_shards(call, samples[0], placed, 2)
    fitting = [] if isinstance(results, str) else results.fitting()
    if (not fitting or not all(fitting)) and call.op.attrs and sum(call.output_counts) == 1:
        # It may fit once an attribute that holds a size is that of the part.
        fitting = [[split(axis) for axis in range(samples[0].outputs[0].ndim)]]
    for outputs in itertools.product(*fitting) if fitting else []:
        if _judge(call, samples, (*placed, *outputs)).holds:
            yield outputs
            return  # another could hold by accident only: all of an output is the same or zero


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
    arguments: tuple[ArgDef, ...] = (*op.inputs, *op.outputs)
    for arg, count in zip(arguments, counts, strict=True):
        for index in range(count):
            sbp = next(rest)
            calls.append(acts[sbp.kind](f'user_op::OpArg("{arg.name}", {index})', sbp))
    return f"ctx->NewBuilder(){''.join(calls)}.Build();"
