"""Choosing a candidate: the cheapest one whose parts the op takes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from oneop.errors import ArgumentError, OneopError, SbpError
from oneop.runtime.core import core
from oneop.sbp import NO_MEAN, has_no_mean, split_axis
from oneop.sharding.local import different_devices
from oneop.sharding.parts import runs_as_part
from oneop.sharding.planning.call import Candidate, Plan, ShardedCall, changed_inputs, placements_text
from oneop.sharding.planning.candidates import Cost, candidates_of, exact_candidate, keeps_changed, read_signatures
from oneop.sharding.planning.on_device import infers, local_call
from oneop.signatures import Signature, declared_signatures, text_of


def make_plan(call: ShardedCall, cost: Cost, *, compare_all: bool = False, is_linear: bool = False) -> Plan:
    """Choose. Raises `SbpError` where an input that the op changes would have to be redistributed.

    Where the inputs lie as a signature says, nothing else can be cheaper, and nothing else is looked at unless
    `compare_all`. With `is_linear` only splits, broadcasts and sums are taken: what autograd can go back through.
    """
    refuse_means(call)
    cost = functools.cache(cost)
    signatures, attrs_read, reads_sizes = read_signatures(call, is_linear)
    exact = None if compare_all else exact_candidate(call, signatures, cost)
    if exact is not None and not _problem(call, exact, reads_sizes):
        return Plan(candidates=[exact], refused=[], chosen=exact, attrs_read=attrs_read, reads_sizes=reads_sizes)
    candidates = [candidate for candidate in candidates_of(call, signatures, cost) if keeps_changed(call, candidate)]
    candidates.sort(key=lambda candidate: (candidate.cost, candidate.moved))
    refused: list[tuple[Candidate, str]] = []
    for candidate in candidates:
        problem = _problem(call, candidate, reads_sizes)
        if not problem:
            return Plan(
                candidates=candidates, refused=refused, chosen=candidate, attrs_read=attrs_read, reads_sizes=reads_sizes
            )
        refused.append((candidate, problem))
    raise SbpError(_no_candidate_text(call, signatures))


def refuse_means(call: ShardedCall) -> None:
    """Raise `ArgumentError` for an input that is a mean of integers."""
    names = (arg.name for arg, tensors in zip(call.op.inputs, call.groups, strict=True) for _ in tensors)
    for name, placements, dtype in zip(names, call.placements, call.dtypes, strict=False):
        if any(has_no_mean(placement, dtype) for placement in placements):
            kind = str(dtype).removeprefix("torch.")
            raise ArgumentError(f'op "{call.op.name}", input "{name}": it lies P(avg) and is {kind}\n  {NO_MEAN}')


def _problem(call: ShardedCall, candidate: Candidate, reads_sizes: bool) -> str:
    """Return why the op cannot run on such parts, going by what it declares for each shape of a part that there is."""
    everywhere = [*candidate.inputs, *candidate.outputs]
    for placements, dtype in zip(everywhere, call.dtypes, strict=True):
        if any(has_no_mean(placement, dtype) for placement in placements):
            return f"P(avg) of a tensor of {dtype}: {NO_MEAN}"
    if not any(split_axis(placement) is not None for placements in everywhere for placement in placements):
        return ""
    unproved = _unproved(call, candidate)
    if unproved:
        return unproved
    shapes = [*call.shapes, *(shape for shape, _ in call.outputs)]
    seen = set()
    for coordinate in different_devices(shapes, everywhere, call.mesh_shape):
        local = local_call(call, candidate, coordinate)
        key = (*local.inputs, *local.outputs)
        if key in seen:
            continue
        seen.add(key)
        if not infers(call, candidate, local, coordinate):
            return f"on the device at {list(coordinate)} inference does not give the part of the output that it should"
        problem = _undeclared_for_parts(call, candidate, coordinate) if reads_sizes else ""
        if problem:
            return problem
    return ""


def _unproved(call: ShardedCall, candidate: Candidate) -> str:
    """Return which signature inference only implies and could not be proved. Raises `SbpError` for a wrong one."""
    from oneop.authoring.rules.independence import is_implied, prove_implied

    if runs_as_part(call.op):
        return ""  # it draws numbers, or asks where it runs: a run on parts here would say nothing
    if is_implied(call.op.name) and core().op_info(call.op.name)["side_effect"]:
        return "its signatures only follow from inference, and an op with effects is not tried out"
    cut = [signature for signature, size in zip(candidate.signatures, call.mesh_shape, strict=True) if size > 1]
    for signature in dict.fromkeys(cut):  # one part is the whole, whatever the op does
        if not prove_implied(call.op.name, call.groups, call.attrs, signature, device=call.device):
            return f"{text_of(call.op, call.counts, signature)} only follows from inference, and could not be proved"
    return ""


def _undeclared_for_parts(call: ShardedCall, candidate: Candidate, coordinate: Sequence[int]) -> str:
    """Return what a later mesh dimension may not do: it splits what earlier ones left, not the whole tensors."""
    if core().op_info(call.op.name)["has_nd_sbp"]:
        return ""  # the op's own function decided for all dimensions at once
    for dim in range(1, len(call.mesh_shape)):
        local = local_call(call, candidate, coordinate, dim)
        rest = iter(local.inputs)
        groups = [[(next(rest), dtype) for _, dtype in tensors] for tensors in call.groups]
        attrs = {**call.attrs, **local.attrs}
        try:
            declared = declared_signatures(
                call.op.name, groups, call.output_counts, attrs, call.mesh_shape[dim], keep_small=True
            )
        except (OneopError, RuntimeError, ValueError, TypeError):
            return f"dimension {dim} of the mesh would split parts that the op refuses"
        if candidate.signatures[dim] not in declared.signatures:
            text = text_of(call.op, call.counts, candidate.signatures[dim])
            return f"{text} is not declared for the parts that dimension {dim} of the mesh would split"
    return ""


def _no_candidate_text(call: ShardedCall, signatures: Sequence[Sequence[Signature]]) -> str:
    names = [arg.name for arg, tensors in zip(call.op.inputs, call.groups, strict=True) for _ in tensors]
    placed = ", ".join(
        f"{name}: {placements_text(placements)}" for name, placements in zip(names, call.placements, strict=True)
    )
    changed = [names[number] for number in changed_inputs(call)]
    text = f'op "{call.op.name}": no SBP signature fits {placed}\n'
    if changed:
        text += f"  it changes {', '.join(changed)} in place, which must stay where it is: redistribute the others\n"
    shown = dict.fromkeys(text_of(call.op, call.counts, signature) for options in signatures for signature in options)
    return text + f"  it has {'; '.join(shown)}\n  defined at {call.op.source}"
