"""Ops that an author edits between two runs: each takes a factor, in its own way. Run: edited_ops.py FACTOR.

Prints, as JSON, for each op the compiled forward value and gradient, and torch's counters of its caches.
"""

import functools
import json
import sys
import types
from pathlib import Path

import numpy as np
import torch

import oneop

FACTOR = 1.0


def helper(value):
    return value * FACTOR


def code_of(text):
    """A function with the factor in its code."""
    return eval(text.replace("FACTOR", repr(FACTOR)))


def op_of(name, **options):
    return oneop.define(f"{name}(Tensor x) -> Tensor y", **{"infer": "elementwise", **options})


def body():
    op = op_of("ed_body")
    op.register_kernel(language="torch")(code_of("lambda x: x * FACTOR"))


def closure():
    factor = FACTOR
    op_of("ed_closure").register_kernel(language="torch")(lambda x: x * factor)


def global_value():
    op_of("ed_global").register_kernel(language="torch")(lambda x: x * FACTOR)


def global_function():
    op_of("ed_helper").register_kernel(language="torch")(lambda x: helper(x))


def default():
    def kernel(x, factor=FACTOR):
        return x * factor

    op_of("ed_default").register_kernel(language="torch")(kernel)


def held_values():
    table, array = [FACTOR, "text"], np.full(1, FACTOR)
    scale = functools.partial(torch.mul, other=FACTOR)
    kernel = code_of("lambda x: scale(x)")
    kernel = types.FunctionType(kernel.__code__, {**globals(), "scale": scale}, "kernel")
    op_of("ed_partial").register_kernel(language="torch")(kernel)
    op_of("ed_list").register_kernel(language="torch")(lambda x: x * table[0])
    op_of("ed_array").register_kernel(language="torch")(lambda x: x * float(array[0]))


def method():
    class Scale:
        def __init__(self):
            self.factor = FACTOR

        def __call__(self, x):
            return x * self.factor

    op_of("ed_object").register_kernel(language="torch")(Scale())


def gradient():
    op = op_of("ed_grad")
    op.register_kernel("cpu")(lambda x: x * FACTOR)
    op.register_grad(code_of("lambda ctx, dy: dy * FACTOR"))


def gradient_calls_op():
    inner = op_of("ed_inner", differentiable=False)
    inner.register_kernel(language="torch")(code_of("lambda x: x * FACTOR"))
    op = op_of("ed_outer")
    op.register_kernel("cpu")(lambda x: x * FACTOR)
    op.register_grad(lambda ctx, dy: getattr(oneop.ops, "ed_" + "inner")(dy))


def inference():
    rows = int(FACTOR)
    op = oneop.define("ed_infer(Tensor x) -> Tensor y")
    op.register_infer(lambda x: (rows, *x.shape))
    op.register_kernel("cpu")(lambda x: np.broadcast_to(x, (rows, *x.shape)).copy())
    op.register_grad(lambda ctx, dy: dy.sum(0))


def cpp():
    oneop.load_inline(
        "ed_cpp_library",
        """
        #include "oneflow/core/framework/framework.h"
        using namespace oneflow;
        template <int N>
        struct Scale final : user_op::OpKernel {
          void Compute(user_op::KernelComputeContext* ctx) const override {
            const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
            auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
            for (int64_t i = 0; i < x->shape().elem_cnt(); ++i)
              y->mut_dptr<float>()[i] = N * ctx->Attr<float>("by") * x->dptr<float>()[i];
          }
        };
        REGISTER_USER_OP("ed_cpp").Input("x").Output("y").Attr<float>("by", 1.0f)
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
        REGISTER_USER_KERNEL("ed_cpp").SetCreateFn<Scale<FACTOR>>();
        REGISTER_USER_OP("ed_cpp_g").Input("x").Output("y").Attr<float>("by", 1.0f).NoGrad()
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
        REGISTER_USER_KERNEL("ed_cpp_g").SetCreateFn<Scale<1>>();
        REGISTER_USER_OP_GRAD("ed_cpp").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
          ctx->DefineOp("g", [&](user_op::BackwardOpBuilder& b) {
            return b.OpTypeName("ed_cpp_g").InputBind("x", ctx->FwOp().output_grad("y", 0)).Output("y")
                .Attr("by", FACTOR.0f * ctx->FwOp().attr<float>("by")).Build();
          });
          ctx->FwOp().InputGradBind({"x", 0}, [&] { return ctx->GetOp("g").output("y", 0); });
        });
        """.replace("FACTOR", str(int(FACTOR))),
    )


def unreadable():
    handle = Path(__file__).open()  # what nobody can digest
    factor = FACTOR
    op_of("ed_file").register_kernel(language="torch")(lambda x: x * (factor if handle else 0))


DEFINITIONS = [
    body,
    closure,
    global_value,
    global_function,
    default,
    held_values,
    method,
    gradient,
    gradient_calls_op,
    inference,
    cpp,
]


def define_all(factor):
    global FACTOR
    FACTOR = factor
    for definition in DEFINITIONS:
        definition()
    return [name for name in oneop.list_ops() if name.startswith("ed_") and name not in ("ed_inner", "ed_cpp_g")]


def measure(call):
    x = torch.ones(3, requires_grad=True)
    y = call(x)
    (g,) = torch.autograd.grad(y.sum(), x)
    return [y.sum().item() / 3, g[0].item()]


def main():
    import torch._inductor.config as inductor
    from torch._dynamo.utils import counters

    inductor.fallback_by_default = True  # its caches without its loops in C++, which take a second each to compile
    results = {}
    names = [*define_all(float(sys.argv[1])), "ed_file"]
    for name in names:
        if name == "ed_file":  # last: whatever is compiled beside it could call it
            unreadable()
        torch._dynamo.reset()
        counters.clear()
        op = getattr(oneop.ops, name)
        values = measure(torch.compile(lambda x, op=op: op(x) * 1.0, fullgraph=True))
        aot, fx = counters["aot_autograd"], counters["inductor"]
        results[name] = {
            "values": values,
            "aot": {event: aot[f"autograd_cache_{event}"] for event in ("hit", "miss", "bypass")},
            "fx": {event: fx[f"fxgraph_cache_{event}"] for event in ("hit", "miss", "bypass")},
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
