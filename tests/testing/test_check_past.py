"""Faults of what a call does beside its result, and of what it remembers of calls before."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from test_check_classes import failure_of, unary

import oneop
from oneop.testing.checker import run_check
from oneop.testing.memory.isolation import bytes_in_child
from oneop.testing.subject import Hints

SOURCE = """#include <cfenv>
#include <chrono>
#include <thread>
#include "oneop/op.h"
using View = oneop::View<const float>;
using Out = oneop::View<float>;
OP("loads_a_block_ahead(Tensor x) -> Tensor y").same_shape().kernel<float>([](View x, Out y) {
  const int64_t block = 512;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i % block == block - 1) { volatile float next = x.data()[i + 1]; (void)next; }
    y[i] = x[i];
  }
}).no_grad();
OP("borrows_its_input(Tensor x) -> Tensor y").same_shape().kernel<float>([](View x, Out y) {
  auto* borrowed = const_cast<float*>(x.data());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float value = borrowed[i];
    borrowed[i] = 0;
    y[i] = value;
    borrowed[i] = value;
  }
}).no_grad();
OP("ends_later(Tensor x) -> Tensor y").same_shape().kernel<float>([](View x, Out y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];
  if (x.numel() == 0) return;
  std::thread([p = y.data(), value = x[0]] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    *p = value + 1;
  }).detach();
}).no_grad();
OP("rounds_down_from_now_on(Tensor x) -> Tensor y").same_shape().kernel<float>([](View x, Out y) {
  std::fesetround(FE_DOWNWARD);
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];
}).no_grad();
"""


@pytest.fixture(scope="module")
def library():
    return oneop.load_inline("beside_results", SOURCE)


def test_a_block_that_is_loaded_ahead(library):
    message = failure_of(library.loads_a_block_ahead, "memory")
    assert message.endswith('reads or writes past the end of input "x", where there may be no memory')


def test_an_input_as_scratch_memory(library):
    message = failure_of(library.borrows_its_input, "memory")
    assert message.endswith('writes to input "x", which the op does not declare as changed, and puts it back')


def test_a_thread_that_is_left_behind(library):
    assert failure_of(library.ends_later, "memory").endswith(
        "writes to memory after it has returned, from another thread or stream"
    )


def test_a_rounding_mode_that_stays(library):
    message = failure_of(library.rounds_down_from_now_on, "environment")
    assert message == "the call changes the processor's rounding mode, and leaves it so"
    assert np.float32(1) / np.float32(3) == np.float32(1 / 3)  # here it did not stay


def test_settings_that_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()

    def kernel(x):
        if Path("below").is_dir():
            os.chdir("below")
        return x * 2

    message = failure_of(unary("moves_away", kernel), "environment")
    assert message == "the call changes the working folder, and leaves it so"


def test_a_variable_with_a_word():
    def kernel(x):
        return x.astype(np.float16).astype(x.dtype) if os.environ.get("ROUNDING_OF_X") == "coarse" else x.copy()

    message = failure_of(unary("reads_a_word", kernel), "environment")
    assert message.startswith("the result depends on the environment variable ROUNDING_OF_X: y")


def test_memory_that_doubles_now_and_then():
    kept = np.zeros(1)
    filled = 0

    def kernel(x):
        nonlocal kept, filled
        filled += 64
        if filled > len(kept):
            kept = np.concatenate([kept, np.zeros(len(kept) + 64)])
        return x * 2

    op = unary("doubles_its_memory", kernel)
    for _ in range(1500):
        op(torch.ones(2))
    assert "bytes of memory that are never freed" in failure_of(op, "leaks")


def test_a_cache_by_sum():
    kept = {}

    def kernel(x):
        return kept.setdefault((x.shape, x.dtype.char, float(np.sort(x, None).sum())), 2 * x).copy()

    assert failure_of(unary("keeps_by_sum", kernel), "determinism") == (
        "the call gives another result after a call on the same values in another order; a kernel takes the two for one"
    )


def test_a_cache_by_address_and_ends():
    last = [None, None]

    def kernel(x):
        key = (x.ctypes.data, x.shape, *(x.flat[:1]), *(x.flat[-1:])) if x.size else None
        if key is None or last[0] != key:
            last[:] = key, 2 * x
        return last[1].copy()

    message = failure_of(unary("keeps_by_ends", kernel), "determinism")
    assert message.startswith("tensors whose values were changed in place give another result than new ones")


@pytest.mark.parametrize("family", ["sizes", "determinism"])
def test_an_input_that_changes_where_it_is_large(family):
    def kernel(x):
        return x.mul_(2).clone() if x.numel() > 80_000 else x * 2

    op = oneop.define("scales_large_ones(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel(language="torch")(kernel)
    who, _, what = failure_of(op, family).partition(" changes ")
    assert who == "the call" or (
        family == "sizes" and who.startswith("the kernel at ")
    )  # of fewer elements it is known
    assert what == 'its input "x", which the op does not declare as changed in place'


@pytest.mark.parametrize(
    ("infer", "kernel", "reference"),
    [
        ("r [n] -> r", lambda x: (x + 0.0).sum(1), lambda x: x.sum(1)),
        ("... [n] -> ... [n]", lambda x: np.sort(x, -1), lambda x: torch.sort(x, -1).values),
        ("m k, n k -> m n", lambda a, b: 0.0 + a @ b.T, lambda a, b: (a[:, None] * b).sum(-1)),
    ],
)
def test_sums_and_choices_give_zeros_of_any_sign(infer, kernel, reference):
    inputs = "Tensor a, Tensor b" if "," in infer else "Tensor x"
    op = oneop.define(f"zeros_of_any_sign({inputs}) -> Tensor y", infer=infer, differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float64)(kernel)
    report = run_check(op, Hints(reference=reference), only="special values", examples=24)
    assert not report.failures, str(report)


def test_bytes_in_child():
    large = os.urandom(100_000)
    assert bytes_in_child(lambda: large) == large
    assert bytes_in_child(lambda: b"") == b""
    assert bytes_in_child(lambda: os._exit(1)) is None
    assert bytes_in_child(lambda: bytes(1 // 0)) is None
    assert bytes_in_child(lambda: time.sleep(60) or b"", seconds=0.1) is None
