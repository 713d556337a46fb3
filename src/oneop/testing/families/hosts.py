"""The same library in every host that is installed: the same bits as in torch, gradients included."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from oneop.errors import GradientError, OpNotImplementedError
from oneop.runtime.core import loaded_libraries
from oneop.testing.case import Case, Restriction
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context, skipped
from oneop.testing.report import Outcome

#: Dtypes that numpy has only with ml_dtypes, by the integers that hold their bits.
_BITS = {torch.bfloat16: torch.int16, torch.float8_e4m3fn: torch.int8, torch.float8_e5m2: torch.int8}


def hosts(context: Context) -> Outcome:
    """A call in another host gives the bits that it gives in torch; so does its gradient."""
    subject = context.subject
    known = loaded_libraries.get(subject.op.source.library)
    if known is None:
        return skipped("hosts", "not of a library: other hosts load libraries alone")
    import oneop.numpy

    oneop.numpy.set_num_threads(torch.get_num_threads())
    library = known[1]
    name = subject.name.removeprefix(f"{library.package}__") if library.package else subject.name
    ops = {"numpy": getattr(oneop.numpy.load(library.path, package=library.package), name)}
    on_cpu: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    is_for_jax = not any(arg.is_mutable for arg in subject.op.inputs) and not any(subject.dynamic_axes)
    if importlib.util.find_spec("jax") is not None and is_for_jax:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # a GPU's memory is torch's here
        import jax

        import oneop.jax

        jax.config.update("jax_enable_x64", True)
        on_cpu = jax.default_device(jax.devices("cpu")[0])  # where the cases are; JAX prefers a GPU
        ops["jax"] = getattr(oneop.jax.load(library.path, package=library.package), name)

    if all(map(importlib.util.find_spec, ("onnxruntime", "onnx"))) and not any(
        arg.is_mutable for arg in subject.op.inputs
    ):
        from oneop.onnx.single import OnnxOp

        ops["onnxruntime"] = OnnxOp(library.path, name, library.package, torch.get_num_threads())

    def holds(case: Case) -> None:
        tensors = case.make()
        expected = case.run(tensors)
        arrays = [_array(tensor) for tensor in case.make()]
        for host, op in ops.items():
            if host == "onnxruntime" and not _is_for_onnx([*arrays, *map(_array, expected)]):
                continue
            results = op(*case.group(arrays), **_attributes(case))
            flat = list(results) if isinstance(results, tuple) else [results]
            _compare(host, "result", [*flat, *case.changed(arrays)], expected)
        if subject.op.grad is not None:
            _gradients(case, ops["numpy"])

    with on_cpu:
        return context.explore("hosts", Restriction(layouts=("contiguous", "transposed")), holds)


def _gradients(case: Case, op: Callable[..., Any]) -> None:
    from oneop.numpy import vjp

    tensors = [tensor.requires_grad_(tensor.is_floating_point()) for tensor in case.make()]
    outputs = [y for y in case.run(tensors) if y.requires_grad]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if not outputs or not wanted:
        return
    expected = torch.autograd.grad(outputs, wanted, [torch.ones_like(y) for y in outputs], allow_unused=True)
    arrays = [_array(tensor.detach()) for tensor in case.make()]
    try:
        made, pullback = vjp(op, *case.group(arrays), **_attributes(case))
        grads = pullback(*(np.ones_like(y) for y in (made if isinstance(made, tuple) else (made,))))
    except (GradientError, OpNotImplementedError) as error:
        raise Broken(f"numpy: {error}") from None
    flat = [grad for group in grads for grad in (group if isinstance(group, list) else [group]) if grad is not None]
    if all(step["is_op"] for step in _steps(case, op, arrays)):  # steps of torch's own are numpy's there
        _compare("numpy", "gradient", flat, [grad for grad in expected if grad is not None])


def _steps(case: Case, op: Callable[..., Any], arrays: Sequence[Any]) -> Sequence[dict[str, Any]]:
    from oneop.hosts.engine import engine
    from oneop.hosts.gradients import Call, Gradient

    tensors, words, counts = engine().bind(op.__name__, tuple(case.group(arrays)), _attributes(case))
    specs = tuple(tuple((x.shape, x.dtype.name) for x in group) for group in tensors)
    called = Call(op.__name__, specs, words, tuple(counts))
    return Gradient.of(called, [True] * called.num_inputs).steps


def _is_for_onnx(arrays: Sequence[Any]) -> bool:
    from oneop.onnx.single import is_taken

    return all(is_taken(array.dtype.name) for array in arrays)


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    if tensor.dtype not in _BITS:
        return tensor.numpy()
    from oneop.hosts.frameworks import numpy_dtype

    bits = tensor.contiguous().view(_BITS[tensor.dtype]).numpy()
    return bits.view(numpy_dtype(str(tensor.dtype).removeprefix("torch.")))


def _attributes(case: Case) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value

    return {name: plain(value) for name, value in case.attributes.items()}


def _compare(host: str, what: str, found_arrays: Sequence[Any], expected: Sequence[torch.Tensor]) -> None:
    for i, (array, tensor) in enumerate(zip(found_arrays, expected, strict=True)):
        ours, theirs = np.asarray(array), _array(tensor.detach())
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape or ours.tobytes() != theirs.tobytes():
            raise Broken(f"{host} and torch give different bits: {what} {i}\n  {host}: {ours!r}\n  torch: {theirs!r}")
