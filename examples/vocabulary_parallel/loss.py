"""An embedding and a cross entropy whose vocabulary is split: no rank ever has all of the table or of the logits.

The kernels ask which rows of the table, or which classes, they have: `oneop.sharding.part()`. Each device does its own,
and the parts are summed, or their maximum is taken. Run alone, the file proves what the ops declare, on one process.
"""

from __future__ import annotations

import torch

import oneop
from oneop.testing import check_sbp


def _own(indices, start, stop):
    """Return indices counted from the first that this device has, and which of them it has."""
    is_own = (indices >= start) & (indices < stop)
    return (indices - start).clamp(0, max(stop - start - 1, 0)), is_own


# Rows of the table: what a device does not have counts as zero, and the sum is the embedding.
embedding = oneop.define(
    "vp_embedding(Tensor table, Tensor ids) -> Tensor y",
    asks_part=True,
    sbp=["S(0), B -> P", "B, S(0) -> S(0)", "S(1), B -> S(1)"],
)
embedding.register_infer(lambda table, ids: table.like(shape=(*ids.shape, table.shape[1])))
embedding_grad = oneop.define(
    "vp_embedding_grad(Tensor dy, Tensor ids, *, int rows) -> Tensor dtable",
    differentiable=False,
    asks_part=True,
    size_attrs={"rows": "dtable[0]"},
    sbp=["B, B -> S(0)", "S(0), S(0) -> P", "S(1), B -> S(1)"],
)
embedding_grad.register_infer(lambda dy, ids, rows: dy.like(shape=(rows, dy.shape[1])))
embedding.register_grad(lambda ctx, dy: (embedding_grad(dy, ctx.ids, rows=ctx.table.shape[0]), None))


@embedding.register_kernel(language="torch")
def _embedding(table, ids):
    here = oneop.sharding.part(table, ids)
    if not table.shape[0]:
        return table.new_zeros(*ids.shape, table.shape[1])
    own, is_own = _own(ids, *here.range_of(0, 0))
    return table[own] * is_own.unsqueeze(-1)


@embedding_grad.register_kernel(language="torch")
def _embedding_grad(dy, ids, rows):
    here = oneop.sharding.part(dy, ids, dy.new_empty(rows, 0))
    if not rows:
        return dy.new_zeros(0, dy.shape[1])
    own, is_own = _own(ids, *here.range_of(2, 0))
    return dy.new_zeros(rows, dy.shape[1]).index_add(0, own, dy * is_own.unsqueeze(-1))


# Classes of the logits. The loss of a row is log(sum(exp(x - max))) + max - x[label].
largest = oneop.define(
    "vp_largest(Tensor logits) -> Tensor m", differentiable=False, sbp=["S(1) -> P(max)", "S(0) -> S(0)"]
)
largest.register_infer(lambda logits: logits.like(shape=logits.shape[:1]))


@largest.register_kernel(language="torch")
def _largest(logits):
    return torch.nn.functional.pad(logits, (0, 1), value=-torch.inf).amax(1)


sums = oneop.define(
    "vp_sums(Tensor logits, Tensor m) -> Tensor s", differentiable=False, sbp=["S(1), B -> P", "S(0), S(0) -> S(0)"]
)
sums.register_infer(lambda logits, m: m)
sums.register_kernel(language="torch")(lambda logits, m: (logits - m[:, None]).exp().sum(1))

picked = oneop.define(
    "vp_picked(Tensor logits, Tensor labels) -> Tensor p",
    differentiable=False,
    asks_part=True,
    sbp=["S(1), B -> P", "S(0), S(0) -> S(0)"],
)
picked.register_infer(lambda logits, labels: logits.like(shape=logits.shape[:1]))


@picked.register_kernel(language="torch")
def _picked(logits, labels):
    here = oneop.sharding.part(logits, labels)
    if not logits.shape[1]:
        return logits.new_zeros(logits.shape[0])
    own, is_own = _own(labels, *here.range_of(0, 1))
    return logits.gather(1, own[:, None])[:, 0] * is_own


class CrossEntropy(torch.autograd.Function):
    """The mean of the losses, and its gradient: the softmax less one at the label, split as the logits are."""

    @staticmethod
    def forward(ctx, logits, labels):
        m = largest(logits)
        s = sums(logits, m)
        ctx.save_for_backward(logits, labels, m, s)
        return (s.log() + m - picked(logits, labels)).mean()

    @staticmethod
    def backward(ctx, grad):
        logits, labels, m, s = ctx.saved_tensors
        return slopes(logits, labels, m, s) * (grad / logits.shape[0]), None


slopes = oneop.define(
    "vp_slopes(Tensor logits, Tensor labels, Tensor m, Tensor s) -> Tensor dlogits",
    differentiable=False,
    asks_part=True,
    sbp=["S(1), B, B, B -> S(1)", "S(0), S(0), S(0), S(0) -> S(0)"],
)
slopes.register_infer(lambda logits, labels, m, s: logits)


@slopes.register_kernel(language="torch")
def _slopes(logits, labels, m, s):
    here = oneop.sharding.part(logits, labels, m, s)
    softmax = (logits - m[:, None]).exp() / s[:, None]
    if not logits.shape[1]:
        return softmax
    own, is_own = _own(labels, *here.range_of(0, 1))
    return softmax.scatter_add(1, own[:, None], -is_own.to(logits.dtype)[:, None])


def model(table, head, ids, labels):
    """Embed, project on the vocabulary, and compare with the labels."""
    return CrossEntropy.apply(embedding(table, ids) @ head, labels)


if __name__ == "__main__":
    ids, labels = torch.tensor([3, 0, 11, 7, 5]), torch.tensor([1, 11, 4, 0, 9])
    logits = torch.randn(5, 12, dtype=torch.float64)
    m = logits.amax(1)
    calls = [
        (embedding, [torch.randn(12, 4, dtype=torch.float64), ids]),
        (largest, [logits]),
        (sums, [logits, m]),
        (picked, [logits, labels]),
        (slopes, [logits, labels, m, (logits - m[:, None]).exp().sum(1)]),
    ]
    for op, inputs in calls:
        print(check_sbp(op, inputs, discover=False))
