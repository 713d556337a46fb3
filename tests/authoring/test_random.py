"""Ops declared random: fresh numbers at each call by every route, in step with torch's generator; vmap's modes."""

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import oneop
from oneop.errors import OpRuntimeError

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compiler


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def noise_op(language, *, random=True, name="rn_noise"):
    """x + noise, with noise from torch's generator; the gradient needs the same noise again: it is an output."""
    op = oneop.define(f"{name}(Tensor x) -> (Tensor y, Tensor noise)", random=random)
    op.register_infer(lambda x: (x.like(), x.like()))
    if language == "torch":

        @op.register_kernel(language="torch")
        def kernel(x):
            noise = torch.rand_like(x)
            return x * noise, noise
    else:

        @op.register_kernel("cpu")
        def kernel(x):
            noise = torch.rand(x.shape).numpy().astype(x.dtype)
            return x * noise, noise

    op.register_grad(lambda ctx, dy, dnoise: dy * ctx.noise)
    return op


LANGUAGES = ["numpy", "torch"]


def eager_draws(op, x, count):
    torch.manual_seed(7)
    return [op(x)[0] for _ in range(count)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("route", ["aot_eager", "inductor", "export"])
def test_each_call_draws(language, route):
    op = noise_op(language)
    x = torch.ones(50)

    class Twice(torch.nn.Module):
        def forward(self, x):
            return op(x)[0], op(x)[0]  # two calls are two draws, also for common subexpressions

    if route == "export":
        run = torch.export.export(Twice(), (x,)).run_decompositions().module()
    else:
        run = torch.compile(Twice(), backend=route, fullgraph=True)
    run(x)
    torch.manual_seed(7)
    draws = [*run(x), *run(x)]
    assert len({tuple(draw.tolist()) for draw in draws}) == 4
    torch.manual_seed(7)
    again = [*run(x), *run(x)]
    assert all(torch.equal(a, b) for a, b in zip(draws, again, strict=True))
    if language == "numpy" or route != "inductor":  # Inductor draws torch's own random ops in an order of its own
        assert all(torch.equal(a, b) for a, b in zip(draws, eager_draws(op, x, 4), strict=True))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("how", ["eager", "reentrant", "compiled"])
def test_checkpointing_replays(language, how):
    op = noise_op(language)
    x = torch.ones(20, requires_grad=True)

    def block(t):
        return (op(t * 1.5)[0]).sin()

    def run(t):
        return checkpoint(block, t, use_reentrant=how == "reentrant")

    call = torch.compile(run, backend="aot_eager", fullgraph=True) if how == "compiled" else run
    for seed in (1, 2):
        torch.manual_seed(seed)
        y = call(x)
        x.grad = None
        y.sum().backward()
        found = x.grad
        noise = (torch.asin(y.detach()) / 1.5).double()  # below pi/2
        torch.testing.assert_close(found.double(), torch.cos(1.5 * noise) * 1.5 * noise, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("language", LANGUAGES)
def test_vmap_modes(language):
    op = noise_op(language)
    batch, one = torch.ones(4, 30), torch.ones(30)

    def call(t):
        return op(t)[0]

    for in_dims, value in ((0, batch), (None, one)):
        with pytest.raises(OpRuntimeError, match='op "rn_noise" is random, and vmap is in randomness error mode'):
            torch.vmap(lambda t, i: call(t), in_dims=(in_dims, 0))(value, torch.arange(4))

        def under(mode, in_dims=in_dims, value=value):
            torch.manual_seed(3)
            mapped = torch.vmap(lambda t, i: call(t), in_dims=(in_dims, 0), randomness=mode)
            return mapped(value, torch.arange(4)), torch.rand(1)

        different, _ = under("different")
        assert different.shape == (4, 30) and len({tuple(row.tolist()) for row in different}) == 4
        same, after = under("same")
        assert same.shape == (4, 30) and len({tuple(row.tolist()) for row in same}) == 1
        torch.manual_seed(3)
        assert torch.equal(same[0], call(one)) and torch.equal(after, torch.rand(1))


def test_vmap_of_grad():
    op = noise_op("numpy")
    x = torch.ones(4, 30)

    def loss(t):
        return op(t)[0].sum()

    grads = torch.vmap(torch.func.grad(loss), randomness="different")(x)
    assert len({tuple(row.tolist()) for row in grads}) == 4
    with pytest.raises(OpRuntimeError, match="randomness error mode"):
        torch.vmap(torch.func.grad(loss))(x)


def test_a_name_makes_nothing_random():
    op = oneop.define("rn_hash(Tensor x, *, int seed=0) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x, seed: np.mod(x * 31 + seed, 97))
    assert not oneop.get_op("rn_hash").random
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(torch.vmap(lambda t: op(t, seed=5))(x), op(x, seed=5))
    assert torch.Tag.nondeterministic_seeded not in torch.ops.oneop.rn_hash.default.tags


def test_a_redefinition_changes_it():
    noise_op("numpy", random=False)
    assert torch.Tag.nondeterministic_seeded not in torch.ops.oneop.rn_noise.default.tags
    noise_op("numpy")
    assert torch.Tag.nondeterministic_seeded in torch.ops.oneop.rn_noise.default.tags
    op = noise_op("numpy", random=False)
    assert torch.Tag.nondeterministic_seeded not in torch.ops.oneop.rn_noise.default.tags
    assert torch.vmap(lambda t: op(t)[0])(torch.ones(2, 3)).shape == (2, 3)


def test_ops_of_cpp_may_be_random():
    oneop.load_inline(
        "random_ops",
        """
        #include "oneflow/core/framework/framework.h"
        namespace oneflow {
        REGISTER_USER_OP("rn_cpp").Input("x").Output("y").NoGrad().Random()
            .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
        }
        """,
    )
    assert oneop.get_op("rn_cpp").random and torch.Tag.nondeterministic_seeded in torch.ops.oneop.rn_cpp.default.tags


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("backend", ["aot_eager", "aot_eager_decomp_partition", "inductor"])
def test_equal_calls_draw_twice_where_gradients_are_needed(language, backend):
    """AOTAutograd merges equal calls when it divides the graph into forward and backward."""
    op = noise_op(language)
    x = torch.ones(50, requires_grad=True)
    compiled = torch.compile(lambda x: (op(x)[0] + 0, op(x)[0] * 1), backend=backend, fullgraph=True)
    for _ in range(2):
        first, second = compiled(x)
        assert not torch.equal(first, second)
        [grad] = torch.autograd.grad((first + 2 * second).sum(), [x])
        torch.testing.assert_close(grad, (first + 2 * second).detach())  # each with its own noise
