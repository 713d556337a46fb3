"""Selective activation checkpointing: policies name oneop ops, and kernels run as often as they say."""

import functools

import pytest
import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import oneop

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compiler
RUNS = []


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    RUNS.clear()


def noted_op(name, forward, derivative):
    """An elementwise op whose kernel notes that it runs."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", flops=lambda x: 100 * x.numel())
    op.register_kernel("cpu")(lambda x: RUNS.append(name) or forward(x))
    op.register_grad(lambda ctx, dy: dy * derivative(ctx.x))
    return op


@pytest.fixture
def ops():
    square = noted_op("cp_square", lambda x: x * x, lambda x: 2 * x)
    cube = noted_op("cp_cube", lambda x: x * x * x, lambda x: 3 * x * x)
    return square, cube


def gradient(ops, x, policy=None):
    """The gradient of a block of both ops; with a policy, checkpointed by it."""
    square, cube = ops

    def block(x):
        return cube(square(x)).sin()

    x = x.clone().requires_grad_()
    if policy is None:
        block(x).sum().backward()
    else:
        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        checkpoint(block, x, use_reentrant=False, context_fn=contexts).sum().backward()
    return x.grad


def policy_of(decisions):
    return lambda ctx, op, *args, **kwargs: decisions.get(op, CheckpointPolicy.PREFER_RECOMPUTE)


SAVE, RECOMPUTE = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_RECOMPUTE


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("square, cube", [(SAVE, SAVE), (SAVE, RECOMPUTE), (RECOMPUTE, SAVE), (RECOMPUTE, RECOMPUTE)])
def test_kernels_run_as_the_policy_says(ops, backend, square, cube):
    x = torch.rand(5)
    expected = gradient(ops, x)
    RUNS.clear()
    policy = policy_of({torch.ops.oneop.cp_square.default: square, torch.ops.oneop.cp_cube.default: cube})
    run = gradient if backend is None else torch.compile(gradient, backend=backend)
    torch.testing.assert_close(run(ops, x, policy), expected)
    runs = {"cp_square": 1 + (square is RECOMPUTE), "cp_cube": 1 + (cube is RECOMPUTE)}
    assert {name: RUNS.count(name) for name in runs} == runs


@pytest.mark.parametrize("costly", ["cp_first", "cp_second"])
def test_a_memory_budget_recomputes_what_counts_less(costly):
    """There is room for the result of one of two ops: that of the one that counts more is kept."""

    def counted(name):
        flops = 1000 if name == costly else 1
        op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise", flops=lambda x: flops * x.numel())
        op.register_kernel("cpu")(lambda x: RUNS.append(name) or x * x)
        op.register_grad(lambda ctx, dy: 2 * dy * ctx.x)
        return op

    first, second = counted("cp_first"), counted("cp_second")
    block = torch.compile(lambda x: second(first(x)).sin(), backend="aot_eager", fullgraph=True)
    x = torch.rand(1000, requires_grad=True)
    expected = torch.autograd.grad(second(first(x)).sin().sum(), x)[0]
    RUNS.clear()
    with torch._functorch.config.patch(activation_memory_budget=0.6, is_non_builtin_to_include=True):
        torch.testing.assert_close(torch.autograd.grad(block(x).sum(), x)[0], expected)
    assert {name: RUNS.count(name) for name in ("cp_first", "cp_second")} == {
        name: 1 if name == costly else 2 for name in ("cp_first", "cp_second")
    }
