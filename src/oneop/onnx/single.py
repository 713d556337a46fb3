"""One call of an op as a model of one node: for checks and tests."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneop._build.library import Library
from oneop.hosts.engine import engine, load_ops
from oneop.hosts.frameworks import numpy_dtype
from oneop.hosts.gradients import Call
from oneop.onnx.attributes import DTYPES, Encoded, encode
from oneop.onnx.session import session_options
from oneop.onnx.translation import DOMAIN


def node_model(
    op: str,
    inputs: Sequence[Any],
    output_dtypes: Sequence[str],
    attributes: dict[str, Encoded],
    shapes: Sequence[Sequence[Any]] | None = None,
) -> Any:
    """Return a model of one node, x0, x1, ... to y0, y1, ... `shapes`: those of the inputs that the model tells.

    ONNX Runtime runs no model without outputs: where the node has none, there is one of x0, as it is.
    """
    from onnx import helper

    names = [f"x{i}" for i in range(len(inputs))]
    made = [f"y{i}" for i in range(len(output_dtypes))]

    def told(name: str, dtype: str, shape: Sequence[Any] | None) -> Any:
        return helper.make_value_info(name, helper.make_tensor_type_proto(DTYPES[dtype], shape))

    outputs = [told(name, dtype, None) for name, dtype in zip(made, output_dtypes, strict=True)]
    nodes = [helper.make_node(op, names, made, domain=DOMAIN, **attributes)]
    if not made and inputs:
        nodes.append(helper.make_node("Identity", ["x0"], ["as_it_is"]))
        outputs.append(told("as_it_is", inputs[0].dtype.name, None))
    graph = helper.make_graph(
        nodes,
        "call",
        [
            told(name, x.dtype.name, shape)
            for name, x, shape in zip(names, inputs, shapes or [x.shape for x in inputs], strict=True)
        ],
        outputs,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def run_model(session: Any, inputs: Sequence[Any], output_dtypes: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    """Run such a model."""
    feeds = {f"x{i}": _value(x) for i, x in enumerate(inputs)}
    values = session.run_with_ort_values(None, feeds)
    named = values[: len(output_dtypes)]
    return [_array(value, dtype) for value, dtype in zip(named, output_dtypes, strict=True)]


def is_taken(dtype: str) -> bool:
    """Tell whether the installed ONNX Runtime takes arrays of this dtype from Python."""
    from onnxruntime import OrtValue

    if dtype.startswith("complex") or dtype not in DTYPES:
        return False
    return numpy_dtype(dtype).kind != "V" or hasattr(OrtValue, "ortvalue_from_numpy_with_onnx_type")


def _value(array: Any) -> Any:
    from onnxruntime import OrtValue

    dense = np.asarray(array, order="C")
    if dense.dtype.kind != "V":
        return OrtValue.ortvalue_from_numpy(dense)
    bits = dense.view(np.dtype(f"u{dense.dtype.itemsize}"))
    return OrtValue.ortvalue_from_numpy_with_onnx_type(bits, DTYPES[dense.dtype.name])


def _array(value: Any, dtype: str) -> np.ndarray[Any, Any]:
    wanted = numpy_dtype(dtype)
    if wanted.kind != "V":
        array: np.ndarray[Any, Any] = value.numpy()
        return array
    made = np.empty(value.shape(), wanted)  # numpy has no such dtype, so the bits are copied
    ctypes.memmove(made.ctypes.data, value.data_ptr(), made.nbytes)
    return made


class OnnxOp:
    """An op as a function of numpy arrays that ONNX Runtime runs; attributes by name.

    The library is loaded into the numpy host too, which says what dtypes come out.
    """

    def __init__(
        self, library: Library | str | os.PathLike[str], name: str, package: str = "", num_threads: int | None = None
    ) -> None:
        self.__name__ = name
        self._whole = f"{package}__{name}" if package else name
        self._options = session_options([library], num_threads=num_threads)
        self._options.log_severity_level = 4  # what fails is raised too
        load_ops(library, package)
        info = engine().op_info(self._whole)
        self._inputs = info["inputs"]
        self._kinds = {attr["name"]: attr["type"] for attr in info["attrs"]}

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """Call the op: a tuple of all outputs."""
        import onnxruntime

        tensors, words, counts = engine().bind(self._whole, args, kwargs)
        specs = tuple(tuple((x.shape, x.dtype.name) for x in group) for group in tensors)
        dtypes = [dtype for _, dtype in Call(self._whole, specs, words, tuple(counts)).infer()]
        attributes = {name: encode(value, self._kinds[name]) for name, value in kwargs.items() if name in self._kinds}
        for argument, value in zip(self._inputs, args, strict=False):
            if argument["has_gaps"] and any(x is None for x in value):
                attributes[f"{argument['name']}_given"] = [int(x is not None) for x in value]
        numbers = {"input_counts": [len(group) for group in tensors], "output_counts": list(counts)}
        attributes |= {name: values for name, values in numbers.items() if values}  # ONNX has no empty list
        inputs = [x for group in tensors for x in group]
        model = node_model(self.__name__, inputs, dtypes, attributes).SerializeToString()
        session = onnxruntime.InferenceSession(model, self._options, ["CPUExecutionProvider"])
        return tuple(run_model(session, inputs, dtypes))
