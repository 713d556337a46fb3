"""Nothing leaks; large outputs come from a cache of blocks and behave like any tensor."""

import copy
import gc
import io
import pickle
import resource
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from oneop.runtime import core as _runtime

MIB = 1 << 20


def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_no_leaks(ops):
    x = torch.randn(1000, requires_grad=True)

    def work(times):
        for i in range(times):
            ops.t_relu(ops.t_multiply(x, x), alpha=0.5 + (i % 4) / 8).sum().backward()
            a, _, c = ops.t_multiples(x, output_counts=[2, 1])
            (a + c).sum().backward()
            for wrong in (
                lambda: ops.t_relu(x, beta=1),
                lambda: ops.t_relu(None),
                lambda: ops.t_failing(x.detach(), where="check"),
                lambda: ops.t_copy(x),
                lambda: ops.t_wrong(x, how="unbound"),
                lambda: ops.t_relu(x.detach(), alpha="x"),
            ):
                try:
                    wrong()
                except Exception:
                    pass
                else:
                    raise AssertionError("should have failed")

    work(200)
    gc.collect()
    before = rss()
    work(750)
    gc.collect()
    assert rss() - before < 2 * MIB  # 4 KB of a call, as little as one of its tensors


def test_references_are_stable(ops):
    op, x = ops.t_relu, torch.randn(3, requires_grad=True)
    names = ["alpha", "x"]

    def counts():
        return [sys.getrefcount(thing) for thing in (op, x, op.overload, type(op), None, *names)]

    for _ in range(3):
        op(x, alpha=0.5)
    before = counts()
    for _ in range(1000):
        op(x, alpha=0.5)
        op(x=x).sum().backward()
        try:
            op(x, alpha=op)
        except TypeError:
            pass
    after = counts()
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True))


@pytest.fixture
def cache(ops):
    core = _runtime.core()
    core.set_host_cache_limit(0)
    core.set_host_cache_limit(512 * MIB)
    yield core
    core.set_host_cache_limit(512 * MIB)


def large(mib=4):
    return torch.rand(mib * MIB // 4)


def test_blocks_are_used_again(ops, cache):
    x = large()
    y = ops.t_relu(x)
    address = y.data_ptr()
    assert cache.host_cache_held() == 0
    del y
    assert cache.host_cache_held() == 4 * MIB
    assert ops.t_relu(x).data_ptr() == address
    small = ops.t_relu(x[:1000])
    del small
    assert cache.host_cache_held() == 4 * MIB  # the large one came back, the small one never was there


def test_live_outputs_never_overlap(ops, cache):
    x = large(2)
    live = [ops.t_relu(x) for _ in range(10)]
    for i in range(0, 10, 2):
        live[i] = None
    live += [ops.t_relu(x + 1) for _ in range(8)]
    spans = sorted((y.data_ptr(), y.data_ptr() + y.numel() * 4) for y in live if y is not None)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_a_view_keeps_its_block(ops, cache):
    view = ops.t_relu(large())[:10]
    want = view.clone()
    others = [ops.t_relu(large() + 5) for _ in range(3)]
    assert torch.equal(view, want) and len(others) == 3
    assert cache.host_cache_held() == 0


def test_the_limit(ops, cache):
    cache.set_host_cache_limit(0)
    y = ops.t_relu(large())
    del y
    assert cache.host_cache_held() == 0
    cache.set_host_cache_limit(6 * MIB)
    a, b = ops.t_relu(large()), ops.t_relu(large())
    del a, b
    assert cache.host_cache_held() == 4 * MIB
    cache.set_host_cache_limit(1)
    assert cache.host_cache_held() == 0


def test_such_outputs_are_ordinary_tensors(ops, cache, tmp_path):
    x = large()
    y = ops.t_relu(x)
    for other in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y), y.clone()):
        assert torch.equal(other, x)
    buffer = io.BytesIO()
    torch.save(y, buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer), x)
    y.resize_(3 * MIB)
    assert torch.equal(y[: x.numel()], x)
    y.resize_(10)
    assert torch.equal(y, x[:10])
    z = ops.t_relu(x).share_memory_()
    assert z.is_shared() and torch.equal(z, x)
    array = ops.t_relu(x).numpy()
    gc.collect()
    ops.t_relu(x + 1)
    assert (array == x.numpy()).all()


def test_from_many_threads(ops, cache):
    from test_threads import run_threads

    def work(seed):
        for i in range(5):
            x = torch.full((MIB // 2,), float(seed * 100 + i))
            y = ops.t_relu(x)
            z = ops.t_relu(y + 1)
            assert y[0] == x[0] and y[-1] == x[0] and z[-1] == x[0] + 1
            del y

    run_threads(8, work)
    assert cache.host_cache_held() <= 512 * MIB
