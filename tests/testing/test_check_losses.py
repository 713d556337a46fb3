"""A loss has inputs of different shapes and a result that shows none of their axes."""

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import OpCheckFailed
from oneop.testing.domain.templates import Template, find_templates


def axes_of(templates):
    return {template.axes for template in templates}


def test_loss_of_rows_and_targets_is_tried_with_other_than_square_rows():
    def infer(shapes):
        x, target = shapes
        return [()] if len(x) == 2 and len(target) == 1 and x[0] == target[0] else None

    assert axes_of(find_templates("", 2, infer)) == {(("a", "b"), ("a",))}


def test_inference_that_compares_part_of_the_shapes_is_not_believed():
    def infer(shapes):
        x, target = shapes
        return [()] if len(x) == len(target) == 2 and x[0] == target[0] else None

    assert axes_of(find_templates("", 2, infer)) == {(("a", "b"), ("a", "b"))}


def test_inference_that_compares_no_shapes_is_not_believed():
    templates = find_templates("", 2, lambda shapes: [shapes[0]])
    assert Template((("a", "b"), ("a", "b"))) in templates
    assert Template((("a",), ("a", "b"))) not in templates


def define_nll(name, kernel):
    op = oneop.define(f"{name}(Tensor x, Tensor target) -> Tensor loss")
    op.register_check(lambda x, target: (len(x.shape) == 2 and tuple(target.shape) == tuple(x.shape[:1])) or "n c, n")
    op.register_infer(lambda x, target: x.like(shape=()))
    for dtype in (torch.float32, torch.float64):
        op.register_kernel("cpu", dtypes={"x": dtype, "target": torch.int64})(kernel)
    return op


def reference(x, target):
    if bool(((target < 0) | (target >= x.shape[1])).any()):
        raise IndexError("no such class")
    return -x[torch.arange(len(x)), target].sum()


def chosen(x, target, stride):
    if ((target < 0) | (target >= x.shape[1])).any():
        raise IndexError("no such class")
    flat = np.ascontiguousarray(x).reshape(-1)
    return np.asarray(-flat[np.arange(len(x)) * stride + target].sum(dtype=np.float64)).astype(x.dtype)


def test_loss_passes(short_races):
    op = define_nll("losses_right", lambda x, target: chosen(x, target, x.shape[1]))
    families = ["reference", "sizes", "environment", "leaks", "threads"]  # those with the largest calls
    assert oneop.testing.check(op, reference=reference, only=families).ok


def test_loss_that_is_right_for_square_rows_is_found():
    op = define_nll("losses_square", lambda x, target: chosen(x, target, min(x.shape)))
    with pytest.raises(OpCheckFailed):
        oneop.testing.check(op, reference=reference, only=["reference"])


def test_large_calls_fit_into_memory_where_all_axes_are_one():
    op = oneop.define("losses_trace(Tensor x, Tensor w) -> Tensor y")
    op.register_check(lambda x, w: (len(x.shape) == 2 and x.shape == (*w.shape, *w.shape)) or "square")
    op.register_infer(lambda x, w: w.like())
    largest = []

    @op.register_kernel("cpu", dtypes=torch.float32)
    def kernel(x, w):
        largest.append(x.size)
        return np.diagonal(x) * w

    assert oneop.testing.check(op, only=["environment", "leaks"]).ok
    assert 1_000_000 < max(largest) < 6_000_000


def test_shapes_of_an_attention_are_found():
    def infer(shapes):
        q, k, v = shapes
        if not len(q) == len(k) == len(v) == 3 or not q[0] == k[0] == v[0] or q[2] != k[2] or k[1] != v[1]:
            return None
        return [(*q[:2], v[2])]

    expected = (("a", "b", "c"), ("a", "d", "c"), ("a", "d", "e"))
    assert expected in axes_of(find_templates("", 3, infer))
