"""Ops that are wrong, each in one way. `FAULTS` says which family of checks must find it."""

import functools
import time

import numpy as np
import torch

import oneop

FLOATS = (torch.float32, torch.float64)

#: Defined in faults.cpp.
CPP = {
    "writes_past_end": "memory",
    "writes_before_start": "memory",
    "leaves_tail": "memory",
    "changes_input": "memory",
    "reads_past_end": "memory",
    "adds_to_output": "memory",
    "infers_too_small": "memory",
    "infers_too_large": "memory",
    "infers_wrong_dtype": "memory",
    "overruns_scratch": "memory",
    "trusts_scratch": "memory",
    "ignores_strides": "memory",
    "wraps_index": "sizes",
    "shares_buffer": "threads",
    "loses_digits": "reference",
    "wrong_in_place": "job",
}


def unary(name, kernel, *, infer="elementwise", schema="(Tensor x) -> Tensor y", **options):
    op = oneop.define(name + schema, infer=infer, **options)
    op.register_kernel("cpu", dtypes=FLOATS)(kernel)
    return op


def square(name, **options):
    return unary(name, lambda x: x * x, **options)


def wrong_gradient(name="wrong_gradient"):
    square(name).register_grad(lambda ctx, dy: 3 * ctx.x * dy)


def wrong_gradient_of_second(name="wrong_gradient_of_second"):
    op = oneop.define(f"{name}(Tensor x, Tensor w) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, w: x * w)
    op.register_grad(lambda ctx, dy: (dy * ctx.w, dy * ctx.w))


def gradient_forgets_attribute(name="gradient_forgets_attribute"):
    op = oneop.define(f"{name}(Tensor x, *, float by=1.0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, by: x * x.dtype.type(by))
    op.register_grad(lambda ctx, dy: dy)


def gradient_of_one_is_absent(name="gradient_of_one_is_absent"):
    op = oneop.define(f"{name}(Tensor x, Tensor w) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, w: x * w)
    op.register_grad(lambda ctx, dy: (dy * ctx.w, None))


def wrong_second_gradient(name="wrong_second_gradient"):
    square(name).register_grad(lambda ctx, dy: 2 * ctx.x.detach() * dy)


def wrong_narrow_gradient(name="wrong_narrow_gradient"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: np.sin(x))
    op.register_grad(lambda ctx, dy: dy * torch.sin(ctx.x))


def result_does_not_fit_inference(name="result_does_not_fit_inference"):
    oneop.define(f"{name}(Tensor x) -> Tensor y", infer="a b -> b a", differentiable=False)
    oneop.ops.__getattr__(name).register_kernel("cpu", dtypes=FLOATS)(lambda x: x)


def dtype_does_not_fit_inference(name="dtype_does_not_fit_inference"):
    unary(name, lambda x: x.astype(np.float64), differentiable=False)


def inference_remembers(name="inference_remembers"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", differentiable=False)
    seen = []

    @op.register_infer
    def infer(x):
        seen.append(x)
        return x.like(shape=(*x.shape, len(seen) % 7))

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, out: out.fill(0))


def random_result(name="random_result"):
    unary(name, lambda x: x + np.asarray(np.random.random_sample(x.shape), x.dtype), differentiable=False)


def counts_calls(name="counts_calls"):
    calls = []

    def kernel(x):
        calls.append(1)
        return x + x.dtype.type(len(calls) % 5 == 0)

    unary(name, kernel, differentiable=False)


def ignores_nan(name="ignores_nan"):
    unary(name, lambda x: np.fmax(x, 0).astype(x.dtype), differentiable=False)
    oneop.testing.reference(name)(torch.relu)


def fails_on_empty(name="fails_on_empty"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="n -> ", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: functools.reduce(np.add, x[:50]))


def fails_without_axes(name="fails_without_axes"):
    unary(name, lambda x: x + 0 * x[0], differentiable=False)


def kernels_differ(name="kernels_differ"):
    op = unary(name, lambda x: np.floor(x), differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS, priority=1)(lambda x: np.trunc(x))


def dtypes_differ(name="dtypes_differ"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: np.exp(x))
    op.register_kernel("cpu", dtypes=torch.float64)(lambda x: np.exp2(x))


def wrong_jvp(name="wrong_jvp"):
    op = square(name)
    op.register_grad(lambda ctx, dy: 2 * ctx.x * dy)
    op.register_jvp(lambda ctx, dx: ctx.x * dx)


def wrong_vmap(name="wrong_vmap"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="... n -> ...", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x.sum(-1))
    op.register_vmap(lambda info, in_dims, x: (op(x), 0))


def ignores_attribute(name="ignores_attribute"):
    op = oneop.define(f"{name}(Tensor x, *, float by=2.0) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x * 2)
    oneop.testing.reference(name)(lambda x, by: x * by)


def shares_an_array(name="shares_an_array"):
    kept = {}

    def kernel(x):
        buffer = kept.setdefault(x.shape, np.empty_like(x))
        np.multiply(x, 2, out=buffer)
        time.sleep(1e-4)  # other work of the kernel's, during which other threads run on any machine
        return buffer.astype(x.dtype)

    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(kernel)


def takes_memory_order_for_strides(name="takes_memory_order_for_strides"):
    unary(name, lambda x: x.ravel(order="K").reshape(x.shape).copy(), any_strides=True, differentiable=False)


def wrong_tail(name="wrong_tail"):
    def kernel(x):
        result = x * 2
        result.reshape(-1)[x.size - x.size % 16 :] += x.dtype.type(x.size > 16)
        return result

    unary(name, kernel, differentiable=False)
    oneop.testing.reference(name)(lambda x: x * 2)


def rounds_integers(name="rounds_integers"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.int64)(lambda x: (x / 2).astype(np.int64))
    oneop.testing.reference(name)(lambda x: x // 2)


def gradient_looks_at_values(name="gradient_looks_at_values"):
    op = square(name)

    @op.register_grad
    def grad(ctx, dy):
        return 2 * ctx.x * dy if bool((ctx.x != 0).any()) else dy


def wrong_sbp(name="wrong_sbp"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="a b -> a b", sbp="S(1) -> S(1)", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x - x.mean(1, keepdims=True))


def wrong_partial_sum(name="wrong_partial_sum"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="a b -> b", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x.max(0, initial=-9))


PYTHON = {
    wrong_sbp: "sbp",
    wrong_partial_sum: "sbp",
    wrong_gradient: "gradient",
    wrong_gradient_of_second: "gradient",
    gradient_forgets_attribute: "gradient",
    gradient_of_one_is_absent: "gradient",
    wrong_narrow_gradient: "gradient",
    wrong_second_gradient: "second gradient",
    gradient_looks_at_values: "graph gradient",
    result_does_not_fit_inference: "inference",
    dtype_does_not_fit_inference: "inference",
    inference_remembers: "inference",
    random_result: "determinism",
    counts_calls: "determinism",
    ignores_nan: "special values",
    fails_on_empty: "inference",
    fails_without_axes: "inference",
    kernels_differ: "kernels",
    dtypes_differ: "kernels",
    wrong_jvp: "jvp",
    wrong_vmap: "vmap",
    ignores_attribute: "reference",
    shares_an_array: "threads",
    takes_memory_order_for_strides: "layouts",
    wrong_tail: "reference",
    rounds_integers: "reference",
}
