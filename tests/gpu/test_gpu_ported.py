"""What OneFlow's CUDA sources use of the SDK's headers, against torch: tests/gpu/sources/ported.cu."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import oneop

pytestmark = pytest.mark.gpu
SOURCE = Path(__file__).parent / "sources/ported.cu"
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64]
SHAPES = [(1, 1), (3, 7), (5, 255), (2, 256), (4, 1000), (300, 33), (2, 20_000)]


@pytest.fixture(scope="session")
def ported():
    return oneop.load("ported_cuda", [SOURCE], defines={"ONEOP_PORT": 2024, "WITH_CUDA": 1})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows(ported, dtype, shape):
    x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.randn_like(x)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype is torch.float32 else {"rtol": 1e-2, "atol": 1e-2}
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        y = function(x, -1)
        with torch.no_grad():
            torch.testing.assert_close(getattr(ported, f"ported_{name}")(x, dy), y, **close)
            ours = getattr(ported, f"ported_{name}_grad")(y.detach(), dy)
        torch.testing.assert_close(ours, torch.autograd.grad(y, x, dy)[0], **close)
    y = F.layer_norm(x, shape[-1:])
    with torch.no_grad():
        torch.testing.assert_close(ported.ported_norm(x, dy), y, **close)
        ours = ported.ported_norm_grad(x, dy)
    if shape[-1] > 1:  # the gradient of a row of one element is a difference of equal numbers
        torch.testing.assert_close(ours, torch.autograd.grad(y, x, dy)[0], **close)


def test_rows_with_what_is_no_number(ported):
    x = torch.tensor([[1.0, float("inf")], [float("nan"), 0.0], [-float("inf")] * 2, [0, -float("inf")]], device="cuda")
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        torch.testing.assert_close(getattr(ported, f"ported_{name}")(x, x), function(x, -1), equal_nan=True)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64]
)
def test_atomics(ported, dtype):
    x = torch.randint(0, 2, (1000,), device="cuda").to(dtype)
    x[100:] = 0  # sums that bfloat16 holds exactly
    x[7] = 5
    z = ported.ported_atomics(x)
    wanted = [x.sum(), x.max(), 0, x.min()]
    assert z[:4].tolist() == [float(number) for number in wanted]
    if dtype.itemsize < 8:
        assert z[4:7].tolist() == [float(x[i::3].sum()) for i in range(3)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extremes_and_quotients(ported, dtype):
    torch.manual_seed(0)
    for columns in (1, 2, 33, 700):
        x = torch.randint(-9, 9, (6, columns), device="cuda").to(dtype)
        y = torch.randint(1, 5, (6, columns), device="cuda").to(dtype)
        if dtype.is_floating_point:
            inf, nan = float("inf"), float("nan")
            x[0], x[1] = inf, -inf
            x[2, columns // 2] = nan
            x[3, 0], x[3, -1] = -inf, inf
        else:
            x[0], x[1] = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            y[0] = -1
            y[1] = 0
        greatest, least, ratio, of_warp, low_of_warp = ported.ported_extremes(x, y)
        pairs = [(greatest, x.amax(1, True)), (least, x.amin(1, True))]
        if dtype.itemsize == 4:
            pairs += [(of_warp, x.amax(1, True)), (low_of_warp, x.amin(1, True))]
        for ours, wanted in pairs:
            torch.testing.assert_close(ours, wanted, rtol=0, atol=0, equal_nan=True)
        if dtype.is_floating_point:
            torch.testing.assert_close(ratio, x / y, equal_nan=True)
        else:
            assert ratio[0].tolist() == [torch.iinfo(dtype).min] * columns and ratio[1].tolist() == [0] * columns
            assert torch.equal(ratio[2:], torch.div(x[2:], y[2:], rounding_mode="trunc"))


def test_atomics_on_bytes_leave_their_neighbours_alone(ported):
    x = torch.ones(200, dtype=torch.uint8, device="cuda")
    x[3] = 9
    z = ported.ported_atomics(x)
    assert z[:7].tolist() == [208, 9, 9, 1, *(int(x[i::3].sum()) for i in range(3))]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 1000, 3), (300, 2, 65)])
def test_arrays(ported, shape):
    x = torch.randn(shape, device="cuda")
    y = torch.randn(shape[0], 1, shape[2], device="cuda")
    first, second, third = ported.ported_arrays(x, y)
    torch.testing.assert_close(first, torch.relu(x + y))
    torch.testing.assert_close(second, x.sum(1, keepdim=True), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(third, 2 * x.sum().reshape(1), rtol=1e-3, atol=1e-2)


def test_a_job_without_annotation_gives_what_numpy_takes():
    config = oneop.FunctionConfig()
    config.default_placement_scope(oneop.scope.placement("gpu", "0:0"))

    @oneop.global_function(function_config=config)
    def job(x: oneop.typing.Numpy.Placeholder((3,))):
        assert x.device.type == "cuda"
        return x + 1, [x * 2]

    first, (second,) = job(np.arange(3, dtype=np.float32)).get()
    assert first.numpy().tolist() == [1, 2, 3] and second.numpy().tolist() == [0, 2, 4]


def test_a_source_is_where_its_placement_is(ported):
    @oneop.global_function()
    def job() -> oneop.typing.Tensor:
        with oneop.scope.placement("gpu", "0:0"):
            call = oneop.user_op_builder("it").Op("ported_source").Output("z").Build()
            return call.InferAndTryRun().SoleOutputBlob() + torch.ones(4, device="cuda")

    y = job()
    assert y.device.type == "cuda" and y.tolist() == [3, 3, 3, 3]
