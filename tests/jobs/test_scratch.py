"""Scratch memory of kernels in jobs: in every step, run after run, and after a kernel that failed."""

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import OpRuntimeError

SOURCE = r"""
#include "oneop/op.h"

OP("scr_reversed(Tensor x, *, int extra=0) -> Tensor y").same_shape()
    .kernel<float>([](auto x, auto y, oneop::Call& call) {
      const int64_t n = x.numel();
      const int64_t extra = call.attr<int64_t>("extra");
      float* first = call.scratch<float>(n);
      float* second = call.scratch<float>(n + extra);
      for (int64_t i = 0; i != n; ++i) first[i] = x[i];
      for (int64_t i = 0; i != n; ++i) second[i] = first[n - 1 - i];
      for (int64_t i = 0; i != n; ++i) y[i] = second[i];
    })
    .gradient("dx = scr_reversed(dy, extra=extra)");

// Every piece of the loop asks for memory of its own.
OP("scr_pieces(Tensor x) -> Tensor y").same_shape().kernel<float>([](auto x, auto y, oneop::Call& call) {
  call.parallel_for(0, x.numel(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i) {
      float* piece = call.scratch<float>(1 + i % 7);
      piece[i % 7] = x[i];
      y[i] = 2 * piece[i % 7];
    }
  });
});
"""


@pytest.fixture(scope="module")
def reversed_():
    """An op whose kernel needs two blocks of scratch memory."""
    return oneop.load_inline("job_scratch", SOURCE).scr_reversed


def test_kernels_of_a_job_have_scratch_memory(reversed_):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((257,))) -> tp.Numpy:
        y = reversed_(x)
        return reversed_(y * 2 + reversed_(y), extra=5)

    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal(257, dtype=np.float32)
        expected = x * 2 + x[::-1]
        np.testing.assert_array_equal(job(x), expected)
        np.testing.assert_array_equal(job(x=x), expected)


def test_threads_of_a_kernel_ask_for_memory_at_once(reversed_, many_threads):
    pieces = oneop.ops.scr_pieces

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((20_000,))) -> tp.Numpy:
        return pieces(x)

    x = torch.randn(20_000)
    for _ in range(20):
        assert torch.equal(pieces(x), 2 * x)
        np.testing.assert_array_equal(job(x.numpy()), 2 * x.numpy())


def test_a_train_job(reversed_):
    start = torch.arange(5.0)

    @oneop.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        w = oneop.get_variable("w", shape=(5,), initializer=lambda shape, dtype: start.clone())
        loss = (reversed_(w) * x).sum()
        oneop.optimizer.SGD(0.5, momentum=0).minimize(loss)
        return loss

    x = np.arange(1, 6, dtype=np.float32)
    w = start.clone()
    for _ in range(3):
        assert job(x) == pytest.approx(float((w.flip(0) * torch.from_numpy(x)).sum()))
        w -= 0.5 * torch.from_numpy(x).flip(0)


def test_what_cannot_be_allocated_is_an_error_everywhere(reversed_):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((8,))) -> tp.Numpy:
        return reversed_(x, extra=2**58)

    x = np.arange(8, dtype=np.float32)
    for call in (lambda: reversed_(torch.from_numpy(x), extra=2**58), lambda: job(x)):
        for _ in range(2):
            with pytest.raises(OpRuntimeError, match="of scratch memory cannot be allocated"):
                call()
