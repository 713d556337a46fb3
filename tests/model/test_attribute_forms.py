"""bool[], lists of a fixed length and scalars: kinds stay apart in every cache, and all ways to write ops have them."""

import inspect
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.card.facts import collect
from oneop.card.page import render
from oneop.errors import ArgumentError, OpCheckFailed, RegistrationError
from oneop.reference_pages import page, stubs
from oneop.registry import get_op, isolated
from oneop.testing import check

pytestmark = pytest.mark.filterwarnings("ignore")
KINDS = [2, 2.0, True, 1, 1.0, 2 + 0j, 1 + 0j, 0, 0.0, False, 0j]


@pytest.fixture(autouse=True)
def own_registry():
    torch._dynamo.reset()
    with isolated():
        yield


def seen_by(schema, **options):
    """Return an op, and the list of what its kernel gets."""
    op = oneop.define(schema, infer="elementwise", **options)
    got = []

    @op.register_kernel("cpu")
    def kernel(x, **attrs):
        got.append(repr(attrs))
        return x * 1

    return op, got


def test_numbers_that_are_equal_are_different_scalars():
    """In one program too: nothing merges two calls because 2 equals 2.0."""
    op, got = seen_by("kinds(Tensor x, *, Scalar k=2, Scalar? j=None) -> Tensor")
    x = torch.ones(2)
    expected = [repr({"k": k, "j": j}) for k, j in itertools.product(KINDS, [*KINDS[:3], None])]

    def program(x):
        return sum(op(x, k=k, j=j) for k, j in itertools.product(KINDS, [*KINDS[:3], None]))

    class Module(torch.nn.Module):
        def forward(self, x):
            return program(x)

    exported = torch.export.export(Module(), (x,))
    for run in (
        program,
        program,  # from the caches
        torch.compile(program, backend="aot_eager", fullgraph=True),
        oneop.compile_job(program, [x]),
        exported.module(),
    ):
        got.clear()
        run(x)
        assert got == expected


@given(calls=st.lists(st.sampled_from([*KINDS, None, -0.0, float("nan")]), min_size=2, max_size=8))
@settings(max_examples=60, deadline=None)
def test_calls_are_remembered_by_the_kind_of_scalars(calls):
    with isolated():
        op, got = seen_by("kept(Tensor x, *, Scalar? k=1) -> Tensor")
        x = torch.ones(1)
        for k in calls:
            op(x, k=k)
            torch.ops.oneop.kept(x, k=k)
            assert got[-1] == got[-2] == repr({"k": k})


@given(
    calls=st.lists(
        st.tuples(st.lists(st.booleans(), max_size=3), st.none() | st.lists(st.booleans(), max_size=3)),
        min_size=2,
        max_size=8,
    )
)
@settings(max_examples=40, deadline=None)
def test_lists_of_bools_are_remembered_item_by_item(calls):
    with isolated():
        op, got = seen_by("flags(Tensor x, *, bool[] a, bool[]? b=[True]) -> Tensor")
        x = torch.ones(1)
        for a, b in calls:
            op(x, a=a, b=b)
            assert got[-1] == repr({"a": tuple(a), "b": None if b is None else tuple(b)})


def test_one_number_for_all_where_torch_has_it():
    """torch.library's own op says where: ints for int[2], floats for float[2], bools of a default only."""
    schema = "(Tensor x, *, int[2] i=1, float[2] f=0.5, bool[2] b=True, int[3]? o=None) -> Tensor"
    op, got = seen_by("spread" + schema)
    library = torch.library.Library("attribute_forms", "FRAGMENT")
    library.define("spread" + schema)
    theirs = torch.ops.attribute_forms.spread.default
    names = {argument.name: argument for argument in theirs._schema.arguments}
    x = torch.ones(1)
    op(x)
    defaults = {name: tuple(argument.default_value) for name, argument in names.items() if name in "ifb"}
    assert got[-1] == repr({**defaults, "o": None})
    ours = {argument.name: argument for argument in torch.ops.oneop.spread.default._schema.arguments}
    for name, argument in names.items():
        assert (ours[name].N, str(ours[name].type)) == (argument.N, str(argument.type))
    for name, value, spread in [("i", 3, (3, 3)), ("f", 2.5, (2.5, 2.5)), ("o", 4, (4, 4, 4))]:
        for call in (op, torch.ops.oneop.spread, torch.compile(lambda x, **attrs: op(x, **attrs), backend="aot_eager")):
            call(x, **{name: value})
            assert got[-1] == repr({**defaults, "o": None, name: spread})
    with pytest.raises(ArgumentError, match='attribute "b": expected a list of bools of length 2, found bool True'):
        op(x, b=True)


@pytest.mark.parametrize(
    "schema, says",
    [
        ("f(Tensor x, *, int[0] k) -> Tensor", "a list of a fixed length has 1 to 65536 items, found 0"),
        ("f(Tensor x, *, int[2] k=[1, 2, 3]) -> Tensor", "expected a list of ints of length 2, or one int for all"),
        ("f(Tensor x, *, str[2] k='ab') -> Tensor", "expected a list of str of length 2, found str 'ab'"),
        ("f(Tensor x, *, complex[2] k) -> Tensor", r"there is no attribute type complex\[2\]"),
        ("f(Tensor x, *, Scalar k='a') -> Tensor", "expected an int of 64 bits, float, bool or complex, found str 'a'"),
        ("f(Tensor x, *, bool[] k=True) -> Tensor", "expected a list of bools, found bool True"),
    ],
)
def test_schemas_that_cannot_be(schema, says):
    with pytest.raises((RegistrationError, ArgumentError), match=says):
        oneop.define(schema)


def test_annotated_functions():
    from torch.types import Number

    @oneop.define(infer="elementwise")
    def annotated(
        x: torch.Tensor, k: Number = 2, *, j: int | float | complex | None = None, on: list[bool]
    ) -> torch.Tensor:
        return x * k if j is None else x * j

    assert [str(attr) for attr in get_op("annotated").attrs] == [
        "k: scalar = 2",
        "j: scalar or None = None",
        "on: list of bool",
    ]
    assert annotated(torch.ones(1), 3, on=[]).item() == 3.0
    assert annotated(torch.ones(1), j=0.5, on=[True]).item() == 0.5


def test_stubs_signatures_cards_and_pages():
    op, _ = seen_by("shown(Tensor x, int[2] k=1, *, bool[] on, Scalar s=2.0, float[3]? w=None) -> Tensor")
    text = stubs([get_op("shown")])
    assert (
        "(x: Tensor, k: Sequence[int] | int = ..., *, on: Sequence[bool], s: complex = ..., w: Sequence[float]" in text
    )
    assert inspect.signature(op).parameters["s"].annotation == int | float | complex
    assert [str(attr) for attr in get_op("shown").attrs] == [
        "k: list of int64 of length 2 = [1, 1]",
        "on: list of bool",
        "s: scalar = 2.0",
        "w: list of double of length 3 or None = None",
    ]
    assert "| `w` | list of double of length 3 or None, default None |" in page(get_op("shown"))


@pytest.mark.parametrize("is_wrong", [False, True])
def test_check_draws_values(is_wrong):
    """Each kind of scalar, and lists of the right length: a gradient that is wrong for some of them is found."""
    op = oneop.define(
        "drawn(Tensor x, *, Scalar k=1, bool[2] on=True, float[2] f=1.0) -> Tensor y", infer="elementwise"
    )

    def factor(k, on, f):
        return float(k) + (2.0 if on[1] else 3.0) + f[1]

    op.register_kernel("cpu")(lambda x, k, on, f: (x * factor(k, on, f)).astype(x.dtype))
    op.register_grad(lambda ctx, dy: dy * (factor(ctx.k, ctx.on, ctx.f) + (is_wrong and not ctx.on[1])))
    if is_wrong:
        with pytest.raises(OpCheckFailed, match="drawn, gradient: the gradient of input"):
            check("drawn", only="gradient")
    else:
        assert check("drawn", examples=6, skip=["determinism", "sizes", "threads", "leaks", "sbp"]).ok


def test_kernels_in_cpp_text_and_numba():
    op = oneop.define("texts(Tensor x, *, Scalar k=2, bool[] on=[True], int[2] m=3) -> Tensor y", infer="elementwise")
    op.register_source(
        "cpu",
        "const double kind = k.IsBool() ? 0.125 : k.IsIntegral() ? 0.25 : 0.5;"
        "const double factor = k.As<double>() + kind + on.size() + m[0] * m[1];"
        "for (int64_t i = 0; i < n; ++i) y[i] = x[i] * static_cast<T>(factor);",
    )
    x = torch.ones(1)
    assert [op(x, k=k, on=[True] * 3, m=[1, 2]).item() for k in (2, 2.0, True)] == [7.25, 7.5, 6.125]
    pytest.importorskip("numba")
    jit = oneop.define("jitted(Tensor x, *, Scalar k=2, bool[] on=[True], int[2] m=3) -> Tensor y", infer="elementwise")

    @jit.register_kernel("cpu", language="numba")
    def kernel(x, k, on, m, out):
        for i in range(x.size):
            out[i] = x[i] * (k / 4 + len(on) + m[0] * m[1]) + (7 // k)

    assert jit(x, k=2).item() == 0.5 + 1 + 9 + 3
    assert jit(x, k=2.0).item() == 0.5 + 1 + 9 + 3.0
    assert jit(x, k=4.0, on=[True, False], m=[1, 2]).item() == 1.0 + 2 + 2 + 1.0


CPP = """
#include "oneflow/core/framework/framework.h"
INCLUDES
namespace oneflow {
REGISTRATION
class FormsKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const Scalar k = ctx->Attr<Scalar>("k");
    const auto on = ctx->Attr<std::vector<bool>>("on");
    const auto j = ctx->Attr<std::optional<Scalar>>("j");
    double value = k.As<double>() + (k.IsBool() ? 0.125 : k.IsIntegral() ? 0.25 : 0.5);
    for (size_t i = 0; i < on.size(); ++i) { value += on[i] ? 10.0 * (i + 1) : 0.0; }
    value += j ? 100 * j->As<double>() : 0.0;
    for (int64_t i = 0; i < x->shape_view().elem_cnt(); ++i) {
      ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>()[i] = x->dptr<float>()[i] * value;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("NAME").SetCreateFn<FormsKernel>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == DataType::kFloat);
}  // namespace oneflow
"""
REGISTRATION = """
REGISTER_USER_OP("NAME")
    .Input("x").Output("y")
    .Attr<Scalar>("k", 2).Attr<std::vector<bool>>("on", {true, false}).Attr<std::optional<Scalar>>("j")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
      *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP_GRAD("NAME").SetGenBackwardOpConfFn(
    [](const user_op::UserOpWrapper& op, const user_op::AddOpFn& add) -> Maybe<void> {
      user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
      const auto grad = builder.Op("NAME").Input("x", op.GetGradTensorWithOpOutput("y", 0)).Output("y")
          .Attr("k", op.attr<Scalar>("k")).Attr("on", op.attr<std::vector<bool>>("on"))
          .Attr("j", op.attr<std::optional<Scalar>>("j")).Build();
      op.BindGradTensorWithOpInput(grad.output("y", 0), "x", 0);
      add(grad);
      return Maybe<void>::Ok();
    });
"""
CALLS = [({}, 2.25 + 10), ({"k": 2.0, "on": []}, 2.5), ({"k": True, "on": [False, True], "j": 1.5}, 1.125 + 20 + 150)]


def test_in_oneflows_spelling():
    source = CPP.replace("INCLUDES", "").replace("REGISTRATION", REGISTRATION).replace("NAME", "cpp_forms")
    op = oneop.load_inline("cpp_forms", source).cpp_forms
    for attrs, expected in CALLS:
        x = torch.ones(2, requires_grad=True)
        y = op(x, **attrs)
        y.sum().backward()
        assert y.tolist() == x.grad.tolist() == [expected] * 2
    assert [str(attr) for attr in get_op("cpp_forms").attrs] == [
        "k: scalar = 2",
        "on: list of bool = [True, False]",
        "j: scalar or None = None",
    ]


def test_from_a_td_file(tmp_path):
    (tmp_path / "ops.td").write_text(
        'def OneFlow_TdFormsOp : OneFlow_BaseOp<"td_forms", [NoGrad]> {\n'
        "  let input = (ins OneFlow_Tensor:$x);\n  let output = (outs OneFlow_Tensor:$y);\n"
        '  let attrs = (ins DefaultValuedAttr<ScalarAttr, "2">:$k,\n'
        '    DefaultValuedAttr<BoolArrayAttr, "{true, false}">:$on,\n'
        "    OptionalAttr<ScalarAttr>:$j);\n}\n"
    )
    source = CPP.replace("INCLUDES", '#include "oneflow/core/framework/op_generated.h"').replace("REGISTRATION", "")
    (tmp_path / "kernel.cpp").write_text(source.replace("NAME", "td_forms"))
    oneop.load(oneop.build("td_forms", [tmp_path / "kernel.cpp"], ods=[tmp_path / "ops.td"]))
    for attrs, expected in CALLS:
        assert oneop.ops.td_forms(torch.ones(1), **attrs).item() == expected


def test_a_card_names_the_types():
    seen_by("carded(Tensor x, *, int[2] k=1, Scalar s=2.0, bool[] on=[]) -> Tensor")
    card = render(collect("carded", check=False, bench=False))
    for text in ("list of int64 of length 2", "scalar", "list of bool"):
        assert text in card


def test_gradients_and_jobs_that_train():
    op = oneop.define("scaled(Tensor x, *, Scalar k=2, bool[2] on=True) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, k, on: (x * float(k) * (1 + on[0])).astype(np.float32))
    op.register_grad(lambda ctx, dy: dy * float(ctx.k) * (1 + ctx.on[0]))
    x = torch.ones(2, requires_grad=True)
    for program in (
        lambda x: op(x, k=3, on=[False, True]),
        torch.compile(lambda x: op(x, k=3, on=[False, True]), backend="aot_eager", fullgraph=True),
    ):
        x.grad = None
        program(x).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    assert torch.func.vmap(torch.func.grad(lambda x: op(x, k=2.5).sum()))(torch.ones(2, 3)).tolist() == [[5.0] * 3] * 2
