"""Gradients: which ops and binds they send, that they are lazy, and what is said when they are wrong."""

import pytest
from sdk_pieces import unit

NEW_FORM = """
REGISTER_USER_OP_GRAD("relu").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const auto relu_grad_op_name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(relu_grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("relu_grad")
        .InputBind("y", ctx->FwOp().output("out", 0))
        .InputBind("dy", ctx->FwOp().output_grad("out", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("in", 0), [&ctx, &relu_grad_op_name]() {
    return ctx->GetOp(relu_grad_op_name).output("dx", 0);
  });
});

REGISTER_USER_OP_GRAD("leaky").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
  const std::string grad_name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad_name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("leaky_grad")
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .InputBind("x", ctx->FwOp().input("x", 0))
        .Attr("alpha", ctx->FwOp().attr<float>("alpha"))
        .Attr<std::vector<int32_t>>("axes", {1, 2})
        .Attr("mode", "fast")
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad_name]() -> const std::string& {
    return ctx->GetOp(grad_name).output("dx", 0);
  });
  return Maybe<void>::Ok();
});

// Two gradients of one op, a chain of ops, and one that nobody asks for.
void Chain(user_op::BackwardOpConfContext* ctx) {
  const auto& op = ctx->FwOp();
  ctx->DefineOp("never", [](user_op::BackwardOpBuilder& builder) { return builder.OpTypeName("never").Build(); });
  ctx->DefineOp("first", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("split").InputBind("in", op.output_grad("out", 1)).Output("out", 2).Output("rest")
        .Build();
  });
  ctx->DefineOp("second", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("add").InputBind("in", ctx->GetOp("first").output("out", 0))
        .InputBind("in", ctx->GetOp("first").output("rest", 0)).InputBind("in", op.input("a", 1)).Output("out").Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("a", 0), [&]() { return ctx->GetOp("second").output("out", 0); });
  ctx->FwOp().InputGradBind(user_op::OpArg("a", 1), [&]() { return ctx->GetOp("first").output("out", 1); });
  ctx->FwOp().InputGradBind(user_op::OpArg("b", 0), [&]() { return op.output_grad("out", 0); });
  CHECK(!op.HasGradTensor4OpOutput("out", 0) && op.HasGradTensor4OpOutput("out", 1));
  CHECK_EQ(op.input_size("a"), 2);
  CHECK_EQ(op.arg_tensor_desc("a", 0).shape(), Shape({2}));
  CHECK_EQ(op.TensorDesc4ArgNameAndIndex("out", 1).data_type(), kFloat);
  CHECK_EQ(op.attr_or_default<float>("gamma", 0.5f), 0.5f);
}
REGISTER_USER_OP_GRAD("chain").SetBackwardOpConfGenFn(Chain);
"""

OLD_FORM = """
REGISTER_USER_OP_GRAD("old").SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
  if (op.NeedGenGradTensor4OpInput("x", 0)) {
    user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
    user_op::UserOpConfWrapper grad_op = builder.Op("old_grad")
                                             .Input("dy", op.GetGradTensorWithOpOutput("y", 0))
                                             .Output("dx")
                                             .Attr("beta", op.attr<double>("beta"))
                                             .Build();
    op.BindGradTensorWithOpInput(grad_op.output("dx", 0), "x", 0);
    AddOp(grad_op);
    CHECK_EQ(grad_op.attr<double>("beta"), 2.0);
    CHECK(grad_op.has_output("dx", 0) && !grad_op.has_output("dx", 1) && grad_op.input_size("dy") == 1);
  }
});
REGISTER_USER_OP_GRAD("backwards").SetGenBackwardOpConfFn(
    [](const user_op::UserOpWrapper& op, const user_op::AddOpFn& AddOp) -> Maybe<void> {
  // Added before the op whose output it reads.
  user_op::UserOpConfWrapperBuilder first("first");
  const auto made = first.Op("make").Input("dy", op.GetGradTensorWithOpOutput("y", 0)).Output("t").Build();
  user_op::UserOpConfWrapperBuilder second("second");
  const auto used = second.Op("use").Input("t", made.output("t", 0)).Output("dx").Build();
  AddOp(used);
  AddOp(made);
  op.BindGradTensorWithOpInput(used.output("dx", 0), "x", 0);
  return Maybe<void>::Ok();
});
"""

# As seed 2 prints it: the op has `in` and `out`, its gradient asks for `x` and `y`.
WRONG = """
REGISTER_USER_OP_GRAD("user_relu").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
  const auto& grad_op_func = [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("user_relu_backward")
        .InputBind("y", ctx->FwOp().output("y", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  };
  ctx->DefineOp(grad_op_name, grad_op_func);
  const auto& dx_get_func = [&ctx, &grad_op_name]() -> const std::string& {
    return ctx->GetOp(grad_op_name).output("dx", 0);
  };
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), dx_get_func);
});
#define BROKEN(name, ...) \\
  REGISTER_USER_OP_GRAD(name).SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) { __VA_ARGS__ })
#define DEFINE(name, chain) \\
  ctx->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) { return builder chain.Build(); })
#define DX ctx->GetOp("g").output("dx", 0)
#define BIND(blob) ctx->FwOp().InputGradBind(user_op::OpArg("in", 0), [&]() { return blob; })
BROKEN("output", BIND(ctx->FwOp().output("y", 0)););
BROKEN("output_grad", BIND(ctx->FwOp().output_grad("in", 0)););
BROKEN("undefined", BIND(ctx->GetOp("g").output("dx", 0)););
BROKEN("twice", DEFINE("g", .OpTypeName("x")); DEFINE("g", .OpTypeName("x")););
BROKEN("built_output", DEFINE("g", .OpTypeName("x").Output("dx").Output("db", 2));
       BIND(ctx->GetOp("g").output("dy", 0)););
BROKEN("built_index", DEFINE("g", .OpTypeName("x").Output("dx")); BIND(ctx->GetOp("g").output("dx", 1)););
BROKEN("no_type", DEFINE("g", .Output("dx")); BIND(ctx->GetOp("g").output("dx", 0)););
BROKEN("blob", DEFINE("g", .OpTypeName("x").InputBind("dy", "nowhere").Output("dx")); BIND(DX););
BROKEN("bound", BIND(std::string("nowhere")););
BROKEN("both", BIND(ctx->FwOp().output_grad("out", 0)); BIND(ctx->FwOp().output_grad("out", 0)););
BROKEN("host", DEFINE("g", .OpTypeName("refuse_me").Output("dx")); BIND(ctx->GetOp("g").output("dx", 0)););
BROKEN("attr", ctx->FwOp().attr<float>("alpha"););
"""


@pytest.fixture(scope="module")
def grads(builder):
    return builder.library(unit(NEW_FORM), unit(OLD_FORM), unit(WRONG))


def frame(op: str, *lines: str) -> list[str]:
    return [f"op {op} {op}_1", *lines, "grad"]


ONE = ["in in", "t 2 2 : 1 2", "out out", "needs 1", "has 1"]
XY = ["in x", "t 2 2 : 1 2", "out y", "has 1"]


def test_the_seeds_gradient(grads, drive):
    assert drive(grads, *frame("relu", *ONE)) == ["add relu_1_grad relu_grad y=1 dy=2 -> dx*1", "bind 0 3", "grad 0"]


def test_nothing_is_built_for_an_input_that_needs_no_gradient(grads, drive):
    assert drive(grads, *frame("relu", "in in", "t 2 2 : 1 2", "out out", "needs 0", "has 1")) == ["grad 0"]


def test_attributes_of_backward_ops(grads, drive):
    assert drive(grads, *frame("leaky", *XY, "needs 1", "attr alpha 4 0.5")) == [
        "add leaky_1_grad leaky_grad dy=2 x=0 -> dx*1 alpha:4=0.5 axes:9=1,2 mode:6=fast",
        "bind 0 3",
        "grad 0",
    ]


CHAIN = ["in a", "t 2 2 : 1 2", "t 2 2 : 3 4", "in b", "t 2 1 : 5", "out out 2", "has 0 1"]


def test_ops_are_built_when_they_are_asked_for(grads, drive):
    # Blobs: inputs 0-2, outputs 3-4, their gradients 5-6, then the outputs of the backward ops.
    split, add = "add first split in=6 -> out*2 rest*1", "add second add in=7 in=9 in=1 -> out*1"
    assert set(drive(grads, *frame("chain", *CHAIN, "needs 1 1 1"))) == {
        split, add, "bind 0 10", "bind 1 8", "bind 2 5", "grad 0",
    }  # fmt: skip
    assert drive(grads, *frame("chain", *CHAIN, "needs 0 1 0")) == [split, "bind 1 8", "grad 0"]
    assert drive(grads, *frame("chain", *CHAIN, "needs 0 0 1")) == ["bind 2 5", "grad 0"]
    assert drive(grads, *frame("chain", *CHAIN, "needs 0 0 0")) == ["grad 0"]


def test_the_older_form(grads, drive):
    assert drive(grads, *frame("old", *XY, "needs 1", "attr beta 5 2")) == [
        "add old_1_grad old_grad dy=2 -> dx*1 beta:5=2",
        "bind 0 3",
        "grad 0",
    ]
    assert drive(grads, *frame("old", *XY, "needs 0", "attr beta 5 2")) == ["grad 0"]
    assert drive(grads, *frame("backwards", *XY, "needs 1")) == [
        "add first make dy=2 -> t*1",
        "add second use t=3 -> dx*1",
        "bind 0 4",
        "grad 0",
    ]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("user_relu", '4 op "user_relu" has no input "x"; its inputs are: in'),
        ("output", '4 op "output" has no output "y"; its outputs are: out'),
        ("output_grad", '4 op "output_grad" has no output "in"; its outputs are: out'),
        ("undefined", "1 op_name g has no builder function."),
        ("twice", "1 op_name g has been defined."),
        ("built_output", '4 op "x" was built without output "dy" of index 0; its outputs are: dx, db, db 1'),
        ("built_index", '4 op "x" was built without output "dx" of index 1; its outputs are: dx'),
        ("no_type", '1 the gradient of op "no_type" builds op "g" without OpTypeName'),
        ("blob", '1 the gradient of op "blob" gives "nowhere" to input "dy" of op "x", '
                 "but nothing makes a blob of that name"),
        ("bound", '1 the gradient of op "bound" binds "nowhere", which no op of it makes'),
        ("both", '1 the gradient of op "both" binds one input twice'),
        ("attr", '3 op "attr" has no attribute "alpha"; its attributes are: none'),
    ],
)  # fmt: skip
def test_wrong_gradients(op, message, grads, drive):
    error, last = drive(grads, *frame(op, *ONE))
    _, kind, place, text = error.split(" ", 3)
    assert f"{kind} {text}" == message
    assert place.startswith("ops2.cpp:")
    assert last == f"grad {kind}"


def test_an_error_of_the_host_is_handed_back_once(grads, drive):
    assert drive(grads, *frame("host", *ONE)) == ["add g refuse_me -> dx*1", "error 3 - refused", "grad 3"]
