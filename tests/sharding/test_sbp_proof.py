"""`check_sbp`: right signatures pass, wrong ones do not, and undeclared ones are found."""

import pytest
import sample_ops
import torch

import oneop
from oneop.errors import ArgumentError, SbpError
from oneop.registry import isolated
from oneop.testing import check_sbp, sbp_samples


@pytest.mark.parametrize("make", sample_ops.KNOWN, ids=lambda make: make.__name__)
def test_what_known_ops_declare_holds_is_all_that_does_and_is_found(make, capsys):
    op = make()
    inputs, attrs = sample_ops.inputs_of(make), sample_ops.ATTRS.get(make, {})
    report = check_sbp(op, inputs, **attrs)
    assert report.undeclared == () and report.wrong == () and report.untried == ()
    assert len(report.proved) >= 1
    assert capsys.readouterr().out == ""
    known = {one.signature for one in report.proved}
    op.register_sbp()
    report = check_sbp(op, inputs, **attrs)
    assert set(report.undeclared) == known
    printed = capsys.readouterr().out
    assert all(f'"{signature}",' in printed for signature in known)


WRONG = [
    (sample_ops.relu, "P -> P", "the sum of the parts"),  # not linear
    (sample_ops.relu, "S(0) -> S(1)", "shape"),
    (sample_ops.relu, "S(0) -> B", "shape"),
    (sample_ops.relu, "S(0) -> P", "shape"),
    (sample_ops.relu, "B -> S(0)", "shape"),
    (sample_ops.relu, "B -> P", "the sum of the parts"),
    (sample_ops.neg, "P -> B", "of a part"),
    (sample_ops.add, "P, B -> P", "the sum of the parts"),  # y is added once too often
    (sample_ops.add, "S(0), B -> S(0)", "part 0"),
    (sample_ops.add, "S(0), S(1) -> S(0)", "part 0"),
    (sample_ops.mul, "P, P -> P", "the sum of the parts"),  # linear in each, not in both
    (sample_ops.matmul, "S(1), S(0) -> B", "of a part"),  # a missing partial sum
    (sample_ops.matmul, "S(1), S(0) -> S(0)", "shape"),
    (sample_ops.matmul, "S(0), S(0) -> S(0)", "part 0"),  # a false split of the summed axis
    (sample_ops.matmul, "B, S(1) -> S(0)", "shape"),  # the wrong axis
    (sample_ops.matmul, "P, P -> P", "the sum of the parts"),
    (sample_ops.row_sum, "S(1) -> B", "of a part"),
    (sample_ops.row_sum, "S(1) -> S(0)", "shape"),
    (sample_ops.row_sum, "S(0) -> P", "shape"),
    (sample_ops.row_max, "S(1) -> P", "the sum of the parts"),  # a maximum is no sum
    (sample_ops.row_max, "P -> P", "the sum of the parts"),
    (sample_ops.softmax, "S(1) -> S(1)", "put together along axis 1"),  # a split of the reduced axis
    (sample_ops.embedding, "S(0), B -> P", "part"),  # ids of other shards
    (sample_ops.transpose, "S(0) -> S(0)", "shape"),
    (sample_ops.bias_add, "P, B -> P", "the sum of the parts"),
    (sample_ops.expand, "S(0) -> B", "part 0"),
]


@pytest.mark.parametrize("make, signature, problem", WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_wrong_signatures_are_rejected(make, signature, problem):
    op = make()
    op.register_sbp(signature)
    with pytest.raises(SbpError) as error:
        check_sbp(op, sample_ops.inputs_of(make), discover=False, **sample_ops.ATTRS.get(make, {}))
    assert f"WRONG     {signature}" in str(error.value) and problem in str(error.value)


def test_what_holds_for_positive_numbers_only_does_not_pass():
    op = sample_ops.define("k_abs(Tensor x) -> Tensor y", torch.abs, infer="elementwise")
    op.register_sbp("P -> P")
    with pytest.raises(SbpError, match="the sum of the parts"):
        check_sbp(op, [torch.rand(4, 5) + 1], discover=False)


def test_a_signature_for_even_parts_only(capsys):
    op = sample_ops.define("k_twice(Tensor x) -> Tensor y", lambda x: torch.cat([x, x], 1).reshape(x.shape[0] * 2, -1))
    op.register_infer(lambda x: (x.shape[0] * 2, x.shape[1]))
    op.register_sbp("S(0) -> S(0)")
    report = check_sbp(op, [torch.randn(4, 3)], discover=False)
    assert "S(0) -> S(0)  (even parts only)" in str(report)


def test_an_op_that_changes_its_input():
    op = oneop.define("k_axpy_(Tensor(a!) y, Tensor x) -> ()", infer="elementwise")

    @op.register_kernel(language="torch")
    def kernel(y, x):
        y.add_(x, alpha=2)

    op.register_sbp("S(0), S(0) -> ", "P, P -> ")
    assert len(check_sbp(op, [torch.randn(4, 3), torch.randn(4, 3)], discover=False).proved) == 2
    op.register_sbp("P, B -> ")
    with pytest.raises(SbpError, match="what is changed in place"):
        check_sbp(op, [torch.randn(4, 3), torch.randn(4, 3)], discover=False)


def test_optional_inputs():
    op = sample_ops.define(
        "k_affine(Tensor x, Tensor? b=None) -> Tensor y", lambda x, b: x * 2 if b is None else x * 2 + b
    )
    op.register_infer(lambda x, b: x)
    op.register_sbp("S(0), B -> S(0)", "S(1), S(0) -> S(1)")
    assert len(check_sbp(op, [torch.randn(5, 4), torch.randn(4)], discover=False).proved) == 2
    report = check_sbp(op, [torch.randn(5, 4)], discover=False)
    assert [one.signature for one in report.proved] == ["S(0), B -> S(0)", "S(1), B -> S(1)"]


def test_axes_that_cannot_be_cut_are_said():
    report = check_sbp(sample_ops.relu(), [torch.randn(1, 4)])
    assert [one.signature for one in report.untried] == ["S(0) -> S(0)"]
    assert "not tried S(0) -> S(0)  an axis has fewer than 2 elements" in str(report)


def test_what_it_says():
    op = sample_ops.relu()
    op.register_sbp("P -> P", "S(0) -> S(0)")
    with pytest.raises(SbpError) as error:
        check_sbp(op, [torch.tensor([[3.0, -1.0], [2.0, -2.0], [1.0, 1.0]])])
    lines = str(error.value).splitlines()
    assert lines[0] == 'op "k_relu": 1 signatures hold, 1 do not'
    assert lines[1] == "  holds     S(0) -> S(0)"
    assert lines[2].startswith(
        '  WRONG     P -> P  2 parts: "y", the sum of the parts, differs from the whole by up to '
    )
    assert lines[3:5] == [
        "  these hold too and are not declared; to add them:",
        '    "S(1) -> S(1)",  # to register_sbp(...) or sbp=[...]',
    ]
    assert lines[5].startswith("  defined at ") and len(lines) == 6


def test_a_random_op_is_refused():
    sample_ops.define("k_noise(Tensor x) -> Tensor y", torch.rand_like, infer="elementwise", random=True)
    with pytest.raises(ArgumentError, match='op "k_noise" is random: parts and the whole cannot be compared'):
        check_sbp("k_noise", [torch.ones(3)])


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match='op "k_relu" has 1 inputs, found 2\n  give one entry for each: x'):
        check_sbp(sample_ops.relu(), [torch.ones(2), torch.ones(2)])
    with pytest.raises(ArgumentError, match='op "k_relu", input "x": expected a tensor, found int'):
        check_sbp("k_relu", [1])


def test_the_line_for_an_op_of_cpp(capsys):
    oneop.load_inline(
        "sbp_proof_ops",
        """
        #include "oneflow/core/framework/framework.h"
        namespace oneflow {
        REGISTER_USER_OP("k_cpp_neg").Input("x").Output("y").NoGrad()
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
        class Neg final : public user_op::OpKernel {
          void Compute(user_op::KernelComputeContext* ctx) const override {
            const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
            auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
            for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) y->mut_dptr<float>()[i] = -x->dptr<float>()[i];
          }
          bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
        };
        REGISTER_USER_KERNEL("k_cpp_neg").SetCreateFn<Neg>();
        }
        """,
    )
    report = check_sbp("k_cpp_neg", [torch.randn(4)])
    assert report.undeclared == ("S(0) -> S(0)", "P -> P")
    line = 'ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Split(user_op::OpArg("y", 0), 0).Build();'
    assert report.lines[0] == line and line in capsys.readouterr().out


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in (torch.float16, torch.float32))],
)
def test_gradients_in_low_precision_are_rounded_and_right(dtype):
    with isolated():
        product = oneop.define("low_product(Tensor x, Tensor w) -> Tensor y")
        product.register_infer(lambda x, w: x.like(shape=(x.shape[0], w.shape[1])))
        product.register_sbp("S(0), B -> S(0)", "B, S(1) -> S(1)", "S(1), S(0) -> P")
        product.register_kernel(language="torch")(lambda x, w: x @ w)
        norm = oneop.define("low_norm(Tensor x, Tensor w) -> Tensor y", sbp=["S(0), B -> S(0)"])
        norm.register_infer(lambda x, w: x)
        norm.register_kernel(language="torch")(
            lambda x, w: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w
        )
        for seed in range(5):
            torch.manual_seed(seed)
            check_sbp(product, [torch.randn(5, 7, dtype=dtype), torch.randn(7, 3, dtype=dtype)], discover=False)
            check_sbp(norm, [torch.randn(12, 8, dtype=dtype), torch.randn(8, dtype=dtype)], discover=False)


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("most", [20, 100, 1000])
def test_integers_are_tried_at_other_magnitudes(dtype, most):
    with isolated():
        clamp = oneop.define(
            "whole_clamp(Tensor x) -> Tensor y", infer="same_shape", sbp=["P -> P"], differentiable=False
        )
        clamp.register_kernel(language="torch")(lambda x: x.clamp(-most, most))
        with pytest.raises(SbpError):
            check_sbp(clamp, [torch.randint(-9, 9, (6, 4)).to(dtype)], discover=False)
        twice = oneop.define(
            "whole_twice(Tensor x) -> Tensor y", infer="same_shape", sbp=["P -> P"], differentiable=False
        )
        twice.register_kernel(language="torch")(lambda x: x * 2)
        check_sbp(twice, [torch.randint(-9, 9, (6, 4)).to(dtype)], discover=False)


def test_the_value_of_an_int_attribute_that_refutes_is_named():
    """An axis that the call does not have, one counted from the end, and a number that only the code knows."""
    with isolated():
        soft = oneop.define("int_soft(Tensor x, *, int dim=1) -> Tensor y", infer="same_shape", sbp=["S(0) -> S(0)"])
        soft.register_kernel(language="torch")(lambda x, dim: x.softmax(dim))
        with pytest.raises(SbpError, match=r"WRONG     S\(0\) -> S\(0\)  with dim=0, 2 parts: "):
            check_sbp(soft, [torch.randn(6, 5)], discover=False)
        soft.register_sbp(lambda ctx: ctx.new_builder().split("x", 0).split("y", 0).build() if ctx.attrs["dim"] else 0)
        with pytest.raises(SbpError, match=r"WRONG     S\(0\) -> S\(0\)  with dim=-2, 2 parts: "):
            check_sbp(soft, [torch.randn(6, 5)], discover=False, choices={"dim": [-2]})
        steps = oneop.define("int_steps(Tensor x, *, int k=1) -> Tensor y", infer="same_shape", sbp=["S(0) -> S(0)"])
        steps.register_kernel(language="numpy")(lambda x, k: x - x.mean(0) if k > 40 else x * k)
        with pytest.raises(SbpError, match="with k=41, 2 parts"):
            check_sbp(steps, [torch.randn(6, 5)], discover=False, backward=False)


@pytest.mark.parametrize("is_interpreted, tried", [(True, {0, 1, 2, -1, 3, 4}), (False, {1, 2, 3})])
def test_which_values_int_attributes_are_tried_with(is_interpreted, tried, monkeypatch):
    """A compiled kernel may use as an index, or a divisor, what inference lets through: it gets smaller ones only."""
    monkeypatch.setattr(sbp_samples, "_is_interpreted", lambda call: is_interpreted)
    with isolated():
        op = oneop.define("int_rows(Tensor x, *, int rows=3) -> Tensor y", infer="same_shape", sbp=["S(1) -> S(1)"])
        seen = set()
        op.register_kernel(language="numpy")(lambda x, rows: (seen.add(rows), x.copy())[1])
        check_sbp(op, [torch.randn(4, 5)], discover=False, backward=False)
        assert seen == tried


@pytest.mark.parametrize("signature", ["P(avg) -> P(avg)", "S(0) -> P(avg)", "P(avg) -> B"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
def test_means_of_integers_are_never_used(dtype, signature):
    with isolated():
        op = oneop.define("whole_mean(Tensor x) -> Tensor y", infer="same_shape", sbp=[signature], differentiable=False)
        op.register_kernel(language="torch")(lambda x: x.clone())
        report = check_sbp(op, [torch.ones(6, 4, dtype=dtype)], discover=False)
        assert [one.signature for one in report.untried] == [signature] and not report.proved
        assert "never used for these dtypes: a mean of integers is no integer" in report.untried[0].problem


@pytest.mark.parametrize("declared", ["S(0) -> S(0)", "P -> P", "P(avg) -> P(avg)"])
def test_complex_numbers(declared):
    """They have sums and means, and no order: a maximum of parts is not proposed."""
    op = oneop.define("k_turn(Tensor x) -> Tensor", infer="same_shape", sbp=[declared])
    op.register_kernel(language="torch")(lambda x: x * 1j)
    report = str(check_sbp(op, [torch.randn(5, 4, dtype=torch.complex64)]))
    assert f"holds     {declared}" in report and "max" not in report


@pytest.mark.parametrize("declared", ["B -> P(max)", "P(min) -> P(min)"])
def test_an_order_of_complex_numbers(declared):
    op = oneop.define("k_order(Tensor x) -> Tensor", infer="same_shape", sbp=[declared])
    op.register_kernel(language="torch")(lambda x: x * 1)
    with pytest.raises(SbpError, match=r"is of torch\.complex64, whose numbers have no order"):
        check_sbp(op, [torch.randn(5, 4, dtype=torch.complex64)])


@pytest.mark.parametrize("declared", ["P -> P", "P(max) -> P(max)", "P(min) -> P(min)"])
def test_partial_values_of_bools_are_not_tried(declared):
    op = oneop.define("k_flags(Tensor x) -> Tensor", infer="same_shape", sbp=[declared])
    op.register_kernel(language="torch")(lambda x: x | x)
    report = check_sbp(op, [torch.randn(5, 4) > 0])
    assert report.proved == () and "a tensor of bool cannot be cut into partial values" in str(report)


def test_sums_that_overflow_only_where_inputs_were_enlarged_say_nothing():
    with isolated():
        op = oneop.define("narrow_column_sum(Tensor x) -> Tensor y", infer="r c -> c")
        op.register_kernel("cpu", language="torch")(lambda x: x.double().sum(0).to(x.dtype))
        # Times 10,000 the parts of the first column are too large for float16, and the whole is 0.
        x = torch.tensor([[4.0, 0.5], [4.0, 0.25], [-4.0, 1.0], [-4.0, 0.5]], dtype=torch.float16)
        report = check_sbp(op, [x], discover=False)
    assert "S(0) -> P" in [finding.signature for finding in report.proved]
