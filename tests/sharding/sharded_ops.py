"""Ops with gradients and signatures, for calls with DTensors."""

import torch

import oneop


def define(schema, kernel, **options):
    op = oneop.define(schema, **options)
    op.register_kernel(language="numpy" if kernel.__module__ == "numpy" else "torch")(kernel)
    return op


def split_each(*names):
    """Signatures that split all these arguments along any axis of the first."""

    def signatures(ctx):
        for axis in range(ctx.spec(names[0]).ndim):
            builder = ctx.new_builder()
            for name in names:
                builder.split(name, axis)
            builder.build()

    return signatures


relu = define("d_relu(Tensor x) -> Tensor y", torch.relu, infer="elementwise")
relu_grad = define(
    "d_relu_grad(Tensor y, Tensor dy) -> Tensor dx",
    lambda y, dy: dy * (y > 0),
    infer="elementwise",
    differentiable=False,
)
relu.register_grad(lambda ctx, dy: relu_grad(ctx.y, dy))

scale = define("d_scale(Tensor x, *, float by=2.0) -> Tensor y", lambda x, by: x * by, infer="elementwise")
scale.register_sbp("i j -> i j", "P -> P")
scale.register_grad(lambda ctx, dy: scale(dy, by=ctx.by))

add_n = define(
    "d_add_n(Tensor[] xs, *, float by=1.0) -> Tensor y",
    lambda xs, by: torch.stack(tuple(xs)).sum(0) * by,
    infer="elementwise",
)


@add_n.register_sbp
def _(ctx):
    for axis in range(ctx.spec("xs").ndim):
        ctx.new_builder().split("xs", axis).split("y", axis).build()
    ctx.new_builder().partial_sum("xs").partial_sum("y").build()


add_n.register_grad(lambda ctx, dy: [scale(dy, by=ctx.by) for _ in ctx.xs])

matmul = define("d_matmul(Tensor a, Tensor b) -> Tensor c", lambda a, b: a @ b, infer="m k, k n -> m n")
matmul_grad = define(
    "d_matmul_grad(Tensor dc, Tensor a, Tensor b) -> (Tensor da, Tensor db)",
    lambda dc, a, b: (dc @ b.t(), a.t() @ dc),
    infer="m n, m k, k n -> m k, k n",
    differentiable=False,
    sbp=["S(0), S(0), B -> S(0), P", "S(1), B, S(1) -> P, S(1)", "B, S(1), S(0) -> S(1), S(0)", "P, B, B -> P, P"],
)
matmul.register_grad(lambda ctx, dc: matmul_grad(dc, ctx.a, ctx.b))

softmax = define(
    "d_softmax(Tensor x, *, int dim=1) -> Tensor y", lambda x, dim: torch.softmax(x, dim), infer="elementwise"
)
softmax_grad = define(
    "d_softmax_grad(Tensor y, Tensor dy, *, int dim=1) -> Tensor dx",
    lambda y, dy, dim: y * (dy - (y * dy).sum(dim, keepdim=True)),
    infer="elementwise",
    differentiable=False,
)
softmax.register_grad(lambda ctx, dy: softmax_grad(ctx.y, dy, dim=ctx.dim))


@softmax.register_sbp
def _(ctx):
    for axis in range(ctx.spec("x").ndim):
        if axis != ctx.attrs["dim"] % 2:
            ctx.new_builder().split("x", axis).split("y", axis).build()


@softmax_grad.register_sbp
def _(ctx):
    for axis in range(ctx.spec("y").ndim):
        if axis != ctx.attrs["dim"] % 2:
            ctx.new_builder().split(ctx.inputs, axis).split("dx", axis).build()


embedding = define("d_embedding(Tensor weight, Tensor ids) -> Tensor y", lambda weight, ids: weight[ids])
embedding.register_infer(lambda weight, ids: weight.like(shape=(*ids.shape, weight.shape[1])))
embedding.register_sbp("B, S(0) -> S(0)", "S(1), B -> S(1)", "P, B -> P")
embedding_grad = define(
    "d_embedding_grad(Tensor dy, Tensor ids, *, int rows) -> Tensor dw",
    lambda dy, ids, rows: dy.new_zeros(rows, dy.shape[1]).index_add(0, ids, dy),
    differentiable=False,
)
embedding_grad.register_infer(lambda dy, ids, rows: dy.like(shape=(rows, dy.shape[1])))
embedding_grad.register_sbp("S(0), S(0) -> P", "S(1), B -> S(1)", "P, B -> P")
embedding.register_grad(lambda ctx, dy: (embedding_grad(dy, ctx.ids, rows=ctx.weight.shape[0]), None))

# The attribute is a part of the output's shape.
repeat = define("d_repeat(Tensor x, *, int times=2) -> Tensor y", lambda x, times: x.repeat(times, 1))
repeat.register_infer(lambda x, times: x.like(shape=(x.shape[0] * times, x.shape[1])))
repeat.register_sbp("S(1) -> S(1)", "P -> P")
fold = define(
    "d_fold(Tensor dy, *, int times=2) -> Tensor dx",
    lambda dy, times: dy.reshape(times, dy.shape[0] // times, dy.shape[1]).sum(0),
    differentiable=False,
)
fold.register_infer(lambda dy, times: dy.like(shape=(dy.shape[0] // times, dy.shape[1])))
fold.register_sbp("S(1) -> S(1)", "P -> P")
repeat.register_grad(lambda ctx, dy: fold(dy, times=ctx.times))

# The attribute is the shape of the output, so it is another one on each device.
expand = define(
    "d_expand(Tensor x, *, int[] shape) -> Tensor y",
    lambda x, shape: x.expand(shape).contiguous(),
    size_attrs={"shape": "y"},
)
expand.register_infer(lambda x, shape: tuple(shape))
expand.register_sbp("S(0) -> S(0)", "P -> P", "B -> S(1)")
row_sum = define("d_row_sum(Tensor x) -> Tensor y", lambda x: x.sum(1, keepdim=True), infer="i j -> i 1")
expand.register_grad(lambda ctx, dy: row_sum(dy))

affine = define(
    "d_affine(Tensor x, Tensor? bias=None, *, float by=2.0) -> Tensor y",
    lambda x, bias, by: x * by if bias is None else x * by + bias,
)
affine.register_infer(lambda x, bias: x)


@affine.register_sbp
def _(ctx):
    ctx.new_builder().split("x", 0).broadcast("bias").split("y", 0).build()
    ctx.new_builder().split("x", 1).split("bias", 0).split("y", 1).build()
    ctx.new_builder().partial_sum("x").partial_sum("bias").partial_sum("y").build()


column_sum = define("d_column_sum(Tensor x) -> Tensor y", lambda x: x.sum(0), infer="i j -> j")
affine.register_grad(
    lambda ctx, dy: (scale(dy, by=ctx.by), None if ctx.bias is None else column_sum(dy)), saves=["bias"]
)

min_max = define(
    "d_min_max(Tensor x, *, int dim=1) -> (Tensor low, Tensor high)",
    lambda x, dim: (x.amin(dim), x.amax(dim)),
    infer="reduce",
    differentiable=False,
)

# One attribute of each type that DTensor's own cache key leaves out, on which the signatures or the shape depend.
turn = {}
for kind, pairs in {
    "bool": (False, True),
    "str": ("01", "10"),
    "float": (0.0, 1.0),
    "int[]": ([0, 1], [1, 0]),
}.items():
    name = f"d_turn_{kind.strip('[]')}"

    def is_turned(how, pairs=pairs):
        return (list(how) if isinstance(how, (list, tuple)) else how) == pairs[1]

    op = define(
        f"{name}(Tensor x, *, {kind} how) -> Tensor y",
        lambda x, how, is_turned=is_turned: x.t().contiguous() if is_turned(how) else x.clone(),
        differentiable=False,
    )
    op.register_infer(lambda x, how, is_turned=is_turned: x.like(shape=x.shape[::-1] if is_turned(how) else x.shape))

    @op.register_sbp
    def _(ctx, is_turned=is_turned):
        for axis in (0, 1):
            out = 1 - axis if is_turned(ctx.attrs["how"]) else axis
            ctx.new_builder().split("x", axis).split("y", out).build()

    turn[kind] = (op, pairs, is_turned)

add_ = oneop.define("d_add_(Tensor(a!) x, Tensor y) -> ()", infer="elementwise")
add_.register_sbp("S(0), S(0) -> ", "S(1), S(1) -> ", "P, P -> ")


@add_.register_kernel(language="torch")
def _(x, y):
    x.add_(y)


momentum = oneop.define("d_momentum(Tensor(a!) w, Tensor(b!) m, Tensor g, *, float lr) -> ()", infer="elementwise")
momentum.register_sbp("S(0), S(0), S(0) -> ", "S(1), S(1), S(1) -> ")


@momentum.register_kernel(language="torch")
def _(w, m, g, lr):
    m.mul_(0.9).add_(g)
    w.sub_(lr * m)


noise = define("d_noise(Tensor x) -> Tensor y", torch.rand_like, infer="elementwise", random=True, differentiable=False)

twice = define(  # along axis 0 it can be cut into equal parts only
    "d_twice(Tensor x) -> Tensor y", lambda x: x.repeat_interleave(2, 0), differentiable=False
)
twice.register_infer(lambda x: x.like(shape=(x.shape[0] * 2, x.shape[1])))
twice.register_sbp("S(0) -> S(0)", "S(1) -> S(1)")

# The number of outputs is the caller's. Inference does not know it, so the shape follows from an attribute.
columns = oneop.define("d_columns(Tensor x, *, int count) -> Tensor[] ys")
columns.register_infer(lambda x, count: [x.like(shape=(x.shape[0], x.shape[1] // count))] * count)
columns.register_sbp("S(0) -> S(0)", "P -> P")


@columns.register_kernel("cpu")
def _(x, count, out):
    for i, piece in enumerate(out):
        width = piece.shape[1]
        piece[...] = x[:, i * width : (i + 1) * width]


#: A running sum inside blocks of columns, and its own rule: a part must have whole blocks, which depends on the size.
blocks = define(
    "d_blocks(Tensor x, *, int block) -> Tensor y",
    lambda x, block: x.reshape(x.shape[0], x.shape[1] // block, block).cumsum(-1).reshape(x.shape),
    sbp=["S(0) -> S(0)", "S(1) -> S(1)", "P -> P"],
)


@blocks.register_infer
def _(x, block):
    if x.shape[1] % block:
        raise ValueError(f"{x.shape[1]} columns are no whole blocks of {block}")
    return x
