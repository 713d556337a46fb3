"""Tensor?[]: a list in which some items are None, in every way to write an op and on every route."""

import importlib.util

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
import oneop.numpy as onp
from oneop.errors import ArgumentError, LoadError, OpCheckFailed, RegistrationError
from oneop.reference_pages import stubs
from oneop.registry import get_op, isolated
from oneop.testing import check

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def own_registry():
    torch._dynamo.reset()
    with isolated():
        yield


def weighted(x, xs):
    """Each item times its place, and a thousand for each None."""
    return sum(((i + 1) * item for i, item in enumerate(xs) if item is not None), x * 0) + 1000 * sum(
        item is None for item in xs
    )


def define(language):
    op = oneop.define("gapped(Tensor x, Tensor?[] xs, *, float k=1.0) -> Tensor y")
    op.register_infer(lambda x, xs: x.like(shape=next((item for item in xs if item is not None), x).shape))

    @op.register_kernel(**({"language": "torch"} if language == "torch" else {"device": "cpu"}))
    def kernel(x, xs, k):
        result = weighted(x, xs) * k
        return result if language == "torch" else result.astype(x.dtype)

    @op.register_grad
    def grad(ctx, dy):
        assert all(item is None or isinstance(item, torch.Tensor) for item in ctx.xs)
        return dy * 0, [None if item is None else dy * ctx.k * (i + 1) for i, item in enumerate(ctx.xs)]

    return op


def expected(x, xs):
    return weighted(x, xs) * 2.0


@pytest.mark.parametrize("language", ["numpy", "torch"])
@pytest.mark.parametrize("places", ["ab", "a-b", "-a", "-", "", "--ab-c"])
def test_every_route(language, places):
    op = define(language)
    x = torch.ones(3)
    xs = [None if place == "-" else torch.full((3,), float(ord(place) - 96), requires_grad=True) for place in places]
    wanted = expected(x, xs)

    def program(x, *given):
        rest = iter(given)
        return op(x, [None if place == "-" else next(rest) for place in places], k=2.0)

    present = [item for item in xs if item is not None]
    y = program(x, *present)
    assert torch.equal(y, wanted)
    if present:
        grads = torch.autograd.grad(y.sum(), present)
        assert [grad[0].item() for grad in grads] == [2.0 * (i + 1) for i, place in enumerate(places) if place != "-"]
    plain = [item.detach() for item in present]
    for run in (
        torch.compile(program, backend="aot_eager", fullgraph=True),
        oneop.compile_job(program, [x, *plain]),
        torch.vmap(program),
    ):
        assert torch.equal(run(x, *plain), wanted)

    class Module(torch.nn.Module):
        def forward(self, x, *given):
            return program(x, *given)

    assert torch.equal(torch.export.export(Module(), (x, *plain)).module()(x, *plain), wanted)
    mask = [place != "-" for place in places]
    assert torch.equal(torch.ops.oneop.gapped(x, plain, k=2.0, xs_given=mask), wanted)
    assert torch.equal(op(x=x, xs=tuple(xs), k=2.0), wanted)


@given(calls=st.lists(st.lists(st.booleans(), max_size=4), min_size=2, max_size=8))
@settings(max_examples=40, deadline=None)
def test_calls_are_remembered_by_their_gaps(calls):
    with isolated():
        op = define("numpy")
        x = torch.ones(2)
        for flags in calls:
            xs = [torch.ones(2) if flag else None for flag in flags]
            assert torch.equal(op(x, xs, k=2.0), expected(x, xs))


CPP = """
#include "oneop/op.h"
OP("oh_gapped(Tensor x, Tensor?[] xs, *, float k=1.0) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", ctx.shape("x"), ctx.dtype("x")); })
    .kernel<float>([](auto x, auto xs, auto y, oneop::Attrs attrs) {
      const auto given = attrs.get<std::vector<bool>>("xs_given");
      const float k = attrs.get<float>("k");
      const int64_t places = given.empty() ? xs.size() : static_cast<int64_t>(given.size());
      for (int64_t i = 0; i != y.numel(); ++i) {
        float sum = 0;
        for (int64_t place = 0, next = 0; place != places; ++place) {
          const bool is_there = given.empty() || given[place];
          sum += is_there ? static_cast<float>(place + 1) * xs[next++][i] : 1000.0f;
        }
        y[i] = sum * k;
      }
    });
"""


def test_in_cpp_and_in_numpy(tmp_path):
    source = tmp_path / "gapped.cpp"
    source.write_text(CPP)
    library = oneop.build("oh_gapped", [source])
    op, of_arrays = oneop.load(library).oh_gapped, onp.load(library).oh_gapped
    x = torch.ones(3)
    for places in ("ab", "a-b", "-a", "-", "--ab-c"):
        xs = [None if place == "-" else torch.full((3,), float(ord(place))) for place in places]
        assert torch.equal(op(x, xs, k=2.0), expected(x, xs))
        arrays = [None if item is None else item.numpy() for item in xs]
        assert of_arrays(x.numpy(), arrays, k=2.0).tolist() == expected(x, xs).tolist()
    for call, one in [(op, x), (of_arrays, x.numpy())]:
        refuses_gaps_that_are_none(call, one)
    if importlib.util.find_spec("jax") is not None:
        import jax
        import jax.numpy as jnp

        import oneop.jax as ojax

        in_jax = ojax.load(library).oh_gapped
        with jax.default_device(jax.devices("cpu")[0]):
            refuses_gaps_that_are_none(in_jax, jnp.ones(3))
            for _ in range(2):
                assert in_jax(jnp.ones(3), [None, jnp.full(3, 2.0)], k=2.0).tolist() == [2008.0] * 3
                assert in_jax(jnp.ones(3), [jnp.full(3, 2.0)], k=2.0).tolist() == [4.0] * 3


def refuses_gaps_that_are_none(call, one):
    with pytest.raises(ArgumentError, match='input "xs": found 2 tensors, and "xs_given" says that 1 are given'):
        call(one, [one, one], xs_given=[True, False])


def test_a_compiled_call_that_says_it_wrongly_is_refused():
    op = define("numpy")
    x = torch.ones(2)
    with pytest.raises(ArgumentError, match='input "xs": found 1 tensors, and "xs_given" says that 2 are given'):
        op(x, [x], xs_given=[True, True])
    with pytest.raises(ArgumentError, match=r'op "gapped", input "xs": expected a torch\.Tensor, found int'):
        op(x, [x, None, 3])


def test_shown_and_checked():
    define("numpy")
    assert "xs: Sequence[Tensor | None]" in stubs([get_op("gapped")])
    assert [str(arg) for arg in get_op("gapped").inputs] == ["x", "xs x1+ (items may be None)"]
    families = ["memory", "inference", "layouts", "gradient", "gradient variants", "jvp", "opcheck", "job", "sbp"]
    assert check("gapped", examples=4, only=families).ok


@pytest.mark.slow
def test_checked_by_all_families():
    define("numpy")
    assert check("gapped", examples=6, skip=["determinism", "sizes", "threads", "leaks"]).ok
    assert check("gapped", reference=lambda x, xs, k=1.0: (weighted(x, xs) * k).to(x.dtype), only="values").ok


def test_a_gradient_that_is_wrong_where_an_item_is_none_is_found():
    op = define("numpy")

    @op.register_grad
    def grad(ctx, dy):
        late = [any(before is None for before in ctx.xs[:i]) for i in range(len(ctx.xs))]
        factors = [ctx.k * (i + 1 + is_late) for i, is_late in enumerate(late)]
        return dy * 0, [None if x is None else dy * factor for x, factor in zip(ctx.xs, factors, strict=True)]

    with pytest.raises(OpCheckFailed, match="gapped, gradient: the gradient of input"):
        check("gapped", only="gradient")


@pytest.mark.parametrize(
    "schema, says",
    [
        ("f(Tensor?[2] xs) -> Tensor", "a list of which items may be None is Tensor"),
        ("f(Tensor(a!)?[] xs) -> ()", "a list of which items may be None is Tensor"),
        ("f(Tensor x) -> Tensor?[]", "a list of results has no items that are None"),
        ("f(Tensor x, *, Device? device=None) -> Tensor", "the inputs say where it runs; a device is for ops without"),
        ("f(*, int n, Device d) -> Tensor", "a device is written Device"),
        ("f(*, int n, Device device) -> Tensor", "a device is written Device"),
        ("f(Tensor x, int k=2, *, Tensor y) -> Tensor", '"Tensor y" comes after the attribute k; inputs come first'),
    ],
)
def test_schemas_that_cannot_be(schema, says):
    with pytest.raises(RegistrationError, match=says):
        oneop.define(schema)
    text = f'#include "oneop/op.h"\nOP("{schema.replace("f(", "oh_cannot(")}").same_shape();\n'
    with pytest.raises((LoadError, RegistrationError), match="cannot read its schema"):
        oneop.load_inline("oh_cannot", text)


def test_numba_has_no_such_lists():
    pytest.importorskip("numba")
    op = oneop.define("jitted(Tensor x, Tensor?[] xs) -> Tensor y")
    with pytest.raises(RegistrationError, match="numba kernels take no list with None in it"):
        op.register_kernel("cpu", language="numba")(lambda x, xs, out: None)


def test_a_device_that_is_written_out():
    """An op that may be called without tensors has it anyway."""
    source = oneop.define("counted(int n, *, Device? device=None) -> Tensor")
    source.register_infer(lambda n: oneop.TensorSpec((n,), torch.float32))
    source.register_kernel(language="torch")(lambda n: torch.arange(n, dtype=torch.float32))
    text = """#include "oneop/op.h"
OP("oh_counted(int n, *, Device? device=None) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {ctx.attr<int64_t>("n")}, oneflow::kFloat); })
    .kernel<float()>([](auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = static_cast<float>(i);
    });
"""
    for op in (source, oneop.load_inline("oh_counted", text).oh_counted):
        for attrs in ({}, {"device": None}, {"device": "cpu"}, {"device": torch.device("cpu")}):
            assert op(3, **attrs).tolist() == op(n=3, **attrs).tolist() == [0.0, 1.0, 2.0]
        assert op(3, device="meta").device.type == "meta"
        compiled = torch.compile(lambda op=op: op(3, device=torch.device("cpu")), backend="aot_eager", fullgraph=True)
        assert compiled().tolist() == [0.0, 1.0, 2.0]


def test_inputs_by_name():
    """After the star, beside attributes: signatures show them as by name."""
    op = oneop.define("named(Tensor x, *, float k=2.0, Tensor y, Tensor? z=None) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, y, z, k: x * np.float32(k) + y + (0 if z is None else z))
    op.register_grad(lambda ctx, dy: (dy * ctx.k, dy, dy if ctx.needs["z"] else None))
    assert str(op.__signature__).startswith("(x: torch.Tensor, *, y: torch.Tensor, z: torch.Tensor | None = None, k:")
    x, y = torch.ones(2), torch.full((2,), 5.0)

    def program(x, y):
        return op(x, y=y) + op(x, k=1.0, z=x, y=y)

    for run in (
        program,
        torch.compile(program, backend="aot_eager", fullgraph=True),
        oneop.compile_job(program, [x, y]),
    ):
        assert run(x, y).tolist() == [7.0 + 7.0] * 2
    assert torch.ops.oneop.named(x, y=y).tolist() == [7.0] * 2
    with pytest.raises(ArgumentError, match='input "y": expected exactly 1 tensor, found none'):
        op(x)
    text = """#include "oneop/op.h"
OP("oh_named(Tensor x, *, float k=2.0, Tensor y) -> Tensor z").elementwise<float>(
    [](auto x, auto y, auto k) { return x * k + y; });
"""
    assert oneop.load_inline("oh_named", text).oh_named(x, y=y, k=3.0).tolist() == [8.0, 8.0]
