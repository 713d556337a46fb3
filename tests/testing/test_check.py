"""`oneop.testing.check`: seeded faults are found by the family that is for them, and right ops raise no alarm."""

import math
from pathlib import Path

import faults
import numpy as np
import pytest
import right_ops
import torch

import oneop
from oneop.errors import ArgumentError, OpCheckFailed, OpNotFoundError
from oneop.testing import tensor
from oneop.testing.checker import FAMILIES, run_check
from oneop.testing.subject import Hints

SLOW = ("opcheck", "compile", "export")

#: Families that take more than half a second of processor time for an op. Each right op meets some of them, by turns,
#: and each of them some right ops; among the quick tests it is so for the others too. `make corpus` runs all on all.
COSTLY = ("memory", "determinism", "sizes", "threads", "leaks", "opcheck", "compile", "sbp")
FLOATS = (torch.float32, torch.float64)


def families_that_fail(op, expected, **hints):
    report = run_check(op, Hints(**hints), only=[expected], examples=16)
    return [outcome.family for outcome in report.failures]


@pytest.mark.parametrize("name", faults.CPP)
def test_fault_in_cpp_is_found(name):
    oneop.load("faults", [Path(faults.__file__).with_suffix(".cpp")])
    hints = {"reference": lambda x: x / 3} if name == "loses_digits" else {}
    assert faults.CPP[name] in families_that_fail(name, faults.CPP[name], **hints)


@pytest.mark.parametrize("make", faults.PYTHON, ids=lambda make: make.__name__)
def test_fault_in_python_is_found(make):
    make()
    assert faults.PYTHON[make] in families_that_fail(make.__name__, faults.PYTHON[make])


@pytest.mark.parametrize(
    "name", [pytest.param(right_ops.add_in_place.__defaults__[0], marks=pytest.mark.slow), "leaky_relu_parallel"]
)
def test_right_op_passes_all(name, short_races):
    right_ops.add_in_place()
    right_ops.cpp_library()
    report = oneop.testing.check(name, examples=4)
    assert report.ok
    assert {outcome.family for outcome in report.outcomes} == set(FAMILIES) - {"streams"}


BY_NUMBER = pytest.mark.parametrize(
    "number", range(len(right_ops.PYTHON)), ids=lambda number: right_ops.PYTHON[number].__name__
)


@BY_NUMBER
def test_right_op_passes_by_turns(number, short_races):
    make = right_ops.PYTHON[number]
    make()
    cheap = [name for name in FAMILIES if name not in COSTLY]
    turn = {name for place, name in enumerate(cheap) if (place + number) % 3 == 0}
    if number % 2 == 0:
        turn.add(COSTLY[number // 2 % len(COSTLY)])
    assert oneop.testing.check(make.__defaults__[0], examples=8, only=turn).ok


@pytest.mark.slow
@BY_NUMBER
def test_right_op_passes(number):
    make = right_ops.PYTHON[number]
    make()
    turn = {COSTLY[number % len(COSTLY)], COSTLY[(number // len(COSTLY) + 3 * number + 1) % len(COSTLY)]}
    report = oneop.testing.check(make.__defaults__[0], examples=8, skip=set(COSTLY) - turn)
    assert report.ok


@pytest.mark.parametrize("name", [pytest.param("leaky_relu", marks=pytest.mark.slow), "leaky_relu_grad"])
def test_right_cpp_op_passes(name):
    right_ops.cpp_library()
    assert oneop.testing.check(name, examples=4, skip=set(COSTLY) - {"memory", "sizes"}).ok


def test_enough_of_both():
    assert len(faults.CPP) + len(faults.PYTHON) >= 30
    assert len(right_ops.PYTHON) + 3 >= 15


def test_failure_tells_the_smallest_call_and_how_to_repeat_it():
    faults.ignores_attribute()
    with pytest.raises(OpCheckFailed) as caught:
        oneop.testing.check("ignores_attribute", only="reference")
    place = f"{faults.__file__}:{faults.ignores_attribute.__code__.co_firstlineno + 1}"
    seconds = str(caught.value).split()[-2]
    bound = str(caught.value).split(" expected 0.6953125 within ")[1].split()[0]
    assert 1e-7 < float(bound) < 1e-5
    head, failure = str(caught.value).split("\n\n")
    assert head.startswith(f"ignores_attribute  {place}\n  failed   reference        see below\n  error    float")
    assert failure == (
        "ignores_attribute, reference: the result differs from the reference: y is 2.78125, expected 0.6953125 "
        f"within {bound} (1 of 1 elements differ)\n"
        "  smallest call found: x float32[], by=0.5\n"
        "  reproduce:\n"
        "    import torch, oneop\n"
        "    from oneop.testing import tensor\n"
        f'    import sys; sys.path.insert(0, "{Path(faults.__file__).parent}"); import faults\n'
        "    x = tensor((), torch.float32)\n"
        "    oneop.ops.ignores_attribute(x, by=0.5)\n"
        '    oneop.testing.repeat("ignores_attribute", "reference", '
        "[oneop.testing.tensor_case((), torch.float32)], attrs={'by': 0.5})\n"
        f"  1 failed in {seconds} s"
    )
    assert caught.value.report.to_json()["outcomes"][0]["failure"]["case"] == "x float32[], by=0.5"


def test_lines_that_reproduce_run(capsys):
    oneop.load("faults", [Path(faults.__file__).with_suffix(".cpp")])
    report = run_check("leaves_tail", Hints())
    lines = report.failures[0].failure.reproduce
    assert lines[-2] == 'oneop.testing.run_kernel("leaves_tail", 0, x)'
    with pytest.raises(AssertionError, match=r'op "leaves_tail": the kernel at .*:\d+ leaves 1 of 1 elements'):
        exec("\n".join(lines), {})


def test_missing_gradient_is_reported_not_passed():
    op = faults.square("square_without_gradient")
    report = oneop.testing.check(op, only=["gradient", "jvp"])
    assert report.missing == ["gradient", "jvp"]
    assert [outcome.status for outcome in report.outcomes] == ["missing", "missing"]
    with pytest.raises(OpCheckFailed, match="missing  gradient"):
        oneop.testing.check(op, only="gradient", strict=True)


def test_what_was_not_run_says_why():
    oneop.load("faults", [Path(faults.__file__).with_suffix(".cpp")])
    report = run_check("writes_past_end", Hints(), only=["memory", "layouts"])
    assert [outcome.note for outcome in report.outcomes] == ["", "not run: a kernel handles memory wrongly"]


def test_unknown_op_and_family():
    with pytest.raises(OpNotFoundError):
        oneop.testing.check("no_such_op")
    op = faults.square("square_once")
    with pytest.raises(ArgumentError, match="there is no family of checks 'gradients'\n  there are: crashes, memory"):
        oneop.testing.check(op, only="gradients")


def test_an_op_that_takes_nothing_found():
    op = oneop.define("t_picky(Tensor x) -> Tensor y", differentiable=False)

    @op.register_infer
    def infer(x):
        raise ValueError("never")

    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: x)
    with pytest.raises(OpCheckFailed, match='t_picky, inputs: op "t_picky": found no call that it takes on cpu'):
        oneop.testing.check(op)


def test_hints_reach_the_calls():
    op = oneop.define("t_table(Tensor table, Tensor index, *, str mode='a') -> Tensor y", infer="v d, n -> n d")
    seen = []

    @op.register_kernel("cpu", dtypes={"table": torch.float32, "index": torch.int64})
    def kernel(table, index, mode):
        seen.append((table.shape, int(index.max(initial=0)), mode))
        return table[index]

    options = {"shapes": [[(7, 2), (3,)]], "values": {"index": (4, 6)}, "attrs": {"mode": ["a", "b"]}}
    oneop.testing.check(op, only=["memory", "determinism"], **options)
    assert {shape for shape, _, _ in seen if shape != (2, 2)} == {(7, 2)}
    assert {mode for *_, mode in seen} == {"a", "b"}
    assert all(4 <= largest <= 6 for shape, largest, _ in seen if shape == (7, 2))


def test_pytest_params():
    library = oneop.load("faults", [Path(faults.__file__).with_suffix(".cpp")])
    assert [param.id for param in oneop.testing.pytest_params(library)] == list(library.ops)
    assert [param.values for param in oneop.testing.pytest_params(["leaves_tail"])] == [("leaves_tail",)]
    assert "wraps_index" in [param.id for param in oneop.testing.pytest_params()]


def test_strategy_for_tests_of_ones_own():
    from hypothesis import given, settings

    right_ops.linear()
    seen = []

    @settings(max_examples=20, deadline=None, database=None)
    @given(oneop.testing.cases("linear_np"))
    def test(case):
        x, w = case.make()
        seen.append(x.ndim)
        torch.testing.assert_close(case.run([x, w])[0], x @ w.T, rtol=1e-4, atol=1e-4)

    test()
    assert set(seen) == {1, 2, 3}


def test_progress_bar(capsys):
    right_ops.halves()
    oneop.testing.check("halves_np", only="inference", progress=True)
    shown = capsys.readouterr().err
    assert "halves_np [....................] 0/1 inference" in shown
    assert shown.endswith(" \r")


def test_random_state_is_left_alone():
    right_ops.halves()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    oneop.testing.check("halves_np", only=["inference", "kernels"])
    assert torch.equal(torch.rand(2), expected)


def test_the_gradient_is_compared_with_that_of_the_reference():
    op = oneop.define("check_square(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float64)(lambda x: x * x)
    op.register_grad(lambda ctx, dy: 2 * ctx.x * dy)
    assert oneop.testing.check(op, reference=lambda x: x * x, only="gradient").ok
    assert oneop.testing.check(op, reference=lambda x: (x * x).detach(), only="gradient").ok  # says nothing of it
    with pytest.raises(OpCheckFailed, match="the gradient differs from that of the reference: x is"):
        oneop.testing.check(op, reference=lambda x: x * x.detach(), only="gradient")


def test_values_of_an_attribute_are_those_that_are_said():
    seen = set()
    op = oneop.define("check_said(Tensor x, *, int k=0) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=torch.float32)
    def kernel(x, k):
        seen.add(k)
        return x + k

    oneop.testing.check(op, attrs={"k": [2, 3]}, only="memory")
    assert seen == {2, 3}
    oneop.testing.check(op, only="memory")
    assert 0 in seen


def _unary(name, kernel, gradient, dtype=torch.float64):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel(language="torch", dtypes=dtype)(kernel)
    op.register_grad(gradient)
    return op


@pytest.mark.parametrize(
    ("name", "kernel", "gradient", "dtype", "reference"),
    [
        (  # torch's gradient is NaN where the other branch is taken
            "where_log",
            lambda x: torch.where(x > 0, torch.xlogy(x, x.clamp(min=1e-3)), 0.0),
            lambda ctx, dy: torch.where(ctx.x > 1e-3, dy * (ctx.x.clamp(min=1e-3).log() + 1), 0.0),
            torch.float64,
            lambda x: torch.where(x > 0, x * torch.log(x.clamp(min=1e-3)) + 0 * torch.sqrt(x), 0.0),
        ),
        (  # results of 1000, whose last digits differ
            "fifth_power",
            lambda x: x * x * x * x * x,
            lambda ctx, dy: 5 * ctx.x**4 * dy,
            torch.float32,
            lambda x: x**5,
        ),
        ("exp_ten", lambda x: (10 * x).exp(), lambda ctx, dy: 10 * (10 * ctx.x).exp() * dy, torch.float64, None),
        (  # not for tensors that require gradients
            "in_place_reference",
            torch.relu,
            lambda ctx, dy: torch.where(ctx.x > 0, dy, 0),
            torch.float64,
            lambda x: x.relu_(),
        ),
        (
            "numpy_reference",
            torch.relu,
            lambda ctx, dy: torch.where(ctx.x > 0, dy, 0),
            torch.float64,
            lambda x: torch.from_numpy(np.maximum(x.numpy(), 0)),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reference_that_is_no_judge_of_the_gradient(name, kernel, gradient, dtype, reference):
    op = _unary(f"check_{name}", kernel, gradient, dtype)
    assert oneop.testing.check(op, reference=reference or kernel, only="gradient", examples=8).ok


def test_a_complex_result_has_no_gradient_to_compare():
    op = oneop.define("check_complex(Tensor x) -> Tensor y")
    op.register_infer(lambda x: oneop.TensorSpec(x.shape, torch.complex128))
    op.register_kernel(language="torch", dtypes=torch.float64)(lambda x: torch.complex(x, 2 * x))
    op.register_grad(lambda ctx, dy: dy.real + 2 * dy.imag)
    assert oneop.testing.check(op, reference=lambda x: torch.complex(x, 2 * x), only="gradient", examples=8).ok


@pytest.mark.parametrize("reference", [None, lambda x: x + torch.rand_like(x)], ids=["alone", "with a reference"])
def test_a_random_op_raises_no_alarm(reference, short_races):
    op = oneop.define("check_noise(Tensor x) -> Tensor y", infer="elementwise", random=True)
    op.register_kernel("cpu", language="torch", dtypes=FLOATS)(lambda x: x + torch.rand_like(x))
    op.register_grad(lambda ctx, dy: dy)
    skip = {*SLOW, *COSTLY} - {"determinism" if reference else "sbp"}
    report = oneop.testing.check(op, reference=reference, skip=skip, examples=8)
    assert report.ok and {outcome.family: outcome.status for outcome in report.outcomes}["gradient"] == "passed"


def test_a_wrong_gradient_of_a_random_op_is_found():
    op = oneop.define("check_noise_wrong(Tensor x) -> Tensor y", infer="elementwise", random=True)
    op.register_kernel("cpu", language="torch", dtypes=FLOATS)(lambda x: x + torch.rand_like(x))
    op.register_grad(lambda ctx, dy: 3 * dy)
    with pytest.raises(OpCheckFailed):
        oneop.testing.check(op, only="gradient", examples=8)


def test_special_values_are_of_one_kind_too():
    """A NaN beside an infinity would hide what becomes of it in a reduction."""
    kinds = set()
    for seed in range(64):
        numbers = tensor((24,), torch.float64, fill="special", seed=seed)
        is_nan, is_high, is_low = numbers.isnan().any(), (numbers == math.inf).any(), (numbers == -math.inf).any()
        kinds.add((bool(is_nan), bool(is_high), bool(is_low)))
        assert numbers.isfinite().any()
    assert {(True, False, False), (False, True, False), (False, False, True), (True, True, True)} <= kinds
