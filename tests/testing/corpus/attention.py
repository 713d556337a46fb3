"""A right attention of three inputs with four axes each, keys of another length than queries, and its gradient.

`time oneop check tests/testing/corpus/attention.py` says what the check of such an op takes.
"""

import numpy as np
import torch

import oneop
import oneop.testing

NAME = "right_attention_of_keys"


def scores_of(q, k, causal):
    scores = q @ k.transpose(-1, -2) / max(q.shape[-1], 1) ** 0.5
    return scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf) if causal else scores


def define(name=NAME):
    op = oneop.define(f"{name}(Tensor q, Tensor k, Tensor v, *, bool causal=False) -> Tensor y")

    @op.register_infer
    def infer(q, k, v, causal):
        if any(tensor.ndim != 4 or tensor.shape[:2] != q.shape[:2] for tensor in (q, k, v)):
            raise ValueError("expected batch, heads, positions and columns")
        if q.shape[3] != k.shape[3] or k.shape[2] != v.shape[2] or k.shape[2] == 0:
            raise ValueError("queries, keys and values do not fit")
        return q.like(shape=(*q.shape[:3], v.shape[3]))

    @op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
    def kernel(q, k, v, causal):
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(max(q.shape[-1], 1)).astype(q.dtype)
        if causal:
            scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
        with np.errstate(all="ignore"):
            exp = np.exp(scores - scores.max(-1, keepdims=True))
            return (exp / exp.sum(-1, keepdims=True)) @ v

    @op.register_grad
    def grad(ctx, dy):
        q, k, v = ctx.q, ctx.k, ctx.v
        p = torch.softmax(scores_of(q, k, ctx.causal), -1)
        dp = dy @ v.transpose(-1, -2)
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / max(q.shape[-1], 1) ** 0.5
        return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ dy

    @oneop.testing.reference(name)
    def reference(q, k, v, causal=False):
        return torch.softmax(scores_of(q, k, causal), -1) @ v


if __name__ != "attention":  # the program, not the module of the corpus
    define()
