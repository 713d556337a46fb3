"""Ops that are right, of all kinds: a check that finds something wrong with one of them is a false alarm."""

from pathlib import Path

import numpy as np
import torch

import oneop

FLOATS = (torch.float32, torch.float64)
EXAMPLES = Path(__file__).parents[2] / "examples"


def cpp_library():
    """The example in C++: an op, the same with threads, and their backward op."""
    oneop.load("leaky_relu_example", [EXAMPLES / "leaky_relu/leaky_relu.cpp"])
    for name in ("leaky_relu", "leaky_relu_parallel"):
        oneop.testing.reference(name)(lambda x, alpha=0.01: torch.nn.functional.leaky_relu(x, alpha))
    return ["leaky_relu", "leaky_relu_parallel", "leaky_relu_grad"]


def softplus(name="softplus_np"):
    op = oneop.define(f"{name}(Tensor x, *, float beta=1.0) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, beta, out):
        np.multiply(x, beta, out=out)
        np.logaddexp(out, 0, out=out)
        np.divide(out, beta, out=out)

    op.register_grad(lambda ctx, dy: dy * torch.sigmoid(ctx.beta * ctx.x))
    op.register_jvp(lambda ctx, dx: dx * torch.sigmoid(ctx.beta * ctx.x))
    oneop.testing.reference(name)(lambda x, beta=1.0: torch.nn.functional.softplus(x, beta, threshold=1e9))


def gated(name="gated_torch"):
    op = oneop.define(f"{name}(Tensor x, Tensor gate) -> Tensor y", infer="broadcast")
    op.register_kernel(language="torch")(lambda x, gate: x * torch.sigmoid(gate))


def clip(name="clip_cpp"):
    op = oneop.define(f"{name}(Tensor x, *, float low=0.0, float high=1.0) -> Tensor y", infer="elementwise")
    text = "for (int64_t i = 0; i < n; ++i) { y[i] = std::min(std::max(x[i], T(low)), T(high)); }"
    op.register_source("cpu", text, dtypes=FLOATS)
    op.register_check(lambda x, low, high: low <= high or f"low is {low}, above high, {high}")
    op.register_grad(lambda ctx, dy: dy * ((ctx.x > ctx.low) & (ctx.x < ctx.high)))


def linear(name="linear_np"):
    op = oneop.define(f"{name}(Tensor x, Tensor w) -> Tensor y", infer="... k, n k -> ... n")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, w: x @ w.T)
    op.register_grad(lambda ctx, dy: (dy @ ctx.w, torch.einsum("...n, ...k -> nk", dy, ctx.x)))
    oneop.testing.reference(name)(torch.nn.functional.linear)


def reduce_sum(name="sum_np"):
    op = oneop.define(f"{name}(Tensor x, *, int[] dims=[], bool keepdim=False) -> Tensor y", infer="reduce")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, dims, keepdim):
        return np.sum(x, axis=tuple(dims) or None, keepdims=keepdim)

    @op.register_grad
    def grad(ctx, dy):
        axes = [axis % ctx.x.ndim for axis in ctx.dims] or list(range(ctx.x.ndim))
        if not ctx.keepdim:
            for axis in sorted(axes):
                dy = dy.unsqueeze(axis)
        return dy.expand(ctx.x.shape)


def moments(name="moments_np"):
    """Two outputs."""
    op = oneop.define(
        f"{name}(Tensor x) -> (Tensor mean, Tensor second)", infer="a n -> a, a", sbp="S(0) -> S(0), S(0)"
    )
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: (x.mean(1), (x * x).mean(1)))

    @op.register_grad
    def grad(ctx, dmean, dsecond):
        return (dmean[:, None] + 2 * ctx.x * dsecond[:, None]) / ctx.x.shape[1]

    op.register_check(lambda x: x.shape[1] > 0 or "the mean of nothing")


def stack_sum(name="stack_sum_np"):
    """A list of inputs."""
    op = oneop.define(f"{name}(Tensor[] xs) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes={"xs": FLOATS})(lambda xs: sum(xs[1:], xs[0].copy()))
    op.register_grad(lambda ctx, dy: ([dy] * len(ctx.xs),))


def optional_bias(name="optional_bias_np"):
    op = oneop.define(f"{name}(Tensor x, Tensor? bias) -> Tensor y")

    @op.register_infer
    def infer(x, bias):
        if bias is not None and (x.ndim == 0 or bias.shape != x.shape[-1:]):
            raise ValueError(f"bias is {bias}")
        return x

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, bias: x.copy() if bias is None else x + bias)

    @op.register_grad
    def grad(ctx, dy):
        if ctx.bias is None:
            return dy, None
        return dy, dy.reshape(-1, dy.shape[-1]).sum(0) if dy.numel() else torch.zeros_like(ctx.bias)


def argmax(name="argmax_np"):
    """Integers out; not differentiable."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor index", differentiable=False)

    @op.register_infer
    def infer(x):
        if x.ndim == 0 or x.shape[-1] == 0:
            raise ValueError("nothing to choose from")
        return x.like(shape=x.shape[:-1], dtype=torch.int64)

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: np.argmax(x, -1).astype(np.int64))
    oneop.testing.reference(name)(lambda x: torch.argmax(x, -1))


def take_rows(name="take_rows_np"):
    """Indices in."""
    splits = ["B, S(0) -> S(0)", "S(1), B -> S(1)"]  # the axes alone would say that parts of the table can be summed
    op = oneop.define(f"{name}(Tensor table, Tensor index) -> Tensor rows", infer="v d, n -> n d", sbp=splits)
    op.register_kernel("cpu", dtypes={"table": FLOATS, "index": torch.int64})(lambda table, index: table[index])
    op.register_grad(lambda ctx, dy: (torch.zeros_like(ctx.table).index_add(0, ctx.index, dy), None))


def add_in_place(name="add_in_place_np"):
    op = oneop.define(f"{name}(Tensor(a!) x, *, float by=1.0) -> ()", differentiable=False)
    op.register_infer(lambda x: [])

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, by):
        x += x.dtype.type(by)


def any_strides(name="any_strides_np"):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", any_strides=True)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: np.sin(x))
    op.register_grad(lambda ctx, dy: dy * torch.cos(ctx.x))


def logarithm(name="log_np"):
    """Finite for some inputs only."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x):
        with np.errstate(all="ignore"):
            return np.log(x)

    op.register_grad(lambda ctx, dy: dy / ctx.x)
    oneop.testing.reference(name)(torch.log)


def repeat(name="repeat_np"):
    """An attribute that must be given and is checked."""
    op = oneop.define(f"{name}(Tensor x, *, int times) -> Tensor y")
    op.register_infer(lambda x, times: x.like(shape=(times, *x.shape)))
    op.register_check(lambda x, times: 0 < times < 100 or f"times is {times}")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, times: np.repeat(x[None], times, 0))
    op.register_grad(lambda ctx, dy: dy.sum(0))


def cast(name="cast_np"):
    """A dtype as an attribute."""
    op = oneop.define(f"{name}(Tensor x, *, dtype to=float32) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, to: x.like(dtype=to))

    @op.register_kernel("cpu", dtypes=(*FLOATS, torch.int64))
    def kernel(x, out):
        out[...] = x


def halves(name="halves_np"):
    """Kernels for several dtypes, narrow ones too."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=(torch.float16, torch.bfloat16, *FLOATS))(lambda x: (x * x).astype(x.dtype))
    oneop.testing.reference(name)(torch.square)


def running_max(name="running_max_numba"):
    op = oneop.define(f"{name}(Tensor x) -> (Tensor value, Tensor index)", differentiable=False)
    op.register_infer(lambda x: (x, x.like(dtype=torch.int64)))
    op.register_check(lambda x: x.ndim == 1 or "x has one axis")

    @op.register_kernel("cpu", dtypes=torch.float64, language="numba")
    def kernel(x, out):
        value, index = out
        best = 0
        for i in range(x.size):
            if x[i] > x[best]:
                best = i
            value[i] = x[best]
            index[i] = best


PYTHON = [softplus, gated, clip, linear, reduce_sum, moments, stack_sum, optional_bias, argmax, take_rows]
PYTHON += [add_in_place, any_strides, logarithm, repeat, cast, halves, running_max]
