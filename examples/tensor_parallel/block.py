"""A transformer block out of ops that say how they split. Run alone, it proves what they say.

Nothing here knows of devices: the block is the same on one and on many. Each op has its signatures; where the inputs
lie decides which one is used.
"""

from __future__ import annotations

import math

import torch

import oneop
from oneop.testing import check_sbp

# Axes say all: b and t and n may be split, and parts along k give summands.
linear = oneop.define("tp_linear(Tensor x, Tensor w) -> Tensor y", infer="b t k, k n -> b t n")
linear.register_kernel(language="torch")(lambda x, w: x @ w)
linear_grad = oneop.define(
    "tp_linear_grad(Tensor dy, Tensor x, Tensor w) -> (Tensor dx, Tensor dw)",
    infer="b t n, b t k, k n -> b t k, k n",
    differentiable=False,
    sbp=[
        "S(0), S(0), B -> S(0), P",
        "S(1), S(1), B -> S(1), P",
        "S(2), B, S(1) -> P, S(1)",
        "B, S(2), S(0) -> S(2), S(0)",
    ],
)
linear_grad.register_kernel(language="torch")(lambda dy, x, w: (dy @ w.t(), torch.einsum("btk,btn->kn", x, dy)))
linear.register_grad(lambda ctx, dy: linear_grad(dy, ctx.x, ctx.w))

gelu = oneop.define("tp_gelu(Tensor x) -> Tensor y", infer="elementwise")
gelu_grad = oneop.define("tp_gelu_grad(Tensor x, Tensor dy) -> Tensor dx", infer="elementwise", differentiable=False)
gelu.register_grad(lambda ctx, dy: gelu_grad(ctx.x, dy))


@gelu.register_kernel(language="torch")
def _gelu(x):
    return torch.nn.functional.gelu(x)


@gelu_grad.register_kernel(language="torch")
def _gelu_grad(x, dy):
    return torch.ops.aten.gelu_backward(dy, x)


# The last axis is reduced, so it cannot be split; the others can.
norm = oneop.define("tp_norm(Tensor x, Tensor scale, *, float eps=1e-6) -> Tensor y")
norm.register_infer(lambda x, scale: x)
norm.register_sbp("S(0), B -> S(0)", "S(1), B -> S(1)")
norm_grad = oneop.define(
    "tp_norm_grad(Tensor dy, Tensor x, Tensor scale, *, float eps=1e-6) -> (Tensor dx, Tensor dscale)",
    differentiable=False,
    sbp=["S(0), S(0), B -> S(0), P", "S(1), S(1), B -> S(1), P"],
)
norm_grad.register_infer(lambda dy, x, scale: (x, scale))
norm.register_grad(lambda ctx, dy: norm_grad(dy, ctx.x, ctx.scale, eps=ctx.eps))


@norm.register_kernel(language="torch")
def _norm(x, scale, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * scale


@norm_grad.register_kernel(language="torch")
def _norm_grad(dy, x, scale, eps):
    inverse = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    normal, scaled = x * inverse, dy * scale
    dx = inverse * (scaled - normal * (scaled * normal).mean(-1, keepdim=True))
    return dx, (dy * normal).sum((0, 1))


# `heads` is a size of the output: on a device that has half of the channels it is half as large.
split_heads = oneop.define(
    "tp_split_heads(Tensor x, *, int heads) -> Tensor y",
    size_attrs={"heads": "y[1]"},
    sbp=["S(0) -> S(0)", "S(2) -> S(1)"],
)
merge_heads = oneop.define("tp_merge_heads(Tensor x) -> Tensor y", sbp=["S(0) -> S(0)", "S(1) -> S(2)"])
split_heads.register_infer(lambda x, heads: x.like(shape=(x.shape[0], heads, x.shape[1], x.shape[2] // heads)))
merge_heads.register_infer(lambda x: x.like(shape=(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])))
split_heads.register_grad(lambda ctx, dy: merge_heads(dy))
merge_heads.register_grad(lambda ctx, dy: split_heads(dy, heads=ctx.x.shape[1]))


@split_heads.register_kernel(language="torch")
def _split_heads(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2).contiguous()


@merge_heads.register_kernel(language="torch")
def _merge_heads(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


# Each example and each head is on its own.
_BY_EXAMPLE_OR_HEAD = ["S(0), S(0), S(0) -> S(0)", "S(1), S(1), S(1) -> S(1)"]
attention = oneop.define("tp_attention(Tensor q, Tensor k, Tensor v) -> Tensor y", sbp=_BY_EXAMPLE_OR_HEAD)
attention.register_infer(lambda q, k, v: q)
attention_grad = oneop.define(
    "tp_attention_grad(Tensor dy, Tensor q, Tensor k, Tensor v) -> (Tensor dq, Tensor dk, Tensor dv)",
    differentiable=False,
    sbp=[f"S({axis}), S({axis}), S({axis}), S({axis}) -> S({axis}), S({axis}), S({axis})" for axis in (0, 1)],
)
attention_grad.register_infer(lambda dy, q, k, v: (q, k, v))
attention.register_grad(lambda ctx, dy: attention_grad(dy, ctx.q, ctx.k, ctx.v))


def _weights(q, k):
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    future = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -math.inf).softmax(-1)


@attention.register_kernel(language="torch")
def _attention(q, k, v):
    return _weights(q, k) @ v


@attention_grad.register_kernel(language="torch")
def _attention_grad(dy, q, k, v):
    weights = _weights(q, k)
    dweights = dy @ v.transpose(2, 3)
    dscores = weights * (dweights - (dweights * weights).sum(-1, keepdim=True)) / math.sqrt(q.shape[3])
    return dscores @ k, dscores.transpose(2, 3) @ q, weights.transpose(2, 3) @ dy


def block(x, p, heads):
    """Attention and a feed-forward part, each with a residual."""
    h = norm(x, p["norm1"])
    q, k, v = (split_heads(linear(h, p[name]), heads=heads) for name in ("wq", "wk", "wv"))
    x = x + linear(merge_heads(attention(q, k, v)), p["wo"])
    return x + linear(gelu(linear(norm(x, p["norm2"]), p["w1"])), p["w2"])


def parameters(width, dtype=torch.float64):
    """The same numbers on every rank."""
    generator = torch.Generator().manual_seed(0)

    def matrix(rows, columns):
        return torch.randn(rows, columns, generator=generator, dtype=dtype) / math.sqrt(rows)

    p = {name: matrix(width, width) for name in ("wq", "wk", "wv", "wo")}
    p |= {"w1": matrix(width, 4 * width), "w2": matrix(4 * width, width)}
    return p | {name: torch.ones(width, dtype=dtype) for name in ("norm1", "norm2")}


def prove():
    """Check every signature that is written above."""
    torch.manual_seed(0)
    x, w, heads = torch.randn(3, 4, 6), torch.randn(6, 5), torch.randn(3, 4, 5, 2)
    y = torch.randn(3, 4, 5)
    cases = [
        (linear, [x, w], {}),
        (linear_grad, [y, x, w], {}),
        (gelu, [x], {}),
        (gelu_grad, [x, x], {}),
        (norm, [x, torch.randn(6)], {}),
        (norm_grad, [x, x, torch.randn(6)], {}),
        (split_heads, [torch.randn(3, 4, 12)], {"heads": 6}),
        (merge_heads, [heads], {}),
        (attention, [heads] * 3, {}),
        (attention_grad, [heads] * 4, {}),
    ]
    for op, inputs, attrs in cases:
        report = check_sbp(op, inputs, discover=False, **attrs)
        print(f"{report.op}: {len(report.proved)} signatures hold")


if __name__ == "__main__":
    prove()
