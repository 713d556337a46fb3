"""Small outputs come from free lists of the thread; they behave like any tensor, in any thread."""

import threading

import pytest
import torch

SIZES = [1, 16, 17, 1000, 1024, 1025, 4000]  # floats: the classes of blocks, and just beyond


@pytest.mark.parametrize("n", SIZES)
def test_live_outputs_never_overlap(ops, n):
    live = [ops.t_relu(torch.full((n,), float(i))) for i in range(100)]
    for i in range(0, 100, 3):
        live[i] = None
    live += [ops.t_relu(torch.full((n,), float(100 + i))) for i in range(100)]
    for i, y in enumerate(live):
        assert y is None or (y == i).all()


@pytest.mark.parametrize("n", SIZES)
def test_they_are_aligned_and_resizable(ops, n):
    y = ops.t_relu(torch.arange(float(n)))
    assert y.data_ptr() % 64 == 0
    y.resize_(3 * n + 5000)
    assert torch.equal(y[:n], torch.arange(float(n)))
    assert torch.equal(y.resize_(1), torch.zeros(1))
    z = ops.t_relu(torch.arange(float(n))).share_memory_()
    assert z.is_shared() and torch.equal(z, torch.arange(float(n)))


def test_made_in_one_thread_and_freed_in_another(ops):
    made = []

    def work():
        for _ in range(5):
            made.extend(ops.t_relu(torch.full((n,), 7.0)) for n in SIZES for _ in range(40))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()  # its lists are gone, its tensors are not
    assert all((y == 7).all() for y in made)
    made.clear()
    assert ops.t_relu(torch.full((16,), 3.0)).sum() == 48


def test_a_size_that_does_not_fit_in_memory(ops):
    with pytest.raises(RuntimeError):
        ops.t_range(shape=(2**40, 2**40))
    with pytest.raises(RuntimeError, match=r"not enough memory|can't allocate memory|overflow"):
        ops.t_range(shape=(2**45,))
    assert ops.t_range(shape=(2,)).tolist() == [0, 1]
