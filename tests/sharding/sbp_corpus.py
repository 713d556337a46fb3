"""Signatures that are right and signatures that are wrong, for judging `check_sbp`: (name, schema, kernel, options).

They were written down before it was run on them. RIGHT must raise no alarm; each of WRONG must.
"""

import numpy as np
import torch

import oneop

f = torch.nn.functional


def T(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


X = T(12, 6)
IDS = torch.tensor([3, 0, 11, 7, 5, 2, 2, 9, 1, 10, 4, 8])


def same(x, *rest, **attrs):
    return x


def rows(x, *rest, **attrs):
    return x.like(shape=x.shape[:1])


def columns(x, *rest, **attrs):
    return x.like(shape=x.shape[1:])


def whole_blocks(axis):
    def infer(x, block):
        if x.shape[axis] % block:
            raise ValueError("there are no whole blocks")
        return x

    return infer


def counted(x):
    return x.like(shape=(16,), dtype=torch.int64)


def product(a, b):
    return a.like(shape=(a.shape[0], b.shape[1]))


def in_blocks(x, block):
    return (x.reshape(x.shape[0], -1, block) * torch.arange(block, dtype=x.dtype)).reshape(x.shape)


def mode(x, mode):
    return torch.relu(x) if mode == "relu" else x - x.mean(0) if mode == "center" else x * 2


#: name: (schema of inputs, attributes and outputs; kernel; inference; signature; inputs; attributes)
RIGHT = {
    "neg_p": ("Tensor x", "Tensor y", torch.neg, same, "P -> P", [X], {}),
    "relu_s0": ("Tensor x", "Tensor y", torch.relu, same, "S(0) -> S(0)", [X], {}),
    "relu_s1": ("Tensor x", "Tensor y", torch.relu, same, "S(1) -> S(1)", [X], {}),
    "relu_bf16": ("Tensor x", "Tensor y", torch.relu, same, "S(0) -> S(0)", [X.bfloat16()], {}),
    "add_pp": ("Tensor x, Tensor z", "Tensor y", lambda x, z: x + z, same, "P, P -> P", [X, T(12, 6, seed=1)], {}),
    "mul_pb": ("Tensor x, Tensor z", "Tensor y", lambda x, z: x * z, same, "P, B -> P", [X, T(12, 6, seed=1)], {}),
    "mul_bf16_pb": (
        "Tensor x, Tensor z",
        "Tensor y",
        lambda x, z: x * z,
        same,
        "P, B -> P",
        [X.bfloat16(), T(12, 6, seed=1).bfloat16()],
        {},
    ),
    "mm_s0": ("Tensor a, Tensor b", "Tensor y", lambda a, b: a @ b, product, "S(0), B -> S(0)", [X, T(6, 9)], {}),
    "mm_k": ("Tensor a, Tensor b", "Tensor y", lambda a, b: a @ b, product, "S(1), S(0) -> P", [X, T(6, 9)], {}),
    "mm_n": ("Tensor a, Tensor b", "Tensor y", lambda a, b: a @ b, product, "B, S(1) -> S(1)", [X, T(6, 9)], {}),
    "mm_bf16_k": (
        "Tensor a, Tensor b",
        "Tensor y",
        lambda a, b: a @ b,
        product,
        "S(1), S(0) -> P",
        [X.bfloat16(), T(6, 9).bfloat16()],
        {},
    ),
    "mm_int_k": (
        "Tensor a, Tensor b",
        "Tensor y",
        lambda a, b: a @ b,
        product,
        "S(1), S(0) -> P",
        [torch.arange(72).reshape(12, 6), torch.arange(54).reshape(6, 9)],
        {},
    ),
    "mm_long_k": (
        "Tensor a, Tensor b",
        "Tensor y",
        lambda a, b: a @ b,
        product,
        "S(1), S(0) -> P",
        [T(4, 600), T(600, 4)],
        {},
    ),
    "sum_rows": ("Tensor x", "Tensor y", lambda x: x.sum(1), rows, "S(1) -> P", [X], {}),
    "sum_cancels": ("Tensor x", "Tensor y", lambda x: x.sum(1), rows, "S(1) -> P", [torch.cat([X, -X.flip(1)], 1)], {}),
    "sum_cancels_far": (
        "Tensor x",
        "Tensor y",
        lambda x: x.sum(1),
        rows,
        "S(1) -> P",
        [torch.cat([X * 1e5, -X.flip(1) * 1e5], 1)],
        {},
    ),
    "sum_columns": ("Tensor x", "Tensor y", lambda x: x.sum(0), columns, "S(0) -> P", [X], {}),
    "sum_int": (
        "Tensor x",
        "Tensor y",
        lambda x: x.sum(0),
        columns,
        "S(0) -> P",
        [torch.arange(72).reshape(12, 6)],
        {},
    ),
    "sum_int_pp": (
        "Tensor x",
        "Tensor y",
        lambda x: x.sum(0),
        columns,
        "P -> P",
        [torch.arange(72).reshape(12, 6)],
        {},
    ),
    "max_rows": ("Tensor x", "Tensor y", lambda x: x.amax(1), rows, "S(0) -> S(0)", [X], {}),
    "max_part": (
        "Tensor x",
        "Tensor y",
        lambda x: f.pad(x, (0, 1), value=-torch.inf).amax(1),
        rows,
        "S(1) -> P(max)",
        [X],
        {},
    ),
    "min_part": (
        "Tensor x",
        "Tensor y",
        lambda x: f.pad(x, (0, 1), value=torch.inf).amin(1),
        rows,
        "S(1) -> P(min)",
        [X],
        {},
    ),
    "avg_part": ("Tensor x", "Tensor y", lambda x: x * 3, same, "P(avg) -> P(avg)", [X], {}),
    "max_through": ("Tensor x", "Tensor y", torch.exp, same, "P(max) -> P(max)", [X], {}),
    "softmax": ("Tensor x", "Tensor y", lambda x: torch.softmax(x, 1), same, "S(0) -> S(0)", [X], {}),
    "softmax_large": (
        "Tensor x",
        "Tensor y",
        lambda x: torch.softmax(x, 1),
        same,
        "S(0) -> S(0)",
        [torch.cat([X, X * 1e6])],
        {},
    ),
    "rmsnorm": (
        "Tensor x, Tensor w",
        "Tensor y",
        lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
        same,
        "S(0), B -> S(0)",
        [X, T(6)],
        {},
    ),
    "cumsum": ("Tensor x", "Tensor y", lambda x: x.cumsum(1), same, "S(0) -> S(0)", [X], {}),
    "cumsum_p": ("Tensor x", "Tensor y", lambda x: x.cumsum(1), same, "P -> P", [X], {}),
    "sort": ("Tensor x", "Tensor y", lambda x: x.sort(1).values, same, "S(0) -> S(0)", [X], {}),
    "embed_ids": (
        "Tensor w, Tensor ids",
        "Tensor y",
        lambda w, ids: w[ids],
        lambda w, ids: w.like(shape=(*ids.shape, w.shape[1])),
        "B, S(0) -> S(0)",
        [X, IDS],
        {},
    ),
    "embed_columns": (
        "Tensor w, Tensor ids",
        "Tensor y",
        lambda w, ids: w[ids],
        lambda w, ids: w.like(shape=(*ids.shape, w.shape[1])),
        "S(1), B -> S(1)",
        [X, IDS],
        {},
    ),
    "bincount": (
        "Tensor ids",
        "Tensor y",
        lambda ids: torch.bincount(ids, minlength=16),
        counted,
        "S(0) -> P",
        [IDS],
        {},
    ),
    "transpose": (
        "Tensor x",
        "Tensor y",
        lambda x: x.t().contiguous(),
        lambda x: x.like(shape=x.shape[::-1]),
        "S(0) -> S(1)",
        [X],
        {},
    ),
    "blocks": (
        "Tensor x, *, int block",
        "Tensor y",
        in_blocks,
        whole_blocks(1),
        "S(1) -> S(1)",
        [T(3, 8)],
        {"block": 2},
    ),
    "blocks_short": (
        "Tensor x, *, int block",
        "Tensor y",
        in_blocks,
        whole_blocks(1),
        "S(1) -> S(1)",
        [T(3, 4)],
        {"block": 4},
    ),
    "floor": ("Tensor x", "Tensor y", torch.floor, same, "S(1) -> S(1)", [X], {}),
    "sign": ("Tensor x", "Tensor y", torch.sign, same, "S(0) -> S(0)", [X], {}),
    "log": ("Tensor x", "Tensor y", torch.log, same, "S(0) -> S(0)", [X.abs() + 0.1], {}),
    "reciprocal": ("Tensor x", "Tensor y", torch.reciprocal, same, "S(0) -> S(0)", [X], {}),
    "fft": ("Tensor x", "Tensor y", lambda x: torch.fft.fft(x).real.contiguous(), same, "S(0) -> S(0)", [X], {}),
    "fft_p": ("Tensor x", "Tensor y", lambda x: torch.fft.fft(x).real.contiguous(), same, "P -> P", [X], {}),
    "any_axis": (
        "Tensor x, *, int dim=1",
        "Tensor y",
        lambda x, dim: x.sum(dim),
        lambda x, dim: x.like(shape=tuple(n for i, n in enumerate(x.shape) if i != dim % 2)),
        "S(0) -> S(0)",  # with dim=0 inference refuses the parts, so nothing runs
        [X],
        {},
    ),
    "any_number": (
        "Tensor x, *, int by=2, int32 plus=1",
        "Tensor y",
        lambda x, by, plus: x * by + plus if by != 7 else x - plus,
        same,
        "S(1) -> S(1)",
        [X],
        {},
    ),
    "modes_rows": (
        "Tensor x, *, str mode",
        "Tensor y",
        lambda x, mode: x.softmax(1) if mode == "soft" else x.cumsum(1),
        same,
        "S(0) -> S(0)",
        [X],
        {"mode": "soft"},
    ),
    "numpy_dot": ("Tensor x", "Tensor y", lambda x: x * 2 + 1, same, "S(0) -> S(0)", [X], {}),
    "batch_mm": (
        "Tensor a, Tensor b",
        "Tensor y",
        torch.bmm,
        lambda a, b: a.like(shape=(a.shape[0], a.shape[1], b.shape[2])),
        "S(0), S(0) -> S(0)",
        [T(4, 3, 5), T(4, 5, 2)],
        {},
    ),
    "outer": (
        "Tensor a, Tensor b",
        "Tensor y",
        torch.outer,
        lambda a, b: a.like(shape=(a.shape[0], b.shape[0])),
        "B, S(0) -> S(1)",
        [T(5), T(7)],
        {},
    ),
    "heads": (
        "Tensor x, *, int heads",
        "Tensor y",
        lambda x, heads: x.reshape(x.shape[0], heads, -1).contiguous(),
        lambda x, heads: x.like(shape=(x.shape[0], heads, x.shape[1] // heads)),
        "S(1) -> S(1)",
        [T(4, 12)],
        {"heads": 4},
    ),
}
SIZE_ATTRS = {"heads": {"heads": "y[1]"}}


def _hashed(x):
    return x + torch.arange(x.shape[0], dtype=x.dtype)[:, None]


WRONG = {
    "relu_p": ("Tensor x", "Tensor y", torch.relu, same, "P -> P", [X], {}),
    "abs_p": ("Tensor x", "Tensor y", torch.abs, same, "P -> P", [X.abs()], {}),
    "clamp_large_p": ("Tensor x", "Tensor y", lambda x: x.clamp(-1000, 1000), same, "P -> P", [X], {}),
    "threshold_small_p": ("Tensor x", "Tensor y", lambda x: torch.where(x.abs() < 1e-3, 0, x), same, "P -> P", [X], {}),
    "plus_small_p": ("Tensor x", "Tensor y", lambda x: x + 1e-5, same, "P -> P", [X], {}),
    "plus_tiny_bf16_p": ("Tensor x", "Tensor y", lambda x: x + 1e-2, same, "P -> P", [X.bfloat16()], {}),
    "plus_one_p": ("Tensor x", "Tensor y", lambda x: x + 1, same, "P -> P", [X], {}),
    "square_p": ("Tensor x", "Tensor y", torch.square, same, "P -> P", [X], {}),
    "tanh_p_small": ("Tensor x", "Tensor y", torch.tanh, same, "P -> P", [X * 1e-3], {}),
    "sin_p_small": ("Tensor x", "Tensor y", torch.sin, same, "P -> P", [X * 1e-4], {}),
    "round_p": ("Tensor x", "Tensor y", torch.round, same, "P -> P", [X * 10], {}),
    "half_round_p": ("Tensor x", "Tensor y", lambda x: (x * 2).round() / 2, same, "P -> P", [X * 100], {}),
    "mul_pp": ("Tensor x, Tensor z", "Tensor y", lambda x, z: x * z, same, "P, P -> P", [X, T(12, 6, seed=1)], {}),
    "add_pb": ("Tensor x, Tensor z", "Tensor y", lambda x, z: x + z, same, "P, B -> P", [X, T(12, 6, seed=1)], {}),
    "add_pb_small": (
        "Tensor x, Tensor z",
        "Tensor y",
        lambda x, z: x + z,
        same,
        "P, B -> P",
        [X, T(12, 6, seed=1) * 1e-4],
        {},
    ),
    "max_as_sum": ("Tensor x", "Tensor y", lambda x: x.amax(1), rows, "S(1) -> P", [X], {}),
    "max_as_min": (
        "Tensor x",
        "Tensor y",
        lambda x: f.pad(x, (0, 1), value=-torch.inf).amax(1),
        rows,
        "S(1) -> P(min)",
        [X],
        {},
    ),
    "sum_as_max": ("Tensor x", "Tensor y", lambda x: x.sum(1), rows, "S(1) -> P(max)", [X], {}),
    "sum_as_avg": ("Tensor x", "Tensor y", lambda x: x.sum(1), rows, "S(1) -> P(avg)", [X], {}),
    "mean_as_sum": ("Tensor x", "Tensor y", lambda x: x.mean(1), rows, "S(1) -> P", [X], {}),
    "mean_as_avg_uneven": ("Tensor x", "Tensor y", lambda x: x.mean(1), rows, "S(1) -> P(avg)", [X], {}),
    "neg_max": ("Tensor x", "Tensor y", torch.neg, same, "P(max) -> P(max)", [X], {}),
    "square_avg": ("Tensor x", "Tensor y", torch.square, same, "P(avg) -> P(avg)", [X], {}),
    "sum_b": ("Tensor x", "Tensor y", lambda x: x.sum(1), rows, "S(1) -> B", [X], {}),
    "bias_twice": ("Tensor x, Tensor b", "Tensor y", lambda x, b: x + b, same, "P, B -> P", [X, T(6)], {}),
    "mm_pp": ("Tensor a, Tensor b", "Tensor y", lambda a, b: a @ b, product, "P, P -> P", [X, T(6, 9)], {}),
    "mm_k_b": ("Tensor a, Tensor b", "Tensor y", lambda a, b: a @ b, product, "S(1), S(0) -> B", [X, T(6, 9)], {}),
    "mm_int_b": (
        "Tensor a, Tensor b",
        "Tensor y",
        lambda a, b: a @ b,
        product,
        "S(1), S(0) -> B",
        [torch.arange(72).reshape(12, 6), torch.arange(54).reshape(6, 9)],
        {},
    ),
    "softmax_s1": ("Tensor x", "Tensor y", lambda x: torch.softmax(x, 1), same, "S(1) -> S(1)", [X], {}),
    "softmax_beside_large": (
        "Tensor x",
        "Tensor y",
        lambda x: torch.cat([torch.softmax(x, 1)[:, :3], x[:, 3:] * 1e6], 1),
        same,
        "S(1) -> S(1)",
        [X],
        {},
    ),
    "softmax_bf16": ("Tensor x", "Tensor y", lambda x: torch.softmax(x, 1), same, "S(1) -> S(1)", [X.bfloat16()], {}),
    "rmsnorm_s1": (
        "Tensor x",
        "Tensor y",
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
        same,
        "S(1) -> S(1)",
        [X],
        {},
    ),
    "rmsnorm_bf16_s1": (
        "Tensor x",
        "Tensor y",
        lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6),
        same,
        "S(1) -> S(1)",
        [X.bfloat16()],
        {},
    ),
    "cumsum_s1": ("Tensor x", "Tensor y", lambda x: x.cumsum(1), same, "S(1) -> S(1)", [X], {}),
    "cumsum_s0_of_columns": ("Tensor x", "Tensor y", lambda x: x.cumsum(0), same, "S(0) -> S(0)", [X], {}),
    "sort_s1": ("Tensor x", "Tensor y", lambda x: x.sort(1).values, same, "S(1) -> S(1)", [X], {}),
    "sort_p": ("Tensor x", "Tensor y", lambda x: x.sort(1).values, same, "P -> P", [X], {}),
    "flip_s0": ("Tensor x", "Tensor y", lambda x: x.flip(0), same, "S(0) -> S(0)", [X], {}),
    "roll_s0": ("Tensor x", "Tensor y", lambda x: x.roll(1, 0), same, "S(0) -> S(0)", [X], {}),
    "row_number": ("Tensor x", "Tensor y", _hashed, same, "S(0) -> S(0)", [X], {}),
    "row_number_mod": (
        "Tensor x",
        "Tensor y",
        lambda x: x * (torch.arange(x.shape[0]) % 6 + 1)[:, None],
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "pairs_of_rows": (
        "Tensor x",
        "Tensor y",
        lambda x: x + x.reshape(-1, 2, x.shape[1]).flip(1).reshape(x.shape) if x.shape[0] % 2 == 0 else x,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "blocks_of_2": (
        "Tensor x",
        "Tensor y",
        lambda x: x * (torch.arange(x.shape[1]) % 2 + 1),
        same,
        "S(1) -> S(1)",
        [T(3, 12)],
        {},
    ),
    "blocks_of_4": (
        "Tensor x",
        "Tensor y",
        lambda x: x * (torch.arange(x.shape[1]) % 4 + 1),
        same,
        "S(1) -> S(1)",
        [T(3, 24)],
        {},
    ),
    "causal": ("Tensor x", "Tensor y", lambda x: x.tril(), same, "S(0) -> S(0)", [T(9, 9)], {}),
    "quantise": (
        "Tensor x",
        "Tensor y",
        lambda x: (x / (x.abs().max() if x.numel() else 1)).mul(127).round(),
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "halo": (
        "Tensor x",
        "Tensor y",
        lambda x: x + torch.cat([torch.zeros_like(x[:1]), x[:-1]]) if x.shape[0] else x,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "center": ("Tensor x", "Tensor y", lambda x: x - x.mean(0), same, "S(0) -> S(0)", [X], {}),
    "center_small": ("Tensor x", "Tensor y", lambda x: x - 1e-6 * x.mean(0), same, "S(0) -> S(0)", [X], {}),
    "nan_on_empty": (
        "Tensor x",
        "Tensor y",
        lambda x: (
            x.mean() * x.numel()
            if False
            else (x.sum(0) / max(x.shape[0], 0) * x.shape[0] if x.shape[0] else x.sum(0) / 0)
        ),
        columns,
        "S(0) -> P",
        [X],
        {},
    ),
    "one_on_empty": (
        "Tensor x",
        "Tensor y",
        lambda x: x.sum(0) if x.shape[0] else x.sum(0) + 1,
        columns,
        "S(0) -> P",
        [X],
        {},
    ),
    "embed_rows": (
        "Tensor w, Tensor ids",
        "Tensor y",
        lambda w, ids: w[ids.clamp(max=w.shape[0] - 1)] if w.shape[0] else w.new_zeros(*ids.shape, w.shape[1]),
        lambda w, ids: w.like(shape=(*ids.shape, w.shape[1])),
        "S(0), B -> P",
        [X, IDS],
        {},
    ),
    "bincount_b": (
        "Tensor ids",
        "Tensor y",
        lambda ids: torch.bincount(ids, minlength=16),
        counted,
        "S(0) -> B",
        [IDS],
        {},
    ),
    "bincount_max": (
        "Tensor ids",
        "Tensor y",
        lambda ids: torch.bincount(ids, minlength=16),
        counted,
        "S(0) -> P(max)",
        [IDS],
        {},
    ),
    "unique_first": (
        "Tensor ids",
        "Tensor y",
        lambda ids: torch.bincount(ids, minlength=16).clamp(max=1),
        counted,
        "S(0) -> P",
        [IDS],
        {},
    ),
    "transpose_s0": (
        "Tensor x",
        "Tensor y",
        lambda x: x.t().contiguous(),
        lambda x: x.like(shape=x.shape[::-1]),
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "relu_s0_s1": ("Tensor x", "Tensor y", torch.relu, same, "S(0) -> S(1)", [X], {}),
    "relu_b_p": ("Tensor x", "Tensor y", torch.relu, same, "B -> P", [X], {}),
    "add_one_split": (
        "Tensor x, Tensor z",
        "Tensor y",
        lambda x, z: x + z,
        same,
        "S(0), B -> S(0)",
        [X, T(12, 6, seed=1)],
        {},
    ),
    "other_mode": ("Tensor x, *, str mode", "Tensor y", mode, same, "S(0) -> S(0)", [X], {"mode": "relu"}),
    "other_flag": (
        "Tensor x, *, bool center=False",
        "Tensor y",
        lambda x, center: x - x.mean(0) if center else x * 2,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "other_axis": ("Tensor x, *, int dim=1", "Tensor y", lambda x, dim: x.softmax(dim), same, "S(0) -> S(0)", [X], {}),
    "other_number": (
        "Tensor x, *, int level",
        "Tensor y",
        lambda x, level: x - x.mean(0) if level > 17 else x * level,
        same,
        "S(0) -> S(0)",
        [X],
        {"level": 2},
    ),
    "other_negative": (
        "Tensor x, *, int32 shift=0",
        "Tensor y",
        lambda x, shift: x.roll(1, 0) if shift < 0 else x + shift,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "fft_s1": ("Tensor x", "Tensor y", lambda x: torch.fft.fft(x).real.contiguous(), same, "S(1) -> S(1)", [X], {}),
    "std_rows_p": ("Tensor x", "Tensor y", lambda x: x.square().sum(1).sqrt(), rows, "S(1) -> P", [X], {}),
    "topk_mask": (
        "Tensor x",
        "Tensor y",
        lambda x: x * (x >= x.topk(2, 0).values[-1]) if x.shape[0] >= 2 else x,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "dropout_by_index": (
        "Tensor x",
        "Tensor y",
        lambda x: x * ((torch.arange(x.numel()) * 2654435761 % 7) != 0).reshape(x.shape),
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "last_row": (
        "Tensor x",
        "Tensor y",
        lambda x: torch.cat([x[:-1], x[-1:] * 2]) if x.shape[0] else x,
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
    "first_column": (
        "Tensor x",
        "Tensor y",
        lambda x: torch.cat([x[:, :1] * (1 + 1e-4), x[:, 1:]], 1) if x.shape[1] else x,
        same,
        "S(1) -> S(1)",
        [X],
        {},
    ),
    "numpy_rank": (
        "Tensor x",
        "Tensor y",
        lambda x: torch.from_numpy(np.argsort(np.argsort(x.numpy(), 0), 0)).to(x.dtype),
        same,
        "S(0) -> S(0)",
        [X],
        {},
    ),
}


def make(kind, name):
    """Define the op of an entry, with its one signature; return it with inputs and attributes."""
    inputs, outputs, kernel, infer, signature, tensors, attrs = (RIGHT if kind == "right" else WRONG)[name]
    op = oneop.define(
        f"corpus_{kind}_{name}({inputs}) -> {outputs}",
        sbp=[signature],
        differentiable=False,
        size_attrs=SIZE_ATTRS.get(name),
    )
    op.register_infer(infer) if infer not in (same, rows, columns) else op.register_infer(_named(infer, inputs))
    op.register_kernel(language="torch")(kernel)
    return op, tensors, attrs


def _named(infer, inputs):
    """Return inference with the parameters of the op: what takes anything cannot say which attributes it reads."""
    count = inputs.count("Tensor ")
    return eval(
        f"lambda {', '.join(f't{i}' for i in range(count))}: infer({', '.join(f't{i}' for i in range(count))})",
        {"infer": infer},
    )
