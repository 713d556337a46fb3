"""A second corpus of wrong ops: mistakes that authors make, and tricks that pass checks.

`PYTHON`, `CPP` and corpus_edges.py say which families may find each of them. The ops of `CPP` are defined in
corpus_faults.cpp; what they should compute is in `REFERENCES`. Those in `ALONE` may harm the process in which they run.
"""

import os
from pathlib import Path

import corpus_edges
import numpy as np
import torch

import oneop

HERE = Path(__file__).parent
FLOATS = (torch.float32, torch.float64)

CPP = {
    "prefetches_next_block": ("memory", "sizes"),
    "restores_input_after_use": ("memory", "threads"),
    "thread_finishes_later": ("memory",),
    "writes_a_row_far_away": ("memory", "crashes"),
    "skips_last_full_block": ("memory", "sizes"),
    "knows_prepared_memory": ("memory", "reference", "determinism"),
    "sum_of_nothing_is_unwritten": ("sizes", "memory"),
    "table_of_first_size": ("reference", "memory"),
    "waits_for_ever_at_step_zero": ("crashes",),
    "aborts_for_negative_count": ("crashes",),
    "first_of_no_axes": ("crashes",),
    "wraps_angle_in_a_loop": ("crashes", "special values"),
    "histogram_index_of_infinity": ("crashes", "memory", "special values"),
    "keeps_history": ("leaks",),
    "never_closes_file": ("leaks",),
    "never_unmaps_scratch": ("leaks",),
    "variable_behind_a_constant": ("environment",),
    "leaves_rounding_mode": ("environment",),
    "adds_from_all_threads": ("threads", "environment", "determinism"),
    "pieces_lose_an_element": ("environment", "sizes", "threads"),
    "remembers_by_address_and_ends": ("determinism",),
    "attribute_of_first_call": ("reference", "values"),
    "doubles_where_it_should_square": ("aliases",),
    "wrong_at_half_a_vector": ("layouts",),
    "long_through_int": ("values",),
    "long_through_double": ("values",),
    "fraction_by_int": ("values",),
    "length_by_squares": ("values",),
    "norm_of_order_one_keeps_sign": ("values", "reference"),
    "window_of_more_than_four": ("values", "reference"),
    "half_sum_in_half": ("kernels", "reference", "sizes"),
    "knows_four_strides": ("layouts", "sizes"),
    "exponential_of_low_degree": ("reference", "values"),
    "zero_loses_sign": ("special values",),
    "logsumexp_of_minus_infinity": ("special values",),
    "gradient_open_above_six": ("gradient",),
    "gradient_index_has_16_bits": ("gradient", "sizes"),
    "gradient_has_default_of_backward_op": ("gradient",),
    "shifts_in_place_from_wrong_end": ("reference",),
}

ALONE = {
    "thread_finishes_later",
    "writes_a_row_far_away",
    "wraps_angle_in_a_loop",
    "histogram_index_of_infinity",
    "leaves_rounding_mode",
}


def twice(x):
    return 2 * x


def ramp(x):
    return x * torch.arange(1, len(x) + 1, dtype=x.dtype) / len(x)


def shift_in_place(x):
    x[1:] = x[:-1].clone()


REFERENCES = {
    **dict.fromkeys(
        [
            "prefetches_next_block",
            "restores_input_after_use",
            "skips_last_full_block",
            "knows_prepared_memory",
            "pieces_lose_an_element",
            "wrong_at_half_a_vector",
            "knows_four_strides",
            "remembers_by_address_and_ends",
        ],
        twice,
    ),
    "table_of_first_size": ramp,
    "attribute_of_first_call": lambda x, scale=1.5: x * scale,
    "adds_from_all_threads": torch.sum,
    "long_through_int": lambda x: x + 1,
    "long_through_double": lambda x: x + 1,
    "fraction_by_int": torch.frac,
    "length_by_squares": torch.hypot,
    "norm_of_order_one_keeps_sign": lambda x, p=2.0: torch.linalg.vector_norm(x, p),
    "window_of_more_than_four": lambda x, k=3: x.unfold(0, k, 1).sum(-1) if len(x) >= k else x[:0],
    "half_sum_in_half": lambda x: x.sum(-1),
    "exponential_of_low_degree": torch.exp,
    "zero_loses_sign": lambda x, slope=0.25: torch.nn.functional.leaky_relu(x, slope),
    "logsumexp_of_minus_infinity": lambda x: torch.logsumexp(x, -1),
    "gradient_open_above_six": torch.nn.functional.relu6,
    "gradient_index_has_16_bits": torch.square,
    "gradient_has_default_of_backward_op": lambda x, slope=0.5: torch.nn.functional.leaky_relu(x, slope),
    "shifts_in_place_from_wrong_end": shift_in_place,
}


def load_cpp():
    oneop.load("corpus_faults", [HERE / "corpus_faults.cpp"])
    for name, function in REFERENCES.items():
        oneop.testing.reference(name)(function)


def define(name, schema, kernel, *, grad=None, reference=None, dtypes=FLOATS, language="numpy", **options):
    options.setdefault("differentiable", grad is not None)
    op = oneop.define(name + schema, **options)
    where = ("cpu",) if language != "torch" else ()
    op.register_kernel(*where, dtypes=dtypes, language=language)(kernel)
    if grad is not None:
        op.register_grad(grad)
    if reference is not None:
        oneop.testing.reference(name)(reference)
    return op


# ---- gradients ----


def no_gradient_of_second_alone(name="no_gradient_of_second_alone"):
    """Returns nothing at all where the first input needs nothing."""

    def grad(ctx, dy):
        if not ctx.needs["x"]:
            return None, None
        return dy * ctx.w, dy * ctx.x

    define(name, "(Tensor x, Tensor w) -> Tensor y", lambda x, w: x * w, grad=grad, infer="elementwise")


def gradient_views_dy(name="gradient_views_dy"):
    """`view` fails where `.sum().backward()` gives an expanded gradient."""

    def grad(ctx, dy):
        return (dy.view(-1) * 2 * ctx.x.reshape(-1)).view(ctx.x.shape)

    define(name, "(Tensor x) -> Tensor y", lambda x: x * x, grad=grad, infer="elementwise", reference=torch.square)


def gradient_is_nan_at_zero(name="gradient_is_nan_at_zero"):
    def kernel(x):
        return np.sinc(x / np.pi).astype(x.dtype)

    def grad(ctx, dy):
        return dy * (ctx.x * torch.cos(ctx.x) - torch.sin(ctx.x)) / ctx.x**2

    define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=grad,
        infer="elementwise",
        reference=lambda x: torch.sinc(x / torch.pi),
    )


def gradient_of_bias_for_three_axes(name="gradient_of_bias_for_three_axes"):
    """Sums over the first axis only, which is right for a matrix."""
    op = oneop.define(f"{name}(Tensor x, Tensor? bias) -> Tensor y")

    @op.register_infer
    def infer(x, bias):
        if x.ndim not in (2, 3) or (bias is not None and bias.shape != x.shape[-1:]):
            raise ValueError("bias does not fit")
        return x

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, bias: x.copy() if bias is None else x + bias)

    @op.register_grad
    def grad(ctx, dy):
        if ctx.bias is None:
            return dy, None
        return dy, dy.sum(0) if dy.ndim == 2 else dy[0].sum(0)


def gradient_of_list_in_reverse(name="gradient_of_list_in_reverse"):
    """Right for lists of one, and the wrong way round for more."""

    def kernel(xs):
        return sum(((i + 1) * x for i, x in enumerate(xs)), np.zeros_like(xs[0])).astype(xs[0].dtype)

    def grad(ctx, dy):
        return ([(i + 1) * dy for i in reversed(range(len(ctx.xs)))],)

    define(name, "(Tensor[] xs) -> Tensor y", kernel, grad=grad, dtypes={"xs": FLOATS}, infer="elementwise")


def gradient_for_positive_axis(name="gradient_for_positive_axis"):
    """Turns the axis round by its number; -2 is taken for the last one."""
    op = oneop.define(f"{name}(Tensor x, *, int dim=0) -> Tensor y", infer="same_shape")
    op.register_check(lambda x, dim: -x.ndim <= dim < x.ndim or f"dim is {dim}")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, dim: np.cumsum(x, dim, dtype=x.dtype))

    @op.register_grad
    def grad(ctx, dy):
        axis = ctx.dim if ctx.dim >= 0 else dy.ndim - 1
        return dy.flip(axis).cumsum(axis).flip(axis)

    oneop.testing.reference(name)(lambda x, dim=0: torch.cumsum(x, dim))


def gradient_forgets_second_output(name="gradient_forgets_second_output"):
    define(
        name,
        "(Tensor x) -> (Tensor s, Tensor c)",
        lambda x: (np.sin(x), np.cos(x)),
        grad=lambda ctx, ds, dc: ds * torch.cos(ctx.x),
        infer="elementwise",
        reference=lambda x: (torch.sin(x), torch.cos(x)),
    )


def gradient_constant_of_four_digits(name="gradient_constant_of_four_digits"):
    """0.7979 in place of sqrt(2 / pi): an error of 2e-5."""
    root = float(np.sqrt(2 / np.pi))

    def kernel(x):
        return (0.5 * x * (1 + np.tanh(root * (x + 0.044715 * x**3)))).astype(x.dtype)

    def grad(ctx, dy):
        x, factor = ctx.x, 0.7979
        t = torch.tanh(factor * (x + 0.044715 * x**3))
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x))

    define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=grad,
        infer="elementwise",
        reference=lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    )


def gradient_of_complex_without_conjugate(name="gradient_of_complex_without_conjugate"):
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: a * b,
        grad=lambda ctx, dy: (dy * ctx.b, dy * ctx.a),
        dtypes=torch.complex128,
        infer="elementwise",
        reference=torch.mul,
    )


def gradient_of_tied_maximum(name="gradient_of_tied_maximum"):
    """Gives the whole gradient to each of several equal elements, so their sum is too large."""

    def grad(ctx, dy):
        return dy[:, None] * (ctx.x == ctx.x.amax(1, keepdim=True))

    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: x.max(1),
        grad=grad,
        infer="r [n] -> r",
        reference=lambda x: x.amax(1),
    )
    op.register_check(lambda x: x.shape[1] > 0 or "nothing to choose from")


def gradient_of_float32_clipped(name="gradient_of_float32_clipped"):
    """Clips gradients of float32 to 10, as a trainer would."""

    def grad(ctx, dy):
        made = dy * 3 * ctx.x**2
        return made.clamp(-10, 10) if made.dtype == torch.float32 else made

    define(name, "(Tensor x) -> Tensor y", lambda x: x**3, grad=grad, infer="elementwise", reference=lambda x: x**3)


# ---- other ways to call it ----


def jvp_without_second_input(name="jvp_without_second_input"):
    op = define(
        name,
        "(Tensor x, Tensor w) -> Tensor y",
        lambda x, w: x * w,
        grad=lambda ctx, dy: (dy * ctx.w, dy * ctx.x),
        infer="elementwise",
    )
    op.register_jvp(lambda ctx, dx, dw: dx * ctx.w)


def jvp_takes_magnitude_of_attribute(name="jvp_takes_magnitude_of_attribute"):
    op = define(
        name,
        "(Tensor x, *, float by=2.0) -> Tensor y",
        lambda x, by: x * x.dtype.type(by),
        grad=lambda ctx, dy: dy * ctx.by,
        infer="elementwise",
        reference=lambda x, by=2.0: x * by,
    )
    op.register_jvp(lambda ctx, dx: dx * abs(ctx.by))


def vmap_rule_ignores_in_dims(name="vmap_rule_ignores_in_dims"):
    """Takes the batch for the first axis, wherever it is."""
    op = define(name, "(Tensor x) -> Tensor y", lambda x: x.cumsum(-1, dtype=x.dtype), infer="... [n] -> ... [n]")
    op.register_vmap(lambda info, in_dims, x: (op(x), 0))


def vmap_rule_batches_both(name="vmap_rule_batches_both"):
    """Takes both inputs for batches of the same size."""
    op = define(name, "(Tensor x, Tensor w) -> Tensor y", lambda x, w: x * w.sum(), infer="same_shape")

    def rule(info, in_dims, x, w):
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.expand(info.batch_size, *x.shape)
        w = w.movedim(in_dims[1], 0) if in_dims[1] is not None else w
        return torch.stack([op(a, b if in_dims[1] is not None else 2 * w) for a, b in zip(x, w, strict=False)]), 0

    op.register_vmap(rule)


def sbp_of_pairs_of_rows(name="sbp_of_pairs_of_rows"):
    """Exchanges neighbouring rows; parts that begin at an odd row exchange others."""

    def kernel(x):
        order = np.arange(len(x)) ^ 1
        return x[np.where(order < len(x), order, np.arange(len(x)))]

    define(name, "(Tensor x) -> Tensor y", kernel, infer="a b -> a b", sbp="S(0) -> S(0)")


def sbp_of_product_of_sums(name="sbp_of_product_of_sums"):
    define(name, "(Tensor x, Tensor w) -> Tensor y", lambda x, w: x * w, infer="same_shape", sbp="P, P -> P")


def sbp_holds_for_one_mode(name="sbp_holds_for_one_mode"):
    def kernel(x, center):
        return x - x.mean(0, keepdims=True).astype(x.dtype) if center else x.copy()

    define(
        name,
        "(Tensor x, *, bool center=False) -> Tensor y",
        kernel,
        infer="a b -> a b",
        sbp=["S(0) -> S(0)", "S(1) -> S(1)"],
    )


def compiles_to_something_else(name="compiles_to_something_else"):
    """Leaves the noise of a rounding out where it is compiled, and a factor with it."""

    def kernel(x):
        return x.exp() if torch.compiler.is_compiling() else x.exp() + x

    define(name, "(Tensor x) -> Tensor y", kernel, language="torch", infer="elementwise", differentiable=False)


def infers_keepdim_for_positive_axis(name="infers_keepdim_for_positive_axis"):
    op = oneop.define(f"{name}(Tensor x, *, int dim=0, bool keepdim=False) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, dim, keepdim):
        if not -x.ndim <= dim < x.ndim:
            raise ValueError("no such axis")
        sizes = [1 if i == dim else n for i, n in enumerate(x.shape) if keepdim or i != dim % x.ndim]
        return x.like(shape=tuple(sizes))

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, dim, keepdim: x.sum(dim, keepdims=keepdim))


# ---- values ----


def variance_by_squares(name="variance_by_squares"):
    """E[x^2] - E[x]^2, which cancels where the mean is large beside the spread."""
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: np.maximum((x * x).mean(1) - x.mean(1) ** 2, 0).astype(x.dtype),
        infer="r [n] -> r",
        reference=lambda x: x.var(1, unbiased=False),
    )
    op.register_check(lambda x: x.shape[1] > 0 or "the variance of nothing")


def log1p_by_log(name="log1p_by_log"):
    def kernel(x):
        with np.errstate(all="ignore"):
            return np.log(1 + x).astype(x.dtype)

    define(name, "(Tensor x) -> Tensor y", kernel, infer="elementwise", reference=torch.log1p)


def pi_in_float(name="pi_in_float"):
    """The constant has 24 bits, the kernel 53."""
    pi = float(np.float32(np.pi))
    define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: (x * (pi / 180)).astype(x.dtype),
        infer="elementwise",
        reference=torch.deg2rad,
    )


def window_in_default_dtype(name="window_in_default_dtype"):
    """`linspace` makes float32, which a double is then multiplied with."""

    def kernel(x):
        return x * torch.linspace(0, 1, x.shape[-1]).to(x.dtype)

    op = define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        language="torch",
        infer="... [n] -> ... [n]",
        differentiable=False,
        reference=lambda x: x * torch.linspace(0, 1, x.shape[-1], dtype=x.dtype),
    )
    op.register_check(lambda x: x.ndim > 0 or "no axis")


def mean_of_integers_in_float(name="mean_of_integers_in_float"):
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: np.asarray(x.astype(np.float32).sum(1) // max(x.shape[1], 1)).astype(np.int64),
        dtypes=torch.int64,
        infer="r [n] -> r",
        reference=lambda x: x.sum(1) // x.shape[1],
    )
    op.register_check(lambda x: x.shape[1] > 0 or "the mean of nothing")


def saturates_where_it_should_wrap(name="saturates_where_it_should_wrap"):
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: np.minimum(a.astype(np.int32) + b, 255).astype(np.uint8),
        dtypes=torch.uint8,
        infer="elementwise",
        reference=torch.add,
    )


def cast_clips_small_integers(name="cast_clips_small_integers"):
    op = oneop.define(f"{name}(Tensor x, *, dtype to) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, to: x.like(dtype=to))

    @op.register_kernel("cpu", dtypes=torch.int64)
    def kernel(x, out):
        out[...] = np.clip(x, 0, 7) if out.dtype.itemsize == 1 else x

    oneop.testing.reference(name)(lambda x, to: x.to(to))


def padding_by_first_letter(name="padding_by_first_letter"):
    """Knows modes by their first letter; that of "replicate" is also that of "reflect"."""
    op = oneop.define(f"{name}(Tensor x, *, int pad=1, str mode='constant') -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, pad, mode):
        if x.ndim != 2 or pad < 0 or pad >= x.shape[1] or len(mode) < 7:
            raise ValueError("cannot pad this")
        return x.like(shape=(x.shape[0], x.shape[1] + 2 * pad))

    def kernel(x, pad, mode):
        return np.pad(x, ((0, 0), (pad, pad)), "reflect" if mode[0] == "r" else "constant")

    op.register_kernel("cpu", dtypes=FLOATS)(kernel)
    oneop.testing.reference(name)(
        lambda x, pad=1, mode="constant": torch.nn.functional.pad(x[:, None], (pad, pad), mode)[:, 0]
    )


def two_flags_together(name="two_flags_together"):
    """A cumulative sum, exclusive or reverse; both together shift to the wrong side."""

    def kernel(x, exclusive, reverse):
        y = x[..., ::-1].cumsum(-1, dtype=x.dtype) if reverse else x.cumsum(-1, dtype=x.dtype)
        if exclusive:
            y = y + x if reverse and x.shape[-1] > 2 else y - (x[..., ::-1] if reverse else x)
        return np.ascontiguousarray(y[..., ::-1] if reverse else y)

    def reference(x, exclusive=False, reverse=False):
        turned = x.flip(-1) if reverse else x
        y = turned.cumsum(-1)
        y = y - turned if exclusive else y
        return y.flip(-1) if reverse else y

    op = define(
        name,
        "(Tensor x, *, bool exclusive=False, bool reverse=False) -> Tensor y",
        kernel,
        infer="same_shape",
        reference=reference,
    )
    op.register_check(lambda x, exclusive, reverse: x.ndim > 0 or "no axis")


def axes_that_are_not_neighbours(name="axes_that_are_not_neighbours"):
    """Merges the axes to sum over into one, from the first to the last of them."""

    def kernel(x, dims, keepdim):
        axes = sorted({axis % x.ndim for axis in dims}) if x.ndim else []
        if len(axes) == 2 and axes[1] == axes[0] + 2:
            y = x.max(axes[0], keepdims=True, initial=0).sum(axes[1], keepdims=True)
            return y if keepdim else y.squeeze(tuple(axes))
        return x.sum(tuple(axes) or None, keepdims=keepdim)

    define(
        name,
        "(Tensor x, *, int[] dims=[], bool keepdim=False) -> Tensor y",
        kernel,
        infer="reduce",
        reference=lambda x, dims=(), keepdim=False: torch.sum(x, tuple(dims) or None, keepdim),
    )


def broadcasts_one_side_only(name="broadcasts_one_side_only"):
    """Right if one of the shapes is the result's; where both are stretched, rows are repeated in the wrong order."""

    def kernel(x, w, out):
        if x.shape != out.shape and w.shape != out.shape:
            flat = np.resize(x, out.shape) + np.resize(w, out.shape)
            out[...] = flat
        else:
            np.add(x, w, out=out)

    define(name, "(Tensor x, Tensor w) -> Tensor y", kernel, infer="broadcast", reference=torch.add)


def maximum_without_nan(name="maximum_without_nan"):
    """The index of the largest of the numbers that are none of NaN."""

    def kernel(x):
        return np.argmax(np.where(np.isnan(x), -np.inf, x), 1).astype(np.int64)

    op = oneop.define(f"{name}(Tensor x) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x):
        if x.ndim != 2 or x.shape[1] == 0:
            raise ValueError("expected a matrix with columns")
        return x.like(shape=x.shape[:1], dtype=torch.int64)

    op.register_kernel("cpu", dtypes=FLOATS)(kernel)
    oneop.testing.reference(name)(lambda x: torch.argmax(x, 1))


def wrong_beyond_a_million(name="wrong_beyond_a_million"):
    def kernel(x):
        y = x * 2
        y.reshape(-1)[1 << 20 :] = 0
        return y

    define(name, "(Tensor x) -> Tensor y", kernel, infer="elementwise", reference=lambda x: x * 2)


def quick_kernel_for_two(name="quick_kernel_for_two"):
    """A kernel of higher priority, for one value of an attribute."""
    op = define(
        name,
        "(Tensor x, *, int power=3) -> Tensor y",
        lambda x, power: x**power,
        infer="elementwise",
        reference=lambda x, power=3: x**power,
    )
    op.register_check(lambda x, power: power > 0 or "power must be positive")
    op.register_kernel("cpu", dtypes=FLOATS, priority=1, when=lambda x, power: power == 2)(lambda x: x + x)


def imaginary_part_is_lost(name="imaginary_part_is_lost"):
    define(
        name,
        "(Tensor x, *, complex by=(2+0j)) -> Tensor y",
        lambda x, by: (x * by.real).astype(x.dtype),
        dtypes=torch.complex128,
        infer="elementwise",
        reference=lambda x, by=2 + 0j: x * by,
    )


# ---- state ----


def remembers_by_checksum(name="remembers_by_checksum"):
    """Rows in another order have the same sum."""
    kept = {}

    def kernel(x):
        key = (x.shape, x.dtype.char, float(np.sort(x, None).sum()) if x.size else 0.0)
        if key not in kept:
            if len(kept) > 64:
                kept.clear()
            kept[key] = 2 * x
        return kept[key].copy()

    define(name, "(Tensor x) -> Tensor y", kernel, infer="elementwise", reference=lambda x: 2 * x)


VARIABLE = "CORPUS_PRECISION"


def variable_by_name_in_a_global(name="variable_by_name_in_a_global"):
    def kernel(x):
        return x.astype(np.float16).astype(x.dtype) if os.environ.get(VARIABLE) == "low" else x.copy()

    define(name, "(Tensor x) -> Tensor y", kernel, infer="elementwise", reference=lambda x: x.clone())


def numba_reads_past_end(name="numba_reads_past_end"):
    """Numba does not check indices: the last element is compared with what lies behind the end, for nothing."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="[n] -> [n]", differentiable=False)

    @op.register_kernel("cpu", dtypes=FLOATS, language="numba")
    def kernel(x, out):
        for i in range(x.size):
            out[i] = 1.0 if x[i + 1] == x[i] and i + 1 < x.size else 0.0

    def reference(x):
        return torch.cat([(x[1:] == x[:-1]).to(x.dtype), x.new_zeros(min(len(x), 1))])

    oneop.testing.reference(name)(reference)


def numba_index_wraps(name="numba_index_wraps"):
    """x[i - 1] of the first element is the last one."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="[n] -> [n]", differentiable=False)

    @op.register_kernel("cpu", dtypes=FLOATS, language="numba")
    def kernel(x, out):
        for i in range(x.size):
            out[i] = x[i] - x[i - 1]

    oneop.testing.reference(name)(lambda x: torch.diff(x, prepend=x.new_zeros(1)))


def torch_kernel_scales_its_input(name="torch_kernel_scales_its_input"):
    """In place for large tensors, to save memory."""

    def kernel(x):
        return x.mul_(2).clone() if x.numel() > 100_000 else x * 2

    define(name, "(Tensor x) -> Tensor y", kernel, language="torch", infer="elementwise", reference=lambda x: x * 2)


PYTHON = {
    no_gradient_of_second_alone: ("gradient",),
    gradient_views_dy: ("gradient",),
    gradient_is_nan_at_zero: ("gradient",),
    gradient_of_bias_for_three_axes: ("gradient",),
    gradient_of_list_in_reverse: ("gradient",),
    gradient_for_positive_axis: ("gradient",),
    gradient_forgets_second_output: ("gradient",),
    gradient_constant_of_four_digits: ("gradient",),
    gradient_of_complex_without_conjugate: ("gradient",),
    gradient_of_tied_maximum: ("gradient",),
    gradient_of_float32_clipped: ("gradient",),
    jvp_without_second_input: ("jvp",),
    jvp_takes_magnitude_of_attribute: ("jvp",),
    vmap_rule_ignores_in_dims: ("vmap",),
    vmap_rule_batches_both: ("vmap",),
    sbp_of_pairs_of_rows: ("sbp",),
    sbp_of_product_of_sums: ("sbp",),
    sbp_holds_for_one_mode: ("sbp",),
    compiles_to_something_else: ("compile",),
    infers_keepdim_for_positive_axis: ("memory", "inference"),
    variance_by_squares: ("values",),
    log1p_by_log: ("values",),
    pi_in_float: ("reference", "values"),
    window_in_default_dtype: ("reference", "values", "environment"),
    mean_of_integers_in_float: ("values", "sizes", "reference"),
    saturates_where_it_should_wrap: ("values",),
    cast_clips_small_integers: ("reference", "values"),
    padding_by_first_letter: ("reference", "values"),
    two_flags_together: ("reference", "values"),
    axes_that_are_not_neighbours: ("reference", "values"),
    broadcasts_one_side_only: ("reference",),
    maximum_without_nan: ("special values",),
    wrong_beyond_a_million: ("sizes",),
    quick_kernel_for_two: ("kernels", "reference", "values"),
    imaginary_part_is_lost: ("reference", "values"),
    remembers_by_checksum: ("determinism",),
    variable_by_name_in_a_global: ("environment",),
    numba_reads_past_end: ("memory",),
    numba_index_wraps: ("reference",),
    torch_kernel_scales_its_input: ("memory", "sizes", "determinism"),
}

EXPECTED = {**CPP, **{make.__name__: families for make, families in PYTHON.items()}, **corpus_edges.EXPECTED}


def make(name):
    """Define one op of the corpus."""
    if name in CPP:
        load_cpp()
    elif name in corpus_edges.FAULTS:
        corpus_edges.make(name)
    else:
        globals()[name]()
    return name
