"""Comparison of results: what counts as close, for each pair of dtypes."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from oneop.testing.compare import is_close


def close(left, right):
    return is_close(left, right, rtol=None, atol=None, scale=0.0)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
def test_integers_are_compared_exactly(number, other, step):
    near = max(-(2**63), min(2**63 - 1, number + step))
    for value in (other, near):
        assert close(torch.tensor([number]), torch.tensor([value])) == (number == value)


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_integers_of_two_dtypes(number, other):
    assert close(torch.tensor([number]), torch.tensor([other], dtype=torch.int8)) == (number == other)


def test_an_imaginary_part_on_one_side_alone_counts():
    real, imaginary = torch.tensor([1.0]), torch.tensor([1.0 + 2.0j])
    assert not close(real, imaginary) and not close(imaginary, real)
    assert close(real, torch.tensor([1.0 + 0.0j])) and close(torch.tensor([1.0 + 0.0j]), real)
