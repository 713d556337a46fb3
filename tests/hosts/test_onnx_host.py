"""oneop.onnx: nodes in ONNX Runtime against the numpy host, which is compared with torch's."""

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

from host_cases import CASES, library, name_of, same_bits  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import oneop.numpy as onp  # noqa: E402
import oneop.onnx as oonnx  # noqa: E402
from oneop.errors import ArgumentError, LoadError  # noqa: E402
from oneop.hosts.engine import engine  # noqa: E402
from oneop.onnx.attributes import DTYPES, encode  # noqa: E402

CALLED = [case for case in CASES if not case.is_in_place]
SIZES = {"rows": st.sampled_from([1, 2, 5]), "columns": st.sampled_from([1, 3, 8])}
X = np.array([-1.0, 0.5, 2.0], np.float32)


@pytest.fixture(autouse=True)
def one_thread():
    onp.set_num_threads(1)


def flat(values):
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]


def outputs_of(result):
    return list(result) if isinstance(result, tuple) else [result]


def node_attributes(op, attrs):
    kinds = {attr["name"]: attr["type"] for attr in engine().op_info(op)["attrs"]}
    return {name: encode(value, kinds.get(name, "list of int64")) for name, value in attrs.items()}


def type_of(array, shape=None):
    return onnx.helper.make_tensor_type_proto(DTYPES[array.dtype.name], array.shape if shape is None else shape)


def model_of(op, inputs, outputs, attributes, shapes=None):
    """A model of one node. `inputs`: arrays, `outputs`: arrays of the right dtypes, whose shapes are not told."""
    names = [f"x{i}" for i in range(len(inputs))]
    made = [f"y{i}" for i in range(len(outputs))]
    node = onnx.helper.make_node(op, names, made, domain="oneop", **attributes)
    shapes = shapes or [array.shape for array in inputs]
    graph = onnx.helper.make_graph(
        [node],
        "graph",
        [
            onnx.helper.make_value_info(name, type_of(x, shape))
            for name, x, shape in zip(names, inputs, shapes, strict=True)
        ],
        [
            onnx.helper.make_value_info(name, onnx.helper.make_tensor_type_proto(DTYPES[y.dtype.name], None))
            for name, y in zip(made, outputs, strict=True)
        ],
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("oneop", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)


def session_of(model, *names):
    options = oonnx.session_options([library(name) for name in names], num_threads=1)
    options.log_severity_level = 4  # what fails is raised too
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def value_of(array):
    array = np.ascontiguousarray(array)
    if array.dtype.name not in ("bfloat16",):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), DTYPES[array.dtype.name])


def bits_of(value, like):
    """The result as an array; numpy has no bfloat16, so its bits are copied."""
    if like.dtype.name != "bfloat16":
        return value.numpy()
    import ctypes

    made = np.empty(value.shape(), np.uint16)
    ctypes.memmove(made.ctypes.data, value.data_ptr(), made.nbytes)
    return made.view(like.dtype)


def run(session, arrays, expected):
    feeds = {f"x{i}": value_of(x) for i, x in enumerate(arrays)}
    values = session.run_with_ort_values(None, feeds)
    return [bits_of(value, y) for value, y in zip(values, expected, strict=True)]


def call(case, inputs, expected, shapes=None):
    info = engine().op_info(case.op)
    groups = [x if isinstance(x, list) else [] if x is None else [x] for x in inputs]
    groups += [[] for _ in info["inputs"][len(groups) :]]
    attributes = node_attributes(case.op, case.attrs)
    if [len(group) for group in groups] != [1] * len(groups):
        attributes["input_counts"] = [len(group) for group in groups]
    arrays = [x for group in groups for x in group]
    session = session_of(model_of(case.op, arrays, expected, attributes, shapes), case.library)
    return run(session, arrays, expected)


@pytest.mark.parametrize("case", CALLED, ids=name_of)
def test_results_are_those_of_numpy(case):
    theirs = getattr(onp.load(library(case.library)), case.op)

    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(case.dtypes), seed=st.integers(0, 99), open_shapes=st.booleans())
    def holds(rows, columns, dtype, seed, open_shapes):
        inputs = case.inputs(seed, rows, columns, dtype)
        expected = outputs_of(theirs(*inputs, **case.attrs))
        arrays = [x for x in flat(inputs) if x is not None]
        shapes = [[f"s{i}_{d}" for d in range(x.ndim)] for i, x in enumerate(arrays)] if open_shapes else None
        result = call(case, inputs, expected, shapes)
        assert len(result) == len(expected) and all(map(same_bits, result, expected))

    holds()
