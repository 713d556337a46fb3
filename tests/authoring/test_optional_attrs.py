"""Attributes that may be None, and attributes by position: every type, every way to write an op, every route."""

import inspect
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.errors import ArgumentError, OpCheckFailed, RegistrationError
from oneop.model.attributes import ATTR_TYPES
from oneop.reference_pages import stubs
from oneop.registry import get_op, isolated
from oneop.testing import check, check_sbp

#: A value of each type; None must differ from all of them.
SAMPLES = {
    "int32": -1,
    "int": 0,
    "bool": False,
    "float32": 0.0,
    "float": -1.0,
    "str": "",
    "shape": (),
    "dtype": torch.float64,
    "int32[]": [],
    "int[]": [-1],
    "float[]": [0.0],
    "float32[]": [0.0],
    "dtype[]": [],
    "shape[]": [()],
    "str[]": [],
    "complex": 0j,
    "bytes": b"",
    "bool[]": [],
    "Scalar": 0,
}


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


#: Lists of a fixed length.
SAMPLES |= {"int[2]": [-1, 0], "float[3]": [0.0, 0.0, 0.0], "bool[2]": [False, False], "str[1]": [""]}


#: Read, kept and printed as another type in the table is, which stays among the quick tests.
ALIKE = ["int32", "float32", "float32[]", "int32[]", "float[]", "dtype[]", "shape[]", "int[2]", "float[3]", "bool[2]"]
KINDS = [pytest.param(kind, marks=[pytest.mark.slow] * (kind in ALIKE)) for kind in SAMPLES]


def test_the_samples_have_all_types():
    assert {kind for kind in SAMPLES if not re.search(r"\[\d", kind)} == {kind.schema for kind in ATTR_TYPES}


def is_none_op(kind, default="=None"):
    """Return an op that gives 1 where the attribute is None, and else 2 or more."""
    op = oneop.define(f"may_be(Tensor x, *, {kind}? k{default}) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, k: x * 0 + (1 if k is None else 2))
    op.register_grad(lambda ctx, dy: dy * (10 if ctx.k is None else 20))
    return op


def routes(op, **attrs):
    def program(x):
        return op(x, **attrs)

    torch._dynamo.reset()
    x = torch.zeros(3)
    yield "eager", program(x)
    yield "again", program(x)
    yield "compile", torch.compile(program, backend="aot_eager", fullgraph=True)(x)
    yield "job", oneop.compile_job(program, [x])(x)
    yield "vmap", torch.vmap(program)(x)


def exported(op, x, **attrs):
    module = torch.nn.Module()
    module.forward = lambda x: op(x, **attrs)
    return torch.export.export(module, (x,), strict=False).module()(x)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_on_every_route(kind):
    op = is_none_op(kind)
    for attrs, expected in (({}, 1.0), ({"k": None}, 1.0), ({"k": SAMPLES[kind]}, 2.0)):
        for route, result in routes(op, **attrs):
            assert result.tolist() == [expected] * 3, (route, attrs)
        assert exported(op, torch.zeros(3), **attrs).tolist() == [expected] * 3
        x = torch.zeros(3, requires_grad=True)
        op(x, **attrs).sum().backward()
        assert x.grad.tolist() == [10 * expected] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_not_the_default_where_that_is_a_value(kind):
    value = SAMPLES[kind]
    text = repr(value).replace("torch.", "")
    op = is_none_op(kind, f"={text}")
    for attrs, expected in (({}, 2.0), ({"k": None}, 1.0)):
        for route, result in routes(op, **attrs):
            assert result.tolist() == [expected] * 3, (route, attrs)


def test_one_without_a_default_must_be_given():
    op = is_none_op("int", "")
    assert op(torch.zeros(1), k=None).item() == 1.0
    with pytest.raises(ArgumentError, match='needs the attribute "k", a int64; it has no default'):
        op(torch.zeros(1))


@given(
    calls=st.lists(
        st.tuples(
            st.none() | st.sampled_from([-1, 0, 1, 2**63 - 1, -(2**63)]),
            st.none() | st.sampled_from([-1, 0, 1, 2**63 - 1, -(2**63)]),
            st.none() | st.lists(st.sampled_from([-1, 0, 1]), max_size=3),
        ),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_no_number_stands_for_none(calls):
    """Calls are remembered by their attributes: neighbours that are None must not look like other values."""
    with isolated():
        got = []
        op = oneop.define("keys(Tensor x, *, int? a=None, int? b=7, int[]? c=None) -> Tensor", infer="elementwise")
        op.register_kernel("cpu")(lambda x, a, b, c: got.append((a, b, None if c is None else list(c))) or x * 1)
        x = torch.ones(1)
        for a, b, c in calls:
            op(x, a=a, b=b, c=c)
            assert got[-1] == (a, b, c)


CPP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("cpp_optional")
    .Input("x").Output("y")
    .Attr<std::optional<int64_t>>("k")
    .Attr<std::optional<double>>("f", 2.5)
    .Attr<std::optional<std::string>>("s")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
      *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
      return Maybe<void>::Ok();
    });
class OptionalKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const auto k = ctx->Attr<std::optional<int64_t>>("k");
    const auto f = ctx->Attr<std::optional<double>>("f");
    const auto s = ctx->Attr<std::optional<std::string>>("s");
    const double value = (k ? static_cast<double>(*k) : 100.0) + (f ? *f : 1000.0) +
                         (s ? static_cast<double>(s->size()) : 10000.0);
    for (int64_t i = 0; i < x->shape_view().elem_cnt(); ++i) {
      ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>()[i] = x->dptr<float>()[i] * value;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("cpp_optional").SetCreateFn<OptionalKernel>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == DataType::kFloat);
REGISTER_USER_OP_GRAD("cpp_optional").SetGenBackwardOpConfFn(
    [](const user_op::UserOpWrapper& op, const user_op::AddOpFn& add) -> Maybe<void> {
      user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
      const auto grad = builder.Op("cpp_optional").Input("x", op.GetGradTensorWithOpOutput("y", 0)).Output("y")
          .Attr("k", op.attr<std::optional<int64_t>>("k"))
          .Attr("f", op.attr<std::optional<double>>("f"))
          .Attr("s", op.attr<std::optional<std::string>>("s")).Build();
      op.BindGradTensorWithOpInput(grad.output("y", 0), "x", 0);
      add(grad);
      return Maybe<void>::Ok();
    });
}  // namespace oneflow
"""


def test_in_oneflows_spelling():
    op = oneop.load_inline("cpp_optional", CPP).cpp_optional
    assert [str(attr) for attr in get_op("cpp_optional").attrs] == [
        "k: int64 or None = None",
        "f: double or None = 2.5",
        "s: string or None = None",
    ]
    for attrs, expected in (
        ({}, 100 + 2.5 + 10000),
        ({"k": -1, "f": None}, -1 + 1000 + 10000),
        ({"k": 0, "s": "ab"}, 0 + 2.5 + 2),
    ):
        x = torch.ones(2, requires_grad=True)
        y = op(x, **attrs)
        y.sum().backward()
        assert y.tolist() == x.grad.tolist() == [expected] * 2
        assert torch.compile(lambda x, attrs=attrs: op(x, **attrs), backend="aot_eager")(x).tolist() == y.tolist()
    with pytest.raises(ArgumentError, match=r'attribute "k": expected an int or None, found float 1\.5'):
        op(torch.ones(1), k=1.5)


def test_inline_cpp_and_numba():
    op = oneop.define("scaled(Tensor x, *, float? by=None) -> Tensor y", infer="elementwise")
    op.register_source("cpu", "for (int64_t i = 0; i < n; ++i) y[i] = x[i] * static_cast<T>(by.value_or(3.0));")
    assert op(torch.ones(2)).tolist() == [3.0, 3.0]
    assert op(torch.ones(2), by=0.5).tolist() == [0.5, 0.5]
    pytest.importorskip("numba")
    jit = oneop.define("jitted(Tensor x, *, float? by=None) -> Tensor y", infer="elementwise")

    @jit.register_kernel("cpu", language="numba")
    def kernel(x, by, out):
        for i in range(x.size):
            out[i] = x[i] * (3.0 if by is None else by)

    assert jit(torch.ones(2)).tolist() == [3.0, 3.0]
    assert jit(torch.ones(2), by=0.5).tolist() == [0.5, 0.5]


def test_from_a_td_file(tmp_path):
    (tmp_path / "ops.td").write_text(
        'def OneFlow_TdOptionalOp : OneFlow_BaseOp<"td_optional", [NoGrad]> {\n'
        "  let input = (ins OneFlow_Tensor:$x);\n  let output = (outs OneFlow_Tensor:$y);\n"
        "  let attrs = (ins OptionalAttr<SI64Attr>:$k);\n}\n"
    )
    (tmp_path / "kernel.cpp").write_text(
        CPP[: CPP.index("REGISTER_USER_OP")].replace(
            '#include "oneflow/core/framework/framework.h"',
            '#include "oneflow/core/framework/framework.h"\n#include "oneflow/core/framework/op_generated.h"',
        )
        + CPP[CPP.index("class OptionalKernel") : CPP.index("REGISTER_USER_OP_GRAD")]
        .replace("cpp_optional", "td_optional")
        .replace('ctx->Attr<std::optional<double>>("f")', "std::optional<double>(0.0)")
        .replace('ctx->Attr<std::optional<std::string>>("s")', 'std::optional<std::string>("")')
        + "}  // namespace oneflow\n"
    )
    oneop.load(oneop.build("td_optional", [tmp_path / "kernel.cpp"], ods=[tmp_path / "ops.td"]))
    assert oneop.ops.td_optional(torch.ones(1)).item() == 100.0
    assert oneop.ops.td_optional(torch.ones(1), k=-1).item() == -1.0


def test_checked_sharded_and_in_stubs():
    op = oneop.define("clipped(Tensor x, *, float? low=None, float? high=None) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(
        lambda x, low, high: np.clip(x, -np.inf if low is None else low, np.inf if high is None else high).astype(
            x.dtype
        )
    )
    op.register_grad(
        lambda ctx, dy: (
            dy
            * (ctx.x > (-torch.inf if ctx.low is None else ctx.low))
            * (ctx.x < (torch.inf if ctx.high is None else ctx.high))
        )
    )
    text = stubs([get_op("clipped")])
    assert "low: float | None = ..., high: float | None = ..." in text
    signature = inspect.signature(op)
    assert signature.parameters["low"].annotation == float | None
    check_sbp(op, [torch.randn(6, 4)], low=None, high=0.5)
    families = ["memory", "inference", "layouts", "gradient", "gradient variants", "jvp", "vmap", "opcheck", "job"]
    assert check("clipped", examples=4, only=families).ok


@pytest.mark.parametrize("wrong_for", ["None", "a value"])
def test_a_gradient_that_is_wrong_for_none_or_for_values_is_found(wrong_for):
    op = oneop.define("scaled(Tensor x, *, float? by=None) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x, by: (x * (3.0 if by is None else by)).astype(x.dtype))

    @op.register_grad
    def grad(ctx, dy):
        if ctx.by is None:
            return dy * (4.0 if wrong_for == "None" else 3.0)
        return dy * (4.0 if wrong_for == "a value" else ctx.by)

    with pytest.raises(OpCheckFailed, match="scaled, gradient: the gradient of input"):
        check("scaled", only="gradient")


def test_by_position():
    op = oneop.define("power(Tensor x, int k=2, float by=1.0, *, bool up=False) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, k, by, up: x**k * np.float32(by) + np.float32(up))
    x = torch.full((2,), 3.0)
    for call, expected in (
        (lambda x: op(x), 9.0),
        (lambda x: op(x, 3), 27.0),
        (lambda x: op(x, 1, 0.5), 1.5),
        (lambda x: op(x, 1, by=2), 6.0),
        (lambda x: op(x, by=0.5, k=1, up=True), 2.5),
        (lambda x: op(x=x, k=1), 3.0),
    ):
        assert call(x).tolist() == [expected] * 2
        assert torch.compile(call, backend="aot_eager", fullgraph=True)(x).tolist() == [expected] * 2
        assert oneop.compile_job(call, [x])(x).tolist() == [expected] * 2
    assert str(inspect.signature(op)).startswith("(x: torch.Tensor, k: int = 2, by: float = 1.0, *, up: bool = False)")
    assert "(x: Tensor, k: int = ..., by: float = ..., *, up: bool = ...)" in stubs([get_op("power")])


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda op, x: op(x, 1, 2.0, 3),
            'op "power": takes 3 arguments by position, found 4\n  give these by name: up\n',
        ),
        (lambda op, x: op(x, 1, k=1), 'op "power", attribute "k": given twice, by position and by name'),
        (lambda op, x: op(x, x=x), 'op "power", input "x": given twice, by position and by name'),
        (lambda op, x: op(x, 1.5), 'op "power", attribute "k": expected an int, found float 1.5'),
        (lambda op, x: op(x, None), 'op "power", attribute "k": expected an int, found NoneType None'),
    ],
)
def test_wrong_positions(call, text):
    op = oneop.define("power(Tensor x, int k=2, float by=1.0, *, bool up=False) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, k, by, up: x * 1)
    for program in (lambda x: call(op, x), torch.compile(lambda x: call(op, x), backend="aot_eager")):
        with pytest.raises(ArgumentError) as error:
            program(torch.ones(2))
        assert str(error.value).startswith(text)


@pytest.mark.parametrize(
    "schema, says",
    [
        ("f(Tensor x, int k, Tensor y) -> Tensor", '"Tensor y" comes after the attribute k; inputs come first'),
        ("f(Tensor x, int k=1, int j) -> Tensor", "j has no default and comes after k, which has one"),
        ("f(Tensor x, Tensor? w, int k) -> Tensor", "k has no default and comes after w, which has one"),
        ("f(Tensor x, *, int k=None) -> Tensor", r"only an optional attribute may be None; write int\? k=None"),
        ("f(Tensor x, *, what? k=None) -> Tensor", "there is no attribute type what"),
    ],
)
def test_schemas_that_cannot_be(schema, says):
    with pytest.raises(RegistrationError, match=says):
        oneop.define(schema)
