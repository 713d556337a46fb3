"""A second corpus of right ops, of many kinds: what a check says against one of them is a false alarm.

The ops of `CPP` are defined in corpus_right.cpp.
"""

from pathlib import Path

import numpy as np
import torch

import oneop

HERE = Path(__file__).parent
FLOATS = (torch.float32, torch.float64)
ALL_FLOATS = (torch.float16, torch.bfloat16, *FLOATS)

CPP = [
    "right_gelu",
    "right_tanh_grad",
    "right_softmax",
    "right_softmax_grad",
    "right_quick_exp",
    "right_matmul",
    "right_strided_copy",
    "right_axpy_",
    "right_lookup",
    "right_parallel_sum",
]


def axpy(y, x, alpha=1.0):
    y += alpha * x


REFERENCES = {
    "right_gelu": torch.nn.functional.gelu,
    "right_tanh_grad": lambda y, dy: dy * (1 - y * y),
    "right_softmax": lambda x: torch.softmax(x, -1) if x.ndim else torch.ones_like(x),
    "right_quick_exp": torch.exp,
    "right_matmul": torch.matmul,
    "right_strided_copy": torch.clone,
    "right_axpy_": axpy,
    "right_lookup": lambda table, index: table[index],
    "right_parallel_sum": lambda x: x.sum(-1),
}


def load_cpp():
    oneop.load("corpus_right", [HERE / "corpus_right.cpp"])
    for name, function in REFERENCES.items():
        oneop.testing.reference(name)(function)


def define(name, schema, kernel, *, grad=None, reference=None, dtypes=FLOATS, language="numpy", **options):
    options.setdefault("differentiable", grad is not None or language == "torch")
    op = oneop.define(name + schema, **options)
    where = ("cpu",) if language != "torch" else ()
    op.register_kernel(*where, dtypes=dtypes, language=language)(kernel)
    if grad is not None:
        op.register_grad(grad)
    if reference is not None:
        oneop.testing.reference(name)(reference)
    return op


def dropout(name="right_dropout"):
    """Random, with the mask as a second output for the gradient."""

    def kernel(x, p):
        mask = torch.rand_like(x) >= p
        return x * mask / (1 - p), mask

    op = oneop.define(f"{name}(Tensor x, *, float p=0.5) -> (Tensor y, Tensor mask)", random=True)
    op.register_infer(lambda x, p: (x, x.like(dtype=torch.bool)))
    op.register_check(lambda x, p: 0 <= p < 1 or f"p is {p}")
    op.register_kernel("cpu", language="torch", dtypes=FLOATS)(kernel)
    op.register_grad(lambda ctx, dy, dmask: dy * ctx.mask / (1 - ctx.p))


def noise_of_seed(name="right_noise_of_seed"):
    """A seed as an attribute: the same one gives the same numbers, so the op is not random."""

    def kernel(x, seed):
        return x + np.random.default_rng(abs(seed)).standard_normal(x.shape).astype(x.dtype)

    define(name, "(Tensor x, *, int seed=0) -> Tensor y", kernel, infer="same_shape")


def clamp_in_place(name="right_clamp_in_place"):
    op = oneop.define(
        f"{name}(Tensor(a!) x, *, float low=0.0) -> ()",
        infer="elementwise",
        sbp=["S(0) -> ", "S(1) -> "],
        differentiable=False,
    )

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, low):
        np.maximum(x, x.dtype.type(low), out=x)


def concatenate(name="right_concatenate"):
    """A list of tensors whose first sizes differ."""
    op = oneop.define(f"{name}(Tensor[] xs) -> Tensor y")

    @op.register_infer
    def infer(xs):
        if any(x.ndim == 0 or x.shape[1:] != xs[0].shape[1:] for x in xs):
            raise ValueError("shapes differ beyond the first axis")
        return xs[0].like(shape=(sum(x.shape[0] for x in xs), *xs[0].shape[1:]))

    op.register_kernel("cpu", dtypes={"xs": FLOATS})(lambda xs: np.concatenate(xs))
    op.register_grad(lambda ctx, dy: (list(dy.split([len(x) for x in ctx.xs])),))
    oneop.testing.reference(name)(lambda xs: torch.cat(list(xs)))


def scale_by_scalar_tensor(name="right_scale_by_scalar_tensor"):
    """A tensor without axes, and signatures as text."""
    define(
        name,
        "(Tensor x, Tensor factor) -> Tensor y",
        lambda x, factor: x * factor,
        grad=lambda ctx, dy: (dy * ctx.factor, (dy * ctx.x).sum()),
        infer="a b, -> a b",
        sbp=["S(0), B -> S(0)", "S(1), B -> S(1)", "P, B -> P"],
        reference=torch.mul,
    )


def logsumexp(name="right_logsumexp"):
    def kernel(x):
        top = x.max(1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
        with np.errstate(all="ignore"):
            return (np.log(np.exp(x - top).sum(1)) + top[:, 0]).astype(x.dtype)

    op = define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=lambda ctx, dy: dy[:, None] * torch.softmax(ctx.x, 1),
        infer="r [n] -> r",
        reference=lambda x: torch.logsumexp(x, 1),
    )
    op.register_check(lambda x: x.shape[1] > 0 or "a row of nothing")


def layer_norm(name="right_layer_norm"):
    """A variance, which cancels; several outputs; an eps."""

    def kernel(x, w, eps):
        wide = x.astype(np.float64)
        mean = wide.mean(1, keepdims=True)
        rstd = 1 / np.sqrt(((wide - mean) ** 2).mean(1, keepdims=True) + eps)
        return ((wide - mean) * rstd * w).astype(x.dtype), rstd[:, 0].astype(x.dtype)

    op = oneop.define(f"{name}(Tensor x, Tensor w, *, float eps=1e-5) -> (Tensor y, Tensor rstd)", differentiable=False)

    @op.register_infer
    def infer(x, w, eps):
        if x.ndim != 2 or x.shape[1] == 0 or w.shape != x.shape[1:]:
            raise ValueError("shapes do not fit")
        return x, x.like(shape=x.shape[:1])

    op.register_check(lambda x, w, eps: eps > 0 or f"eps is {eps}")
    op.register_kernel("cpu", dtypes=FLOATS)(kernel)

    @oneop.testing.reference(name)
    def reference(x, w, eps=1e-5):
        rstd = 1 / torch.sqrt(x.var(1, unbiased=False) + eps)
        return torch.nn.functional.layer_norm(x, x.shape[1:], w, None, eps), rstd


def variance(name="right_variance"):
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: x.var(1),
        grad=lambda ctx, dy: dy[:, None] * 2 * (ctx.x - ctx.x.mean(1, keepdim=True)) / ctx.x.shape[1],
        infer="r [n] -> r",
        reference=lambda x: x.var(1, unbiased=False),
    )
    op.register_check(lambda x: x.shape[1] > 0 or "the variance of nothing")


def expm1(name="right_expm1"):
    def kernel(x):
        with np.errstate(all="ignore"):
            return np.expm1(x)

    define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=lambda ctx, dy: dy * torch.exp(ctx.x),
        infer="elementwise",
        reference=torch.expm1,
    )


def quantise(name="right_quantise"):
    """Rounding: the nearest step differs by one where the quotient lies in the middle."""

    def kernel(x, scale):
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(np.rint(x / x.dtype.type(scale))), -128, 127).astype(np.int8)

    op = oneop.define(f"{name}(Tensor x, *, float scale=0.25) -> Tensor q", differentiable=False)
    op.register_infer(lambda x, scale: x.like(dtype=torch.int8))
    op.register_check(lambda x, scale: scale > 0 or f"scale is {scale}")
    op.register_kernel("cpu", dtypes=FLOATS)(kernel)
    oneop.testing.reference(name)(
        lambda x, scale=0.25: torch.round(x / scale).nan_to_num().clamp(-128, 127).to(torch.int8)
    )


def sort(name="right_sort"):
    """A stable sort of integers, which have ties."""

    def kernel(x):
        order = np.argsort(x, -1, kind="stable")
        return np.take_along_axis(x, order, -1), order.astype(np.int64)

    op = oneop.define(f"{name}(Tensor x) -> (Tensor values, Tensor indices)", differentiable=False)
    op.register_infer(lambda x: (x, x.like(dtype=torch.int64)))
    op.register_check(lambda x: x.ndim > 0 or "no axis")
    op.register_kernel("cpu", dtypes=(torch.int64, *FLOATS))(kernel)
    oneop.testing.reference(name)(lambda x: tuple(torch.sort(x, dim=-1, stable=True)))


def topk(name="right_topk"):
    """The largest k of a row; k is checked."""
    op = oneop.define(f"{name}(Tensor x, *, int k=2) -> Tensor values", differentiable=False)
    op.register_infer(lambda x, k: x.like(shape=(*x.shape[:-1], k)))
    op.register_check(lambda x, k: (x.ndim > 0 and 0 < k <= x.shape[-1]) or f"k is {k}")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, k: np.ascontiguousarray(np.sort(x, -1)[..., ::-1][..., :k]))
    oneop.testing.reference(name)(lambda x, k=2: torch.topk(x, k, -1).values)


def single_precision(name="right_single_precision"):
    """Float32 alone, with a gradient and a tangent."""
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: np.arctan(x),
        grad=lambda ctx, dy: dy / (1 + ctx.x**2),
        dtypes=torch.float32,
        infer="elementwise",
        reference=torch.atan,
    )
    op.register_jvp(lambda ctx, dx: dx / (1 + ctx.x**2))


def narrow_silu(name="right_narrow_silu"):
    def kernel(x):
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            return (wide / (1 + np.exp(-wide))).astype(x.dtype)

    def grad(ctx, dy):
        s = torch.sigmoid(ctx.x.float() if ctx.x.dtype in (torch.float16, torch.bfloat16) else ctx.x)
        return (dy * (s + ctx.x * s * (1 - s))).to(dy.dtype)

    define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=grad,
        dtypes=ALL_FLOATS,
        infer="elementwise",
        reference=torch.nn.functional.silu,
    )


def masked_fill(name="right_masked_fill"):
    """A mask of bool, no jvp."""
    op = oneop.define(f"{name}(Tensor x, Tensor mask, *, float value=0.0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes={"x": FLOATS, "mask": torch.bool})(
        lambda x, mask, value: np.where(mask, x.dtype.type(value), x)
    )
    op.register_grad(lambda ctx, dy: (dy * ~ctx.mask, None))
    oneop.testing.reference(name)(lambda x, mask, value=0.0: x.masked_fill(mask, value))


def cast_to_required(name="right_cast_to_required"):
    """A dtype that must be given."""
    op = oneop.define(f"{name}(Tensor x, *, dtype to) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, to: x.like(dtype=to))

    @op.register_kernel("cpu", dtypes=(torch.int32, *FLOATS))
    def kernel(x, out):
        out[...] = x

    oneop.testing.reference(name)(lambda x, to: x.to(to))


def cast_with_default(name="right_cast_with_default"):
    """A dtype with a default, and a reference that has the same one."""
    op = oneop.define(f"{name}(Tensor x, *, dtype to=float32) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, to: x.like(dtype=to))

    @op.register_kernel("cpu", dtypes=(torch.int64, *FLOATS))
    def kernel(x, out):
        out[...] = x

    oneop.testing.reference(name)(lambda x, to=torch.float32: x.to(to))


def cast_by_list(name="right_cast_by_list"):
    """A list of dtypes, of which the last one counts."""
    op = oneop.define(f"{name}(Tensor x, *, dtype[] through) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, through: x.like(dtype=through[-1]))
    op.register_check(lambda x, through: len(through) > 0 or "no dtype")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, out):
        out[...] = x


def two_optionals(name="right_two_optionals"):
    """x * weight + bias, where each may be absent."""
    op = oneop.define(f"{name}(Tensor x, Tensor? weight, Tensor? bias) -> Tensor y")

    @op.register_infer
    def infer(x, weight, bias):
        if any(t is not None and t.shape != x.shape for t in (weight, bias)):
            raise ValueError("shapes differ")
        return x

    def kernel(x, weight, bias):
        y = x.copy() if weight is None else x * weight
        return y if bias is None else y + bias

    op.register_kernel("cpu", dtypes=FLOATS)(kernel)

    @op.register_grad
    def grad(ctx, dy):
        dx = dy if ctx.weight is None else dy * ctx.weight
        return dx, None if ctx.weight is None else dy * ctx.x, None if ctx.bias is None else dy

    @oneop.testing.reference(name)
    def reference(x, weight=None, bias=None):
        y = x.clone() if weight is None else x * weight
        return y if bias is None else y + bias


def cache_update(name="right_cache_update"):
    """Keys of new tokens go into a cache, in place: two tensors of four axes."""
    op = oneop.define(f"{name}(Tensor(a!) cache, Tensor keys, *, int start=0) -> ()", differentiable=False)

    @op.register_infer
    def infer(cache, keys, start):
        if cache.ndim != 4 or keys.ndim != 4:
            raise ValueError("expected four axes")
        if (*cache.shape[:2], cache.shape[3]) != (*keys.shape[:2], keys.shape[3]):
            raise ValueError("shapes do not fit")
        if start < 0 or start + keys.shape[2] > cache.shape[2]:
            raise ValueError("the cache is too short")
        return []

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(cache, keys, start):
        cache[:, :, start : start + keys.shape[2]] = keys

    @oneop.testing.reference(name)
    def reference(cache, keys, start=0):
        cache[:, :, start : start + keys.shape[2]] = keys


def rope(name="right_rope"):
    """Pairs of the last axis are turned; its size must be even."""

    def turned(x, cos, sin):
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        return a * cos - b * sin, b * cos + a * sin

    def angles(x, arange, theta):
        half = x.shape[-1] // 2
        return arange(x.shape[-2])[:, None] * theta ** (-arange(half) / max(half, 1))

    op = oneop.define(f"{name}(Tensor x, *, float theta=10000.0) -> Tensor y")

    @op.register_infer
    def infer(x, theta):
        if x.ndim < 2 or x.shape[-1] % 2:
            raise ValueError("expected an even last axis")
        return x

    op.register_check(lambda x, theta: theta > 0 or f"theta is {theta}")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, theta):
        phase = angles(x, lambda n: np.arange(n, dtype=np.float64), theta)
        return np.concatenate(turned(x.astype(np.float64), np.cos(phase), np.sin(phase)), -1).astype(x.dtype)

    def in_torch(x, theta, sign):
        phase = angles(x, lambda n: torch.arange(n, dtype=torch.float64), theta)
        return torch.cat(turned(x, phase.cos().to(x.dtype), sign * phase.sin().to(x.dtype)), -1)

    op.register_grad(lambda ctx, dy: in_torch(dy, ctx.theta, -1))
    oneop.testing.reference(name)(lambda x, theta=10000.0: in_torch(x, theta, 1))


def root_of_positive(name="right_root_of_positive"):
    """The kernel raises for negative values."""

    def kernel(x):
        if (x < 0).any():
            raise ValueError("the root of a negative number")
        return np.sqrt(x)

    define(name, "(Tensor x) -> Tensor y", kernel, infer="elementwise", reference=torch.sqrt)


def logarithm_of_positive(name="right_logarithm_of_positive"):
    """The same, and the author says which values it takes."""

    def kernel(x):
        if (x <= 0).any():
            raise ValueError("the logarithm of a number that is not positive")
        return np.log(x)

    define(name, "(Tensor x) -> Tensor y", kernel, grad=lambda ctx, dy: dy / ctx.x, infer="elementwise")
    oneop.testing.reference(name, values={"x": (0.5, 8.0)})(torch.log)


def mixed_precision(name="right_mixed_precision"):
    """Float32 with a weight of float64; the gradient of the weight is a sum in float64."""
    op = oneop.define(f"{name}(Tensor x, Tensor w) -> Tensor y")
    op.register_infer(lambda x, w: x)
    op.register_check(lambda x, w: x.shape == w.shape or "shapes differ")
    op.register_kernel("cpu", dtypes={"x": torch.float32, "w": torch.float64})(lambda x, w: (x * w).astype(x.dtype))
    op.register_grad(lambda ctx, dy: ((dy * ctx.w).float(), dy.double() * ctx.x))
    oneop.testing.reference(name)(lambda x, w: (x * w).to(x.dtype))


def scatter_add(name="right_scatter_add"):
    """Indices with repetitions."""

    def kernel(x, index, values):
        y = x.copy()
        np.add.at(y, index, values)
        return y

    op = oneop.define(f"{name}(Tensor x, Tensor index, Tensor values) -> Tensor y")

    @op.register_infer
    def infer(x, index, values):
        if x.ndim != 1 or index.ndim != 1 or values.shape != index.shape or x.dtype != values.dtype:
            raise ValueError("shapes or dtypes do not fit")
        return x

    op.register_kernel("cpu", dtypes={"x": FLOATS, "index": torch.int64, "values": FLOATS})(kernel)
    op.register_grad(lambda ctx, dy: (dy, None, dy[ctx.index]))
    oneop.testing.reference(name)(lambda x, index, values: x.index_add(0, index, values))


def counts_and_returns_nothing(name="right_counts_and_returns_nothing"):
    seen = []
    op = oneop.define(f"{name}(Tensor x) -> ()")

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x):
        seen[:] = [x.size]


def complex_rotation(name="right_complex_rotation"):
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: a * b,
        grad=lambda ctx, dy: (dy * ctx.b.conj(), dy * ctx.a.conj()),
        dtypes=(torch.complex64, torch.complex128),
        infer="elementwise",
        reference=torch.mul,
    )


def fourier(name="right_fourier"):
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: np.fft.fft(x).astype(x.dtype),
        dtypes=torch.complex128,
        infer="... [n] -> ... [n]",
        reference=lambda x: torch.fft.fft(x),
    )
    op.register_check(lambda x: (x.ndim > 0 and x.shape[-1] > 0) or "no axis")


def product_of_rows(name="right_product_of_rows"):
    """Long products overflow, and their roundings add up."""

    def kernel(x):
        with np.errstate(all="ignore"):
            return x.prod(1)

    define(name, "(Tensor x) -> Tensor y", kernel, infer="r [n] -> r", reference=lambda x: x.prod(1))


def cumulative_sum(name="right_cumulative_sum"):
    """Over long rows, in the dtype of the input."""
    op = define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: x.cumsum(-1, dtype=x.dtype),
        grad=lambda ctx, dy: dy.flip(-1).cumsum(-1).flip(-1),
        infer="same_shape",
        reference=lambda x: x.cumsum(-1),
    )
    op.register_check(lambda x: x.ndim > 0 or "no axis")


def extremes(name="right_extremes"):
    """Two outputs; ties and NaN as in torch."""
    op = define(
        name,
        "(Tensor x) -> (Tensor low, Tensor high)",
        lambda x: (x.min(1), x.max(1)),
        infer="r [n] -> r, r",
        reference=lambda x: (x.amin(1), x.amax(1)),
    )
    op.register_check(lambda x: x.shape[1] > 0 or "nothing to choose from")


def soft_shrink(name="right_soft_shrink"):
    """Numba."""
    op = oneop.define(f"{name}(Tensor x, *, float by=0.5) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=FLOATS, language="numba")
    def kernel(x, by, out):
        flat, result = x.reshape(-1), out.reshape(-1)
        for i in range(flat.size):
            v = flat[i]
            result[i] = v - by if v > by else (v + by if v < -by else 0 * v)

    op.register_check(lambda x, by: by >= 0 or f"by is {by}")
    op.register_grad(lambda ctx, dy: dy * (ctx.x.abs() > ctx.by))


def swiglu(name="right_swiglu"):
    """A composition of torch's ops over halves of the last axis."""

    def kernel(x):
        a, b = x.chunk(2, -1)
        return torch.nn.functional.silu(a) * b

    op = oneop.define(f"{name}(Tensor x) -> Tensor y")

    @op.register_infer
    def infer(x):
        if x.ndim == 0 or x.shape[-1] % 2:
            raise ValueError("expected an even last axis")
        return x.like(shape=(*x.shape[:-1], x.shape[-1] // 2))

    op.register_kernel(language="torch", dtypes=FLOATS)(kernel)
    oneop.testing.reference(name)(kernel)


def pad(name="right_pad"):
    """A mode that is checked, and sizes that some modes do not take."""
    op = oneop.define(f"{name}(Tensor x, *, int by=1, str mode='constant') -> Tensor y", differentiable=False)
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}

    @op.register_infer
    def infer(x, by, mode):
        if x.ndim != 2 or by < 0 or mode not in modes or x.shape[1] <= by:
            raise ValueError("cannot pad this")
        return x.like(shape=(x.shape[0], x.shape[1] + 2 * by))

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, by, mode: np.pad(x, ((0, 0), (by, by)), modes[mode]))
    oneop.testing.reference(name)(
        lambda x, by=1, mode="constant": torch.nn.functional.pad(x[:, None], (by, by), mode)[:, 0]
    )


def normalise(name="right_normalise"):
    """x / max(|x|, eps), whose gradient is a difference."""

    def kernel(x):
        norm = np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True))
        return (x / np.maximum(norm, 1e-12)).astype(x.dtype)

    def grad(ctx, dy):
        norm = ctx.x.norm(dim=1, keepdim=True).clamp(min=1e-12)
        unit = ctx.x / norm
        return (dy - unit * (dy * unit).sum(1, keepdim=True)) / norm

    define(
        name,
        "(Tensor x) -> Tensor y",
        kernel,
        grad=grad,
        infer="r [n] -> r [n]",
        reference=lambda x: torch.nn.functional.normalize(x, dim=1),
    )


def distances(name="right_distances"):
    """Squares of distances by the difference of points."""
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1),
        infer="m [d], n [d] -> m n",
        reference=lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1),
    )


def cross_entropy(name="right_cross_entropy"):
    """Classes as indices, of which one is ignored."""

    def kernel(x, target):
        top = x.max(1, keepdims=True)
        with np.errstate(all="ignore"):
            lse = np.log(np.exp(x - top).sum(1)) + top[:, 0]
        picked = np.take_along_axis(x, np.clip(target, 0, None)[:, None], 1)[:, 0]
        return np.where(target < 0, x.dtype.type(0), lse - picked).astype(x.dtype)

    op = oneop.define(f"{name}(Tensor x, Tensor target) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, target):
        if x.ndim != 2 or x.shape[1] == 0 or target.shape != x.shape[:1]:
            raise ValueError("shapes do not fit")
        return x.like(shape=x.shape[:1])

    op.register_kernel("cpu", dtypes={"x": FLOATS, "target": torch.int64})(kernel)
    oneop.testing.reference(name)(
        lambda x, target: torch.nn.functional.cross_entropy(
            x, target.where(target >= 0, -100), reduction="none", ignore_index=-100
        )
    )


def sinc(name="right_sinc"):
    """A quotient with a limit at 0, in the gradient too."""

    def grad(ctx, dy):
        x = torch.where(ctx.x.abs() < 1e-3, torch.ones_like(ctx.x), ctx.x)
        near = -ctx.x / 3 + ctx.x**3 / 30
        return dy * torch.where(ctx.x.abs() < 1e-3, near, (x.cos() - x.sin() / x) / x)

    define(
        name,
        "(Tensor x) -> Tensor y",
        lambda x: np.sinc(x / np.pi).astype(x.dtype),
        grad=grad,
        infer="elementwise",
        reference=lambda x: torch.where(x == 0, 1.0, torch.sin(x) / x).to(x.dtype),
    )


def saturating_add(name="right_saturating_add"):
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: np.minimum(a.astype(np.int32) + b, 255).astype(np.uint8),
        dtypes=torch.uint8,
        infer="elementwise",
        reference=lambda a, b: (a.int() + b.int()).clamp(max=255).to(torch.uint8),
    )


def convolution(name="right_convolution"):
    """A stride and a padding that are checked."""
    op = oneop.define(f"{name}(Tensor x, Tensor w, *, int stride=1, int padding=0) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x, w, stride, padding):
        if x.ndim != 2 or w.ndim != 1 or stride < 1 or padding < 0 or w.shape[0] == 0:
            raise ValueError("no such convolution")
        if x.shape[1] + 2 * padding < w.shape[0]:
            raise ValueError("the window is longer than the row")
        return x.like(shape=(x.shape[0], (x.shape[1] + 2 * padding - w.shape[0]) // stride + 1))

    def kernel(x, w, stride, padding):
        wide = np.pad(x, ((0, 0), (padding, padding)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, w.shape[0], axis=1)[:, ::stride]
        return np.ascontiguousarray((windows * w).sum(-1)).astype(x.dtype)

    op.register_kernel("cpu", dtypes=FLOATS)(kernel)
    oneop.testing.reference(name)(
        lambda x, w, stride=1, padding=0: torch.nn.functional.conv1d(
            x[:, None], w[None, None], stride=stride, padding=padding
        )[:, 0]
    )


def greatest_divisor(name="right_greatest_divisor"):
    define(
        name,
        "(Tensor a, Tensor b) -> Tensor y",
        lambda a, b: np.gcd(a, b),
        dtypes=(torch.int32, torch.int64),
        infer="elementwise",
        reference=torch.gcd,
    )


PYTHON = [dropout, noise_of_seed, clamp_in_place, concatenate, scale_by_scalar_tensor, logsumexp, layer_norm, variance]
PYTHON += [expm1, quantise, sort, topk, single_precision, narrow_silu, masked_fill, cast_to_required]
PYTHON += [logarithm_of_positive, mixed_precision, cast_with_default, cast_by_list]
PYTHON += [two_optionals, cache_update, rope, root_of_positive, scatter_add, counts_and_returns_nothing]
PYTHON += [complex_rotation, fourier, product_of_rows, cumulative_sum, extremes, soft_shrink, swiglu, pad, normalise]
PYTHON += [distances, cross_entropy, sinc, saturating_add, convolution, greatest_divisor]

BY_NAME = {make.__defaults__[0]: make for make in PYTHON}


def make(name):
    """Define one op of the corpus."""
    if name in CPP:
        load_cpp()
    else:
        BY_NAME[name]()
    return name
