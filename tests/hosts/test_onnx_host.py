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
from oneop.onnx.attributes import encode  # noqa: E402
from oneop.onnx.single import OnnxOp, is_taken, node_model, run_model  # noqa: E402

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


def model_of(op, inputs, outputs, attributes, shapes=None):
    """A model of one node. `inputs`: arrays, `outputs`: arrays of the right dtypes."""
    return node_model(op, inputs, [y.dtype.name for y in outputs], attributes, shapes)


def session_of(model, *names):
    options = oonnx.session_options([library(name) for name in names], num_threads=1)
    options.log_severity_level = 4  # what fails is raised too
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def run(session, arrays, outputs):
    return run_model(session, arrays, [y.dtype.name for y in outputs])


def call(case, inputs, expected, shapes=None):
    info = engine().op_info(case.op)
    kinds = {attr["name"]: attr["type"] for attr in info["attrs"]}
    attributes = {name: encode(value, kinds.get(name, "list of int64")) for name, value in case.attrs.items()}
    groups = [x if isinstance(x, list) else [] if x is None else [x] for x in inputs]
    groups += [[] for _ in info["inputs"][len(groups) :]]
    if [len(group) for group in groups] != [1] * len(groups):
        attributes["input_counts"] = [len(group) for group in groups]
    arrays = [x for group in groups for x in group]
    session = session_of(model_of(case.op, arrays, expected, attributes, shapes), case.library)
    return run(session, arrays, expected)


@pytest.mark.parametrize("case", CALLED, ids=name_of)
def test_results_are_those_of_numpy(case):
    theirs = getattr(onp.load(library(case.library)), case.op)
    dtypes = [dtype for dtype in case.dtypes if is_taken(dtype)]

    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(dtypes), seed=st.integers(0, 99), open_shapes=st.booleans())
    def holds(rows, columns, dtype, seed, open_shapes):
        inputs = case.inputs(seed, rows, columns, dtype)
        expected = outputs_of(theirs(*inputs, **case.attrs))
        arrays = [x for x in flat(inputs) if x is not None]
        shapes = [[f"s{i}_{d}" for d in range(x.ndim)] for i, x in enumerate(arrays)] if open_shapes else None
        result = call(case, inputs, expected, shapes)
        assert len(result) == len(expected) and all(map(same_bits, result, expected))

    holds()


def node_of(op, libraries, inputs, outputs, **attributes):
    return session_of(model_of(op, inputs, outputs, attributes), *libraries)


def refused(match, op, *libraries, inputs=(X,), outputs=(X,), **attributes):
    """Whether a model of one node is refused, when its session is made or when it runs."""
    with pytest.raises(Exception, match=match):
        run(node_of(op, libraries, inputs, outputs, **attributes), inputs, outputs)


def test_numbers_are_what_the_op_declares():
    relu = onp.load(library("leaky_relu")).leaky_relu
    forms = {"0.2": 0.2, 0.25: 0.25, 2: 2.0, "-0.0": -0.0, "1e-30": 1e-30, "inf": np.inf}
    for written, meant in forms.items():
        x = np.array([-1.0, 2.0], np.float64)
        (y,) = run(node_of("leaky_relu", ["leaky_relu"], [x], [x], alpha=written), [x], [x])
        assert same_bits(y, relu(x, alpha=meant))
    (y,) = run(node_of("leaky_relu", ["leaky_relu"], [X], [X]), [X], [X])
    assert same_bits(y, relu(X))
    encoded = [encode(0.1, "double"), encode(0.5, "double"), encode([0.5, 0.1], "list of float"), encode(True, "bool")]
    assert encoded == ["0.1", 0.5, "[0.5, 0.1]", 1]
    assert encode(True, "scalar") == "true" and encode(2 + 1j, "scalar") == "[2.0, 1.0]"
    assert encode(None, "int64") == "null"
    assert encode(["a", 'b"\n'], "list of string") == '["a", "b\\"\\n"]' and encode([], "list of int64") == "[]"
    assert encode("float32", "dtype") == 1 and encode(np.dtype("int64"), "dtype") == 7


def test_mistakes_in_attributes():
    wrong = 'op "leaky_relu", node attribute "alpha": it does not hold a value of the type that the op declares'
    for value in ["[1]", "true", '"a"', [1.0], "{}"[:0] + "[[]]"]:
        refused(wrong, "leaky_relu", "leaky_relu", alpha=value)
    for value in ["1..5", "[1,", '"a', "nul", "", '["\\q"]', "[" * 20]:
        refused('node attribute "alpha": expected JSON, found', "leaky_relu", "leaky_relu", alpha=value)
    tensor = onnx.helper.make_tensor("a", 1, [1], [0.5])
    refused(wrong, "leaky_relu", "leaky_relu", alpha=tensor)
    refused(
        "does not hold a value of the type", "oph_total", "op_h", inputs=[X, X], weights=tensor, input_counts=[2, 0]
    )
    refused(
        'op "oph_total", node attribute "input_counts": there are 1 counts for 2 arguments',
        "oph_total",
        "op_h",
        inputs=[X, X],
        input_counts=[2],
    )
    refused("oph_softmax", "oph_softmax", "op_h", output_counts=[1, 1])  # ONNX Runtime's own words
    refused('op "leaky_relu" gives 1 tensors, and the node has 2 outputs', "leaky_relu", "leaky_relu", outputs=[X, X])
    refused('attribute "f": expected a list of floats of length 2', "oh_pairs", "forms", f=[0.5, 0.5, 0.5])
    with pytest.raises(ArgumentError, match="an attribute of ONNX cannot hold None as a string"):
        encode(None, "string")
    with pytest.raises(ArgumentError, match="ONNX has no dtype complex32"):
        encode("complex32", "dtype")


def test_mistakes_in_calls_are_told_as_elsewhere():
    refused(r'op "host_fails", kernel at .*: out of patience', "host_fails", "host_ops")
    refused(
        'op "oph_add_" changes its input "x", and tensors of ONNX do not', "oph_add_", "op_h", inputs=[X, X], outputs=[]
    )
    whole = X.astype(np.int32)
    refused(
        'no kernel for op "leaky_relu" on cpu, dtype int32', "leaky_relu", "leaky_relu", inputs=[whole], outputs=[whole]
    )
    texts = model_of("leaky_relu", [X], [X], {})
    texts.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    with pytest.raises(
        Exception, match='op "leaky_relu", tensor 0: op libraries have no such dtype as the model gives'
    ):
        session_of(texts, "leaky_relu").run(None, {"x0": np.array(["a", "b", "c"], object)})
    refused(
        r"Type \(tensor\(double\)\) of output arg \(y0\)|the model declares another dtype than the op gives",
        "leaky_relu",
        "leaky_relu",
        outputs=[X.astype(np.float64)],
    )


def test_inputs_that_are_left_out():
    theirs = onp.load(library("arguments")).t_affine
    session = node_of("t_affine", ["arguments"], [X, 2 * X], [X], input_counts=[1, 0, 1])
    assert same_bits(run(session, [X, 2 * X], [X])[0], theirs(X, None, 2 * X))
    (y,) = run(node_of("t_affine", ["arguments"], [X, X], [X]), [X, X], [X])  # those at the end
    assert same_bits(y, theirs(X, X, None))


def test_values_between_nodes_need_no_declared_type():
    helper = onnx.helper
    model = model_of("t_parts", [X], [X], {}, shapes=[["n"]])
    nodes = [
        helper.make_node("t_parts", ["x0"], ["whole", "squares"], domain="oneop"),
        helper.make_node("oph_half_plus", ["whole"], ["halves"], domain="oneop"),
        helper.make_node("Cast", ["halves"], ["numbers"], to=1),
        helper.make_node("t_add_n", ["squares", "numbers"], ["y0"], domain="oneop"),
    ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    (y,) = run(session_of(model, "arguments", "op_h"), [X], [X])
    arguments = onp.load(library("arguments"))
    whole, squares = arguments.t_parts(X)
    halves = onp.load(library("op_h")).oph_half_plus(whole)
    assert same_bits(y, arguments.t_add_n([squares, halves.astype(np.float32)]))


def test_outputs_that_nobody_uses():
    model = model_of("t_parts", [X], [X.astype(np.int64), X], {})
    model.graph.node[0].output[0] = ""
    model.graph.output.pop(0)
    expected = onp.load(library("arguments")).t_parts(X)
    assert same_bits(run(session_of(model, "arguments"), [X], expected[1:])[0], expected[1])


DYNAMIC = """
#include "oneop/op.h"
OP("hosts_positive(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set_like("y", "x"); })
    .dynamic("y", 0)
    .kernel<float(float)>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
      int64_t count = 0;
      for (int64_t i = 0; i != x.numel(); ++i) {
        if (x[i] > 0) y[count++] = x[i];
      }
      call.set_size("y", 0, count);
    })
    .no_grad();
"""


def test_outputs_whose_size_depends_on_data(tmp_path):
    from oneop._build.library import build

    (tmp_path / "positive.cpp").write_text(DYNAMIC)
    options = oonnx.session_options([build("hosts_positive", [tmp_path / "positive.cpp"])])
    model = model_of("hosts_positive", [X], [X], {})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    for x in (X, -X, np.zeros_like(X)):
        assert same_bits(session.run(None, {"x0": x})[0], x[x > 0])


def test_threads_scratch_memory_and_many_sessions_at_once():
    from concurrent.futures import ThreadPoolExecutor

    x = np.arange(1000, dtype=np.float32)
    options = oonnx.session_options([library("host_ops")], num_threads=3)
    model = model_of("host_counts", [x], [x], {}, shapes=[["n"]]).SerializeToString()
    sessions = [onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]) for _ in range(2)]

    def call(i):
        part = x[: i * 7 + 1]
        return same_bits(sessions[i % 2].run(None, {"x0": part})[0], 2 * part)

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(call, range(60)))


def test_a_library_that_is_built_again_replaces_the_old_one(tmp_path):
    from oneop._build.library import build

    for factor in (2, 3):
        functor = f"[](auto x) {{ return {factor} * x; }}"
        source = f'#include "oneop/op.h"\nOP("hosts_times(Tensor x) -> Tensor y").elementwise<float>({functor});'
        (tmp_path / "times.cpp").write_text(source)
        options = oonnx.session_options([build("hosts_times", [tmp_path / "times.cpp"])])
        model = model_of("hosts_times", [X], [X], {}).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        assert same_bits(session.run(None, {"x0": X})[0], factor * X)


def test_libraries_that_cannot_be_loaded(tmp_path):
    with pytest.raises(LoadError, match="there is no such file"):
        oonnx.session_options([tmp_path / "none.so"])
    with pytest.raises(ArgumentError, match="expected one or more op libraries, found none"):
        oonnx.session_options([])
    with pytest.raises(ArgumentError, match=r"register: expected a path or what oneop\.build returns, found int 3"):
        oonnx.session_options([3])
    options = onnxruntime.SessionOptions()
    with pytest.raises(Exception, match="the session's options name no op library"):
        options.register_custom_ops_library(str(oonnx.custom_op_library()))
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(Exception, match="cannot load the op library"):
        oonnx.session_options([tmp_path / "text.so"])
    with pytest.raises(Exception, match="the number of threads"):
        oonnx.session_options([library("leaky_relu")], num_threads=0)


GAPS = """
#include "oneop/op.h"
OP("hosts_gaps(Tensor x, Tensor?[] xs) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set_like("y", "x"); })
    .kernel<float>([](auto x, auto xs, auto y, oneop::Attrs attrs) {
      const auto given = attrs.get<std::vector<bool>>("xs_given");
      for (int64_t i = 0; i != y.numel(); ++i) {
        y[i] = x[i];
        for (size_t place = 0, next = 0; place != given.size(); ++place) {
          if (given[place]) y[i] += static_cast<float>(place + 1) * xs[next++][i];
        }
      }
    })
    .no_grad();
"""


def test_ops_as_functions(tmp_path):
    total, theirs = OnnxOp(library("op_h"), "oph_total"), onp.load(library("op_h")).oph_total
    assert same_bits(total([X, 2 * X], None, weights=[2, -1])[0], theirs([X, 2 * X], None, weights=[2, -1]))
    ranged = OnnxOp(library("arguments"), "t_range")
    assert same_bits(ranged(shape=(2, 3), step=0.1)[0], onp.load(library("arguments")).t_range(shape=(2, 3), step=0.1))
    from oneop._build.library import build

    (tmp_path / "gaps.cpp").write_text(GAPS)
    built = build("hosts_gaps", [tmp_path / "gaps.cpp"])
    theirs = onp.load(built).hosts_gaps
    assert same_bits(OnnxOp(built, "hosts_gaps")(X, [None, X, None])[0], theirs(X, [None, X, None]))
    assert same_bits(theirs(X, [None, X, None]), X + 2 * X)


EXPECT = """
#include <stdexcept>
#include "oneop/op.h"
OP("hosts_onnx_expect(Tensor x) -> ()").infer([](oneop::Infer&) {}).kernel<float>([](auto x) {
  if (x[0] < 0) throw std::runtime_error("a negative number");
}).no_grad();
"""


def test_an_op_that_gives_nothing_is_called_for_what_it_does(tmp_path):
    from oneop._build.library import build

    (tmp_path / "expect.cpp").write_text(EXPECT)
    expect = OnnxOp(build("hosts_onnx_expect", [tmp_path / "expect.cpp"]), "hosts_onnx_expect")
    assert expect(np.abs(X)) == ()
    with pytest.raises(Exception, match=r'op "hosts_onnx_expect", kernel at .*: a negative number'):
        expect(X)
    changes = OnnxOp(library("op_h"), "oph_add_")
    with pytest.raises(Exception, match='op "oph_add_" changes its input "x", and tensors of ONNX do not'):
        changes(X, X)


def test_an_onnx_runtime_that_is_too_old():
    import ctypes

    said = []
    create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(lambda _, text: said.append(text))
    functions = (ctypes.c_void_p * 1)(ctypes.cast(create, ctypes.c_void_p))
    table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
        lambda version: ctypes.addressof(functions) if version < 19 else None
    )
    text = ctypes.create_string_buffer(b"1.18.0")
    version = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(text))
    base = (ctypes.c_void_p * 2)(ctypes.cast(table, ctypes.c_void_p), ctypes.cast(version, ctypes.c_void_p))
    ctypes.CDLL(str(oonnx.custom_op_library())).RegisterCustomOps(None, base)
    assert said == [b"oneop needs ONNX Runtime 1.19 or later, this is 1.18.0"]


SIZES_BY_SIZES = """
#include "oneop/op.h"
OP("hosts_valid(Tensor a, Tensor b) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {ctx.size("a", 0) - ctx.size("b", 0) + 1}); })
    .kernel<float>([](auto a, auto b, auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = a[i] * b[0];
    })
    .no_grad();
OP("hosts_first_ten(Tensor a, Tensor b) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {std::min<int64_t>(ctx.size("a", 0), 10)}); })
    .kernel<float>([](auto a, auto b, auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = a[i] * b[0];
    })
    .no_grad();
OP("hosts_blocks(Tensor a, Tensor b) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {(ctx.size("a", 0) + 999999) / 1000000}); })
    .kernel<float>([](auto a, auto b, auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = a[i] * b[0];
    })
    .no_grad();
"""


@pytest.fixture
def sizes(tmp_path):
    from oneop._build.library import build

    (tmp_path / "sizes.cpp").write_text(SIZES_BY_SIZES)
    return build("hosts_sizes", [tmp_path / "sizes.cpp"])


def session_with(made, model):
    options = oonnx.session_options([made])
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("op", "length", "expected"),
    [("hosts_valid", 5, 4), ("hosts_first_ten", 5, 5), ("hosts_first_ten", 11, 10), ("hosts_blocks", 1_000_001, 2)],
)
def test_sizes_that_depend_on_open_sizes_are_not_guessed(sizes, op, length, expected):
    model = model_of(op, [X, X], [X, np.zeros(1, np.int64)], {}, shapes=[["n"], ["k"]])
    model.graph.node.append(onnx.helper.make_node("Shape", ["y0"], ["y1"]))  # a constant, if the size is known
    del model.graph.node[0].output[1:]
    session = session_with(sizes, model)
    y, shape = session.run(None, {"x0": np.ones(length, np.float32), "x1": np.ones(2, np.float32)})
    assert y.shape == (expected,) and shape.tolist() == [expected]


def test_sizes_that_the_model_says_wrong(sizes):
    model = model_of("hosts_first_ten", [X, X], [X], {}, shapes=[["n"], ["k"]])
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 7
    session = session_with(sizes, model)
    y = session.run(None, {"x0": np.ones(7, np.float32), "x1": X})[0]
    assert y.shape == (7,)
    with pytest.raises(Exception, match=r"output 0: the op gives the shape \[3\], and the session was made for \[7\]"):
        session.run(None, {"x0": X, "x1": X})


def test_inputs_whose_number_of_axes_is_not_declared(sizes):
    model = model_of("hosts_blocks", [X, X], [X, np.zeros(1, np.int64)], {}, shapes=[None, ["k"]])
    model.graph.node.append(onnx.helper.make_node("Shape", ["y0"], ["y1"]))
    del model.graph.node[0].output[1:]
    with pytest.raises(Exception, match=r"tensor 0: it has the shape \[3\], and the model says none"):
        session_with(sizes, model).run(None, {"x0": X, "x1": X})


def test_a_session_of_a_library_whose_inference_has_changed(tmp_path):
    from oneop._build.library import build

    def session_of_size(size):
        (tmp_path / "sized.cpp").write_text(
            f"""#include "oneop/op.h"
OP("hosts_sized(Tensor x) -> Tensor y").infer([](oneop::Infer& ctx) {{ ctx.set("y", {{{size}}}); }})
    .kernel<float>([](auto x, auto y) {{ for (int64_t i = 0; i != y.numel(); ++i) y[i] = x[0]; }}).no_grad();"""
        )
        model = model_of("hosts_sized", [X], [X], {})
        return session_with(build("hosts_sized", [tmp_path / "sized.cpp"]), model)

    old = session_of_size(4)
    assert old.run(None, {"x0": X})[0].shape == (4,)
    assert session_of_size(5).run(None, {"x0": X})[0].shape == (5,)
    with pytest.raises(Exception, match=r"gives the shape \[5\], and the session was made for \[4\]"):
        old.run(None, {"x0": X})


@pytest.mark.parametrize("counts", [[2**32 + 1, 1], [-1, 3], [65537, 0]])
def test_counts_that_are_no_numbers_of_tensors(counts):
    refused(
        f'"input_counts": expected counts from 0 to 65536, found {counts[0]}',
        "oph_total",
        "op_h",
        inputs=[X, X],
        input_counts=counts,
    )


def test_counts_of_more_tensors_than_the_node_has():
    refused(
        'op "oph_total", node attribute "input_counts": it says 3 tensors, and the node has 2',
        "oph_total",
        "op_h",
        inputs=[X, X],
        input_counts=[2, 1],
    )


def test_a_session_of_a_library_that_was_replaced(tmp_path):
    from oneop._build.library import build

    def session_of_source(inputs, functor):
        source = f'OP("hosts_renewed({inputs}) -> Tensor y").elementwise<float>({functor});'
        (tmp_path / "renewed.cpp").write_text(f'#include "oneop/op.h"\n{source}')
        made = build("hosts_renewed", [tmp_path / "renewed.cpp"])
        options = oonnx.session_options([made])
        options.log_severity_level = 4
        model = model_of("hosts_renewed", [X] * inputs.count("Tensor"), [X], {}).SerializeToString()
        return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    old = session_of_source("Tensor x", "[](auto x) { return x; }")
    new = session_of_source("Tensor x, Tensor z", "[](auto x, auto z) { return x + z; }")
    assert same_bits(new.run(None, {"x0": X, "x1": X})[0], 2 * X)
    with pytest.raises(Exception, match="the call was made for 1 inputs, and the op has 2 since its library was"):
        old.run(None, {"x0": X})


@pytest.mark.parametrize(
    ("value", "kind", "held"),
    [
        (np.int32(4), "int64", 4),
        (np.float64(0.1), "double", "0.1"),
        (np.float16(0.5), "float", 0.5),
        ([np.int64(3)], "list of int64", [3]),
        (np.complex64(1 + 2j), "complex", "[1.0, 2.0]"),
        (np.True_, "scalar", "true"),
        (np.float16, "dtype", 10),
    ],
)
def test_numbers_and_dtypes_of_numpy(value, kind, held):
    encoded = encode(value, kind)
    assert encoded == held and type(encoded) is type(held)


def test_texts_as_json_writers_make_them():
    attrs = onp.load(library("arguments")).t_attrs
    for text, values in [(r'["gr\u00fcn"]', ["grün"]), (r'["\ud83d\ude00\u20ac"]', ["😀€"])]:
        expected = attrs(X, ss=values)
        session = node_of("t_attrs", ["arguments"], [X], [expected], ss=text)
        assert same_bits(run(session, [X], [expected])[0], expected)
    for text, value in [("NaN", np.nan), ("-Infinity", -np.inf)]:
        expected = attrs(X, d=value)
        session = node_of("t_attrs", ["arguments"], [X], [expected], d=text)
        assert same_bits(run(session, [X], [expected])[0], expected)
    with pytest.raises(Exception, match="expected JSON, found"):
        node_of("t_attrs", ["arguments"], [X], [X], ss=r'["\ud83d"]')
