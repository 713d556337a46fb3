"""Kernels that are compositions of torch's ops: one op in eager, looked through where torch traces below autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree

from oneop.authoring.binding import Source, source_of, taken_by
from oneop.authoring.book import attrs_of_call, definition_of, schema_of
from oneop.authoring.schema import Schema
from oneop.authoring.spec import TensorSpec, flatten_result
from oneop.runtime.core import core

_traceable: set[str] = set()
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def make_traceable(schema: Schema) -> None:
    """Let torch.compile trace through a kernel. Autograd comes first, so a registered gradient stays in use."""
    if schema.name in _traceable:
        return  # it looks for the kernel at each trace
    _traceable.add(schema.name)

    def trace(mode: Any, overload: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
        if not all(issubclass(kind, (FunctionalTensor, FakeTensor)) or kind in _PLAIN for kind in types):
            # A DTensor, say: its own class takes the call apart first, and what runs below is traced through.
            return mode.__torch_dispatch__(overload, types, args, kwargs)
        with mode:
            result = _compose(schema.name, overload, args, kwargs or {})
        return mode.__torch_dispatch__(overload, types, args, kwargs) if result is NotImplemented else result

    torch.library.register_torch_dispatch(f"oneop::{schema.name}", FunctionalTensorMode, trace)


def _compose(name: str, overload: Any, args: Sequence[Any], attrs: dict[str, Any]) -> Any:
    arguments = overload._schema.arguments
    # torch leaves out what equals a default.
    args = [*args, *(a.default_value for a in arguments[len(args) :] if not a.kwarg_only)]
    lists = [list(arg) if isinstance(arg, (list, tuple)) else [arg] if arg is not None else [] for arg in args]
    chosen = core().composition_of(name, lists)
    info = core().op_info(name)
    changes = any(arg["is_mutable"] for arg in info["inputs"])
    if chosen is None or (info["side_effect"] and not changes):  # what it does beside tensors happens at each call
        return NotImplemented
    schema = schema_of(name)
    taken = taken_by(chosen, schema, "kernel", source_of(chosen, Source(file="", line=0, library="")))
    values = attrs_of_call(name, overload, attrs)
    keywords = {attr: values[attr] for attr in taken.attrs}
    if changes:
        args = _read_before_change(args, [arg["is_mutable"] for arg in info["inputs"]])
    if not taken.out:
        return _fresh(args, chosen(*args, **keywords))
    outputs = _empty_outputs(name, args, values)
    if outputs is None:
        return NotImplemented
    results = outputs[0] if len(outputs) == 1 else tuple(outputs)
    arranged = [pytree.tree_map_only(torch.Tensor, torch.Tensor.contiguous, arg) for arg in args]
    chosen(*arranged, **keywords, out=results)
    if changes:
        _write_back(args, arranged, [arg["is_mutable"] for arg in info["inputs"]])
    return results


def _write_back(args: Sequence[Any], arranged: Sequence[Any], is_mutable: Sequence[bool]) -> None:
    """Keep what eager calls keep: what a kernel writes into a copy of an input reaches the input."""
    for arg, copied, flag in zip(args, arranged, is_mutable, strict=True):
        for tensor, copy in zip(pytree.tree_leaves(arg), pytree.tree_leaves(copied), strict=True):
            if flag and isinstance(tensor, torch.Tensor) and copy is not tensor:
                tensor.copy_(copy)


def _read_before_change(args: Sequence[Any], is_mutable: Sequence[bool]) -> list[Any]:
    """Keep what eager calls keep: inputs are read as they were before the op changes one that shares their memory."""
    changed = {
        _memory(value)
        for arg, flag in zip(args, is_mutable, strict=True)
        for value in pytree.tree_leaves(arg)
        if flag and isinstance(value, torch.Tensor)
    }

    def own(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) and _memory(value) in changed else value

    return [arg if flag else pytree.tree_map(own, arg) for arg, flag in zip(args, is_mutable, strict=True)]


def _fresh(args: Sequence[Any], results: Any) -> Any:
    """Keep what eager calls keep: an output is contiguous, and shares memory with no input and no other output."""
    taken = {_memory(value) for value in pytree.tree_leaves(list(args)) if isinstance(value, torch.Tensor)}

    def own(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        is_shared = _memory(value) in taken
        taken.add(_memory(value))
        return value.clone(memory_format=torch.contiguous_format) if is_shared else value.contiguous()

    return pytree.tree_map(own, results)


def _memory(tensor: torch.Tensor) -> StorageWeakRef:
    return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]


def _empty_outputs(name: str, args: Sequence[Any], attrs: dict[str, Any]) -> list[torch.Tensor] | None:
    page = definition_of(name)
    if page is None or page.infer is None:
        return None

    def spec(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [spec(item) for item in value]
        return None if value is None else TensorSpec(tuple(value.shape), value.dtype)

    inputs = [spec(arg) for arg in args]
    device = next(t.device for arg in args for t in (arg if isinstance(arg, (list, tuple)) else [arg]) if t is not None)
    result = page.infer.function(inputs, attrs)
    count = sum(arg.count for arg in page.schema.outputs)
    specs = flatten_result(page.schema, str(page.infer.source), result, inputs, count)
    return [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in specs]
