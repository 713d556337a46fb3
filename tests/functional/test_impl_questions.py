"""What functors may ask: elements, strides, leaves, views; and the checks that they share."""

import itertools
import random

import pytest
import torch

import oneop
from oneop.errors import OneopError

from .test_impl_functors import library  # noqa: F401


def test_elements_are_read():
    assert oneop._C.im_largest(torch.tensor([[3, 9], [2**60, 1]]).t()) == 2**60
    with pytest.raises(OneopError, match=r"the elements of a tensor are copied as another type"):
        oneop._C.im_largest(torch.ones(3))


def test_elements_are_written():
    x = torch.zeros(6, dtype=torch.int64)
    oneop._C.im_count_up(x[::2], "mut")
    assert x.tolist() == [2**60, 0, 2**60 + 1, 0, 2**60 + 2, 0]
    with pytest.raises(OneopError, match=r'a tensor that is accessed as "const" is written'):
        oneop._C.im_count_up(x, "const")


def test_elements_are_not_there_while_traced():
    x = torch.arange(4)
    for run in (
        lambda: torch.compile(lambda x: x + oneop._C.im_largest(x), backend="aot_eager", fullgraph=True)(x),
        lambda: torch.vmap(lambda x: x + oneop._C.im_largest(x))(x.reshape(2, 2)),
        lambda: oneop._C.im_largest(x.to("meta")),
    ):
        torch.compiler.reset()
        with pytest.raises(Exception, match=r"reads the elements of a tensor while it is traced or batched"):
            run()


def test_facts():
    x = torch.ones(4, 4)
    assert oneop._C.im_facts(x) == "leaf dense at 0 on cpu:0"
    assert oneop._C.im_facts(x[1:, 2:]) == "leaf strided at 6 on cpu:0"
    assert oneop._C.im_facts(x.requires_grad_() * 2) == "made dense at 0 on cpu:0"


def test_copies():
    x = torch.randn(3, 4, requires_grad=True)
    for y in (x, x.t()):
        contiguous, detached, cloned = oneop._C.im_copies(y)
        assert contiguous.is_contiguous() and torch.equal(contiguous, y) and contiguous.requires_grad
        assert not detached.requires_grad and detached.data_ptr() == y.data_ptr()
        assert cloned.requires_grad and cloned.data_ptr() != y.data_ptr()
        (dx,) = torch.autograd.grad((contiguous * 2 + cloned).sum(), x)
        assert torch.equal(dx, torch.full((3, 4), 3.0))


def torch_views(x):
    return (
        x.t(),
        x[0:2, 1:4:2],
        x.narrow(1, 1, 2),
        x.unsqueeze(1),
        x,
        x[:1].expand(5, 4),
        x.as_strided((2, 2), (1, 2), 1),
        x.unfold(1, 2, 1),
        x.diagonal(1),
        x.view(-1),
        x.view(-1),
        x.as_strided((2,), (1,), 3),
    )


def test_views():
    x = torch.randn(3, 4, requires_grad=True)
    ours, theirs = oneop._C.im_views(x), torch_views(x)
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert torch.equal(a, b) and a.stride() == b.stride() and a.data_ptr() == b.data_ptr(), i
        weight = torch.randn(a.shape)
        grads = [torch.autograd.grad((y * weight).sum(), x)[0] for y in (a, b)]
        torch.testing.assert_close(*grads)
    compiled = torch.compile(lambda x: oneop._C.im_views(x), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), theirs)
    with pytest.raises(OneopError, match=r"a slice has 1 starts, 2 ends and 1 steps"):
        oneop._C.im_bad_slice(x)


def test_strides_of_a_view_are_those_of_torch():
    rng = random.Random(0)
    agreed = 0
    for _ in range(300):
        size = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(0, 4))]
        order = rng.sample(range(len(size)), len(size))
        x = torch.empty(size).permute(order) if rng.random() < 0.5 else torch.empty(size)
        if x.dim() and rng.random() < 0.3:
            x = x[..., ::2]
        target = rng.choice(
            [shape for shape in itertools.product([1, 2, 3, 4, 6, 8, 12], repeat=3) if _count(shape) == x.numel()]
            or [(x.numel(),)]
        )
        ours = oneop._C.im_view_stride(x.shape, x.stride(), target)
        try:
            theirs = x.view(target)
        except RuntimeError:
            assert tuple(ours) == (), (x.shape, x.stride(), target)
            continue
        agreed += 1
        for dim, (a, b) in enumerate(zip(ours, theirs.stride(), strict=True)):
            assert a == b or target[dim] == 1, (x.shape, x.stride(), target)
    assert agreed > 100


def _count(shape):
    return shape[0] * shape[1] * shape[2]


def test_shapes_are_inferred():
    x = torch.empty(3, 4)
    assert tuple(oneop._C.im_infer_shape(x, (-1, 2))) == (6, 2)
    assert tuple(oneop._C.im_infer_shape(x, (12,))) == (12,)
    for shape, text in [
        ((-1, -1), "has more than one open size"),
        ((5, -1), "elements cannot have the shape"),
        ((5,), "elements cannot have the shape"),
        ((0, -1), "elements cannot have the shape"),
        ((-2,), "a shape has the size -2"),
    ]:
        with pytest.raises(OneopError, match=text):
            oneop._C.im_infer_shape(x, shape)


def test_axes():
    assert tuple(oneop._C.im_axes([], 3)) == (0, 1, 2)
    assert tuple(oneop._C.im_axes([-1, 0], 3)) == (2, 0)
    with pytest.raises(OneopError, match=r"axis 2 is listed more than once"):
        oneop._C.im_axes([2, -1], 3)
    assert oneop._C.im_wrap_dim(-1, 3) == 2
    with pytest.raises(OneopError, match=r"a tensor without dimensions has no axis 0"):
        oneop._C.im_wrap_dim(0, 0)


def test_shapes_that_expand():
    for shape, expanded in itertools.product([(), (1,), (3,), (2, 1), (0,)], [(3,), (2, 3), (2, 1), (0,), ()]):
        try:
            torch.empty(shape).expand(expanded)
            expected = True
        except RuntimeError:
            expected = False
        assert oneop._C.im_can_expand(shape, expanded) == expected, (shape, expanded)


def test_scalars_are_computed_with():
    assert oneop._C.im_scalars(7, 2) == "9 5 14 3 7"
    assert oneop._C.im_scalars(7, 2.0, 1.5) == "9.000000 5.000000 14.000000 3.500000 1.500000"
    with pytest.raises(OneopError, match=r"a whole number is divided by zero"):
        oneop._C.im_scalars(7, 0)
    with pytest.raises(OneopError, match=r"scalars that are complex are not computed with"):
        oneop._C.im_scalars(7, 1j)


def test_misuse_of_the_host():
    with pytest.raises(OneopError, match=r"asks something about a tensor that this version does not know"):
        oneop._C.im_misuse(torch.ones(1), 0)
    with pytest.raises(OneopError, match=r"a tensor of 4 bytes is read into 1 bytes"):
        oneop._C.im_misuse(torch.ones(1), 1)
