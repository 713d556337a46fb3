"""oneop.numpy: calls on numpy arrays, against torch's host, bit by bit."""

import sys
import threading

import numpy as np
import pytest
from host_cases import CASES, ROOT, library, name_of, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop.numpy as onp
from oneop.errors import (
    AbiError,
    ArgumentError,
    GradientError,
    GradientNotFoundError,
    KernelNotFoundError,
    LoadError,
    OpRuntimeError,
)

every_case = pytest.mark.parametrize("case", CASES, ids=name_of)
SIZES = {"rows": st.sampled_from([1, 2, 5]), "columns": st.sampled_from([1, 3, 8, 33])}


@pytest.fixture(autouse=True)
def one_thread():
    onp.set_num_threads(1)


def numpy_op(name, op):
    return getattr(onp.load(library(name)), op)


def torch_op(name, op):
    import oneop

    # In a package: other tests load other builds of these ops, and a process takes an op of one build only.
    return getattr(oneop.load(library(name), package="hosts"), op)


@pytest.fixture(scope="module")
def relu():
    return numpy_op("leaky_relu", "leaky_relu")


def strided(x):
    """The same values with gaps between them."""
    return np.stack([x, x], -1)[..., 0]


def each(value, function):
    if isinstance(value, (list, tuple)):
        return [each(item, function) for item in value]
    return None if value is None else function(value)


def to_torch(x):
    import torch

    return (
        torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype.name == "bfloat16" else torch.from_numpy(x)
    )


def to_numpy(x):
    import ml_dtypes
    import torch

    x = x.detach()
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


def flat(values):
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]


def outputs_of(result):
    return list(result) if isinstance(result, tuple) else [result]


@every_case
def test_results_are_those_of_torch(case):
    pytest.importorskip("torch")
    theirs = torch_op(case.library, case.op)
    ours = numpy_op(case.library, case.op)

    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(case.dtypes), is_strided=st.booleans(), seed=st.integers(0, 99))
    def holds(rows, columns, dtype, is_strided, seed):
        inputs = case.inputs(seed, rows, columns, dtype)
        copies = each(inputs, np.copy)
        expected = outputs_of(theirs(*each(each(inputs, np.copy), to_torch), **case.attrs))
        result = outputs_of(
            ours(*each(copies, strided) if is_strided and not case.is_in_place else copies, **case.attrs)
        )
        assert len(result) == len(expected)
        assert all(same_bits(one, to_numpy(other)) for one, other in zip(result, expected, strict=True))
        if case.is_in_place:
            tensors = each(each(inputs, np.copy), to_torch)
            theirs(*tensors, **case.attrs)
            assert all(map(same_bits, flat(copies), map(to_numpy, flat(tensors))))

    holds()


@pytest.mark.parametrize("case", [case for case in CASES if case.is_differentiable], ids=name_of)
def test_gradients_are_those_of_torch(case):
    torch = pytest.importorskip("torch")
    theirs = torch_op(case.library, case.op)
    ours = numpy_op(case.library, case.op)

    @settings(max_examples=6, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(case.dtypes), seed=st.integers(0, 99))
    def holds(rows, columns, dtype, seed):
        inputs = case.inputs(seed, rows, columns, dtype)
        tensors = each(inputs, lambda x: to_torch(x).requires_grad_(to_torch(x).is_floating_point()))
        expected = [y for y in outputs_of(theirs(*tensors, **case.attrs)) if y.requires_grad]
        result, pullback = onp.vjp(ours, *inputs, **case.attrs)
        dys = [np.linspace(1, 2, y.size).reshape(y.shape).astype(y.dtype) for y in outputs_of(result)]
        wanted = [t for t in flat(tensors) if t is not None and t.requires_grad]
        by_torch = torch.autograd.grad(
            expected,
            wanted,
            [
                to_torch(dy)
                for y, dy in zip(outputs_of(theirs(*tensors, **case.attrs)), dys, strict=True)
                if y.requires_grad
            ],
            allow_unused=True,
        )
        grads = [grad for grad in flat(pullback(*dys)) if grad is not None]
        by_torch = [grad for grad in by_torch if grad is not None]
        assert len(grads) == len(by_torch)
        for one, other in zip(grads, map(to_numpy, by_torch), strict=True):
            if case.op == "host_sine":  # its steps are numpy's own
                np.testing.assert_allclose(one, other, rtol=1e-6)
            else:
                assert same_bits(one, other)

    holds()


def test_scalars_and_arrays_without_dimensions(relu):
    result = relu(np.float32(-2), alpha=0.5)
    assert isinstance(result, np.ndarray) and result.shape == () and result == -1
    assert relu(np.array(3.0)).dtype == np.float64
    assert relu(np.zeros((0, 4), np.float32)).shape == (0, 4)


def test_byte_order_alignment_and_negative_strides(relu):
    x = np.arange(-4, 4, dtype=np.float32)
    expected = relu(x)
    assert same_bits(relu(x.astype(">f4")), expected)
    assert same_bits(relu(x[::-1])[::-1].copy(), expected)
    unaligned = np.zeros(4 * len(x) + 1, np.uint8)[1:].view(np.float32)
    unaligned[:] = x
    assert same_bits(relu(unaligned), expected)
    transposed = numpy_op("op_h", "oph_transpose")  # its kernel takes any strides
    matrix = np.arange(6.0).reshape(2, 3)
    assert same_bits(transposed(matrix.T), matrix) and same_bits(transposed(matrix[::-1]), matrix[::-1].T.copy())


def test_an_input_that_is_changed():
    add = numpy_op("op_h", "oph_add_")
    x = np.zeros((3, 4), np.float32)
    assert add(x[:, ::2], np.ones((3, 2), np.float32)) == ()
    assert x[:, ::2].all() and not x[:, 1::2].any()
    y = np.arange(4, dtype=np.float32)
    add(y[1:], y[:-1])  # reads what was there before
    assert y.tolist() == [0, 1, 3, 5]
    y.flags.writeable = False
    with pytest.raises(ArgumentError, match='input "x": the op changes it, and the array is read-only'):
        add(y, y.copy())
    shared = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
    with pytest.raises(ArgumentError, match="and several of its elements share memory"):
        add(shared, np.ones(4, np.float32))


def test_two_changed_inputs_that_share_memory(tmp_path):
    source = tmp_path / "two.cpp"
    source.write_text(
        '#include "oneop/op.h"\nOP("hosts_two_(Tensor(a!) x, Tensor(b!) y) -> ()").same_shape()'
        ".kernel<float>([](auto, auto) {}).no_grad();\n"
    )
    from oneop._build.library import build

    op = onp.load(build("hosts_two", [source])).hosts_two_
    x = np.zeros(4, np.float32)
    op(x[:2], x[2:])
    with pytest.raises(ArgumentError, match="changes two of its inputs in place, and they share memory"):
        op(x[:3], x[1:])


BAD = {
    "attribute": (lambda f, x: f(x, alpha="a"), ArgumentError),
    "too many": (lambda f, x: f(x, x), ArgumentError),
    "unknown": (lambda f, x: f(x, alhpa=1), ArgumentError),
    "twice": (lambda f, x: f(x, x=x), ArgumentError),
    "missing": (lambda f, x: f(), ArgumentError),
    "none": (lambda f, x: f(None), ArgumentError),
    "two for one": (lambda f, x: f([x, x]), ArgumentError),
    "dtype": (lambda f, x: f(x > 0), KernelNotFoundError),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_told_as_by_torch(relu, bad):
    torch = pytest.importorskip("torch")
    import oneop

    act, cls = BAD[bad]
    theirs = oneop.load(library("leaky_relu")).leaky_relu
    with pytest.raises(cls) as ours:
        act(relu, np.ones(3, np.float32))
    with pytest.raises(cls) as by_torch:
        act(theirs, torch.ones(3))
    assert str(ours.value) == str(by_torch.value)


def test_what_is_no_array_is_refused(relu):
    for bad, name in ((3.0, "float"), ("x", "str"), (np.ma.array([1.0]), "MaskedArray"), ([1.0], "float")):
        with pytest.raises(ArgumentError, match=f'op "leaky_relu", input "x": expected a numpy.ndarray, found {name}'):
            relu(bad)
    with pytest.raises(ArgumentError, match=r"arrays of dtype dtype\('<U1'\) are not supported"):
        relu(np.array(["a"]))


def test_attributes_that_do_not_fit():
    attrs = numpy_op("arguments", "t_attrs")
    x = np.ones(2, np.float32)
    with pytest.raises(ArgumentError, match=r'attribute "dtype": expected a numpy.dtype, found int 3'):
        attrs(x, dtype=3)
    with pytest.raises(ArgumentError, match='attribute "f": expected a float of 32 bits, found float 1e'):
        attrs(x, f=1e300)
    assert b" 6 " in attrs(x, dtype=np.int64).tobytes() and b"t4 t12" in attrs(x, dtypes=["int8", bool]).tobytes()
    with pytest.raises(ArgumentError, match='needs the attribute "shape", a shape; it has no default'):
        numpy_op("arguments", "t_range")()
    with pytest.raises(ArgumentError, match="device: expected \"cpu\", found str 'cuda'"):
        numpy_op("arguments", "t_range")(shape=(2,), device="cuda")
    many = numpy_op("arguments", "t_multiples")
    with pytest.raises(ArgumentError, match="output_counts: expected a list of ints, found int 3"):
        many(x, output_counts=3)
    with pytest.raises(ArgumentError, match=r"output_counts: expected 2 numbers \(out, sum\), found 1"):
        many(x, output_counts=[3])


def test_a_kernel_that_throws():
    with pytest.raises(OpRuntimeError, match=r'op "host_fails", kernel at .*: out of patience'):
        numpy_op("host_ops", "host_fails")(np.ones(2, np.float32))


def test_vjp_of_what_has_no_gradient(relu):
    x = np.ones(2, np.float32)
    with pytest.raises(GradientNotFoundError, match='op "host_no_gradient" has no gradient, and one is needed'):
        onp.vjp(numpy_op("host_ops", "host_no_gradient"), x)
    _, pullback = onp.vjp(numpy_op("op_h", "oph_binary"), x, x, kind="add")  # declared not differentiable
    assert pullback(x) == (None, None)
    with pytest.raises(ArgumentError, match=r"vjp: expected an op of oneop.numpy.load, found builtin"):
        onp.vjp(len, x)
    _, pullback = onp.vjp(relu, x)
    with pytest.raises(ArgumentError, match='op "leaky_relu": its pullback takes 1 cotangents, found 0'):
        pullback()
    with pytest.raises(ArgumentError, match=r"cotangent 0: expected float32\[2\], found float64\[2\]"):
        pullback(np.ones(2))
    (dx,) = pullback(None)
    assert not dx.any()


def test_a_step_that_numpy_does_not_know(tmp_path):
    source = tmp_path / "steps.cpp"
    text = (ROOT / "tests/engine/host_ops.cpp").read_text()
    source.write_text(text.replace("host_", "steps_").replace("aten::cos", "aten::i0e"))
    from oneop._build.library import build

    op = onp.load(build("hosts_steps", [source])).steps_sine
    with pytest.raises(GradientError, match='it calls "aten::i0e", for which this host has no equivalent'):
        onp.vjp(op, np.ones(2, np.float32))


def test_files_that_cannot_be_loaded(tmp_path):
    with pytest.raises(LoadError, match="there is no such file"):
        onp.load(tmp_path / "nothing.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises((LoadError, AbiError)):
        onp.load(tmp_path / "text.so")
    with pytest.raises(ArgumentError, match=r"load: expected a path or what oneop.build returns, found int 3"):
        onp.load(3)
    loaded = onp.load(library("leaky_relu"))
    assert dir(onp.load(library("leaky_relu").path)) == dir(loaded)  # the same content by another name
    assert "leaky_relu" in dir(loaded) and "leaky_relu_grad" in repr(loaded)
    with pytest.raises(AttributeError, match='has no op "rely"; it has: leaky_relu'):
        _ = loaded.rely


def test_calls_from_many_threads():
    onp.set_num_threads(3)
    op = numpy_op("host_ops", "host_counts")
    failed = []

    def work(size):
        for _ in range(50):
            x = np.full(size, 0.5, np.float32)
            if not np.array_equal(op(x), x + np.arange(size, dtype=np.float32)):
                failed.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in (7, 100, 40_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    with pytest.raises(ArgumentError, match="the number of threads: expected 1 to 1024, found 0"):
        onp.set_num_threads(0)
    with pytest.raises(ArgumentError, match="the number of threads: expected 1 to 1024, found str"):
        onp.set_num_threads("many")


def test_the_engine_checks_what_python_hands_over():
    engine = onp.calls.engine()
    spec = ((2,), "float32")
    onp.load(library("leaky_relu"))
    with pytest.raises(TypeError, match="a function of the engine got a wrong number of arguments"):
        engine.infer("leaky_relu")
    words = engine.bind("leaky_relu", (np.ones(2),), {})[1]
    assert engine.infer("leaky_relu", [[spec]], words, [1]) == [spec]
    assert engine.attr_values("leaky_relu", words) == {"alpha": 0.01}
    for bad, text in {
        "inputs": ([[3]], "expected a shape and a dtype, found int 3"),
        "dtype": ([[((2,), "float31")]], "expected the name of a dtype, found str 'float31'"),
        "nesting": ([3], "expected a list of tensors for each input"),
    }.values():
        with pytest.raises(ArgumentError, match=text):
            engine.infer("leaky_relu", bad, words, [1])
    with pytest.raises(ArgumentError, match="expected attributes as bytes, found str"):
        engine.infer("leaky_relu", [[spec]], "", [1])
    with pytest.raises(ArgumentError, match="expected a list of ints, found str"):
        engine.infer("leaky_relu", [[spec]], words, "1")
    with pytest.raises(ArgumentError, match="expected a str, found int 3"):
        engine.op_info(3)
    with pytest.raises(KernelNotFoundError):
        engine.choose("leaky_relu", [[((2,), "int8")]], words, [1])


def test_seeds():
    onp.seed(3)
    with pytest.raises(TypeError):
        onp.seed("three")


def test_references_are_given_back(relu):
    x = np.ones(3, np.float32)
    relu(x)
    before = sys.getrefcount(x)
    for _ in range(100):
        relu(x, alpha=0.2)
        with pytest.raises(ArgumentError):
            relu(x, x)
    assert sys.getrefcount(x) == before


def test_a_pullback_of_a_library_that_was_replaced(tmp_path):
    from oneop._build.library import build

    def loaded(inputs, functor, gradient):
        source = f'OP("hosts_again({inputs}) -> Tensor y").elementwise<float>({functor}){gradient};'
        (tmp_path / "again.cpp").write_text(f'#include "oneop/op.h"\n{source}')
        return onp.load(build("hosts_again", [tmp_path / "again.cpp"])).hosts_again

    x = np.ones(3, np.float32)
    one = loaded("Tensor x", "[](auto x) { return x; }", '.gradient("dx = hosts_again(dy)")')
    y, pullback = onp.vjp(one, x)
    two = loaded("Tensor x, Tensor z", "[](auto x, auto z) { return x + z; }", ".no_grad()")
    assert same_bits(two(x, x), 2 * x)
    with pytest.raises(ArgumentError, match="the call was made for 1 inputs, and the op has 2 since its library was"):
        pullback(y)


def test_cotangents_of_another_byte_order():
    relu = onp.load(library("leaky_relu")).leaky_relu
    x = np.array([-1.0, 0.5, 2.0], np.float32)
    for array in (x, x.astype(">f4")):
        _, pullback = onp.vjp(relu, array, alpha=0.5)
        for dy in (np.ones(3, np.float32), np.ones(3, ">f4")):
            assert same_bits(pullback(dy)[0], np.array([0.5, 1, 1], np.float32))
