"""A functor that draws random numbers: by every route a fresh draw a call, the same as eager from the same seed."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import oneop
from oneop.errors import GradientError, OneopError, OpNotImplementedError

from . import drawing


@pytest.fixture(scope="module", autouse=True)
def library():
    return drawing.load()


#: Functors that draw once, twice, as often as they like, and through another function.
CALLS = {
    "fr_drop": lambda x: oneop._C.fr_drop(x),
    "fr_drop_twice": lambda x: oneop._C.fr_drop_twice(x).first - 2 * oneop._C.fr_drop_twice(x).second,
    "fr_drop_picky": lambda x: oneop._C.fr_drop_picky(x),
    "two calls": lambda x: oneop._C.fr_drop(x) - 2 * oneop._C.fr_drop(x),
    "fr_drop_nested": lambda x: oneop._C.fr_drop_nested(x, [torch.full_like(x, 0.5)], scale=3),
}
#: Those that draw a fixed number of times give, from one seed, what they give when called directly.
SAME_AS_EAGER = ("fr_drop", "two calls", "fr_drop_twice", "fr_drop_nested")


class Module(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        return self.call(x)


def by_job(call, x):
    job = oneop.compile_job(call, [x])
    return lambda y: job(y).clone()


ROUTES = {
    "aot_eager": lambda call, x: torch.compile(call, backend="aot_eager", fullgraph=True),
    "dynamic": lambda call, x: torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=True),
    "eager backend": lambda call, x: torch.compile(call, backend="eager"),
    "inductor": lambda call, x: torch.compile(call, fullgraph=True),
    "export": lambda call, x: torch.export.export(Module(call), (x,)).module(),
    "make_fx": lambda call, x: make_fx(call)(x),
    "make_fx fake": lambda call, x: make_fx(call, tracing_mode="symbolic")(x),
    "job": by_job,
    "checkpoint": lambda call, x: lambda y: checkpoint(call, y, use_reentrant=False),
    "functional_call": lambda call, x: lambda y: torch.func.functional_call(Module(call), {}, (y,)),
}


def in_tiers(routes):
    """All routes with each functor, of those that trace again for sizes only one in `make test`."""
    return pytest.mark.parametrize(
        ("name", "route"),
        [
            pytest.param(name, route, marks=[pytest.mark.slow] * (route in ("dynamic", "make_fx fake") and i != 1))
            for i, name in enumerate(CALLS)
            for route in routes
            if route != "inductor" or name == "fr_drop"  # one functor is enough for a back end
        ],
    )


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield


@in_tiers(ROUTES)
def test_every_call_draws(name, route):
    x = torch.linspace(1, 2, 64)
    call = CALLS[name]
    state = torch.get_rng_state()
    traced = ROUTES[route](call, x)
    results = [traced(x) for _ in range(4)]
    assert all(not torch.equal(results[0], other) for other in results[1:]), "the same numbers at every call"
    if route in ("export", "make_fx", "make_fx fake"):
        torch.set_rng_state(state)
        ROUTES[route](call, x)
        assert route == "make_fx" or torch.equal(torch.get_rng_state(), state), "tracing itself draws"
    if name in SAME_AS_EAGER:
        torch.manual_seed(5)
        expected = [call(x), call(x)]
        torch.manual_seed(5)
        assert all(torch.equal(traced(x), value) for value in expected)


@in_tiers(["aot_eager", "dynamic", "checkpoint", "inductor"])
def test_gradients_use_the_numbers_of_the_forward_pass(name, route):
    x = torch.linspace(1, 2, 64, requires_grad=True)
    traced = ROUTES[route](CALLS[name], x)
    for _ in range(3):
        y = traced(x)
        (grad,) = torch.autograd.grad(y.sum(), x)
        # Every result is x * mask (+ something constant), element by element.
        rest = {"fr_drop_nested": 1.5}.get(name, 0.0)
        torch.testing.assert_close(grad * x, y - rest)
    if name in SAME_AS_EAGER:
        # Also that no two draws of a graph with gradients have become one.
        torch.manual_seed(5)
        expected = CALLS[name](x)
        torch.manual_seed(5)
        assert torch.equal(traced(x), expected)


def test_checkpoint_inside_compile_recomputes_with_the_same_numbers():
    def call(x):
        return checkpoint(lambda y: oneop._C.fr_drop(y).sin() * oneop._C.fr_drop(y), x, use_reentrant=False)

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    for seed in range(3):
        x = torch.linspace(1, 2, 64, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        torch.manual_seed(seed)
        call(x).sum().backward()
        torch.manual_seed(seed)
        compiled(y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)


def test_second_order_in_a_trace():
    def loss(x):
        return (oneop._C.fr_drop(x) ** 3).sum()

    x = torch.linspace(1, 2, 8, dtype=torch.float64)
    hessian = torch.func.jacrev(torch.func.grad(loss))
    torch.manual_seed(0)
    expected = hessian(x)
    torch.manual_seed(0)
    graph = make_fx(hessian)(x)
    torch.manual_seed(0)
    torch.testing.assert_close(graph(x), expected)
    mask = expected.diagonal() != 0
    assert 0 < mask.sum() < 8
    torch.testing.assert_close(expected, torch.diag(6 * x * mask))


def test_vmap_follows_its_randomness():
    x = torch.ones(3, 64)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(oneop._C.fr_drop)(x)
    same = torch.vmap(oneop._C.fr_drop, randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    different = torch.vmap(oneop._C.fr_drop, randomness="different")(x)
    assert not torch.equal(different[0], different[1]) and not torch.equal(different[1], different[2])
    both = torch.vmap(torch.vmap(oneop._C.fr_drop, randomness="same"), randomness="different")(torch.ones(2, 3, 64))
    assert torch.equal(both[0, 0], both[0, 1]) and not torch.equal(both[0, 0], both[1, 0])
    twice = torch.vmap(oneop._C.fr_drop_twice, randomness="different")(x)
    assert not torch.equal(twice.first, twice.second)


def test_vmap_and_grad_together():
    x = torch.ones(3, 64)

    def loss(row):
        return (oneop._C.fr_drop(row) ** 2).sum()

    inside = torch.vmap(torch.func.grad(loss), randomness="different")(x)
    assert not torch.equal(inside[0], inside[1]) and set(inside.unique().tolist()) == {0.0, 2.0}
    outside = torch.func.grad(lambda y: torch.vmap(loss, randomness="different")(y).sum())(x)
    assert not torch.equal(outside[0], outside[1]) and set(outside.unique().tolist()) == {0.0, 2.0}
    compiled = torch.compile(
        lambda y: torch.vmap(oneop._C.fr_drop, randomness="different")(y), backend="aot_eager", fullgraph=True
    )
    first, second = compiled(x), compiled(x)
    assert not torch.equal(first, second) and not torch.equal(first[0], first[1])


@pytest.mark.parametrize("route", ["make_fx", "aot_eager"])
def test_an_explicit_generator_is_drawn_from(route):
    generator = torch.Generator()
    x = torch.ones(64)

    def call(y):
        return oneop._C.fr_drop(y, generator=generator)

    if route == "make_fx" and torch.__version__ < "2.13":
        pytest.skip("a graph of torch 2.11 or 2.12 cannot hold a generator, and says so")
    # Dynamo may not take a generator; what it takes must be right.
    traced = (torch.compile(call, backend="aot_eager")) if route == "aot_eager" else ROUTES[route](call, x)
    expected = []
    for seed in (1, 2):
        generator.manual_seed(seed)
        expected += [call(x), call(x)]
    found = []
    for seed in (1, 2):
        generator.manual_seed(seed)
        found += [traced(x), traced(x)]
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fr_drop_mixed", 'calls the random op "aten::bernoulli.p"'),
        ("fr_drop_in_place", "changes one of its arguments"),
        ("fr_drop_and_argument", "returns one of its arguments"),
        ("fr_draw_number", "returns a int with something else than tensors"),
        ("fr_ask_seed", "asks for or sets the seed"),
    ],
)
def test_what_cannot_be_traced_is_refused(name, reason):
    function = getattr(oneop._C, name)
    function(torch.ones(8))  # called directly it is right
    with pytest.raises((OpNotImplementedError, OneopError, RuntimeError)) as caught:
        make_fx(lambda x: function(x))(torch.ones(8))
    assert reason in str(caught.value)
    with pytest.raises((OpNotImplementedError, OneopError, RuntimeError)) as caught:
        torch.vmap(function, randomness="different")(torch.ones(2, 8))
    assert reason in str(caught.value)


def test_autocast_of_the_trace_holds_at_every_call():
    def call(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return oneop._C.fr_drop(x) @ x

    graph = make_fx(lambda x: call(x))(torch.ones(4, 4))
    assert graph(torch.ones(4, 4)).dtype == call(torch.ones(4, 4)).dtype


def test_gradient_classes_cannot_draw():
    with pytest.raises(GradientError, match="uses a random generator"):
        oneop.ops.fr_drawn_grad(torch.ones(2, requires_grad=True))


# --- asking a tensor what it is ---


@pytest.mark.parametrize("dynamic", [None, True])
def test_kinds_need_no_sizes(dynamic):
    compiled = torch.compile(lambda x: oneop._C.fr_sum_last(x), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    torch._dynamo.utils.counters.clear()
    for rows in (3, 5, 7, 9):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x), x.double().sum(-1))
    frames = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert frames == (2 if dynamic is None else 1), "compiled once for each size"


@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_are_guarded(dynamic):
    compiled = torch.compile(lambda x: oneop._C.fr_times_rows(x), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (3, 5, 7, 3):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(compiled(x), x * rows)


def test_export_with_dynamic_sizes():
    rows = torch.export.Dim("rows")
    program = torch.export.export(
        Module(lambda x: oneop._C.fr_sum_last(x)), (torch.randn(3, 4),), dynamic_shapes={"x": {0: rows}}
    )
    for count in (2, 5):
        x = torch.randn(count, 4)
        torch.testing.assert_close(program.module()(x), x.double().sum(-1))
    with pytest.raises(Exception, match=r"rows|[Cc]onstraint"):
        torch.export.export(
            Module(lambda x: oneop._C.fr_times_rows(x)), (torch.randn(3, 4),), dynamic_shapes={"x": {0: rows}}
        )


# --- what a functor returns, and where ---


def test_several_variadic_outputs():
    x = torch.ones(2)
    for count in (1, 2, 3, 9):
        ys = oneop._C.fr_split_into(x, count)
        assert [y.tolist() for y in ys] == [[1.0 + i] * 2 for i in range(count)]
        assert [y.tolist() for y in oneop.ops.fr_split(x, output_counts=[count])] == [y.tolist() for y in ys]
    compiled = torch.compile(lambda x: oneop._C.fr_split_into(x, 3), backend="aot_eager", fullgraph=True)
    assert [y.tolist() for y in compiled(x)] == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    import inspect

    assert "output_counts=[1]" in str(inspect.signature(oneop.ops.fr_split))
    assert "output_counts" in oneop.ops.fr_split.__doc__


def test_null_tensors_are_none():
    x = torch.ones(1)
    for function in (oneop._C.fr_with_null, oneop._C.fr_passes_null):
        first, nothing, last = function(x)
        assert nothing is None and torch.equal(first, x) and torch.equal(last, x)


def test_a_source_op_runs_on_the_device_it_is_given():
    assert oneop._C.fr_full([2, 3]).device.type == "cpu"
    made = oneop._C.fr_full([2, 3], device="meta")
    assert made.device.type == "meta" and made.shape == (2, 3)
    assert oneop._C.fr_full_like(torch.ones(2), "cpu").device.type == "cpu"
    with pytest.raises(OneopError, match="a tensor on cpu and for the device meta"):
        oneop._C.fr_full_like(torch.ones(2), "meta")


# --- gradients of classes ---


def test_outputs_without_a_gradient():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y, index = oneop.ops.fr_parts(x)
    assert y.requires_grad and not index.requires_grad and index.tolist() == [1, 2, 0]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    whole = oneop.ops.fr_to_int(x)
    assert whole.tolist() == [3, 1, 2] and not whole.requires_grad
    compiled = torch.compile(lambda x: oneop.ops.fr_to_int(x), backend="aot_eager", fullgraph=True)
    assert compiled(x).tolist() == [3, 1, 2]


def test_a_gradient_left_null_is_an_error():
    x = torch.ones(2)
    assert torch.equal(oneop.ops.fr_null_grad(x), x)  # nobody asks
    with pytest.raises(GradientError, match=r'input 0 \("x"\) null.*\n.*zeros_like'):
        oneop.ops.fr_null_grad(x.requires_grad_())


# --- attributes of rare types ---


@pytest.mark.parametrize(
    "data", [b"", b"abc", "é".encode(), b"\xff\xfe\x00\x80", "\uf7ff\uf700".encode(), bytes(range(256))]
)
def test_bytes_and_complex_attributes_by_every_route(data):
    x = torch.tensor([1.0, 2.0])
    z = 2 + 3j
    expected = x * 32 + sum(data)

    def call(x):
        return oneop.ops.fr_values(x, data=data, z=z)

    assert torch.equal(call(x), expected)
    for route in ("aot_eager", "dynamic", "make_fx", "export"):
        assert torch.equal(ROUTES[route](call, x)(x), expected), route
    from oneop.runtime.traced_calls import text_of_bytes

    overload = torch.ops.oneop.fr_values.default
    assert torch.equal(overload(x, data=text_of_bytes(data), z=z), expected)


def test_text_is_taken_for_its_bytes():
    x = torch.tensor([0.0])
    for text in ("abc", "é", "\uf701"):
        assert oneop.ops.fr_values(x, data=text, z=0j).item() == sum(text.encode())
