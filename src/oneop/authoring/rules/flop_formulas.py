"""The operations of a call: `op.flops(...)`, and formulas for torch's own counter.

torch keeps formulas in a table that `FlopCounterMode` copies, and with it whatever estimates costs by it: the
partitioner of `torch.compile` where a memory budget is set, Inductor's estimates. Its module is large, so ops are
entered when somebody imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverloadPacket

from oneop.authoring.book import attrs_of_call
from oneop.errors import ArgumentError, did_you_mean
from oneop.registry import get_op
from oneop.runtime.after_import import after_import
from oneop.runtime.core import core, find_op
from oneop.runtime.modes import untraced
from oneop.signatures import default_output_counts, group_inputs

if TYPE_CHECKING:
    from oneop._core import Op

#: The ops that count, and what torch calls them: another object after another schema.
_counting: dict[str, OpOverloadPacket] = {}
#: torch's module, once it is imported.
_counter: Any = None


@untraced
def flops(op: Op, /, *inputs: Any, output_counts: Sequence[int] | None = None, **attrs: Any) -> int:
    """Return how many arithmetic operations a call takes, as the op declares it; nothing is computed.

    Args:
        op: the op.
        inputs: a shape, an `oneop.TensorSpec` or a tensor for each input, None for one that is absent.
        output_counts: how many tensors each output has, where calls say it.
        attrs: the attributes, by name.

    Raises:
        OpNotImplementedError: the op declares no count.
        ArgumentError: there is no such attribute, or an input is none of these.
    """
    definition = get_op(op.__name__)
    known = [attr.name for attr in definition.attrs]
    if output_counts is not None and "output_counts" in known:  # the op's own: its number of outputs is fixed
        attrs, output_counts = {**attrs, "output_counts": output_counts}, None
    for name in attrs:
        if name not in known:
            raise ArgumentError(f'op "{definition.name}" has no attribute "{name}"{did_you_mean(name, known)}')
    counts = default_output_counts(definition) if output_counts is None else list(output_counts)
    operations: float = core().count_operations(definition.name, group_inputs(definition, inputs), counts, attrs)
    return round(operations)


def declare(names: Iterable[str]) -> None:
    """Enter formulas of these ops with torch, and remove those of ops that are gone or count no longer."""
    gone = _counting.keys() - set(core().op_names()) if _counting else set()
    for name in [*gone, *names]:
        before = _counting.pop(name, None)
        if before is not None and _counter is not None:
            _counter.flop_registry.pop(before, None)
        if name not in gone and core().op_info(name)["has_flops"]:
            _counting[name] = getattr(torch.ops.oneop, name)
            if _counter is not None:
                _enter(name)


def _enter_all(module: Any) -> None:
    global _counter
    _counter = module
    for name in _counting:
        _enter(name)


after_import("torch.utils.flop_counter", _enter_all)


def _enter(name: str) -> None:
    _counter.flop_registry.pop(_counting[name], None)  # a program's own: torch refuses a second one
    _counter.register_flop_formula(_counting[name], get_raw=True)(_formula(name))


def _formula(name: str) -> Callable[..., int]:
    def formula(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return _count_call(name, args, kwargs)

    return formula


def _count_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Count a call as torch makes it. One with sizes that depend on data counts 0: nobody knows them yet."""
    definition, overload = get_op(name), find_op(name).overload
    names = [argument.name for argument in overload._schema.arguments]
    values = dict(zip(names, args, strict=False)) | {key: kwargs[key] for key in names if key in kwargs}
    try:
        values = {key: _without_symbols(value) for key, value in values.items()}
    except _UnknownSize:
        return 0
    inputs = [values.pop(key, None) for key in names[: len(definition.inputs)]]
    groups = [[] if item is None else item if isinstance(item, list) else [item] for item in inputs]
    counts = values.pop("output_counts", None) or default_output_counts(definition)
    values.pop("device", None)
    operations: float = core().count_operations(name, groups, counts, attrs_of_call(name, overload, values))
    return round(operations)


class _UnknownSize(Exception):
    pass


def _without_symbols(value: Any) -> Any:
    """Return shape and dtype of a tensor, and the number that a symbol stands for now, without a guard."""
    if isinstance(value, torch.Tensor):
        return tuple(_without_symbols(size) for size in value.shape), value.dtype
    if isinstance(value, (list, tuple)):
        return [_without_symbols(item) for item in value]
    if not isinstance(value, (torch.SymInt, torch.SymFloat)):
        return value
    constant = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else None
    number = value.node.hint if constant is None else constant
    if number is None:
        raise _UnknownSize
    return number
