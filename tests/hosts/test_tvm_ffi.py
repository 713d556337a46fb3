"""Functions of tvm-ffi as kernels, and ops as functions of tvm-ffi: real compiled functions, against torch."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
import oneop.testing
from oneop.errors import MissingDependencyError, RegistrationError

tvm_ffi = pytest.importorskip("tvm_ffi")

SOURCE = """
void scaled_add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z, double scale) {
  TVM_FFI_ICHECK_EQ(x.numel(), y.numel());
  const float* a = static_cast<const float*>(x.data_ptr());
  const float* b = static_cast<const float*>(y.data_ptr());
  float* c = static_cast<float*>(z.data_ptr());
  for (int64_t i = 0; i < z.numel(); ++i) { c[i] = a[i] + static_cast<float>(scale) * b[i]; }
}
void halves(tvm::ffi::TensorView x, tvm::ffi::TensorView low, tvm::ffi::TensorView high) {
  const float* from = static_cast<const float*>(x.data_ptr());
  const int64_t n = low.numel();
  std::copy_n(from, n, static_cast<float*>(low.data_ptr()));
  std::copy_n(from + n, n, static_cast<float*>(high.data_ptr()));
}
void told(tvm::ffi::TensorView x, tvm::ffi::TensorView y, int64_t i, bool b, tvm::ffi::String s,
          tvm::ffi::Array<int64_t> l, tvm::ffi::Optional<int64_t> o) {
  float* to = static_cast<float*>(y.data_ptr());
  to[0] = i; to[1] = b; to[2] = s.size(); to[3] = l.size(); to[4] = o.has_value() ? o.value() : -1;
}
void fails(tvm::ffi::TensorView, tvm::ffi::TensorView) { TVM_FFI_THROW(ValueError) << "no such luck"; }
"""


@pytest.fixture(scope="module")
def module():
    from tvm_ffi import cpp

    return cpp.load_inline("tvm_tests", cpp_sources=SOURCE, functions=["scaled_add", "halves", "told", "fails"])


@pytest.fixture(scope="module")
def add(module):
    op = oneop.define("tv_add(Tensor x, Tensor y, *, float scale=1.0) -> Tensor z")
    op.register_infer(lambda x, y: x.like())
    op.register_kernel("cpu", dtypes=torch.float32, language="tvm-ffi")(module.scaled_add)
    op.register_grad(lambda ctx, dz: (dz, dz * ctx.scale))
    op.register_vmap(lambda info, in_dims, x, y, scale=1.0: (op(x, y, scale=scale), 0))
    return op


def reference(x, y, scale=1.0):
    return x + scale * y


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(
    shape=st.lists(st.integers(0, 5), max_size=4),
    scale=st.floats(-4, 4, width=32),
    is_strided=st.booleans(),
)
def test_values(add, shape, scale, is_strided):
    x, y = torch.randn(shape), torch.randn(shape)
    if is_strided and len(shape) > 1:
        x, y = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (x, y))
    torch.testing.assert_close(add(x, y, scale=scale), reference(x, y, scale))


def test_it_is_an_op_like_any_other(add):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    compiled = torch.compile(lambda a, b: add(a, b, scale=2.0) * 2, fullgraph=True)
    torch.testing.assert_close(compiled(x, y), 2 * reference(x, y, 2.0))
    exported = torch.export.export(Calls(add), (x, y)).module()
    torch.testing.assert_close(exported(x, y), reference(x, y, 3.0))
    torch.testing.assert_close(torch.vmap(lambda a: add(a, a))(x), reference(x, x))
    own = [t.clone().requires_grad_() for t in (x, y)]
    grads = torch.autograd.grad(add(*own, scale=2.0).sin().sum(), own)
    expected = torch.autograd.grad(reference(*own, 2.0).sin().sum(), own)
    for grad, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(grad, other)
    assert [kernel.language for kernel in oneop.get_op("tv_add").kernels] == ["tvm-ffi"]


class Calls(torch.nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def forward(self, x, y):
        return self.op(x, y, scale=3.0)


def test_several_outputs(module):
    op = oneop.define("tv_halves(Tensor x) -> (Tensor low, Tensor high)", differentiable=False)
    op.register_infer(lambda x: (x.like(shape=(x.shape[0] // 2,)), x.like(shape=(x.shape[0] // 2,))))
    op.register_kernel("cpu", dtypes=torch.float32, language="tvm-ffi")(module.halves)
    low, high = op(torch.arange(6.0))
    assert low.tolist() == [0, 1, 2] and high.tolist() == [3, 4, 5]


def test_attributes_of_all_kinds(module):
    op = oneop.define(
        "tv_told(Tensor x, *, int i, bool b, str s, int[] l, int? o=None) -> Tensor y", differentiable=False
    )
    op.register_infer(lambda x: x.like(shape=(5,)))
    op.register_kernel("cpu", dtypes=torch.float32, language="tvm-ffi")(module.told)
    x = torch.zeros(1)
    assert op(x, i=7, b=True, s="four", l=[1, 2, 3]).tolist() == [7, 1, 4, 3, -1]
    assert op(x, i=-7, b=False, s="", l=[], o=9).tolist() == [-7, 0, 0, 0, 9]


@pytest.mark.parametrize("part", [lambda z: z, lambda z: z[::2], lambda z: z.view(3, 2).t(), lambda z: z[:0]])
def test_a_function_that_changes_its_input(part):
    op = oneop.define("tv_change(Tensor(a!) x, Tensor(b!)[] xs) -> ()")

    @tvm_ffi.convert
    def change(x, xs):
        for tensor in (x, *xs):
            torch.from_dlpack(tensor).add_(1)

    op.register_kernel("cpu", language="tvm-ffi")(change)
    found, expected = ([torch.arange(6.0) for _ in range(3)] for _ in range(2))
    op(part(found[0]), [part(z) for z in found[1:]])
    for z in expected:
        part(z).add_(1)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kind, default", [("Scalar", ""), ("Scalar?", "=None")])
def test_a_scalar_keeps_its_kind_and_is_real(kind, default):
    op = oneop.define(f"tv_scalar(Tensor x, *, {kind} k{default}) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, k: x.like())
    found = []
    op.register_kernel("cpu", language="tvm-ffi")(tvm_ffi.convert(lambda x, y, k: found.append(k)))
    given = [2, 2.0, True] + ([None] if default else [])
    for value in given:
        op(torch.ones(1), k=value)
    assert [(type(value), value) for value in found] == [(type(value), value) for value in given]
    with pytest.raises(ValueError, match='attribute "k": tvm-ffi has no complex numbers, found 1j'):
        op(torch.ones(1), k=1j)
    assert len(found) == len(given)


def test_an_error_of_the_function_keeps_its_text(module):
    op = oneop.define("tv_fails(Tensor x) -> Tensor y", differentiable=False)
    op.register_infer(lambda x: x.like())
    op.register_kernel("cpu", language="tvm-ffi")(module.fails)
    with pytest.raises(Exception, match="no such luck"):
        op(torch.zeros(2))


def test_refusals(module, monkeypatch):
    op = oneop.define("tv_refused(Tensor x, *, complex c=1.0) -> Tensor y", differentiable=False)
    with pytest.raises(RegistrationError, match=r"expected a tvm_ffi\.Function for language"):
        op.register_kernel("cpu", language="tvm-ffi")(lambda x: x)
    with pytest.raises(RegistrationError, match="tvm-ffi has no complex numbers"):
        op.register_kernel("cpu", language="tvm-ffi")(module.fails)
    out = oneop.define("tv_out(Tensor x, *, int out) -> Tensor y", differentiable=False)
    with pytest.raises(RegistrationError, match="gets its outputs as out"):
        out.register_kernel("cpu", language="tvm-ffi")(module.fails)
    gaps = oneop.define("tv_gaps(Tensor?[] xs) -> Tensor y", differentiable=False)
    with pytest.raises(RegistrationError, match="kernels take no list with None"):
        gaps.register_kernel("cpu", language="tvm-ffi")(module.fails)
    with pytest.raises(oneop.errors.ArgumentError, match="expected an op, such as"):
        oneop.tvm_ffi_function(torch.relu)
    monkeypatch.setitem(sys.modules, "tvm_ffi", None)
    with pytest.raises(MissingDependencyError, match="need the package tvm_ffi"):
        op.register_kernel("cpu", language="tvm-ffi")(module.fails)


def test_an_op_as_a_function(add):
    function = oneop.tvm_ffi_function(add)
    assert isinstance(function, tvm_ffi.Function)
    x, y = torch.randn(4, requires_grad=True), torch.randn(4)
    result = torch.from_dlpack(function(x.detach(), y, 2.5))
    torch.testing.assert_close(result, reference(x.detach(), y, 2.5))
    from_numpy = function(tvm_ffi.from_dlpack(np.ones(3, np.float32)), tvm_ffi.from_dlpack(np.full(3, 2, np.float32)))
    assert torch.from_dlpack(from_numpy).tolist() == [3, 3, 3]
    with pytest.raises(Exception, match="attributes by position, found 4 values"):
        function(x.detach(), y, 1.0, 2.0)


@pytest.mark.parametrize(
    "args, kind",
    [
        (("x", "text"), TypeError),
        (("x", 1, 2), TypeError),
        ((), TypeError),
        (("x", 2), ValueError),
        (("x", 3), IndexError),
        (("x", 4), RuntimeError),
    ],
)
def test_an_error_of_an_op_keeps_its_kind(args, kind):
    op = oneop.define("tv_kind(Tensor x, *, int k=1) -> Tensor y", infer="elementwise", differentiable=False)

    @op.register_kernel("cpu")
    def kernel(x, k):
        raise {2: ValueError, 3: IndexError, 4: RuntimeError}[k]("no")

    with pytest.raises(kind, match='op "tv_kind"') as caught:
        oneop.tvm_ffi_function(op)(*(torch.ones(1) if arg == "x" else arg for arg in args))
    assert type(caught.value) is kind


def test_lists_and_dtypes_go_through_a_function():
    op = oneop.define(
        "tv_sum(Tensor[] xs, *, dtype d, int[] dims, int? k=None) -> (Tensor y, Tensor z)", differentiable=False
    )
    op.register_infer(lambda xs, d: (xs[0].like(dtype=d), xs[0].like()))
    op.register_kernel(language="torch")(lambda xs, d, dims, k: (sum(xs).to(d) * len(dims), xs[0] * (k or 0)))
    results = oneop.tvm_ffi_function(op)([torch.ones(2), torch.ones(2)], torch.float64, [1, 2, 3], 5)
    with pytest.raises(Exception, match="torch has no dtype float6_e2m3fn"):
        oneop.tvm_ffi_function(op)([torch.ones(2)], tvm_ffi.dtype("float6_e2m3fn"), [], None)
    y, z = (torch.from_dlpack(result) for result in results)
    assert y.dtype == torch.float64 and y.tolist() == [6, 6] and z.tolist() == [5, 5]
