"""In-place ops in jobs mean what they mean eagerly: on temporaries, on inputs, on captured tensors, in order."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError

BACKENDS = ["planned", "eager"]
LOG = []


@pytest.fixture(scope="module")
def swap():
    """Changes an argument and returns what it was."""
    op = oneop.define("job_swap(Tensor(a!) a, Tensor x) -> Tensor old", differentiable=False)

    @op.register_infer
    def infer(a, x):
        return a.like()

    @op.register_kernel("cpu")
    def kernel(a, x):
        old = a.copy()
        a[...] = x
        return old

    return op


@pytest.fixture(scope="module")
def push():
    """Changes an argument of one shape and returns two tensors of other shapes."""
    op = oneop.define("job_push(Tensor(a!) cache, Tensor x) -> (Tensor count, Tensor total)", differentiable=False)

    @op.register_infer
    def infer(cache, x):
        return cache.like(shape=(1,)), cache.like(shape=(2, 1))

    @op.register_kernel("cpu")
    def kernel(cache, x):
        cache[:] = np.roll(cache, 1, axis=0)
        cache[0] = x
        return np.full((1,), cache.shape[0], cache.dtype), np.full((2, 1), cache.sum(), cache.dtype)

    return op


@pytest.fixture(scope="module")
def note():
    """An op without outputs."""
    op = oneop.define("job_note(Tensor x, *, str tag) -> ()", differentiable=False)

    @op.register_infer
    def infer(x, tag):
        return ()

    @op.register_kernel("cpu")
    def kernel(x, tag):
        LOG.append((tag, float(x.sum())))

    return op


def assert_like_eager(body, *inputs, backend="planned", runs=3):
    """Compare results and inputs of a job with the same function run eagerly."""
    job = oneop.compile_job(body, [x.clone() for x in inputs], backend=backend)
    for run in range(runs):
        ours, theirs = [x + run for x in inputs], [x + run for x in inputs]
        found, expected = job(*ours), body(*theirs)
        for a, b in zip(found, expected, strict=True):
            assert torch.equal(a, b), (run, a, b)
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b), ("input", run, a, b)


A, X = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0], [7.0, 8.0]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_op_that_changes_and_returns(swap, push, backend):
    def on_input(a, x):
        return swap(a, x), a + 0, a * 10

    def on_temporary(a, x):
        b = a * 1
        return swap(b, x), b + 0, b * 10

    def on_view(a, x):
        b = a * 1
        return swap(b.t(), x), b + 0, swap(b, b.t())

    def unused(a, x):
        b = a * 1
        swap(b, x)
        return b, a

    def shapes(a, x):
        b = a * 1
        count, total = push(b, x[0])
        return count * 2, total, b, push(b, x[1])[1]

    for body in (on_input, on_temporary, on_view, unused, shapes):
        assert_like_eager(body, A, X, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_torch_ops_that_change_and_return(backend):
    def with_out(a, x):
        total, most, where = torch.empty_like(a), torch.empty(2), torch.empty(2, dtype=torch.int64)
        torch.add(a, x, out=total)
        torch.max(x, 1, out=(most, where))
        return total, most, where

    def chained(a, x):
        b = a.clone()
        c = b.view(-1)[1:].add_(1).mul_(2)
        return b, c, x.clone().copy_(b).t()

    def numbers(a, x):
        return a[0, 0] * 0.1, (a[0, 0] == 0.1), x.sum() / 3, a[1, 1] + True

    def many(a, x):
        b, c = a.clone(), x.clone()
        torch._foreach_add_([b, c], 1.5)
        return b, c

    for body in (with_out, chained, numbers, many):
        assert_like_eager(body, A, X, backend=backend)


STEPS = ("add_", "mul_", "swap", "swap_view", "view_add_", "copy_", "read", "t", "row")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=10),
    st.lists(st.integers(0, 20), min_size=1, max_size=3),
    st.booleans(),
)
def test_random_changes(swap, program, results, on_inputs):
    def body(x, y):
        values = [x, y] if on_inputs else [x * 1, y * 1]
        for name, a, b in program:
            values.append(one_change(name, values[a % len(values)], values[b % len(values)], swap))
        return tuple(values[r % len(values)] for r in results)

    assert_like_eager(body, A, X, runs=2)


def one_change(name, a, b, swap):
    table = {
        "add_": lambda: a.add_(b.clone()),
        "mul_": lambda: a.mul_(0.5),
        "swap": lambda: swap(a, b.clone()),
        "swap_view": lambda: swap(a.t(), b.clone()),
        "view_add_": lambda: a.view(-1)[1:].add_(1).sum() + b if a.is_contiguous() else a[:1].add_(1) + b,
        "copy_": lambda: a.copy_(b.clone()),
        "read": lambda: a * 2 + b,
        "t": lambda: a.t(),
        "row": lambda: a[:1].expand(2, 2) * 1,
    }
    return table[name]()


# --- inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_are_changed_as_eagerly(backend):
    @oneop.global_function(backend=backend)
    def job(x: tp.Numpy.Placeholder((4,)), y: tp.ListNumpy.Placeholder((4,))) -> tp.Numpy:
        y.mul_(2)
        return x.add_(1) * 2

    wide = np.arange(8, dtype=np.float32)
    y = np.ones(4, np.float32)
    for _ in range(2):
        before = wide[::2].copy()
        np.testing.assert_array_equal(job(wide[::2], [y]), (before + 1) * 2)
        np.testing.assert_array_equal(wide[::2], before + 1)
    np.testing.assert_array_equal(wide[1::2], [1, 3, 5, 7])
    np.testing.assert_array_equal(y, [4, 4, 4, 4])


def test_inputs_that_cannot_be_changed():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((4,)), y: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
        return x.add_(y)

    x = np.ones(4, np.float32)
    fixed = x.copy()
    fixed.flags.writeable = False
    cases = {
        'parameter "x": the job changes it, and the array is read-only\n  give it a copy: x.copy()': (fixed, x),
        'parameter "x": the job changes it, and the array has negative strides\n  give it a copy: x.copy()': (
            x.copy()[::-1],
            x,
        ),
        'parameter "x": the job changes it, and parameter "y" shares memory with it\n'
        "  give one of them a copy: x.clone()": (x, x),
    }
    for message, arguments in cases.items():
        with pytest.raises(ArgumentError) as caught:
            job(*arguments)
        assert str(caught.value) == f'job "job", {message}'
    np.testing.assert_array_equal(x, np.ones(4))
    tensors = oneop.compile_job(lambda x: x.add_(1), [torch.zeros(4)], name="plus")
    with pytest.raises(ArgumentError, match='job "plus", input 0: the job changes it, and several of its elements'):
        tensors(torch.zeros(1).expand(4))
    with torch.inference_mode():
        inference = torch.zeros(4)
    with pytest.raises(ArgumentError, match="it was made under inference_mode"):
        tensors(inference)


def test_columns_of_one_tensor_do_not_share_memory():
    job = oneop.compile_job(lambda x, y: x.add_(1) * y, [torch.zeros(4)] * 2)
    both = torch.arange(8.0).reshape(4, 2)
    assert torch.equal(job(both[:, 0], both[:, 1]), torch.tensor([1.0, 9.0, 25.0, 49.0]))
    assert torch.equal(both[:, 0], torch.tensor([1.0, 3.0, 5.0, 7.0]))


def test_ops_that_change_the_shape_of_an_input_are_refused():
    with pytest.raises(ArgumentError) as caught:
        oneop.compile_job(lambda x: x.t_() + 1, [torch.zeros(2, 3)], name="turn")
    assert str(caught.value) == (
        'job "turn": aten.t_.default changes a shape in place, a plan cannot hold it\n'
        "  use the op that returns a view, such as t() for t_()"
    )


def test_tracing_does_not_change_captured_tensors():
    class Net(oneop.Graph):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)

        def build(self, x):
            return self.norm(x)

    net, norm = Net(), torch.nn.BatchNorm1d(3)
    for run in range(3):
        x = torch.randn(5, 3)
        torch.testing.assert_close(net(x), norm(x).detach())
        assert int(net.norm.num_batches_tracked) == run + 1
        torch.testing.assert_close(net.norm.running_mean, norm.running_mean)


# --- effects ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_ops_without_outputs_are_kept_in_order(note, backend):
    def body(x):
        note(x, tag="first")
        y = x + 1
        note(y.t(), tag="second")
        y.add_(1)
        note(y, tag="third")
        note(x, tag="first")
        return y

    job = oneop.compile_job(body, [A], backend=backend)
    assert LOG == []
    body(A)
    wanted = LOG.copy()
    for _ in range(2):
        LOG.clear()
        job(A)
        assert LOG == wanted
    LOG.clear()


def test_the_backend_that_would_drop_them_refuses():
    @torch.library.custom_op("job_tests::note", mutates_args=())
    def tell(x: torch.Tensor) -> None:
        pass

    tell.register_fake(lambda x: None)
    with pytest.raises(ArgumentError, match=r'the backend "inductor" drops job_tests\.note\.default'):
        oneop.compile_job(lambda x: (tell(x), x + 1)[1], [A], name="tells", backend="inductor")


def test_random_ops_that_nobody_uses_still_draw():
    def body(x):
        torch.rand_like(x)
        return torch.rand_like(x)

    job = oneop.compile_job(body, [A])
    torch.manual_seed(3)
    expected = [body(A), body(A)]
    torch.manual_seed(3)
    for value in expected:
        assert torch.equal(job(A), value)


# --- kinds of values --------------------------------------------------------------------------------------------------


def test_complex_numbers():
    z = torch.tensor([1 + 2j, 3j])

    def body(z):
        return z * 1j, z + (2 - 1j), z.abs() * 2, (z[0] * 0.1j).reshape(1)

    for found, expected in zip(oneop.compile_job(body, [z])(z), body(z), strict=True):
        assert torch.equal(found, expected) and found.dtype == expected.dtype


def test_ops_that_reshape_in_place():
    """On a value that nobody reads afterwards it is a view, as torch's own gradients use it."""
    job = oneop.compile_job(lambda x: (x + 1).unsqueeze(0).squeeze_(0) * 2, [A])
    assert torch.equal(job(A), (A + 1) * 2)

    def read_again(x):
        y = x + 1
        z = y.t_()
        return y * 2, z

    for found, want in zip(oneop.compile_job(read_again, [A])(A), read_again(A), strict=True):
        assert torch.equal(found, want)


def test_bytes():
    op = oneop.define("job_bytes(Tensor x, *, bytes tag) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, tag, out):
        out[...] = x + len(tag)

    for tag in (b"abc", b"\xff\x00", b""):
        job = oneop.compile_job(lambda x, tag=tag: op(x, tag=tag), [A])
        assert torch.equal(job(A), op(A, tag=tag))
