"""Shapes that do not fit: a primitive refuses them, and touches no memory but that of its tensors."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import oneop

NUMBERS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@pytest.fixture(scope="module")
def ops():
    oneop.load(oneop.build("t_primitives", [Path(__file__).parent / "port/primitives.cpp"]))
    return oneop.ops


def run(primitive, *tensors, shape, **attrs):
    return primitive(*tensors, shape=list(shape), dtype=tensors[0].dtype, **{"op": 0} | attrs)


SIZES = st.integers(0, 3)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_broadcast_reads_all_of_its_source_or_is_refused(ops, data):
    x, shape = torch.rand(data.draw(st.lists(SIZES, max_size=4))), data.draw(st.lists(SIZES, max_size=4))
    lacks = max(0, x.ndim - len(shape))  # dimensions of one element may be dropped
    try:
        wanted = x.reshape(x.shape[lacks:]).expand(shape) if x.shape[:lacks] == (1,) * lacks else None
    except RuntimeError:
        wanted = None
    if wanted is not None:
        assert torch.equal(run(ops.prim_broadcast_unary, x, shape=shape), wanted)
        return
    with pytest.raises(oneop.OneopError, match=r"a dimension of \d+ elements cannot be broadcast to \d+"):
        run(ops.prim_broadcast_unary, x, shape=shape)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_products_of_matrices_that_do_not_fit(ops, data):
    op = data.draw(st.integers(0, 3))
    x, y, c = (torch.rand(*data.draw(st.lists(SIZES, max_size=2)), *data.draw(st.tuples(SIZES, SIZES))) for _ in "xyc")
    left, right = x.mT if op & 1 else x, y.mT if op & 2 else y
    try:
        wanted = (left @ right).expand(c.shape) if max(x.ndim, y.ndim) <= c.ndim else None
        wanted = None if wanted is not None and (left @ right).shape[-2:] != c.shape[-2:] else wanted
    except RuntimeError:
        wanted = None
    if wanted is not None:
        torch.testing.assert_close(run(ops.prim_matmul, x, y, c, shape=c.shape, op=op, a=1.0), wanted)
    elif max(x.ndim, y.ndim) <= c.ndim:
        with pytest.raises(oneop.OneopError, match=r"have no product of \d x \d|cannot be broadcast to"):
            run(ops.prim_matmul, x, y, c, shape=c.shape, op=op, a=1.0)


def test_what_is_said_of_matrices(ops):
    x, y, c = torch.ones(2, 3), torch.ones(4, 2), torch.ones(2, 2)
    with pytest.raises(oneop.errors.CheckError, match="matrices of 2 x 3 and 4 x 2 have no product of 2 x 2"):
        run(ops.prim_matmul, x, y, c, shape=(2, 2))
    said = "matrices of 2 x 3 and 4 x 2, transposed as asked for, have no product of 2 x 2"
    with pytest.raises(oneop.errors.CheckError, match=said):
        run(ops.prim_matmul, x, y, c, shape=(2, 2), op=1)
    with pytest.raises(oneop.OneopError, match="a dimension of 3 elements cannot be broadcast to 1"):
        run(ops.prim_matmul, torch.ones(3, 2, 2), c, c, shape=(2, 2))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_box_lies_in_both_tensors(ops, data):
    ndim = data.draw(st.integers(1, 3))
    x, c = (torch.rand(data.draw(st.tuples(*[SIZES] * ndim))) for _ in "xc")
    to_at, from_at, extent = (data.draw(st.tuples(*[st.integers(-1, 3)] * ndim)) for _ in range(3))
    fits = all(
        a >= 0 and e >= 0 and a + e <= size
        for at, tensor in ((to_at, c), (from_at, x))
        for a, e, size in zip(at, extent, tensor.shape, strict=True)
    )
    box = [*to_at, *from_at, *extent]
    if fits:
        wanted = c.clone()
        wanted[tuple(slice(a, a + e) for a, e in zip(to_at, extent, strict=True))] = x[
            tuple(slice(a, a + e) for a, e in zip(from_at, extent, strict=True))
        ]
        assert torch.equal(run(ops.prim_copy_nd, x, c, shape=c.shape, list=box), wanted)
    elif 0 in extent:  # nothing is copied, wherever it is
        assert torch.equal(run(ops.prim_copy_nd, x, c, shape=c.shape, list=box), c)
    else:
        with pytest.raises(oneop.OneopError, match=r"a box of -?\d elements at -?\d is not in a dimension of \d"):
            run(ops.prim_copy_nd, x, c, shape=c.shape, list=box)


@pytest.mark.parametrize("permutation", [(0, 0), (1, 2), (-1, 0), (2, 1)], ids=str)
def test_permutations_have_each_dimension_once(ops, permutation):
    with pytest.raises(oneop.OneopError, match=r"a permutation of 2 dimensions has -?\d at \d"):
        run(ops.prim_permute, torch.rand(3, 4), shape=(4, 3), list=list(permutation))


def test_padding_leaves_no_negative_size(ops):
    x = torch.rand(2, 3)
    assert run(ops.prim_pad, x, shape=(0, 3), list=[-2, 0], more=[0, 0]).shape == (0, 3)
    wanted = functional.pad(x, (-1, 1, 0, 0), value=7.0)
    assert torch.equal(run(ops.prim_pad, x, shape=(2, 3), list=[0, -1], more=[0, 1], a=7.0), wanted)
    with pytest.raises(oneop.errors.CheckError, match="a dimension of 2 elements cannot be padded by -9 and 1"):
        run(ops.prim_pad, x, shape=(1, 1), list=[-9, -9], more=[1, 0])


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_the_sum_of_negative_zeros_is_one(ops, dtype):
    for signs in torch.cartesian_prod(*[torch.tensor([0.0, -0.0])] * 3):
        x, y, z = (sign.to(dtype).expand(300).contiguous() for sign in signs)
        got = run(ops.prim_add, x, y, z, shape=(300,))
        assert got.signbit().tolist() == (x + y + z).signbit().tolist()
