"""Ops that decide at a value, wrong and right: ties, thresholds, and constants in place of infinity.

Those of `FAULTS` are wrong at some values only, and `FAULTS` says which families may find them. What a check says
against one of `RIGHT` is a false alarm: they break ties that torch leaves open, round in other ways where the result
hangs on roundings, or have another subgradient at a kink.
"""

import attention as attention_of_keys
import numpy as np
import torch

import oneop

FLOATS = (torch.float32, torch.float64)


def away_from_zero(x):
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def elementwise(name, kernel, reference, schema="(Tensor x) -> Tensor y", dtypes=FLOATS, grad=None):
    def quiet(*args, **attrs):
        with np.errstate(all="ignore"):
            return np.asarray(kernel(*args, **attrs)).astype(args[0].dtype)

    op = oneop.define(name + schema, infer="elementwise", differentiable=grad is not None)
    op.register_kernel("cpu", dtypes=dtypes)(quiet)
    if grad is not None:
        op.register_grad(grad)
    oneop.testing.reference(name)(reference)


def of_rows(name, kernel, reference, schema="(Tensor x) -> Tensor y", *, keeps=False, dtype=None, dtypes=FLOATS):
    """Define an op that reduces the last axis, or keeps it; `dtype` is that of the result, if it is another."""

    def quiet(*args, **attrs):
        with np.errstate(all="ignore"):
            made = np.asarray(kernel(*args, **attrs))
        return made.astype(np.int64 if dtype is not None else args[0].dtype)

    op = oneop.define(name + schema, differentiable=False)

    @op.register_infer
    def infer(x, *others, **attrs):
        if x.ndim < 2 or x.shape[-1] == 0 or any(other.shape != x.shape for other in others):
            raise ValueError("expected rows")
        return x.like(shape=x.shape if keeps else x.shape[:-1], dtype=dtype or x.dtype)

    op.register_kernel("cpu", dtypes=dtypes)(quiet)
    oneop.testing.reference(name)(reference)


# ---- kernels with what is wrong as an argument ----


def softmax(x, start=-np.inf):
    top = np.maximum(x.max(-1, keepdims=True), x.dtype.type(start))
    top = np.where(np.isfinite(top), top, 0 * start if np.isfinite(start) else top)
    exp = np.exp(x - top)
    return exp / exp.sum(-1, keepdims=True)


def masked_softmax(x, mask, value):
    """With -inf, a row that is masked wholly is NaN."""
    return softmax(np.where(mask, x, x.dtype.type(value)))


def masked_softmax_or_zero(x, mask):
    return np.nan_to_num(masked_softmax(x, mask, -np.inf), nan=0)


def last_place(x, places):
    """Return places in rows counted from their ends, of rows that were turned round."""
    return x.shape[-1] - 1 - places


def masked_in_torch(x, mask):
    return torch.softmax(x.masked_fill(~mask, -torch.inf), -1)


def zeros_where_masked(x, mask):
    return masked_in_torch(x, mask).nan_to_num(0.0)


MASKED = {"schema": "(Tensor x, Tensor mask) -> Tensor y", "keeps": True, "dtypes": {"x": FLOATS, "mask": torch.bool}}
HALF_MASKED = {**MASKED, "dtypes": {"x": torch.float16, "mask": torch.bool}}


def in_float(kernel):
    return lambda x, *others: kernel(x.astype(np.float32), *others)


def attention(name, value):
    """A causal attention whose mask is this value."""
    op = oneop.define(f"{name}(Tensor q, Tensor k, Tensor v) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(q, k, v):
        if q.ndim != 4 or k.shape != q.shape or v.shape != q.shape or 0 in q.shape:
            raise ValueError("expected batch, heads, positions and columns")
        return q

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(q, k, v):
        scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        hidden = np.triu(np.ones(scores.shape[-2:], bool), 1)
        with np.errstate(all="ignore"):
            return (softmax(np.where(hidden, value, scores)) @ v).astype(q.dtype)

    @oneop.testing.reference(name)
    def reference(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ v


def largest_of_first(name, of_nothing):
    """The largest of the first `lengths` of each row; of no elements, this."""
    op = oneop.define(f"{name}(Tensor x, Tensor lengths) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, lengths):
        if x.ndim != 2 or x.shape[1] == 0 or lengths.shape != x.shape[:1]:
            raise ValueError("expected rows and their lengths")
        return x.like(shape=x.shape[:1])

    @op.register_kernel("cpu", dtypes={"x": FLOATS, "lengths": torch.int64})
    def kernel(x, lengths):
        hidden = np.arange(x.shape[1]) >= lengths[:, None]
        top = np.where(hidden, -np.inf, x).max(1)
        return np.where(lengths <= 0, of_nothing, top).astype(x.dtype)

    oneop.testing.reference(name)(
        lambda x, lengths: x.masked_fill(torch.arange(x.shape[1]) >= lengths[:, None], -torch.inf).amax(1)
    )


def convolution_of_channels(name):
    """Torch refuses no channels, or has no result of the right shape for them."""
    op = oneop.define(f"{name}(Tensor x, Tensor w, *, int stride=1) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, w, stride):
        if x.ndim != 3 or w.ndim != 3 or x.shape[1] != w.shape[1] or stride < 1 or not 0 < w.shape[2] <= x.shape[2]:
            raise ValueError("no such convolution")
        return x.like(shape=(x.shape[0], w.shape[0], (x.shape[2] - w.shape[2]) // stride + 1))

    @op.register_kernel("cpu", dtypes=(torch.float16, *FLOATS))
    def kernel(x, w, stride):
        wide = x.astype(np.float64)
        windows = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2], axis=2)[:, :, ::stride]
        return np.einsum("bclk,ock->bol", windows, w.astype(np.float64)).astype(x.dtype)

    oneop.testing.reference(name)(lambda x, w, stride=1: torch.nn.functional.conv1d(x, w, stride=stride))


def turn_by_angles(name):
    """Four axes of x, of which the last is twice as long as that of the angles."""
    op = oneop.define(f"{name}(Tensor x, Tensor cosine, Tensor sine) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, cosine, sine):
        if x.ndim != 4 or x.shape[3] % 2 or cosine.shape != (x.shape[2], x.shape[3] // 2):
            raise ValueError("expected batch, heads, positions, an even number of columns, and half as many angles")
        if sine.shape != cosine.shape:
            raise ValueError("cosine and sine differ")
        return x

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, cosine, sine):
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)

    @oneop.testing.reference(name)
    def reference(x, cosine, sine):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def over(x, t=0.3):
    return (x > t).to(x.dtype)


def binned(x, edges=(0.0, 1.0)):
    return torch.bucketize(x, torch.tensor(edges, dtype=x.dtype), right=True)


def bins(name, side):
    op = oneop.define(f"{name}(Tensor x, *, float[] edges=[0.0, 1.0]) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, edges: x.like(dtype=torch.int64))
    op.register_check(lambda x, edges: list(edges) == sorted(edges) or "edges are not in order")
    op.register_kernel("cpu", dtypes=FLOATS)(
        lambda x, edges: np.searchsorted(np.array(edges), x, side).astype(np.int64)
    )
    oneop.testing.reference(name)(binned)


def to_int8(name, rounded):
    op = oneop.define(f"{name}(Tensor x, *, float scale=0.25) -> Tensor q", differentiable=False)
    op.register_infer(lambda x, scale: x.like(dtype=torch.int8))
    op.register_check(lambda x, scale: scale > 0 or f"scale is {scale}")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, scale):
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(rounded(x / x.dtype.type(scale))), -128, 127).astype(np.int8)

    oneop.testing.reference(name)(
        lambda x, scale=0.25: torch.round(x / scale).nan_to_num().clamp(-128, 127).to(torch.int8)
    )


THRESHOLD = "(Tensor x, *, float t=0.3) -> Tensor y"
PAIR = "(Tensor a, Tensor b) -> Tensor y"
SCALED = "(Tensor x, *, float scale=0.1) -> Tensor y"
INDEX = {"dtype": torch.int64}
SORTED = {"dtype": torch.int64, "keeps": True}
INTEGERS = {"dtypes": (torch.int32, torch.int64)}


def argmax_in_torch(x):
    return torch.argmax(x, -1)


def order_in_torch(x):
    return torch.sort(x, dim=-1, stable=True).indices


FAULTS = {
    "rounds_half_away": lambda name: elementwise(name, away_from_zero, torch.round),
    "adds_half_and_floors": lambda name: elementwise(name, lambda x: np.floor(x + x.dtype.type(0.5)), torch.round),
    "rounds_half_away_in_half": lambda name: elementwise(
        name, lambda x: away_from_zero(x.astype(np.float32)), torch.round, dtypes=torch.float16
    ),
    "quantises_half_away": lambda name: to_int8(name, away_from_zero),
    "scaled_half_away": lambda name: elementwise(
        name,
        lambda x, scale: away_from_zero(x / x.dtype.type(scale)),
        lambda x, scale=0.1: torch.round(x / scale),
        SCALED,
    ),
    "threshold_is_over_itself": lambda name: elementwise(name, lambda x, t: x >= x.dtype.type(t), over, THRESHOLD),
    "shrink_keeps_its_edge": lambda name: elementwise(
        name, lambda x: np.where(np.abs(x) >= 0.5, x, 0), torch.nn.functional.hardshrink
    ),
    "slope_includes_six": lambda name: elementwise(
        name, lambda x: (x > 0) & (x <= 6), lambda x: ((x > 0) & (x < 6)).to(x.dtype)
    ),
    "step_includes_constant": lambda name: elementwise(
        name, lambda x: np.where(x >= 37.25, 2 * x, x), lambda x: torch.where(x > 37.25, 2 * x, x)
    ),
    "sign_of_zero_is_one": lambda name: elementwise(name, lambda x: np.where(x >= 0, 1, -1), torch.sign),
    "exponential_ends_at_88": lambda name: elementwise(
        name, lambda x: np.exp(np.minimum(x, 88)), torch.exp, dtypes=torch.float32
    ),
    "equal_is_greater": lambda name: elementwise(name, lambda a, b: a >= b, lambda a, b: (a > b).to(a.dtype), PAIR),
    "bins_include_right_edge": lambda name: bins(name, "left"),
    "argmax_takes_last": lambda name: of_rows(
        name, lambda x: last_place(x, np.argmax(x[..., ::-1], -1)), argmax_in_torch, **INDEX
    ),
    "argmax_starts_at_zero": lambda name: of_rows(
        name, lambda x: np.where(x.max(-1) > 0, np.argmax(x, -1), 0), argmax_in_torch, **INDEX
    ),
    "sort_turns_ties": lambda name: of_rows(
        name, lambda x: last_place(x, np.argsort(x[..., ::-1], -1, kind="stable")), order_in_torch, **SORTED
    ),
    "maximum_starts_at_zero": lambda name: of_rows(name, lambda x: x.max(-1, initial=0), lambda x: x.amax(-1)),
    "maximum_starts_at_least_positive": lambda name: of_rows(
        name, lambda x: x.max(-1, initial=np.finfo(np.float32).tiny), lambda x: x.amax(-1)
    ),
    "maximum_starts_at_minus_10000": lambda name: of_rows(
        name, lambda x: x.max(-1, initial=-1e4), lambda x: x.amax(-1)
    ),
    "maximum_starts_at_largest_float": lambda name: of_rows(
        name, lambda x: x.max(-1, initial=-np.finfo(np.float32).max), lambda x: x.amax(-1)
    ),
    "minimum_starts_at_a_billion": lambda name: of_rows(name, lambda x: x.min(-1, initial=1e9), lambda x: x.amin(-1)),
    "integer_maximum_starts_at_minus_32768": lambda name: of_rows(
        name, lambda x: x.max(-1, initial=-32768), lambda x: x.amax(-1), **INTEGERS
    ),
    "softmax_starts_at_minus_10000": lambda name: of_rows(
        name, lambda x: softmax(x, -1e4), lambda x: torch.softmax(x, -1), keeps=True
    ),
    "mask_of_minus_10000": lambda name: of_rows(
        name, lambda x, mask: masked_softmax(x, mask, -1e4), masked_in_torch, **MASKED
    ),
    "mask_of_minus_a_billion": lambda name: of_rows(
        name, lambda x, mask: masked_softmax(x, mask, -1e9), zeros_where_masked, **MASKED
    ),
    "half_mask_of_minus_10000": lambda name: of_rows(
        name, in_float(lambda x, mask: masked_softmax(x, mask, -1e4)), zeros_where_masked, **HALF_MASKED
    ),
    "masked_row_is_not_zero": lambda name: of_rows(
        name, lambda x, mask: masked_softmax(x, mask, -np.inf), zeros_where_masked, **MASKED
    ),
    "attention_with_mask_of_minus_10000": lambda name: attention(name, -1e4),
    "largest_of_nothing_is_finite": lambda name: largest_of_first(name, -1e4),
}
EXPECTED = dict.fromkeys(FAULTS, ("values", "special values", "reference"))

RIGHT = {
    "right_round": lambda name: elementwise(name, np.round, torch.round),
    "right_round_in_half": lambda name: elementwise(name, np.round, torch.round, dtypes=torch.float16),
    "right_to_int8": lambda name: to_int8(name, np.rint),
    "right_scaled_by_reciprocal": lambda name: elementwise(
        name,
        lambda x, scale: np.round(x * x.dtype.type(1 / scale)),
        lambda x, scale=0.1: torch.round(x / scale),
        SCALED,
    ),
    "right_third_by_reciprocal": lambda name: elementwise(
        name, lambda x: np.floor(x * x.dtype.type(1 / 3)), lambda x: torch.floor(x / 3)
    ),
    "right_threshold": lambda name: elementwise(name, lambda x, t: x > x.dtype.type(t), over, THRESHOLD),
    "right_threshold_in_float": lambda name: elementwise(name, lambda x, t: x > np.float32(t), over, THRESHOLD),
    "right_threshold_in_double": lambda name: elementwise(name, lambda x, t: x.astype(np.float64) > t, over, THRESHOLD),
    "right_hard_swish": lambda name: elementwise(
        name,
        lambda x: x * np.clip(x + 3, 0, 6) / 6,
        torch.nn.functional.hardswish,
        grad=lambda ctx, dy: dy * torch.where(ctx.x.abs() <= 3, ctx.x / 3 + 0.5, (ctx.x > 0).to(dy.dtype)),
    ),
    "right_relu6_with_other_subgradients": lambda name: elementwise(
        name,
        lambda x: np.clip(x, 0, 6),
        torch.nn.functional.relu6,
        grad=lambda ctx, dy: dy * ((ctx.x >= 0) & (ctx.x <= 6)),
    ),
    "right_softplus_of_20": lambda name: elementwise(
        name,
        lambda x: np.where(x >= 20, x, np.log1p(np.exp(np.minimum(x, 20)))),
        torch.nn.functional.softplus,
        grad=lambda ctx, dy: dy * torch.sigmoid(ctx.x),
    ),
    "right_floor_modulo": lambda name: elementwise(
        name,
        lambda a, b: np.where(np.isinf(b) & np.isfinite(a), a - np.where(a * b < 0, -b, 0), np.mod(a, b)),
        torch.remainder,
        PAIR,
    ),
    "right_bins": lambda name: bins(name, "right"),
    "right_argmax": lambda name: of_rows(name, lambda x: np.argmax(x, -1), argmax_in_torch, **INDEX),
    "right_order_of_ties": lambda name: of_rows(
        name, lambda x: np.argsort(x, -1, kind="stable"), order_in_torch, **SORTED
    ),
    "right_order_where_ties_are_open": lambda name: of_rows(
        name,
        lambda x: last_place(x, np.argsort(x[..., ::-1], -1, kind="stable")),
        lambda x: torch.sort(x, -1).indices,
        **SORTED,
    ),
    "right_masked_softmax": lambda name: of_rows(
        name, lambda x, mask: masked_softmax(x, mask, -np.inf), masked_in_torch, **MASKED
    ),
    "right_masked_softmax_or_zero": lambda name: of_rows(name, masked_softmax_or_zero, zeros_where_masked, **MASKED),
    "right_half_masked_softmax": lambda name: of_rows(
        name, in_float(masked_softmax_or_zero), zeros_where_masked, **HALF_MASKED
    ),
    "right_attention": lambda name: attention(name, -np.inf),
    attention_of_keys.NAME: attention_of_keys.define,
    "right_largest_of_first": lambda name: largest_of_first(name, -np.inf),
    "right_integer_maximum": lambda name: of_rows(name, lambda x: x.max(-1), lambda x: x.amax(-1), **INTEGERS),
    "right_convolution_of_channels": convolution_of_channels,
    "right_turn_by_angles": turn_by_angles,
}


def make(name):
    """Define one of them."""
    (FAULTS.get(name) or RIGHT[name])(name)
    return name
