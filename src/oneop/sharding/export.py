"""Signatures for others to check: torch's validation of sharding strategies, and rules as Shardy writes them."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError
from oneop.registry import get_op
from oneop.sbp import BROADCAST, PARTIAL_SUM, SPLIT
from oneop.signatures import declared_signatures, default_output_counts, group_inputs, own_attrs

if TYPE_CHECKING:
    from oneop._core import Op


def shardy_rule(op: Op | str, inputs: Sequence[Any], /, **attrs: Any) -> str:
    """Return what an op declares for these inputs as a Shardy-style rule: `([i, k], [k, j])->([i, j]) {...}`.

    Axes that a signature splits together are one factor. A factor that an output lacks, because its parts are summed,
    is listed under `reduction`; axes that no signature splits are listed under `need_replication`. What is no
    split of factors (`P -> P`, P(max)) has no place in such a rule and is left out.
    """
    name = op if isinstance(op, str) else str(op.__name__)
    definition = get_op(name)
    groups = group_inputs(definition, inputs)
    counts = default_output_counts(definition)
    signatures = declared_signatures(name, groups, counts, attrs, keep_small=True).signatures[:-1]
    shapes = [shape for tensors in groups for shape, _ in tensors]
    outputs = _output_shapes(name, groups, attrs)
    ndims = [len(shape) for shape in [*shapes, *outputs]]
    factors: list[list[str]] = [[""] * ndim for ndim in ndims]
    names = (letter + suffix for suffix in ("", "1", "2", "3") for letter in string.ascii_lowercase[8:])
    reduction: list[str] = []
    for signature in signatures:
        splits = [(number, sbp.axis) for number, sbp in enumerate(signature) if sbp.kind == SPLIT]
        others = {sbp.kind for sbp in signature if sbp.kind != SPLIT}
        if (
            not splits
            or not others <= {BROADCAST, PARTIAL_SUM}
            or any(sbp.kind == PARTIAL_SUM for sbp in signature[: len(shapes)])
        ):
            continue
        if any(factors[number][axis] for number, axis in splits):
            continue  # an axis belongs to one factor; the first signature that splits it names it
        factor = next(names)
        for number, axis in splits:
            factors[number][axis] = factor
        if PARTIAL_SUM in others:
            reduction.append(factor)
    fixed = []
    for tensor in factors:
        for axis, factor in enumerate(tensor):
            if not factor:
                tensor[axis] = next(names)
                fixed.append(tensor[axis])
    texts = ["[" + ", ".join(tensor) + "]" for tensor in factors]
    sizes = {f: shape[a] for t, shape in zip(factors, [*shapes, *outputs], strict=True) for a, f in enumerate(t)}
    lines = ", ".join(f"{factor}={size}" for factor, size in sorted(sizes.items()))
    tail = "".join(
        f" {what}={{{', '.join(factors)}}}"
        for what, factors in (("reduction", reduction), ("need_replication", fixed))
        if factors
    )
    return f"({', '.join(texts[: len(shapes)])})->({', '.join(texts[len(shapes) :])}) {{{lines}}}{tail}"


def _output_shapes(name: str, groups: Any, attrs: dict[str, Any]) -> list[tuple[int, ...]]:
    from oneop.runtime.core import find_op
    from oneop.sharding.local import flatten

    definition = get_op(name)
    tensors: list[Any] = []
    for arg, group in zip(definition.inputs, groups, strict=True):
        taken = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in group]
        tensors.append(taken if arg.count != 1 or arg.count_is_minimum else taken[0] if taken else None)
    return [tuple(t.shape) for t in flatten(find_op(name)(*tensors, **attrs))]


def validate_strategies(op: Op | str, inputs: Sequence[torch.Tensor], /, *, parts: int = 2, **attrs: Any) -> list[str]:
    """Have torch's own test of sharding strategies judge every declared signature; return those that it refuses.

    It cuts the inputs with DTensor's code, on simulated ranks in this process, and compares what comes together. Inputs
    are single tensors; an attribute called parts is given as `parts_`. Raises `ArgumentError` where this torch has no
    such test.
    """
    try:
        from torch.distributed._local_tensor import LocalTensorMode
        from torch.distributed.tensor._ops import strategy_validation as theirs
    except ImportError:
        raise ArgumentError("validate_strategies: this torch has no test of sharding strategies") from None
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.opinfo.core import SampleInput

    from oneop.runtime.core import find_op
    from oneop.sbp import placements

    name = op if isinstance(op, str) else str(op.__name__)
    definition = get_op(name)
    attrs = own_attrs(definition, attrs, ("parts",))
    groups = group_inputs(definition, list(inputs))
    counts = default_output_counts(definition)
    call = find_op(name)
    whole = call(*inputs, **attrs)
    wholes = list(whole) if isinstance(whole, (list, tuple)) else whole
    refused = []
    own_group = not dist.is_initialized()
    if own_group:
        dist.init_process_group("fake", rank=0, world_size=parts)
    try:
        tensors = [(f"tensor_{i}", tensor) for i, tensor in enumerate(inputs)]
        sample = SampleInput(inputs[0], args=tuple(inputs[1:]), kwargs=dict(attrs))  # type: ignore[no-untyped-call]
        with LocalTensorMode(frozenset(range(parts))):
            mesh = init_device_mesh("cpu", (parts,))
            for signature in declared_signatures(name, groups, counts, attrs, parts, keep_small=True).signatures[:-1]:
                placed = [placements(sbp)[0] for sbp in signature]
                ins, outs = tuple(placed[: len(inputs)]), tuple(placed[len(inputs) :])
                combination = (ins, outs)
                holds, problem = theirs.validate_combination(
                    lambda *args, **kwargs: call(*args, **kwargs), sample, tensors, combination, wholes, parts, mesh
                )
                if holds is False:  # None: it cannot be tested, uneven shards say
                    refused.append(f"{', '.join(map(str, ins))} -> {', '.join(map(str, outs))}: {problem}")
    finally:
        if own_group:
            dist.destroy_process_group()
    return refused
