"""Defining ops: the callable, redefinition, and how Python and C++ meet."""

import inspect
import textwrap

import pytest
import torch

import oneop
from oneop.errors import DuplicateOpError, RegistrationError

LEAKY = "t_leaky(Tensor x, *, float alpha=0.01) -> Tensor y"


def define_leaky(**options):
    op = oneop.define(LEAKY, infer="elementwise", **options)

    @op.register_kernel("cpu")
    def kernel(x, alpha):
        return x * (x > 0) + (x * alpha * (x <= 0)).astype(x.dtype)

    return op


def test_the_callable():
    op = define_leaky(doc="A leaky relu.")
    x = torch.tensor([-1.0, 2.0])
    torch.testing.assert_close(op(x, alpha=0.5), torch.tensor([-0.5, 2.0]))
    torch.testing.assert_close(oneop.ops.t_leaky(x=x), torch.tensor([-0.01, 2.0]))
    torch.testing.assert_close(torch.ops.oneop.t_leaky(x, alpha=0.5), torch.tensor([-0.5, 2.0]))
    assert str(inspect.signature(op)) == "(x: torch.Tensor, *, alpha: float = 0.01) -> torch.Tensor"
    assert op.__doc__.startswith("A leaky relu.\n\nt_leaky(Tensor x")
    assert f"{__file__}:" in op.__doc__
    assert op.__annotations__ == {"x": torch.Tensor, "alpha": float}


def test_show_names_language_and_place(capsys):
    define_leaky()
    shown = oneop.show("t_leaky")
    assert shown.kernels[0].language == "numpy" and shown.kernels[0].source.file == __file__
    assert "numpy" in capsys.readouterr().out


def test_another_schema_at_another_place_is_refused():
    define_leaky()
    with pytest.raises(DuplicateOpError) as error:
        oneop.define("t_leaky(Tensor x) -> Tensor")
    assert str(error.value).count(f"{__file__}:") == 2
    assert "t_leaky(Tensor x, *, float alpha=0.01) -> Tensor y" in str(error.value)
    define_leaky()(torch.ones(2))  # the first one still works


def test_the_same_place_may_define_again():
    for _ in range(2):
        op = define_leaky()
    assert len(oneop.get_op("t_leaky").kernels) == 1
    op(torch.ones(2))


def test_another_file_is_refused(tmp_path):
    define_leaky()
    file = tmp_path / "other.py"
    scope = {"__file__": str(file)}
    with pytest.raises(DuplicateOpError) as error:
        exec(compile(f"import oneop\noneop.define({LEAKY!r})", str(file), "exec"), scope)
    assert f"{file}:2" in str(error.value) and f"{__file__}:" in str(error.value)


def test_a_notebook_cell_replaces():
    cell = """
        import oneop
        op = oneop.define("t_cell(Tensor x{more}) -> Tensor", infer="elementwise")

        @op.register_kernel("cpu")
        def kernel(x{parameter}):
            return x * {factor}
    """
    notebook = {"__name__": "__main__"}  # no __file__

    def run(number, **values):
        exec(compile(textwrap.dedent(cell.format(**values)), f"<cell {number}>", "exec"), notebook)
        return notebook["op"]

    first = run(1, more="", parameter="", factor="x.dtype.type(2)")
    assert first(torch.ones(1)).item() == 2
    second = run(2, more=", *, int k=3", parameter=", k", factor="x.dtype.type(k)")
    assert second(torch.ones(1)).item() == 3 and second(torch.ones(1), k=5).item() == 5
    assert torch.ops.oneop.t_cell(torch.ones(1), k=4).item() == 4
    assert len(oneop.get_op("t_cell").kernels) == 1


def test_a_kernel_for_the_same_again_replaces():
    op = define_leaky()
    for factor in (2, 3):

        @op.register_kernel("cpu")
        def kernel(x, factor=factor):
            return x * x.dtype.type(factor)

    assert op(torch.ones(1)).item() == 3
    assert len(oneop.get_op("t_leaky").kernels) == 1


def test_several_outputs_lists_and_options():
    op = oneop.define("t_mixed(Tensor[] xs, Tensor? bias=None, *, int k=1) -> (Tensor sum, Tensor count)")

    @op.register_infer
    def infer(xs, bias):
        return xs[0], oneop.TensorSpec((), torch.int64)

    @op.register_kernel("cpu")
    def kernel(xs, bias, k):
        import numpy as np

        total = sum(xs) * xs[0].dtype.type(k)
        return total if bias is None else total + bias, np.int64(len(xs))

    x = torch.arange(3.0)
    total, count = op([x, x], k=2)
    torch.testing.assert_close(total, 4 * x)
    assert count.item() == 2 and count.dtype == torch.int64
    torch.testing.assert_close(op([x], x)[0], 2 * x)


def test_in_place():
    op = oneop.define("t_add_one(Tensor(a!) x, *, float by=1.0) -> ()", differentiable=False)

    @op.register_infer
    def infer(x):
        return []

    @op.register_kernel("cpu")
    def kernel(x, by):
        x += x.dtype.type(by)

    x = torch.zeros(4)
    version = x._version
    assert op(x, by=2.0) in (None, ())
    torch.testing.assert_close(x, torch.full((4,), 2.0))
    assert x._version > version
    strided = torch.zeros(4, 2)[:, 0]
    op(strided)
    torch.testing.assert_close(strided, torch.ones(4))


def test_open_number_of_outputs():
    op = oneop.define("t_split(Tensor x) -> Tensor[] parts")

    @op.register_infer
    def infer(x):
        return [x, x]

    @op.register_kernel("cpu")
    def kernel(x):
        return [x, x + 1]

    a, b = op(torch.zeros(2), output_counts=[2])
    torch.testing.assert_close(b - a, torch.ones(2))


CPP_OP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("t_cpp_double").Input("in").Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });
class DoubleKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i < in->shape_view().elem_cnt(); ++i) { out->mut_dptr<float>()[i] = 2 * in->dptr<float>()[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("t_cpp_double").SetCreateFn<DoubleKernel>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) && (user_op::HobDataType("out", 0) == DataType::kFloat));
}
"""


@pytest.fixture(scope="module")
def cpp_library():
    return oneop.build("t_authoring", [write(CPP_OP)])


def write(text):
    from oneop._build.generate import keep_texts

    return keep_texts("t_authoring", {"t_authoring.cpp": text})[0]


def test_a_python_kernel_for_a_cpp_op(cpp_library):
    oneop.load(cpp_library.path)
    op = oneop.ops.t_cpp_double

    @op.register_kernel("cpu", dtypes=torch.float64)
    def kernel(x):
        return x * 2

    @op.register_grad
    def grad(ctx, dy):
        return 2 * dy

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    op(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2,), 2.0, dtype=torch.float64))
    torch.testing.assert_close(op(torch.ones(2)), torch.full((2,), 2.0))  # C++
    assert [(k.language, k.dtype) for k in oneop.get_op("t_cpp_double").kernels] == [
        ("c++", "float32"),
        ("numpy", "float64"),
    ]

    @op.register_kernel("cpu", dtypes=torch.float32, priority=1)
    def better(x):
        return x * x.dtype.type(20)

    assert op(torch.ones(1)).item() == 20  # priority goes across languages
    with pytest.raises(RegistrationError, match="is defined in C\\+\\+"):
        op.register_infer(lambda x: x)
