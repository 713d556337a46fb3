"""Jumps, and constants in place of infinity: what bounds leave open, and which words a failure has."""

import sys
from pathlib import Path

import pytest
import torch

from oneop.registry import get_op
from oneop.testing import tensor
from oneop.testing.accuracy import bounds_of, within
from oneop.testing.checker import run_check
from oneop.testing.domain.source_values import numbers_in_code
from oneop.testing.domain.templates import Template, find_templates
from oneop.testing.edges.calls import short
from oneop.testing.edges.jumps import left_open, sharpened
from oneop.testing.subject import Hints

sys.path.append(str(Path(__file__).parent / "corpus"))
import corpus_edges

TIES = torch.tensor([0.5, 1.5, 2.5, -0.5, 0.25, 3.0])


def judged(reference, x, result, *, by=None):
    """Return for each element whether a result is right for an input that lies on jumps."""
    own = reference(x)
    bounds = bounds_of(lambda inputs: [reference(*inputs)], [x], [own], length=1)
    moved = by or (lambda inputs, factor: [reference(*inputs)])
    (bound,) = sharpened(bounds, moved, [x], [own])
    return within(bound, result).tolist()


def test_the_wrong_side_of_a_jump_is_no_rounding():
    away = torch.trunc(TIES + torch.copysign(torch.tensor(0.5), TIES))
    assert judged(torch.round, TIES, torch.round(TIES)) == [True] * 6
    assert judged(torch.round, TIES, away) == [False, True, False, False, True, True]
    over = lambda x: (x > 0.5).to(x.dtype)  # noqa: E731
    assert judged(over, TIES, (TIES >= 0.5).float()) == [False, *[True] * 5]
    whole = lambda x: x.round().to(torch.int8)  # noqa: E731
    assert judged(whole, TIES, away.to(torch.int8)) == [False, True, False, False, True, True]


def test_a_jump_that_hangs_on_roundings_is_open():
    third = lambda x: torch.floor(x / 3)  # noqa: E731
    assert judged(third, TIES, torch.tensor([0.0, 0, 0, -1, 0, 0])) == [True] * 6  # 3 / 3 is 1, 3 times a third less
    assert judged(third, TIES, torch.tensor([1.0, 0, 0, -1, 0, 1]))[0] is False


def test_an_attribute_that_a_float_does_not_hold_is_open():
    def moved(inputs, factor):
        return [torch.round(inputs[0] / (0.1 * factor))]

    x = torch.tensor([0.25, 0.5])
    right = lambda x: torch.round(x / 0.1)  # noqa: E731
    assert judged(right, x, torch.tensor([3.0, 5.0]), by=moved) == [True, True]
    assert judged(right, x, torch.tensor([2.0, 6.0]), by=moved) == [True, False]
    assert [short(value) for value in (0.3, [0.1, 2.0], 7, "a", 0.0)] == [0.30078125, [0.10009765625, 2.0], 7, "a", 0.0]


def test_which_of_equal_numbers_is_taken_is_open_where_torch_says_nothing():
    x = torch.tensor([[1.0, 2.0, 2.0, 0.0]])
    order = lambda stable: lambda inputs, _: torch.sort(inputs[0], dim=1, stable=stable)  # noqa: E731
    assert left_open(order(stable=False), [x]) == [False, True]
    assert left_open(order(stable=True), [x]) == [False, False]
    assert left_open(lambda inputs, _: torch.topk(inputs[0], 2), [x[:, 1:]]) == [False, True]
    assert left_open(lambda inputs, _: [torch.argmax(inputs[0], 1)], [x]) == [False]
    assert left_open(lambda inputs, _: [(300 * inputs[0]).to(torch.int8)], [x]) == [True]


def test_inputs_lie_on_ties_and_thresholds():
    ties = tensor((4, 33), torch.float16, fill="ties", among=(0.75,))
    assert {0.5, -0.5, 1.5, 2.5, 0.75, 0.0} <= set(ties.flatten().tolist())
    thresholds = set(tensor((193,), torch.float32, fill="thresholds", among=(37.25,)).tolist())
    assert {3.0, -3.0, 6.0, 20.0, 88.5, 127.5, 37.25, -37.25} <= thresholds
    a, b = (tensor((8, 9), torch.float32, fill="ties", lane=(i, 2)) for i in range(2))
    assert 10 < int((a == b).sum()) < 60
    between = tensor((50,), torch.float32, fill="ties", bounds=(0.5, 2.0))
    assert float(between.min()) == 0.5 and float(between.max()) == 2.0


def test_rows_are_far_from_zero_and_masks_hide_whole_rows():
    low, high = (tensor((2, 5), torch.float32, fill=fill) for fill in ("low", "high"))
    assert bool((low[0] <= -2e4).all()) and bool((low[1] <= -2e9).all()) and bool((high >= 2e4).all())
    assert bool(tensor((2, 5), torch.float16, fill="low").isfinite().all())
    q, k = (tensor((2, 5), torch.float32, fill="low", lane=(i, 2)) for i in range(2))
    assert bool((q * k < -5e4).all())
    assert int(tensor((3,), torch.int64, fill="low", seed=5).max()) < -(2**31)
    mask = tensor((3, 4), torch.bool, fill="masked")
    assert not mask[0].any() and mask[1].all()
    assert tensor((3,), torch.int64, fill="masked", bounds=(0, 4)).tolist()[:2] == [0, 1]


def test_numbers_of_the_code_are_tried():
    name = corpus_edges.make("step_includes_constant")
    numbers = numbers_in_code(get_op(name), lambda x: torch.where(x > 11.5, x, 0.5))
    assert {37.25, 11.5, 0.5} <= set(numbers) and len(numbers) <= 32


#: One of each kind; `make corpus` has all.
QUICK_FAULTS = {
    "rounds_half_away": "values",
    "threshold_is_over_itself": "values",
    "argmax_takes_last": "values",
    "maximum_starts_at_minus_10000": "values",
    "integer_maximum_starts_at_minus_32768": "values",
    "mask_of_minus_10000": "values",
    "half_mask_of_minus_10000": "values",
    "attention_with_mask_of_minus_10000": "values",
}


@pytest.mark.parametrize("name", QUICK_FAULTS)
def test_fault(name):
    report = run_check(corpus_edges.make(name), Hints(), only=QUICK_FAULTS[name])
    (failure,) = report.failures
    assert failure.failure.message.startswith("the result differs from the reference: ")


@pytest.mark.parametrize(
    "name", ["right_scaled_by_reciprocal", "right_threshold_in_float", "right_order_where_ties_are_open"]
)
def test_no_false_alarm(name):
    report = run_check(corpus_edges.make(name), Hints(), only=["reference", "values", "special values"])
    assert report.ok, str(report)


def test_a_tolerance_of_the_author_holds_at_jumps_too():
    name = corpus_edges.make("rounds_half_away")
    assert not run_check(name, Hints(rtol=1e-3), only="values").ok
    assert run_check(name, Hints(atol=1.5), only="values").ok


@pytest.mark.parametrize("name", ["right_relu6_with_other_subgradients", "right_hard_swish"])
def test_subgradients_at_a_kink_may_differ(name):
    report = run_check(corpus_edges.make(name), Hints(), only=["gradient", "gradient variants"])
    assert report.ok, str(report)


@pytest.mark.parametrize("family", ["reference", pytest.param("sizes", marks=pytest.mark.slow)])
def test_what_the_reference_does_not_take_is_no_failure(family):
    report = run_check(corpus_edges.make("right_convolution_of_channels"), Hints(), only=family)
    assert report.ok, str(report)


def axes_of(count, takes):
    return {
        template.axes for template in find_templates("", count, lambda shapes: [shapes[0]] if takes(*shapes) else None)
    }


def test_axes_that_are_even_or_twice_as_long_as_others():
    assert axes_of(1, lambda x: len(x) == 2 and x[1] % 2 == 0) == {(("a", "bb"),)}
    angles = ("c", "d")
    assert axes_of(3, lambda x, c, s: len(x) == 4 and c == s == (x[2], x[3] // 2) and x[3] % 2 == 0) == {
        (("a", "b", "c", "dd"), angles, angles)
    }
    shared = ("1", "1", "c", "d")
    assert axes_of(3, lambda x, c, s: len(x) == 4 and c == s == (1, 1, x[2], x[3] // 2) and x[3] % 2 == 0) == {
        (("a", "b", "c", "dd"), shared, shared)
    }
    assert Template((("a", "bb"), ("b",))).shapes({"a": 3, "b": 5}) == [(3, 10), (5,)]
