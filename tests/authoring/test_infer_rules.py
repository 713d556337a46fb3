"""Inference and SBP: written, declared, and on symbolic sizes."""

import pytest
import torch
import torch._dynamo.testing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import oneop
from oneop.errors import CheckError, OpValueError, RegistrationError


def shapes(op, *inputs, **attrs):
    with FakeTensorMode():
        outputs = op(*(torch.empty(shape) for shape in inputs), **attrs)
    return [tuple(output.shape) for output in ([outputs] if isinstance(outputs, torch.Tensor) else outputs)]


def signatures(name, *inputs, **attrs):
    found = oneop.sbp_signatures(name, list(inputs), **attrs)
    return [" ".join(entry for entries in signature.values() for entry in entries) for signature in found]


def test_a_function():
    op = oneop.define("t_rep(Tensor x, *, int times) -> (Tensor y, Tensor index)")

    @op.register_infer
    def infer(x, times):
        assert isinstance(x, oneop.TensorSpec) and x.ndim == 2
        return x.like(shape=(times, *x.shape)), oneop.TensorSpec((times,), torch.int64)

    with FakeTensorMode():
        y, index = op(torch.empty(2, 3), times=4)
    assert (y.shape, index.shape, index.dtype) == ((4, 2, 3), (4,), torch.int64)


def test_a_shape_is_enough():
    op = oneop.define("t_flat(Tensor x) -> Tensor")
    op.register_infer(lambda x: (x.shape[0] * x.shape[1],))
    assert shapes(op, (2, 3)) == [(6,)]


@pytest.mark.parametrize(
    "result, text", [(None, "gave nothing, expected 1 output"), ("x", "gave nothing"), ([(1,), (2,)], "gave 2")]
)
def test_a_wrong_answer(result, text):
    op = oneop.define("t_bad(Tensor x) -> Tensor")
    op.register_infer(lambda x: result)
    with pytest.raises(CheckError) as error:
        op(torch.ones(2))
    assert text in str(error.value) and f"{__file__}:" in str(error.value)


def test_a_raising_one():
    op = oneop.define("t_raise(Tensor x) -> Tensor")

    @op.register_infer
    def infer(x):
        raise ValueError("needs a matrix")

    with pytest.raises(OpValueError, match='op "t_raise": ValueError: needs a matrix') as error:
        op(torch.ones(2))
    assert isinstance(error.value.__cause__, ValueError)
    with pytest.raises(OpValueError), FakeTensorMode():
        op(torch.ones(2))


def test_none_at_all():
    op = oneop.define("t_none(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match=r"has no shape inference: add infer=... or @op.register_infer"):
        op(torch.ones(2))


def test_check():
    op = oneop.define("t_check(Tensor x, *, str mode='a') -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x)

    @op.register_check
    def check(x, mode):
        if x.ndim != 1:
            raise IndexError("one axis")
        return mode in ("a", "b") or f"mode is {mode!r}, expected a or b"

    op(torch.ones(2), mode="b")
    with pytest.raises(OpValueError, match="op \"t_check\": mode is 'c', expected a or b"):
        op(torch.ones(2), mode="c")
    with pytest.raises(IndexError, match="one axis"):
        op(torch.ones(2, 2))


def test_elementwise():
    op = oneop.define("t_ew(Tensor x, Tensor y) -> Tensor", infer="elementwise")
    assert shapes(op, (2, 3), (2, 3)) == [(2, 3)]
    assert signatures("t_ew", (2, 3), (2, 3)) == ["S(0) S(0) S(0)", "S(1) S(1) S(1)", "B B B"]
    with pytest.raises(
        OpValueError, match=r'op "t_ew": expected inputs of one shape, found float32\[2\] and float32\[3\]'
    ):
        shapes(op, (2,), (3,))


def test_broadcast():
    op = oneop.define("t_bc(Tensor x, Tensor y) -> Tensor", infer="broadcast")
    assert shapes(op, (4, 1, 3), (2, 1)) == [(4, 2, 3)]
    assert signatures("t_bc", (4, 1, 3), (2, 1)) == ["S(0) B S(0)", "B S(0) S(1)", "S(2) B S(2)", "B B B"]
    with pytest.raises(OpValueError, match="cannot broadcast"):
        shapes(op, (2,), (3,))
    with FakeTensorMode():
        assert op(torch.empty(2, dtype=torch.int32), torch.empty(1, dtype=torch.float16)).dtype == torch.float16


def test_reduce():
    op = oneop.define("t_red(Tensor x, *, int[] dim=[], bool keepdim=False) -> Tensor", infer="reduce")
    assert shapes(op, (2, 3, 4)) == [()]
    assert shapes(op, (2, 3, 4), dim=[-1]) == [(2, 3)]
    assert shapes(op, (2, 3, 4), dim=[0, 2], keepdim=True) == [(1, 3, 1)]
    assert signatures("t_red", (2, 3, 4), dim=[1]) == ["S(0) S(0)", "S(2) S(1)", "B B"]
    with pytest.raises(OpValueError, match="there is no axis 5"):
        shapes(op, (2,), dim=[5])


def test_axes():
    op = oneop.define("t_mm(Tensor a, Tensor b) -> Tensor", infer="b k, k n -> b n")
    assert shapes(op, (2, 3), (3, 4)) == [(2, 4)]
    assert signatures("t_mm", (2, 3), (3, 4)) == ["S(0) B S(0)", "S(1) S(0) P", "B S(1) S(1)", "B B B"]
    with pytest.raises(OpValueError, match="axis k is 3 in input 0 and 5 in input 1"):
        shapes(op, (2, 3), (5, 4))
    with pytest.raises(OpValueError, match="input 0 has 3 axes"):
        shapes(op, (2, 3, 1), (5, 4))


def test_axes_of_any_number_and_from_attributes():
    op = oneop.define(
        "t_lin(Tensor x, Tensor w, *, int heads=2) -> (Tensor, Tensor)", infer="... k, k n -> ... n, heads n"
    )
    assert shapes(op, (5, 6, 3), (3, 4), heads=7) == [(5, 6, 4), (7, 4)]
    assert shapes(op, (3,), (3, 4)) == [(4,), (2, 4)]


@pytest.mark.parametrize(
    "infer, text",
    [
        ("elementwize", 'there is no infer="elementwize"'),
        ("b k -> b", "expected 2 inputs and 1 outputs, found 1 and 1"),
        ("b k, k n -> b m", "no input has the axis m"),
    ],
)
def test_what_is_refused(infer, text):
    with pytest.raises(RegistrationError) as error:
        oneop.define("t_ref(Tensor a, Tensor b) -> Tensor", infer=infer)
    assert text in str(error.value)


def test_sbp_texts():
    op = oneop.define(
        "t_sbp(Tensor x, Tensor w) -> Tensor", infer="elementwise", sbp=["S(0), B -> S(0)", "x: P, w: B -> P"]
    )
    assert signatures("t_sbp", (2,), (2,)) == ["S(0) B S(0)", "P B P", "B B B"]
    op.register_sbp("B, S(1) -> S(1)")
    assert signatures("t_sbp", (2, 2), (2, 2)) == ["B S(1) S(1)", "B B B"]
    for text, problem in [
        ("S(0)", "expected one ->"),
        ("S(0) -> B", "expected 2 inputs"),
        ("S, B -> B", 'cannot read "S"'),
    ]:
        with pytest.raises(RegistrationError) as error:
            op.register_sbp(text)
        assert problem in str(error.value)


def test_symbolic_sizes_stay_symbolic():
    op = oneop.define("t_sym(Tensor x) -> Tensor", infer="... k -> ... k")
    traced = make_fx(op, tracing_mode="symbolic")(torch.empty(5, 3))
    size = next(node for node in traced.graph.nodes if "t_sym" in str(node.target)).meta["val"].shape[0]
    assert isinstance(size, torch.SymInt) and not size.node.expr.is_number
    assert not traced.shape_env.guards


def test_dynamic_shapes_compile_once():
    op = oneop.define("t_dyn(Tensor x, *, float by=2.0) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, by: x * x.dtype.type(by))

    @op.register_grad
    def grad(ctx, dy):
        return dy * ctx.by

    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: op(x, by=3.0) + 1, backend=counter, fullgraph=True, dynamic=True)
    for n in (3, 4, 7, 9):
        x = torch.ones(n, requires_grad=True)
        y = compiled(x)
        y.sum().backward()
        torch.testing.assert_close(y, torch.full((n,), 4.0))
        torch.testing.assert_close(x.grad, torch.full((n,), 3.0))
    assert counter.frame_count == 1
