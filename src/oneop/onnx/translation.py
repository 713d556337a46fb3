"""Ops in models that `torch.onnx.export` writes: nodes of the domain `oneop`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from oneop.errors import MissingDependencyError
from oneop.onnx.attributes import encode

DOMAIN = "oneop"


def translation_table() -> dict[Any, Callable[..., Any]]:
    """Return what `torch.onnx.export(..., dynamo=True, custom_translation_table=...)` needs for the loaded ops.

    An op becomes a node of the same name in the domain `oneop`. Call it after the libraries are loaded. Ops that are
    defined in Python are left out, since no library has them, and those that change an input, since tensors of ONNX do
    not change.
    """
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"translation_table needs what torch.onnx.export uses, and there is no {' and no '.join(missing)}\n"
            f"  pip install onnx onnxscript"
        )
    import torch

    from oneop import registry
    from oneop.runtime.core import loaded_libraries

    table: dict[Any, Callable[..., Any]] = {}
    for name in registry.list_ops():
        op = registry.get_op(name)
        if op.source.library in loaded_libraries and not any(argument.is_mutable for argument in op.inputs):
            library = loaded_libraries[op.source.library][1]
            table[getattr(torch.ops.oneop, name).default] = _translation(op, library.package)
    return table


def _translation(op: Any, package: str) -> Callable[..., Any]:
    """Return the function that the exporter calls with the arguments of a call: it records a node."""
    import torch

    schema = getattr(torch.ops.oneop, op.name).default._schema
    ours = {argument.name for argument in (*op.inputs, *op.attrs)}
    # A name that Python reserves has an underscore behind it in torch.
    names = {
        argument.name: argument.name if argument.name in ours else argument.name.removesuffix("_")
        for argument in schema.arguments
    }
    is_list = len(schema.returns) == 1 and isinstance(schema.returns[0].type, torch.ListType)

    def translate(*args: Any, **kwargs: Any) -> Any:
        arguments = {names[name]: value for name, value in {**dict(zip(names, args, strict=False)), **kwargs}.items()}
        outputs = _record(op, op.name.removeprefix(f"{package}__") if package else op.name, arguments)
        return outputs if is_list or len(outputs) != 1 else outputs[0]

    translate.__name__ = op.name
    return translate


def _record(op: Any, op_type: str, arguments: dict[str, Any]) -> list[Any]:
    """Add a node to the graph that is being exported; return its outputs."""
    import onnxscript
    from onnxscript import ir

    inputs: list[Any] = []
    counts: list[int] = []
    attributes: dict[str, Any] = {}
    for argument in op.inputs:
        value = arguments.pop(argument.name, None)
        group = list(value) if isinstance(value, (list, tuple)) else [value]
        tensors = [item for item in group if item is not None]
        inputs += tensors
        counts.append(len(tensors))
    kinds = {attr.name: attr.type for attr in op.attrs}
    for name, value in arguments.items():
        if name in kinds:
            attributes[name] = encode(value, kinds[name])
    output_counts = list(arguments.get("output_counts") or [_count(output) for output in op.outputs])
    if counts != [1] * len(counts):
        attributes["input_counts"] = counts
    if output_counts != [1] * len(output_counts):
        attributes["output_counts"] = output_counts
    node = ir.Node(
        DOMAIN,
        op_type,
        inputs,
        ir.convenience.convert_attributes(attributes),
        num_outputs=sum(output_counts),
        version=1,
    )
    onnxscript.evaluator.default().nodes.append(node)
    return list(node.outputs)


def _count(output: Any) -> int:
    return 0 if output.is_optional else int(output.count)
