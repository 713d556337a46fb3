"""A kernel that calls its own op, or another of the same place in the thread's cache, while its plan is in use."""

import gc

import pytest
import torch

import oneop
from oneop.registry import isolated

PLACES = 64  # ThreadCache::kOps


@pytest.fixture(scope="module", autouse=True)
def ops():
    with isolated():

        def halve(x):
            """The sum of the elements, by calls on halves: of other shapes, and of the same one on this thread."""
            if len(x) == 1:
                return x.copy()
            left, right = (torch.from_numpy(half.copy()) for half in (x[: len(x) // 2], x[len(x) // 2 :]))
            return (oneop.ops.nested_sum(left) + oneop.ops.nested_sum(right)).numpy()

        op = oneop.define("nested_sum(Tensor x) -> Tensor")
        op.register_infer(lambda x: x.like(shape=(1,)))
        op.register_kernel("cpu", dtypes=[torch.float32])(halve)
        yield


def test_a_kernel_calls_its_own_op():
    for size in (8, 8, 16, 8, 16, 32, 32, 1, 32):
        x = torch.rand(size)
        assert torch.allclose(oneop.ops.nested_sum(x), x.sum())


def test_a_kernel_calls_an_op_of_the_same_place():
    """Every place of the cache is used while the outer call runs."""
    with isolated():
        inner = [oneop.define(f"nested_inner{i}(Tensor x) -> Tensor", infer="elementwise") for i in range(PLACES + 1)]
        for i, op in enumerate(inner):
            op.register_kernel("cpu", dtypes=[torch.float32])(lambda x, i=i: x + i)
        calls = [getattr(oneop.ops, f"nested_inner{i}") for i in range(PLACES + 1)]

        def outer(x):
            y = torch.from_numpy(x.copy())
            for call in calls:
                y = call(y)
            return y.numpy()

        oneop.define("nested_outer(Tensor x) -> Tensor", infer="elementwise").register_kernel(
            "cpu", dtypes=[torch.float32]
        )(outer)
        for size in (4, 4, 5, 4, 4, 5, 5):
            x = torch.rand(size)
            assert torch.allclose(oneop.ops.nested_outer(x), x + PLACES * (PLACES + 1) / 2)


def test_an_error_in_a_kernel_leaves_the_plan_in_place():
    with isolated():
        failing = [False]

        def kernel(x):
            if failing[0]:
                raise ValueError("as asked")
            return x * 2

        oneop.define("nested_fails(Tensor x) -> Tensor", infer="elementwise").register_kernel(
            "cpu", dtypes=[torch.float32]
        )(kernel)
        x = torch.rand(3)
        for fails in (False, False, True, True, False):
            failing[0] = fails
            if fails:
                with pytest.raises(oneop.errors.OpValueError, match="as asked"):
                    oneop.ops.nested_fails(x)
            else:
                assert torch.equal(oneop.ops.nested_fails(x), x * 2)


def test_a_kernel_keeps_the_copy_of_a_strided_input():
    """The memory of the copy is not used again while the array that a kernel was given is there."""
    with isolated():
        kept = []

        def kernel(x):
            kept.extend((x, x[1:]))
            return x * 2

        oneop.define("nested_keeps(Tensor x) -> Tensor", infer="elementwise").register_kernel(
            "cpu", dtypes=[torch.float32]
        )(kernel)
        expected = []
        for i in range(50):
            x = torch.full((4, 4), float(i)).triu().t()
            oneop.ops.nested_keeps(x)
            expected.extend((x.clone(), x[1:].clone()))
            gc.collect()
        assert len(kept) == len(expected)
        assert all(torch.equal(torch.tensor(array), x) for array, x in zip(kept, expected, strict=True))
