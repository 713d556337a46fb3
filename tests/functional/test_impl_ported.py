"""What sources from inside OneFlow 0.8 use beside the rest, with -DONEOP_PORT=2022."""

import warnings
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import OneopError

FOLDER = Path(__file__).parent / "impl/ported"


@pytest.fixture(scope="module", autouse=True)
def library():
    wrong = oneop.define("port_wrong(Tensor x, *, int which) -> Tensor y", infer="elementwise")
    wrong.register_kernel("cpu")(lambda x, which: x * 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a signature with a placement is left out
        return oneop.load(
            "fn_ported", [FOLDER / "functors.cpp"], functional=[FOLDER / "api.yaml"], defines={"ONEOP_PORT": 2022}
        )


def test_the_first_tensors_of_a_list():
    x = [torch.ones(2, requires_grad=True) for _ in range(3)]
    first, second = oneop._C.port_top(x, 2)
    assert not first.is_leaf and first.data_ptr() == x[0].data_ptr()
    grads = torch.autograd.grad((first * 2 + second * 3).sum(), x, allow_unused=True)
    assert grads[0].tolist() == [2.0, 2.0] and grads[1].tolist() == [3.0, 3.0] and grads[2] is None
    with pytest.raises(OneopError, match=r"top_n is 4 for 3 tensors"):
        oneop._C.port_top(x, 4)


def test_zeros_without_memory():
    zeros = oneop._C.port_zeros(torch.ones(3, 4, dtype=torch.float64))
    assert torch.equal(zeros, torch.zeros(3, 4, dtype=torch.float64)) and zeros.stride() == (0, 0)


def test_a_branch_for_several_devices():
    x = torch.ones(2)
    assert oneop._C.port_branch(x) is x
    with pytest.raises(OneopError, match=r"functional::PortBranch is not served: parameter placement"):
        oneop._C.port_branch(x, is_placed=True)


def test_a_source_may_define_a_check_itself():
    with pytest.raises(OneopError, match=r"the check of the source itself"):
        oneop._C.port_checked(torch.ones(1))


@pytest.mark.parametrize(
    "which, text",
    [
        (0, "a gradient class switches autograd on or off"),
        (1, "sets requires_grad of a tensor that its calls make"),
        (2, "asks where a tensor lies in memory"),
        (3, "a gradient class reads the elements of a tensor"),
    ],
)
def test_what_a_recorded_gradient_cannot(which, text):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(OneopError, match=text):
        oneop.ops.port_wrong(x, which=which).sum().backward()


def test_static_zeros_in_a_gradient():
    x = torch.ones(2, requires_grad=True)
    oneop.ops.port_wrong(x, which=9).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
