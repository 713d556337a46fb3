"""Optional attributes, and attributes by position, in schemas of oneop/op.h."""

import itertools

import pytest
import torch

from oneop.registry import get_op


def expected(x, low, high, times):
    y = x if low is None else x.clamp(min=low)
    y = y if high is None else y.clamp(max=high)
    return y if times is None else y * times


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_values_none_and_defaults(ops, dtype):
    for low, high, times in itertools.product((None, -0.5, 0.0), (None, 0.5), (None, 0, -2)):
        x = torch.linspace(-2, 2, 34).to(dtype).requires_grad_()
        other = x.detach().clone().requires_grad_()
        y, want = ops.oh_clip(x, low, high, times=times), expected(other, low, high, times)
        torch.testing.assert_close(y, want)
        y.sum().backward()
        want.sum().backward()
        torch.testing.assert_close(x.grad, other.grad)
    x = torch.tensor([-9.0, 9.0])
    assert ops.oh_clip(x).tolist() == [-9.0, 1.5]
    assert ops.oh_clip(x, high=None).tolist() == [-9.0, 9.0]
    compiled = torch.compile(lambda x: ops.oh_clip(x, -1.0, None, times=3), backend="aot_eager", fullgraph=True)
    assert compiled(x).tolist() == [-3.0, 27.0]


def test_asked_for_by_name(ops):
    x = torch.zeros(1)
    assert ops.oh_asked(x).item() == 1100.0
    assert ops.oh_asked(x, mode="", sizes=[]).item() == 0.0
    assert ops.oh_asked(x, mode="ab", sizes=[1]).item() == 3.0
    assert [str(attr) for attr in get_op("oh_asked").attrs] == [
        "mode: string or None = None",
        "sizes: list of int64 or None = None",
    ]
