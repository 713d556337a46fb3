"""Ops whose signatures are known, written with torch."""

import torch

import oneop


def define(schema, kernel, **options):
    op = oneop.define(schema, **options)
    op.register_kernel(language="torch")(kernel)
    return op


def relu():
    return define("k_relu(Tensor x) -> Tensor y", torch.relu, infer="elementwise")


def neg():
    op = define("k_neg(Tensor x) -> Tensor y", torch.neg, infer="elementwise")
    op.register_sbp("i j -> i j", "P -> P")
    return op


def add():
    op = define("k_add(Tensor x, Tensor y) -> Tensor z", lambda x, y: x + y, infer="elementwise")
    op.register_sbp("i j, i j -> i j", "P, P -> P")
    return op


def mul():
    op = define("k_mul(Tensor x, Tensor y) -> Tensor z", lambda x, y: x * y, infer="elementwise")
    op.register_sbp("i j, i j -> i j", "P, B -> P", "B, P -> P")
    return op


def matmul():
    op = define("k_matmul(Tensor a, Tensor b) -> Tensor c", lambda a, b: a @ b, infer="m k, k n -> m n")
    op.register_sbp("m k, k n -> m n", "P, B -> P", "B, P -> P")
    return op


def row_sum():
    op = define("k_row_sum(Tensor x, *, int dim=1) -> Tensor y", lambda x, dim: x.sum(dim), infer="reduce")
    op.register_sbp("i j -> i", "P -> P")
    return op


def row_max():
    op = define("k_row_max(Tensor x, *, int dim=1) -> Tensor y", lambda x, dim: x.amax(dim), infer="reduce")
    op.register_sbp("S(0) -> S(0)", "S(1) -> P(max)")
    return op


def softmax():
    op = define(
        "k_softmax(Tensor x, *, int dim=1) -> Tensor y", lambda x, dim: torch.softmax(x, dim), infer="elementwise"
    )

    @op.register_sbp
    def signatures(ctx):
        for axis in range(ctx.spec("x").ndim):
            if axis != ctx.attrs["dim"] % ctx.spec("x").ndim:
                ctx.new_builder().split("x", axis).split("y", axis).build()

    return op


def embedding():
    op = define("k_embedding(Tensor weight, Tensor ids) -> Tensor y", lambda weight, ids: weight[ids])
    op.register_infer(lambda weight, ids: weight.like(shape=(*ids.shape, weight.shape[1])))
    op.register_sbp("B, S(0) -> S(0)", {"weight": "S(1)", "ids": "B", "y": oneop.sbp.split(1)}, ["P", "B", "P"])
    return op


def transpose():
    op = define("k_transpose(Tensor x) -> Tensor y", lambda x: x.t().contiguous(), infer="i j -> j i")
    op.register_sbp("i j -> j i", "P -> P")
    return op


def bias_add():
    op = define("k_bias_add(Tensor x, Tensor b) -> Tensor y", lambda x, b: x + b, infer="broadcast")
    op.register_sbp("i j, j -> i j", "P, P -> P")
    return op


def add_n():
    op = define("k_add_n(Tensor[] xs) -> Tensor y", lambda xs: torch.stack(tuple(xs)).sum(0), infer="elementwise")

    @op.register_sbp
    def signatures(ctx):
        for axis in range(ctx.spec("xs").ndim):
            ctx.new_builder().split(ctx.inputs, axis).split("y", axis).build()
        ctx.new_builder().partial_sum("xs").partial_sum("y").build()

    return op


def min_max():
    op = define(
        "k_min_max(Tensor x, *, int dim=1) -> (Tensor low, Tensor high)",
        lambda x, dim: (x.amin(dim), x.amax(dim)),
        infer="reduce",
    )
    op.register_sbp("S(0) -> S(0), S(0)", "S(1) -> P(min), P(max)")
    return op


def expand():
    op = define(
        "k_expand(Tensor x, *, int[] shape) -> Tensor y",
        lambda x, shape: x.expand(shape).contiguous(),
        size_attrs={"shape": "y"},
    )
    op.register_infer(lambda x, shape: tuple(shape))
    op.register_sbp("S(0) -> S(0)", "P -> P")
    return op


_X, _Y = (5, 4), (4, 7)
#: Each op with inputs for it; what it declares is everything that holds.
KNOWN = {
    relu: [_X],
    neg: [_X],
    add: [_X, _X],
    mul: [_X, _X],
    matmul: [_X, _Y],
    row_sum: [_X],
    row_max: [_X],
    softmax: [_X],
    embedding: [(6, 4), [0, 5, 3, 3, 1]],
    transpose: [_X],
    bias_add: [_X, (4,)],
    add_n: [[_X, _X, _X]],
    min_max: [_X],
    expand: [(5, 1)],
}
ATTRS = {expand: {"shape": [5, 4]}}


def inputs_of(make):
    def tensor(item):
        if isinstance(item, list):
            return torch.tensor(item) if isinstance(item[0], int) else [tensor(one) for one in item]
        return torch.randn(item)

    return [tensor(item) for item in KNOWN[make]]
