"""Ops that are called for what they do are kept by every compiler, in order."""

import pytest
import torch
import torch._inductor.config

import oneop

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compiler
SEEN = []


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    SEEN.clear()
    # Inductor without loops in C++, which take a second each to compile.
    with torch._inductor.config.patch(fallback_by_default=True):
        yield


def log_op(name="ef_log"):
    op = oneop.define(f"{name}(Tensor x, *, str tag) -> ()")
    op.register_kernel("cpu")(lambda x, tag: SEEN.append((tag, float(x.sum()))))
    return op


def counting_op():
    op = oneop.define("ef_count(Tensor x) -> Tensor y", infer="elementwise", side_effect=True, differentiable=False)
    op.register_kernel("cpu")(lambda x: SEEN.append("count") or x + 1)
    return op


class Logged(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log, self.count = log_op(), counting_op()

    def forward(self, x):
        self.log(x, tag="a")
        self.count(x)  # nobody uses the output
        y = x * 2
        self.log(y, tag="b")
        self.log(x, tag="a")  # not the same call: it is made twice
        return y + 1


ORDER = [("a", 2.0), "count", ("b", 4.0), ("a", 2.0)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("needs_grad", [False, True])
def test_compiled(backend, needs_grad):
    model = Logged()
    x = torch.ones(2, requires_grad=needs_grad)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    for _ in range(2):
        SEEN.clear()
        y = compiled(x)
        assert torch.equal(y.detach(), torch.full((2,), 3.0)) and SEEN == ORDER
        if needs_grad:
            assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2, 2] and SEEN == ORDER


@pytest.mark.parametrize("decomposed", [False, True])
def test_exported(decomposed):
    program = torch.export.export(Logged(), (torch.ones(2),))
    if decomposed:
        program = program.run_decompositions()
    SEEN.clear()
    program.module()(torch.ones(2))
    assert SEEN == ORDER


def test_a_pure_op_that_nobody_uses_is_dropped():
    op = oneop.define("ef_pure(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x: SEEN.append("pure") or x + 1)
    compiled = torch.compile(lambda x: (op(x), x * 2)[1], backend="aot_eager", fullgraph=True)
    compiled(torch.ones(2))
    assert SEEN == []


def test_ops_without_outputs_need_no_inference_and_no_gradient():
    op = log_op("ef_plain")
    op(torch.ones(3, requires_grad=True), tag="x")
    assert SEEN == [("x", 3.0)]
    assert oneop.get_op("ef_plain").side_effect and "side effect" in str(oneop.get_op("ef_plain"))


def test_ops_of_cpp():
    library = oneop.load_inline(
        "effect_ops",
        """
        #include "oneflow/core/framework/framework.h"
        namespace oneflow {
        static int64_t calls = 0;
        REGISTER_USER_OP("ef_cpp_touch").Input("x").Output("y").NoGrad().SideEffect()
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
        class Touch final : public user_op::OpKernel {
          void Compute(user_op::KernelComputeContext* ctx) const override {
            ++calls;
            auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
            for (int64_t i = 0; i < y->shape().elem_cnt(); ++i) y->mut_dptr<float>()[i] = float(calls);
          }
        };
        REGISTER_USER_KERNEL("ef_cpp_touch").SetCreateFn<Touch>();
        }
        """,
    )
    x = torch.ones(1)
    compiled = torch.compile(lambda t: (library.ef_cpp_touch(t), library.ef_cpp_touch(t))[1] * 1, backend="aot_eager")
    assert [compiled(x).item() for _ in range(3)] == [2, 4, 6]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_compiled_call_without_outputs_gives_what_an_eager_one_gives(backend):
    op = oneop.define("gives_nothing(Tensor(a!) x) -> ()", infer="elementwise")

    @op.register_kernel(language="numpy")
    def kernel(x):
        x += 1

    x, y = torch.zeros(3), torch.zeros(3)
    fast = torch.compile(lambda x: (op(x), x * 1), backend=backend, fullgraph=True)
    assert fast(x)[0] == op(y) == () and torch.equal(x, y)


def test_nothing_is_an_empty_tuple_under_a_mode_too():
    """With a torch function mode the call goes through torch.ops, which returns None."""
    op = log_op("ef_nothing")
    with torch.overrides.BaseTorchFunctionMode():
        assert op(torch.ones(2), tag="a") == ()
    assert op(torch.ones(2), tag="a") == ()
