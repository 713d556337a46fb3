"""What modules at the top of the package refuse, each with its text."""

import pytest

import oneop
from oneop import memory, sbp
from oneop.errors import ArgumentError


def refusal(kind, function, *args, **kwargs):
    with pytest.raises(kind) as raised:
        function(*args, **kwargs)
    return str(raised.value)


@pytest.fixture(scope="module")
def doubled():
    """A small op."""
    op = oneop.define("t_small_doubled(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel()
    def kernel(x):
        return 2 * x

    return op


def test_memory():
    for size in (-1, 2**63, "1 GB"):
        assert refusal(ValueError, memory.set_cache_limit, size) == (
            f"set_cache_limit: expected a number of bytes from 0 to 2**63 - 1, found {size!r}"
        )


@pytest.mark.parametrize("function", ["gpu_device_num", "machine_num"])
def test_counts_of_devices(function):
    assert refusal(ArgumentError, getattr(oneop.config, function), -1) == (
        f"config.{function}: expected a number of devices, found -1"
    )


def test_words_of_sbp():
    assert refusal(ArgumentError, sbp.placements, [3]) == (
        "sbp: expected oneop.sbp.split(axis), broadcast or partial_sum, found 3"
    )


def test_policies_of_autocast(doubled):
    assert refusal(ArgumentError, oneop.register_autocast, "t_small_doubled", "half").startswith(
        'op "t_small_doubled": register_autocast knows the policies '
    )


def test_shapes_for_signatures(doubled):
    assert refusal(ArgumentError, oneop.sbp_signatures, "t_small_doubled", ["x"]) == (
        "op \"t_small_doubled\": expected a shape, an oneop.TensorSpec or a tensor, found 'x'"
    )


@pytest.mark.parametrize("module", [oneop, oneop.sharding, oneop.testing])
def test_names_that_no_module_has(module):
    text = refusal(AttributeError, getattr, module, "no_such_name")
    expected = {
        "oneop": "module 'oneop' has no attribute 'no_such_name'",
        "oneop.sharding": "module 'oneop.sharding' has no attribute 'no_such_name'",
        "oneop.testing": "module 'oneop.testing' has no attribute 'no_such_name'",
    }
    assert text == expected[module.__name__]
