"""Kernels in torch, numba, triton, C++ and CUDA."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import oneop
from oneop.errors import BuildError, OpRuntimeError, OpTypeError, OpValueError, RegistrationError
from oneop.model.attributes import BY_SCHEMA
from oneop.model.dtypes import DTYPES


def define(name, **options):
    return oneop.define(f"{name}(Tensor x, *, float scale=2.0) -> Tensor y", infer="elementwise", **options)


def define_torch(name="t_torch"):
    op = define(name)
    calls = []

    @op.register_kernel(language="torch")
    def kernel(x, scale):
        calls.append(type(x))
        return torch.sin(x) * scale

    return op, calls


def test_torch_is_one_op_in_eager():
    op, calls = define_torch()
    x = torch.randn(3)
    for _ in range(3):
        torch.testing.assert_close(op(x), torch.sin(x) * 2)
    assert len(calls) == 3
    with torch.profiler.profile() as profile:
        op(x)
    assert "oneop::t_torch" in {event.key for event in profile.key_averages()}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own, at its first jvp
def test_torch_is_differentiated_through():
    op, _ = define_torch()
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(op, (x,), check_forward_ad=True) and gradgradcheck(op, (x,))
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(op))(x), 2 * torch.cos(x))


def test_a_registered_gradient_wins():
    op, _ = define_torch()
    op.register_grad(lambda ctx, dy: dy * 100)
    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 100.0))
    torch._dynamo.reset()
    x.grad = None
    torch.compile(op, backend="aot_eager", fullgraph=True)(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 100.0))


def graph_of(function, *inputs):
    """The targets that a backend sees below autograd."""
    from torch._dynamo.backends.common import aot_autograd

    seen = []

    def compiler(graph, example_inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    torch.compile(function, backend=backend, fullgraph=True)(*inputs)
    return seen


def test_torch_is_traced_through():
    op, _ = define_torch()
    x = torch.randn(4)
    assert graph_of(lambda x: op(x, scale=3.0) + 1, x) == graph_of(lambda x: torch.sin(x) * 3.0 + 1, x)
    x.requires_grad_()
    assert graph_of(lambda x: op(x) + 1, x) == graph_of(lambda x: torch.sin(x) * 2.0 + 1, x)


def test_numpy_stays_opaque_under_compile():
    op = define("t_opaque")
    op.register_kernel("cpu")(lambda x, scale: x * x.dtype.type(scale))
    assert graph_of(lambda x: op(x) + 1, torch.ones(2)) == ["oneop.t_opaque.default", "aten.add.Tensor"]


@pytest.mark.parametrize(
    "kernel, error, text",
    [
        (lambda x: x[:1], OpValueError, "output 0: expected float32[2], found float32[1]"),
        (lambda x: (x, x), OpValueError, "expected 1 tensor, found 2"),
        (lambda x: 1.0, OpTypeError, "expected a torch.Tensor as its result, found float"),
    ],
)
def test_torch_results_that_do_not_fit(kernel, error, text):
    op = define("t_torch_bad")
    op.register_kernel(language="torch")(kernel)
    with pytest.raises(error) as raised:
        op(torch.ones(2))
    assert text in str(raised.value) and f"{__file__}:" in str(raised.value)


def test_torch_gives_fresh_tensors():
    op = define("t_alias")
    op.register_kernel(language="torch")(lambda x: x)
    x = torch.ones(3)
    y = op(x)
    y.add_(1)
    torch.testing.assert_close(x, torch.ones(3))


def test_torch_with_out():
    op = define("t_torch_out")

    @op.register_kernel(language="torch")
    def kernel(x, scale, out):
        torch.mul(x, scale, out=out)

    x = torch.ones(3)
    torch.testing.assert_close(op(x), 2 * x)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(op, backend="aot_eager", fullgraph=True)(x), 2 * x)


def define_numba(name="t_numba"):
    pytest.importorskip("numba")
    op = define(name)

    @op.register_kernel("cpu", language="numba")
    def kernel(x, scale, out):
        a, b = x.reshape(-1), out.reshape(-1)
        for i in range(a.size):
            b[i] = a[i] * scale if a[i] > 0 else 0.0

    return op


def test_numba():
    op = define_numba()
    for dtype, shapes in ((torch.float32, [(), (3,), (2, 3), (2, 0)]), (torch.float64, [(3,)])):
        for shape in shapes:
            x = torch.randn(shape, dtype=dtype)
            torch.testing.assert_close(op(x, scale=3.0), torch.relu(x) * 3)
    assert oneop.get_op("t_numba").kernels[0].language == "numba"


def test_numba_takes_its_arguments_by_name():
    pytest.importorskip("numba")
    op = oneop.define("numba_any_order(Tensor x, *, float alpha, int n) -> Tensor y", infer="elementwise")

    @op.register_kernel(language="numba")
    def kernel(x, out, n, alpha):
        for i in range(x.size):
            out[i] = alpha * x[i] + n

    x = torch.randn(5)
    torch.testing.assert_close(op(x, alpha=0.5, n=3), 0.5 * x + 3)


def test_numba_lists_outputs_and_constants():
    pytest.importorskip("numba")
    op = oneop.define(
        "t_numba_many(Tensor[] xs, Tensor? w, *, int[] powers=[1, 2], bool twice=False) -> (Tensor, Tensor)"
    )
    op.register_infer(lambda xs, w: (xs[0], xs[0]))

    @op.register_kernel("cpu", language="numba")
    def kernel(xs, w, powers, twice, out):
        first, second = out
        factor = 2.0 if twice else 1.0
        for i in range(first.size):
            first[i] = (xs[0][i] + xs[1][i]) * factor
            second[i] = xs[0][i] ** powers[0] + xs[0][i] ** powers[1] + (0.0 if w is None else w[i])

    x = torch.arange(3.0)
    a, b = op([x, x], None, twice=True, powers=[1, 3])
    torch.testing.assert_close(a, 4 * x)
    torch.testing.assert_close(b, x + x**3)
    torch.testing.assert_close(op([x, x], x)[1], 2 * x + x**2)


def test_numba_that_raises():
    pytest.importorskip("numba")
    op = define("t_numba_raise")

    @op.register_kernel("cpu", language="numba")
    def kernel(x, out):
        if x[0] > 0:
            raise ValueError("positive")
        out[:] = x

    op(-torch.ones(2))
    with pytest.raises(OpRuntimeError, match="the compiled function raised an exception"):
        op(torch.ones(2))
    with pytest.raises(RegistrationError, match="writes its result into `out`"):
        op.register_kernel("cpu", language="numba")(lambda x: x)
    with pytest.raises(RegistrationError, match="numba kernels run on the cpu only"):
        op.register_kernel("cuda", language="numba")(kernel)


BODY = """
    for (int64_t i = 0; i < n; ++i) { y[i] = x[i] > 0 ? x[i] * static_cast<T>(scale) : T(0); }
"""


def test_cpp_text():
    op = define("t_cpp_text")
    op.register_source("cpu", BODY, dtypes=(torch.float32, torch.float64))
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(5, dtype=dtype)
        torch.testing.assert_close(op(x, scale=3.0), torch.relu(x) * 3)
    assert {kernel.language for kernel in oneop.get_op("t_cpp_text").kernels} == {"c++"}
    with pytest.raises(BuildError) as error:
        op.register_source("cpu", "y[0] = not_there;")
    assert "not_there" in str(error.value)
    with pytest.raises(RegistrationError, match="a source kernel cannot have dtype"):
        op.register_source("cpu", BODY, dtypes=torch.complex64)


def test_cpp_text_sees_attributes_of_every_type():
    """An op with one attribute of each type, all read by name in C++."""
    values = {
        "int32": -3,
        "int": 2**40,
        "bool": True,
        "float32": 0.5,
        "float": 0.25,
        "str": "ab",
        "shape": (2, 3),
        "dtype": torch.int64,
        "int32[]": [1, 2],
        "int[]": [5],
        "float[]": [0.5, 0.1],
        "float32[]": [0.5, 1.5],
        "dtype[]": [torch.float32, torch.bool],
        "shape[]": [(1, 2), (4,)],
        "str[]": ["x", "yz"],
        "complex": 1.5 - 2j,
        "bytes": b"\x00\xff!",
        "bool[]": [True, False, True],
        "Scalar": 2.5,
    }
    assert set(values) == set(BY_SCHEMA)
    names = {kind: f"a{i}" for i, kind in enumerate(values)}
    op = oneop.define(
        f"l_every_type(Tensor x, *, {', '.join(f'{kind} {name}' for kind, name in names.items())}) -> Tensor y",
        infer="elementwise",
        differentiable=False,
    )
    reads = {
        **dict.fromkeys(("int32", "int", "bool", "float32", "float"), "static_cast<double>({0})"),
        **dict.fromkeys(("str", "bytes"), "{0}.size() + static_cast<unsigned char>({0}[1])"),
        "shape": "{0}.At(1)",
        "dtype": "static_cast<int>({0})",
        **dict.fromkeys(("int32[]", "int[]", "float[]", "float32[]", "bool[]"), "{0}.back()"),
        "dtype[]": "static_cast<int>({0}[1])",
        "shape[]": "{0}[1].At(0)",
        "str[]": "{0}[1].size()",
        "complex": "{0}.real() + 10 * {0}.imag()",
        "Scalar": "{0}.template As<double>()",
    }
    body = "\n".join(f"y[{i}] = {reads[kind].format(name)};" for i, (kind, name) in enumerate(names.items()))
    op.register_source("cpu", body, dtypes=torch.float64)
    y = op(torch.zeros(len(values), dtype=torch.float64), **{names[kind]: value for kind, value in values.items()})
    codes = {dtype.name: dtype.code for dtype in DTYPES}
    expected = [
        -3,
        2**40,
        1,
        0.5,
        0.25,
        2 + ord("b"),
        3,
        codes["int64"],
        2,
        5,
        0.1,
        1.5,
        codes["bool"],
        4,
        2,
        -18.5,
        3 + 255,
        1,
        2.5,
    ]
    assert y.tolist() == expected


def test_threads_of_all_kinds():
    numpy_op = define("t_threads_numpy")
    numpy_op.register_kernel("cpu")(lambda x, scale: np.maximum(x, 0) * x.dtype.type(scale))
    cpp_op = define("t_threads_cpp")
    cpp_op.register_source("cpu", BODY)
    ops = [numpy_op, define_numba("t_threads_numba"), cpp_op]
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for n in range(60):
            x = torch.randn(n % 7 + 1, generator=generator)
            for op in ops:
                if not torch.allclose(op(x), torch.relu(x) * 2):
                    wrong.append(op)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


TRITON = """
import torch, triton, triton.language as tl
import oneop

@triton.jit
def double_kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * scale, mask=at < n)

op = oneop.define("t_triton(Tensor x, *, float scale=2.0) -> Tensor y", infer="elementwise")

@op.register_kernel(language="triton")
def launch(x, scale, out):
    n = x.numel()
    double_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, scale, BLOCK=16)

@op.register_grad
def grad(ctx, dy):
    return op(dy, scale=ctx.scale)

x = torch.randn(40, requires_grad=True)
y = op(x)
torch.testing.assert_close(y, 2 * x)
y.sum().backward()
torch.testing.assert_close(x.grad, torch.full((40,), 2.0))
print(oneop.get_op("t_triton").kernels[0].language)
"""


def test_triton(tmp_path):
    pytest.importorskip("triton")
    file = tmp_path / "with_triton.py"  # jit functions are read from a file
    file.write_text(textwrap.dedent(TRITON))
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "triton\n"


ALIKE = ["int32[]", "float[]", "float32[]", "shape"]  # numba gets them as it gets int[], of other numbers


@pytest.mark.parametrize(
    "kind", ["int[]", "str[]", "int[]?", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ALIKE)]
)
def test_numba_takes_empty_lists(kind):
    pytest.importorskip("numba")
    op = oneop.define(f"l_empty(Tensor x, *, {kind} k) -> Tensor", infer="elementwise", differentiable=False)

    @op.register_kernel("cpu", dtypes=torch.float64, language="numba")
    def kernel(x, k, out):
        count = 0
        for _ in k:
            count += 1
        for i in range(x.size):
            out[i] = count

    x = torch.zeros(2, dtype=torch.float64)
    values = ["a", "b", "c"] if kind == "str[]" else [1, 2, 3]
    for length in (0, 2, 3, 0):
        assert op(x, k=values[:length]).tolist() == [length, length]
