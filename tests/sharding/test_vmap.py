"""Rules for vmap that follow from signatures which split every tensor."""

import sample_ops
import torch

import oneop


def counted(schema, kernel, **options):
    """An op that counts how often its kernel runs."""
    calls = []

    def run(*args, **attrs):
        calls.append(1)
        return kernel(*args, **attrs)

    op = oneop.define(schema, **options)
    op.register_kernel("cpu")(run)
    return op, calls


def test_a_batch_goes_along_the_split_axis():
    op, calls = counted("v_rows(Tensor x, Tensor y) -> Tensor z", lambda x, y: x.cumsum(1) * y, infer="elementwise")
    op.register_sbp("S(0), S(0) -> S(0)")
    x, y = torch.randn(3, 4, 5), torch.randn(4, 5)
    expected = x.cumsum(2) * y
    torch.testing.assert_close(torch.func.vmap(op, in_dims=(0, None))(x, y), expected)
    torch.testing.assert_close(
        torch.func.vmap(op, in_dims=(1, None), out_dims=1)(x.movedim(0, 1), y), expected.movedim(0, 1)
    )
    assert len(calls) == 2


def test_axes_may_differ():
    op = sample_ops.transpose()
    x = torch.randn(3, 4, 5)
    torch.testing.assert_close(torch.func.vmap(op)(x), x.transpose(1, 2))


def test_attributes_several_outputs_and_nesting():
    op = sample_ops.min_max()
    x = torch.randn(2, 3, 4, 5)
    low, high = torch.func.vmap(torch.func.vmap(lambda t: op(t, dim=1)))(x)
    torch.testing.assert_close((low, high), (x.amin(3), x.amax(3)))
    soft = sample_ops.softmax()
    torch.testing.assert_close(torch.func.vmap(lambda t: soft(t, dim=0))(x[0]), x[0].softmax(1))


def test_lists():
    op = sample_ops.add_n()
    x, y = torch.randn(3, 4, 5), torch.randn(4, 5)
    torch.testing.assert_close(torch.func.vmap(lambda a: op([a, a, y]))(x), 2 * x + y)


def test_where_no_signature_splits_everything_it_runs_for_each():
    op = sample_ops.matmul()
    a, b = torch.randn(3, 4, 5), torch.randn(5, 6)
    torch.testing.assert_close(torch.func.vmap(op, in_dims=(0, None))(a, b), a @ b)


def test_the_authors_rule_wins():
    op, calls = counted("v_own(Tensor x) -> Tensor y", lambda x: x, infer="elementwise")
    op.register_vmap(lambda info, in_dims, x: (x + 1, 0))
    op.register_sbp("S(0) -> S(0)")
    assert torch.equal(torch.func.vmap(op)(torch.zeros(2, 3)), torch.ones(2, 3)) and not calls


def test_ops_of_cpp():
    oneop.load_inline(
        "vmap_ops",
        """
        #include "oneflow/core/framework/framework.h"
        namespace oneflow {
        REGISTER_USER_OP("v_cpp_neg").Input("x").Output("y").NoGrad()
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
            .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
        class Neg final : public user_op::OpKernel {
          void Compute(user_op::KernelComputeContext* ctx) const override {
            const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
            auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
            for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) y->mut_dptr<float>()[i] = -x->dptr<float>()[i];
          }
          bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
        };
        REGISTER_USER_KERNEL("v_cpp_neg").SetCreateFn<Neg>();
        }
        """,
    )
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.func.vmap(oneop.ops.v_cpp_neg)(x), -x)
