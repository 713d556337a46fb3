"""Ops with both kinds of gradient: `check` tells whether they agree."""

from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import GradientNotFoundError, OpCheckFailed
from oneop.registry import get_op

SOURCE = Path(__file__).with_name("two_gradients.cpp")


@pytest.fixture(autouse=True)
def library(own_registry):
    return oneop.load("two_gradients", [SOURCE])


def place_of(name, macro):
    """Return where the file has `macro("name"`."""
    lines = SOURCE.read_text().splitlines()
    begin = f'{macro}("{name}"'
    return f"{SOURCE}:{1 + next(i for i, line in enumerate(lines) if line.startswith(begin))}"


def places(name):
    return (
        f"    first, which is used: REGISTER_USER_OP_GRAD at {place_of(name, 'PRODUCT')}\n"
        f"    second: REGISTER_OP_EXPR_GRAD_FUNCTION at {place_of(name, 'REGISTER_OP_EXPR_GRAD_FUNCTION')}\n"
    )


def failure(name):
    with pytest.raises(OpCheckFailed) as caught:
        oneop.testing.check(name, only="gradient kinds")
    return str(caught.value)


def test_those_that_agree():
    report = oneop.testing.check("two_that_agree", only=["gradient", "second gradient", "gradient kinds"])
    assert str(report).splitlines()[3].endswith(" calls, both kinds agree")
    assert [outcome.status for outcome in report.outcomes] == ["passed"] * 3


def test_values_that_differ():
    text = failure("two_that_differ")
    assert (
        'two_that_differ, gradient kinds: the two kinds of gradient differ for input "w", by up to 0.5: '
        "the second one is "
    ) in text
    assert places("two_that_differ") in text
    assert '    print(oneop.testing.run_gradients("two_that_differ", x, w))\n' in text


def test_one_that_gives_none():
    text = failure("second_gives_none")
    assert "second_gives_none, gradient kinds: " in text
    assert 'Apply leaves the gradient of input 1 ("w") null, which is needed' in text
    assert 'where it is zero, say so: functional::Call("aten::zeros_like", x)' in text
    assert "two_gradients.cpp:113" in text


def test_flags_are_compared_one_by_one():
    assert 'the two kinds of gradient differ for input "w", by up to' in failure("second_forgets_flags")


def test_the_graphs_is_used():
    x, w = (torch.tensor([value], requires_grad=True) for value in (2.0, 3.0))
    oneop.ops.two_that_differ(x, w).sum().backward()
    assert (x.grad.item(), w.grad.item()) == (3.0, 2.0)


def test_running_both():
    both = oneop.testing.run_gradients("two_that_differ", torch.tensor([2.0]), torch.tensor([3.0]))
    assert [one.item() for one in both.graph] == [1.5, 1.0]
    assert [one.item() for one in both.eager] == [1.5, 1.5]


def test_an_op_with_one_kind():
    op = oneop.define("one_kind_only(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: 2 * x)
    op.register_grad(lambda ctx, dy: 2 * dy)
    report = oneop.testing.check(op, only="gradient kinds")
    assert [(outcome.status, outcome.note) for outcome in report.outcomes] == [("skipped", "there are no two")]
    with pytest.raises(GradientNotFoundError) as caught:
        oneop.testing.run_gradients(op, torch.ones(1))
    assert str(caught.value) == (
        'op "one_kind_only" does not have both kinds of gradient\n'
        "  they are REGISTER_USER_OP_GRAD and REGISTER_OP_EXPR_GRAD_FUNCTION, in one library"
    )


def test_both_are_shown():
    op = get_op("two_that_agree")
    graph, eager = (place_of(op.name, macro) for macro in ("PRODUCT", "REGISTER_OP_EXPR_GRAD_FUNCTION"))
    assert f"  gradient {graph}\n           {eager} (for eager mode; not used)\n" in str(op)


def test_two_of_one_kind_are_refused(tmp_path):
    text = SOURCE.read_text() + (
        '\nnamespace oneflow::one {\nREGISTER_OP_EXPR_GRAD_FUNCTION("two_that_agree", ProductGrad);\n}\n'
    )
    (tmp_path / "twice.cpp").write_text(text)
    with pytest.raises(oneop.errors.RegistrationError, match='op "two_that_agree" has two gradients'):
        oneop.load("two_gradients", [tmp_path / "twice.cpp"])
