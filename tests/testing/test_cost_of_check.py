"""What makes a check quick: values that are kept, and threads that sleep."""

import threading

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from oneop.testing.idle_threads import idle_threads
from oneop.testing.kept_values import KeptValues
from oneop.testing.values import tensor


def test_values_are_made_once_and_nobody_changes_what_is_kept():
    made = []
    kept = KeptValues(1 << 10)

    def take(key, count):
        return kept.take(key, lambda: made.append(key) or torch.full((count,), 3.0))

    take("a", 8).zero_()
    assert take("a", 8).tolist() == [3.0] * 8 and made == ["a"]
    for key in range(40):
        take(key, 32)  # 128 bytes each: the oldest go
    take("a", 8)
    take("large", 64)
    take("large", 64)  # more than an eighth of all: not kept
    assert made == ["a", *range(40), "a", "large", "large"]


def test_tensors_of_a_mode_are_not_kept():
    with FakeTensorMode():
        fake = tensor((3, 5), torch.float32, seed=77)
    assert type(fake) is not torch.Tensor
    real = tensor((3, 5), torch.float32, seed=77)
    assert type(real) is torch.Tensor
    with FakeTensorMode():
        assert type(tensor((3, 5), torch.float32, seed=77)) is type(fake)


def test_the_thread_that_lets_others_sleep_ends():
    before = threading.active_count()
    with idle_threads():
        assert threading.active_count() <= before + 1
    assert threading.active_count() == before
