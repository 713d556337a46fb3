"""The SBP signatures that an op declares, in one form whatever the author wrote: text, list, builder, Python or C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oneop.authoring.rules.sbp_builder import asked_parallel_num
from oneop.authoring.spec import TensorSpec, watching_attrs
from oneop.errors import ArgumentError
from oneop.registry import ArgDef, OpDef, get_op
from oneop.runtime.core import core
from oneop.sbp import BROADCAST, SPLIT, Sbp

#: One `Sbp` for each tensor: those of the inputs, then those of the outputs.
Signature = tuple[Sbp, ...]
#: Shape and dtype of each tensor of each input argument.
Inputs = Sequence[Sequence[tuple[Sequence[int], torch.dtype]]]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The signatures for one call, the one of broadcasts last, and the attributes that they and inference depend on."""

    signatures: tuple[Signature, ...]
    attrs_read: frozenset[str]
    reads_sizes: bool  # a function gave them, which may have looked at sizes


def declared_signatures(
    op: str,
    inputs: Inputs,
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
    parallel_num: int = 1,
    *,
    keep_small: bool = False,
) -> Declared:
    """Return what an op declares for a call. Raises what its functions raise, and `CheckError` for a wrong signature.

    Signatures that split an axis into more parts than it has elements are left out unless `keep_small`: a device would
    have nothing.
    """
    token = asked_parallel_num.set(parallel_num)
    try:
        with watching_attrs() as seen:
            raw, read = core().list_sbp(op, inputs, output_counts, attrs, parallel_num)
    finally:
        asked_parallel_num.reset(token)
    info = core().op_info(op)
    reads_sizes = bool(info["has_sbp"] or info["has_nd_sbp"])
    if info["source"]["library"].startswith("python:"):
        read = seen  # the core cannot see what a Python function reads
        reads_sizes = reads_sizes and rule_reads_sizes(op)
    sizes = [tuple(shape) for tensors in inputs for shape, _ in tensors]
    signatures = dict.fromkeys(tuple(Sbp(kind, axis) for kind, axis in signature) for signature in raw)
    broadcasts = tuple(Sbp(BROADCAST) for _ in next(iter(signatures)))
    kept = [
        signature
        for signature in signatures
        if (keep_small or _fits(signature, sizes, parallel_num)) and signature != broadcasts
    ]
    return Declared(signatures=(*kept, broadcasts), attrs_read=frozenset(read), reads_sizes=reads_sizes)


def rule_reads_sizes(op: str) -> bool:
    """Tell whether the signatures of an op of Python come from a function of the call."""
    from oneop.authoring.book import definition_of

    page = definition_of(op)
    return page is not None and bool(getattr(page.sbp, "reads_sizes", False))


def independent_signatures(
    op: str,
    inputs: Inputs,
    outputs: Sequence[tuple[Sequence[int], torch.dtype]],
    output_counts: Sequence[int],
    attrs: Mapping[str, object],
) -> list[Signature]:
    """Return the signatures that follow from a declaration that each index of an axis is treated by itself."""
    from oneop.authoring.book import definition_of
    from oneop.authoring.rules.infer import independence_of

    page = definition_of(op)
    if page is None or page.infer is None or page.infer.kind == "function":
        return []
    rule = independence_of(page.schema, page.infer.kind)
    if rule is None:
        return []
    rest = iter(outputs)
    specs = [[TensorSpec(tuple(shape), dtype) for shape, dtype in tensors] for tensors in inputs]
    made = [
        [TensorSpec(tuple(shape), dtype) for shape, dtype in (next(rest),)]
        for count in output_counts
        for _ in range(count)
    ]
    if not made:  # it changes its inputs, which are one shape
        made = [specs[0][:1]]
        return [
            tuple(Sbp(*entry) for entry in signature[: sum(map(len, inputs))]) for signature in rule(specs, made, attrs)
        ]
    return [tuple(Sbp(*entry) for entry in signature) for signature in rule(specs, made, attrs)]


def sbp_signatures(
    op: str, inputs: Sequence[Any], /, *, parallel_num: int = 1, **attrs: object
) -> list[dict[str, list[str]]]:
    """Return the SBP signatures of an op for these inputs, the one of broadcasts last.

    `inputs` has a shape, an `oneop.TensorSpec` or a tensor for each input tensor; or, where something is left out, one
    entry for each argument: a list of those for a variadic one, None for one that is absent. A signature maps each
    argument to `S(axis)`, `B` or `P` for each of its tensors. `parallel_num` leaves out those that split an axis into
    more parts than it has elements; an attribute of that name is given as `parallel_num_`.
    """
    definition = get_op(op)
    attrs = own_attrs(definition, attrs, ("parallel_num",))
    groups = group_inputs(definition, inputs)
    output_counts = default_output_counts(definition)
    counts = [*map(len, groups), *output_counts]
    names = [
        arg.name
        for arg, count in zip((*definition.inputs, *definition.outputs), counts, strict=True)
        for _ in range(count)
    ]
    entries = []
    for signature in declared_signatures(op, groups, output_counts, attrs, parallel_num).signatures:
        entry: dict[str, list[str]] = {}
        for name, sbp in zip(names, signature, strict=True):
            entry.setdefault(name, []).append(str(sbp))
        entries.append(entry)
    return entries


def text_of(op: OpDef, counts: Sequence[int], signature: Signature) -> str:
    """Return a signature as an author writes it, `S(0), B -> S(0)`; in brackets what differs within an argument."""
    rest = iter(signature)
    sides: list[list[str]] = [[], []]
    for position, count in enumerate(counts):
        entries = [str(next(rest)) for _ in range(count)]
        same = len(set(entries)) == 1
        text = entries[0] if same else "B" if not entries else f"[{', '.join(entries)}]"
        sides[position >= len(op.inputs)].append(text)
    return f"{', '.join(sides[0])} -> {', '.join(sides[1])}"


def default_output_counts(op: OpDef) -> list[int]:
    """Return the number of tensors of each output argument where the call does not say."""
    return [0 if arg.is_optional else max(arg.count, 1) for arg in op.outputs]


def own_attrs(op: OpDef, attrs: Mapping[str, Any], options: Sequence[str]) -> dict[str, Any]:
    """Return attributes by their names, where those named as an option of the caller came with an underscore."""
    names = {attr.name for attr in op.attrs}
    spelled = {f"{name}_": name for name in options if name in names and f"{name}_" not in names}
    return {spelled.get(name, name): value for name, value in attrs.items()}


def group_inputs(op: OpDef, inputs: Sequence[Any]) -> list[list[tuple[tuple[int, ...], torch.dtype]]]:
    """Return shape and dtype of each tensor of each argument. Raises `ArgumentError`."""
    if len(inputs) == len(op.inputs) and any(item is None or _is_list(item) for item in inputs):
        return [[] if item is None else [_spec(op, tensor) for tensor in _listed(item)] for item in inputs]
    counts = _spread(op.inputs, len(inputs))
    if any(count < 0 for count in counts):
        raise ArgumentError(
            f'op "{op.name}": expected inputs {", ".join(arg.name for arg in op.inputs)}, found {len(inputs)} of them\n'
            f"  give None for one that is absent\n  defined at {op.source}"
        )
    rest = iter(inputs)
    return [[_spec(op, next(rest)) for _ in range(count)] for count in counts]


def _listed(item: Any) -> Sequence[Any]:
    return item if _is_list(item) else [item]


def _is_list(item: Any) -> bool:
    """Tell a list of tensors from one shape."""
    return isinstance(item, (list, tuple)) and bool(item) and not all(isinstance(size, int) for size in item)


def _spec(op: OpDef, item: Any) -> tuple[tuple[int, ...], torch.dtype]:
    if isinstance(item, (TensorSpec, torch.Tensor)):
        return tuple(int(size) for size in item.shape), item.dtype
    if isinstance(item, (list, tuple)) and all(isinstance(size, int) for size in item):
        return tuple(item), torch.float32
    raise ArgumentError(f'op "{op.name}": expected a shape, an oneop.TensorSpec or a tensor, found {item!r}')


def _fits(signature: Signature, sizes: Sequence[Sequence[int]], parallel_num: int) -> bool:
    return all(sbp.kind != SPLIT or size[sbp.axis] >= parallel_num for sbp, size in zip(signature, sizes, strict=False))


def _spread(args: Sequence[ArgDef], total: int) -> list[int]:
    """Give each input argument its number of tensors; what is left over goes to the one that is open."""
    counts = [0 if arg.is_optional else arg.count for arg in args]
    left = total - sum(counts)
    for i, arg in enumerate(args):
        if left > 0 and (arg.count_is_minimum or arg.is_optional):
            more = left if arg.count_is_minimum else arg.count
            counts[i] += more
            left -= more
    if left and counts:
        counts[-1] += left  # the core says what is wrong with it
    return counts
