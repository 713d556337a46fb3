"""`@autotest`: the same body with torch and with oneop."""

import faults
import pytest
import right_ops
import torch

import oneop
from oneop.errors import ArgumentError, OpCheckFailed


@oneop.testing.autotest(n=4)
def test_body_that_agrees(f, random):
    if "softplus_np" not in oneop.list_ops():
        right_ops.softplus()
    x = random.tensor(ndim=2)
    y = f.softplus_np(x, beta=random.choice(0.5, 2.0))
    return f.matmul(y, y.t()), y * random.real()


class TestMethod:
    @oneop.testing.autotest(n=2, check_graph=False)
    def test_method(self, f, random):
        if "linear_np" not in oneop.list_ops():
            right_ops.linear()
        return f.linear_np(random.tensor(3, 4), random.tensor(2, 4))


def run(body, **options):
    oneop.testing.autotest(n=3, **options)(body)()


def test_wrong_result_is_found():
    faults.ignores_attribute()

    def body(f, random):
        return f.ignores_attribute(random.tensor(2, 2), by=3.0)

    with pytest.raises(OpCheckFailed, match=r"body, run 0 of 3: oneop differs from torch: the result\[") as caught:
        run(body, check_grad=False, check_graph=False)
    assert isinstance(caught.value, AssertionError)


def test_wrong_gradient_is_found():
    faults.wrong_gradient()
    with pytest.raises(OpCheckFailed, match=r"oneop differs from torch: the gradient of tensor 0\["):
        run(lambda f, random: f.wrong_gradient(random.tensor(2, 2)), reference={"wrong_gradient": torch.square})


def test_wrong_in_a_planned_job_is_found():
    from pathlib import Path

    oneop.load("faults", [Path(faults.__file__).with_suffix(".cpp")])

    def body(f, random):
        return f.wrong_in_place(random.tensor(4) * 2) * 2

    with pytest.raises(OpCheckFailed, match="a planned job differs"):
        run(body, reference={"wrong_in_place": lambda x: x.flip(0)}, check_grad=False)


def test_nothing_to_compare_with():
    faults.square("square_alone")
    with pytest.raises(ArgumentError, match='nothing stands for op "square_alone" in the run with torch'):
        run(lambda f, random: f.square_alone(random.tensor(2)))
    with pytest.raises(ArgumentError, match="the body calls no op of oneop"):
        run(lambda f, random: f.relu(random.tensor(2)))
    with pytest.raises(ArgumentError, match="a body returns a tensor or several, found float"):
        run(lambda f, random: 1.0)
