"""Ops along axes: reductions, sums, norms, softmax, sorting; and losses."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from oneop.port.references.table import Table, differentiate

TABLE = Table()
AXES = {"axis": [[0], [1], [0, 1]], "keepdims": [False, True]}
MATRICES = [[(2, 3)], [(5, 1)], [(3, 2, 4)], [(8, 17)]]


def _each_axis(function: Any) -> Any:
    """Return a reduction over several axes, from one over a single axis."""

    def reduce(x: torch.Tensor, axis: list[int], keepdims: bool) -> torch.Tensor:
        for place in sorted(axis, reverse=True):
            x = function(x, place, keepdims)
        return x

    return reduce


@TABLE.of("reduce_sum", attrs=AXES, shapes=MATRICES)
def reduce_sum(x: torch.Tensor, axis: list[int], keepdims: bool) -> torch.Tensor:
    """Sums keep the type."""
    return x.sum(axis, keepdim=keepdims, dtype=x.dtype)


@TABLE.of("reduce_max", attrs=AXES, shapes=MATRICES)
def reduce_max(x: torch.Tensor, axis: list[int], keepdims: bool) -> torch.Tensor:
    """The largest value."""
    return x.amax(axis, keepdim=keepdims)


@TABLE.of("reduce_min", attrs=AXES, shapes=MATRICES)
def reduce_min(x: torch.Tensor, axis: list[int], keepdims: bool) -> torch.Tensor:
    """The smallest value."""
    return x.amin(axis, keepdim=keepdims)


TABLE.put(
    "reduce_prod", _each_axis(lambda x, i, keep: x.prod(i, keepdim=keep, dtype=x.dtype)), attrs=AXES, shapes=MATRICES
)
TABLE.put("reduce_any", _each_axis(lambda x, i, keep: x.bool().any(i, keepdim=keep)), attrs=AXES, shapes=MATRICES)
TABLE.put("reduce_all", _each_axis(lambda x, i, keep: x.bool().all(i, keepdim=keep)), attrs=AXES, shapes=MATRICES)


@TABLE.of("reduce_sum_like", attrs={"axis": [[0]]}, shapes=[[(2, 3), (1, 3)], [(5, 4), (1, 4)]])
def reduce_sum_like(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Sums of the shape of another tensor."""
    return x.sum(0, keepdim=True, dtype=x.dtype)


@TABLE.of(
    "var",
    attrs={"dim": [[0], [1], [0, 1]], "unbiased": [True, False], "keepdim": [True, False]},
    shapes=[[(2, 3)], [(4, 3, 5)]],
)
def var(x: torch.Tensor, dim: list[int], unbiased: bool, keepdim: bool) -> torch.Tensor:
    """The variance."""
    return x.var(dim, unbiased=unbiased, keepdim=keepdim)


TABLE.put(
    "cumsum",
    lambda x, dim: x.cumsum(dim, dtype=x.dtype),
    attrs={"dim": [0, 1]},
    shapes=MATRICES,
    faults={"gradient": "REGISTER_USER_OP_GRAD names an op cumsum_grad, which there is not"},
)
TABLE.put(
    "cumprod",
    lambda x, dim: x.cumprod(dim, dtype=x.dtype),
    attrs={"dim": [0, 1]},
    shapes=MATRICES,
    faults={"gradient": "REGISTER_USER_OP_GRAD names an output that the op does not have"},
)
TABLE.put("square_sum", lambda x: x.square().sum().reshape(1))
TABLE.put("sqrt_square_sum", lambda x: x.square().sum().sqrt())
TABLE.put("multi_square_sum", lambda xs: torch.stack([x.square().sum() for x in xs]).sum().reshape(1))
TABLE.put("multi_reduce_max_abs", lambda xs: torch.stack([x.abs().max() for x in xs]).max())
TABLE.put("multi_reduce_min_abs", lambda xs: torch.stack([x.abs().min() for x in xs]).min())
TABLE.put("multi_reduce_sum_pow_abs", lambda xs, p: sum(x.abs().pow(p).sum() for x in xs), attrs={"p": [2.0, 3.0]})
TABLE.put("count_not_finite", lambda x: (~torch.isfinite(x)).sum().reshape(1))
TABLE.put("multi_count_not_finite", lambda xs: torch.stack([(~torch.isfinite(x)).sum() for x in xs]).sum().reshape(1))
TABLE.put(
    "dot",
    torch.dot,
    shapes=[[(3,), (3,)], [(17,), (17,)]],
    faults={"gradient": "REGISTER_USER_OP_GRAD gives scalar_mul inputs that it does not have"},
)
TABLE.put(
    "median",
    torch.median,
    shapes=[[(3,)], [(5, 3)], [(7, 1)]],
    faults={"gradient": "REGISTER_USER_OP_GRAD asks for an attribute that the op does not have"},
)
TABLE.put(
    "median_with_indices",
    lambda x: tuple(torch.median(x, -1, keepdim=True)),
    shapes=[[(2, 5)], [(4, 7)]],
    values={"input": (-4, 4)},
    faults={"gradient": "REGISTER_USER_OP_GRAD names an output that the op does not have"},
)


@TABLE.of(
    "l2_normalize",
    attrs={"axis": [0, 1], "epsilon": [1e-6]},
    shapes=[[(2, 3)], [(3, 4, 2)]],
    faults={"gradient": "what comes back to square_x_sum is not used"},
)
def l2_normalize(x: torch.Tensor, axis: int, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of length 1, and the squares of their lengths."""
    squares = x.square().sum(axis, keepdim=True)
    return x / torch.sqrt(squares.clamp_min(epsilon)), squares


# Sorting. Values are distinct as long as there are few.
ROWS = [[(3,)], [(2, 5)], [(4, 2, 3)]]
DIRECTION = {"direction": ["ASCENDING", "DESCENDING"]}


@TABLE.of("sort", attrs=DIRECTION, shapes=ROWS)
def sort(x: torch.Tensor, direction: str) -> torch.Tensor:
    """Along the last axis."""
    return x.sort(-1, descending=direction == "DESCENDING")[0]


@TABLE.of("arg_sort", attrs=DIRECTION, shapes=ROWS)
def arg_sort(x: torch.Tensor, direction: str) -> torch.Tensor:
    """The order along the last axis; equal values in the order of their places."""
    return torch.sort(x, dim=-1, descending=direction == "DESCENDING", stable=True)[1].int()


TABLE.put("argmax", lambda x: x.argmax(-1), shapes=ROWS)
TABLE.put(
    "top_k",
    lambda x, k: torch.sort(x, dim=-1, descending=True, stable=True)[1][..., :k],
    attrs={"k": [1, 2], "sorted": [True]},
    shapes=[[(3,)], [(2, 5)]],
)
TABLE.put(
    "in_top_k",
    lambda targets, predictions, k: (predictions > predictions.gather(1, targets.long()[:, None])).sum(1) < k,
    attrs={"k": [1, 2]},
    shapes=[[(3,), (3, 5)], [(1,), (1, 4)]],
    values={"targets": (0, 3)},
)
SORTED = {"out_int32": [False, True], "right": [False, True]}


@TABLE.of("searchsorted", attrs=SORTED, shapes=[[(2, 5), (2, 3)], [(1, 4), (1, 2)]])
def searchsorted(rows: torch.Tensor, values: torch.Tensor, out_int32: bool, right: bool) -> torch.Tensor:
    """Places in rows. Those of a check are not sorted: what the search by halves gives is the same all the same."""
    return torch.searchsorted(rows, values, out_int32=out_int32, right=right)


# Softmax.
SOFTMAX_ROWS: list[list[tuple[int, ...]]] = [[(2, 3)], [(5, 1)], [(3, 2, 4)], [(8, 17)]]
TWO_ROWS = [[shape, shape] for (shape,) in SOFTMAX_ROWS]
TABLE.put("softmax", lambda x: torch.softmax(x, -1), shapes=SOFTMAX_ROWS)
TABLE.put("log_softmax", lambda x: torch.log_softmax(x, -1), shapes=SOFTMAX_ROWS)
TABLE.put("softmax_grad", lambda y, dy: (dy - (dy * y).sum(-1, keepdim=True)) * y, shapes=TWO_ROWS)
TABLE.put(
    "log_softmax_grad",
    lambda y, dy: dy - y.exp() * dy.sum(-1, keepdim=True),
    shapes=TWO_ROWS,
    values={"prob": (-3, -0.1)},
)


# Losses.
UNIT = {"input": (0.1, 0.9), "target": (0.1, 0.9)}


@TABLE.of("binary_cross_entropy", values=UNIT, shapes=[[(2, 3)] * 2, [(5,)] * 2])  # the weight has no gradient
def binary_cross_entropy(x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
    """Of probabilities."""
    return F.binary_cross_entropy(x, target, weight, reduction="none")


@TABLE.of("binary_cross_entropy_with_logits", attrs={"has_pos_weight": [False]}, shapes=[[(2, 3)] * 2])
def with_logits(
    x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, pos_weight: torch.Tensor | None
) -> torch.Tensor:
    """Of logits."""
    return F.binary_cross_entropy_with_logits(x, target, weight, pos_weight=pos_weight, reduction="none")


def _mean_with_logits(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.binary_cross_entropy_with_logits(x, target)


SAME = [[(2, 3)] * 2, [(5,)] * 2]
THREE = [[(2, 3)] * 3, [(5,)] * 3]
TABLE.put("binary_cross_entropy_with_logits_reduce_mean", _mean_with_logits, shapes=SAME, values={"target": (0.1, 0.9)})
TABLE.put(
    "sigmoid_cross_entropy",
    lambda x, label: F.binary_cross_entropy_with_logits(x, label.to(x.dtype), reduction="none"),
    shapes=SAME,
    values={"label": (0, 1)},
)
TABLE.put(
    "sigmoid_cross_entropy_grad",
    lambda x, dy, label: dy * (torch.sigmoid(x) - label.to(x.dtype)),
    shapes=THREE,
    values={"label": (0, 1)},
)


@TABLE.of(
    "kl_div_loss",
    attrs={"log_target": [False, True]},
    shapes=SAME,
    values={"target": (0.1, 2)},
    faults={"gradient": "REGISTER_USER_OP_GRAD does not hand log_target on"},
)
def kl_div(x: torch.Tensor, target: torch.Tensor, log_target: bool) -> torch.Tensor:
    """Of logarithms of probabilities."""
    return F.kl_div(x, target, reduction="none", log_target=log_target)


@TABLE.of("kl_div_loss_grad", attrs={"log_target": [False, True]}, shapes=THREE, values={"target": (0.1, 2)})
def kl_div_grad(x: torch.Tensor, target: torch.Tensor, dy: torch.Tensor, log_target: bool) -> torch.Tensor:
    """Its gradient."""
    return differentiate(lambda x: kl_div(x, target, log_target), x, dy)


@TABLE.of("smooth_l1_loss", attrs={"beta": [1.0, 0.5]}, shapes=SAME)
def smooth_l1(x: torch.Tensor, target: torch.Tensor, beta: float) -> torch.Tensor:
    """Square near zero, linear elsewhere."""
    return F.smooth_l1_loss(x, target, reduction="none", beta=beta)


@TABLE.of("smooth_l1_loss_grad", attrs={"beta": [1.0, 0.5]}, shapes=THREE)
def smooth_l1_grad(x: torch.Tensor, target: torch.Tensor, dy: torch.Tensor, beta: float) -> torch.Tensor:
    """Its gradient."""
    return differentiate(lambda x: smooth_l1(x, target, beta), x, dy)


LABELLED = [[(3, 5), (3,)], [(1, 4), (1,)]]


@TABLE.of("nll", attrs={"ignore_index": [-100, 1]}, shapes=[*LABELLED, [(3, 5), (3,), (5,)]], values={"target": (0, 3)})
def nll(
    x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The negative value at the label, and the weight of each row."""
    kept = target != ignore_index
    weights = torch.ones_like(x[0]) if weight is None else weight
    own = torch.where(kept, weights[target.long()], torch.zeros_like(weights[0]))
    return -own * x.gather(1, target.long()[:, None])[:, 0], own


@TABLE.of("nll_grad", attrs={"ignore_index": [-100, 1]}, shapes=[[(3,), (3, 5), (3,)]], values={"target": (0, 3)})
def nll_grad(
    dy: torch.Tensor, x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> torch.Tensor:
    """Its gradient."""
    return differentiate(lambda x: nll(x, target, weight, ignore_index)[0], x, dy)


def _sparse(x: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    return -torch.log(x.gather(1, label.long()[:, None])[:, 0])


TABLE.put(
    "sparse_cross_entropy",
    lambda x, label: _sparse(x, label),
    attrs={"depth": [4]},
    shapes=[[(3, 4), (3,)]],
    values={"prediction": (0.1, 0.9), "label": (0, 3)},
)


@TABLE.of(
    "sparse_softmax_cross_entropy",
    attrs={"depth": [4]},
    shapes=[[(3, 4), (3,)], [(1, 4), (1,)]],
    values={"label": (0, 3)},
    faults={"gradient": "what comes back to prob is not used"},
)
def sparse_softmax(x: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The logarithms of probabilities, and the loss of each row."""
    logarithms = torch.log_softmax(x, -1)
    return logarithms, -logarithms.gather(1, label.long()[:, None])[:, 0]


@TABLE.of(
    "softmax_cross_entropy",
    shapes=SAME[:1],
    values={"label": (0.1, 0.9)},
    rtol=1e-6,
    faults={"gradient": "the kernel takes the logarithm of a float32: too coarse for a numerical gradient"},
)
def softmax_cross_entropy(x: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities, and the loss of each row for a label of probabilities."""
    return torch.softmax(x, -1), -(label * torch.log_softmax(x, -1)).sum(-1)
