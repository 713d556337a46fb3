"""Gradients: right, only where needed, saved by reference, and an error where there are none."""

import gc
import weakref

import pytest
import torch
from torch.autograd import grad, gradcheck, gradgradcheck
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from oneop.errors import GradientNotFoundError


def leaf(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype).add_(0.1).requires_grad_()


def test_gradcheck(ops):
    assert gradcheck(lambda x: ops.t_relu(x, alpha=0.25), leaf(3, 4))
    assert gradcheck(ops.t_multiply, (leaf(5), leaf(5)))
    assert gradcheck(lambda *xs: ops.t_add_n(list(xs)), (leaf(2), leaf(2), leaf(2)))
    assert gradcheck(lambda x: ops.t_parts(x)[1], leaf(4))
    assert gradcheck(lambda x: ops.t_multiples(x, output_counts=[3, 1]), leaf(4))
    assert gradcheck(ops.t_square, torch.rand(4, dtype=torch.float64).add(0.5).requires_grad_())


def test_gradgradcheck(ops):
    assert gradgradcheck(lambda x: ops.t_relu(x, alpha=0.25), leaf(3, 4))
    assert gradgradcheck(ops.t_multiply, (leaf(5), leaf(5)))
    assert gradgradcheck(lambda *xs: ops.t_add_n(list(xs)), (leaf(2), leaf(2)))


def test_third_order(ops):
    x = leaf(3)
    y = ops.t_multiply(ops.t_multiply(x, x), ops.t_multiply(x, x)).sum()
    for want in (4 * x**3, 12 * x**2, 24 * x):
        (g,) = grad(y, x, create_graph=True)
        assert_close(g, want)
        y = g.sum()


def test_non_contiguous_and_expanded_gradients(ops):
    x = leaf(3, 4)
    ops.t_relu(x.t()).sum().backward()
    want = torch.where(x > 0, 1.0, 0.5).double()
    assert_close(x.grad, want)
    x.grad = None
    (ops.t_relu(x[:, ::2]).t() * 2).sum().backward()
    want[:, 1::2] = 0
    assert_close(x.grad, want * torch.tensor([2.0, 1, 2, 1]))


def test_only_needed_gradients_run(ops):
    def backward(a_needs, b_needs, wanted=None):
        a, b = torch.ones(3, requires_grad=a_needs), torch.ones(3, requires_grad=b_needs)
        before = ops.t_tally()
        y = ops.t_tally_add(a, b).sum()
        if wanted is None:
            y.backward()
        else:
            grad(y, [a, b][wanted])
        return (ops.t_tally() - before).tolist()

    for _ in range(2):
        assert backward(True, True) == [1, 1, 0]
        assert backward(True, False) == [1, 0, 0]
        assert backward(False, True) == [0, 1, 0]
        assert backward(True, True, wanted=1) == [0, 1, 0]


def test_a_gradient_that_looks_at_shapes_is_made_for_each_shape(ops):
    for n in (3, 5, 3, 2):
        x = torch.ones(n, requires_grad=True)
        ops.t_by_shape(x).sum().backward()
        assert x.grad.tolist() == [n] * n


def test_no_grad_op(ops):
    x = torch.ones(3, requires_grad=True)
    assert not ops.t_affine(x).requires_grad


def test_no_grad_mode(ops):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert not ops.t_relu(x).requires_grad
    assert ops.t_relu(x).grad_fn.name() == "t_reluBackward"
    assert not ops.t_relu(x.detach()).requires_grad


def test_inputs_and_outputs_that_are_not_differentiable(ops):
    x, mask = torch.ones(3, requires_grad=True), torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    y, count = ops.t_pick(x, mask)
    assert y.requires_grad and not count.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 2] and mask.grad is None
    whole, rest = ops.t_parts(x)
    assert rest.requires_grad and not whole.requires_grad
    y, count = ops.t_pick(x.detach(), mask)
    assert not y.requires_grad


def test_outputs_that_nobody_used_count_as_zero(ops):
    x = leaf(3)
    _, b, _ = ops.t_multiples(x, output_counts=[2, 1])
    b.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_missing_gradient(ops, text_of, defined):
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        with pytest.raises(GradientNotFoundError) as raised:
            ops.t_copy(x)
        assert text_of(raised) == (
            'op "t_copy" has no gradient, and one is needed: an input requires grad\n'
            '  add one: REGISTER_USER_OP_GRAD("t_copy"), in oneop/op.h OP(...).gradient\n'
            "  or declare it not differentiable: .NoGrad(), in oneop/op.h .no_grad()\n"
            "  or call it under torch.no_grad(), or on x.detach()\n"
            f"  defined at {defined('t_copy')}"
        )
    with torch.no_grad():
        ops.t_copy(x)


def test_a_missing_second_gradient_raises_only_when_used(ops, text_of):
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    (g,) = grad(ops.t_square(x).sum(), x, create_graph=True)
    assert_close(g, 2 * x)
    with pytest.raises(GradientNotFoundError, match='op "t_square_grad" has no gradient, and one is needed'):
        g.sum().backward()
    ops.t_square(x).sum().backward()  # the first order still works
    assert_close(x.grad, (2 * x).detach())


def test_backward_twice(ops):
    x = leaf(3)
    y = ops.t_relu(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert_close(x.grad, torch.where(x > 0, 2.0, 1.0).double())
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_saved_tensors_are_checked_for_changes(ops):
    x = leaf(3)
    z = x * 1
    y = ops.t_relu(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = ops.t_square(x)  # saves its output
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensors_are_not_copied(ops):
    x = leaf(3)
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.data_ptr()) or t, lambda t: t):
        y = ops.t_relu(x)
    assert seen == [x.data_ptr()]
    y.sum().backward()
    assert x.grad is not None


def test_saved_tensors_hooks_may_move_them(ops):
    x, y = leaf(3), leaf(3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
        z = ops.t_multiply(x, y)
    z.sum().backward()
    assert_close(x.grad, y.detach())


def test_a_graph_does_not_hold_itself(ops):
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    y = ops.t_square(x)  # saves its own output
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(ops, reentrant):
    x = leaf(4)
    y = checkpoint(lambda t: ops.t_relu(ops.t_multiply(t, t), alpha=0.1), x, use_reentrant=reentrant)
    y.sum().backward()
    assert_close(x.grad, (2 * x).detach())


def test_in_place_ops(ops, text_of, defined):
    x = torch.ones(3, requires_grad=True)
    total = torch.zeros(3)
    ops.t_accumulate(x, total).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and total.tolist() == [1, 1, 1] and not total.requires_grad
    with pytest.raises(GradientNotFoundError) as raised:
        ops.t_accumulate(x, torch.zeros(3, requires_grad=True))
    assert text_of(raised) == (
        'op "t_accumulate" changes its input "total" in place, which cannot be differentiated\n'
        "  call it under torch.no_grad() or on a detached tensor\n"
        f"  defined at {defined('t_accumulate')}"
    )


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_an_in_place_change_is_noticed_by_graphs_that_saved_the_tensor(ops, mode):
    x, total = torch.ones(3, requires_grad=True), torch.ones(3)
    y = x * total
    with mode():
        ops.t_accumulate(torch.ones(3), total)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomaly_mode_names_the_op(ops):
    x = torch.ones(3, requires_grad=True)
    with (
        torch.autograd.detect_anomaly(check_nan=True),
        pytest.warns(UserWarning, match="Error detected in t_reluBackward"),
    ):
        y = ops.t_relu(x)
        with pytest.raises(RuntimeError, match="t_reluBackward"):
            y.backward(torch.full((3,), float("nan")))


def test_hooks_and_leaf_accumulation(ops):
    x = leaf(3)
    seen = []
    y = ops.t_relu(x)
    y.register_hook(lambda g: seen.append(g.clone()))
    y.retain_grad()
    y.sum().backward()
    ops.t_relu(x).sum().backward()
    assert_close(y.grad, torch.ones_like(y))
    assert len(seen) == 1
    assert_close(x.grad, torch.where(x > 0, 2.0, 1.0).double())
