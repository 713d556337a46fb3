"""SBP signatures, SBP inference, and argument modifiers."""

import pytest
from sdk_pieces import unit

SOURCE = unit(
    """
REGISTER_USER_OP("add_n").InputWithMinimum("in", 2).Output("out")
    .SetGetSbpFn([](user_op::SbpContext* ctx) {
      int64_t num_axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("in", 0).shape().NumAxes();
      for (int64_t i = 0; i < num_axes; ++i) {
        ctx->NewBuilder().Split(ctx->inputs(), i).Split(user_op::OpArg("out", 0), i).Build();
      }
      ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(user_op::OpArg("out", 0)).Build();
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP("forms").Input("in", 2).OptionalInput("bias").Output("out")
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      using user_op::OpArg;
      const std::vector<OpArg> args = {OpArg("in", 0), OpArg("in", 1)};
      ctx->NewBuilder().Broadcast(args).Broadcast(OpArg("bias", 0)).Broadcast(ctx->outputs()).Build();
      ctx->NewBuilder().Split({OpArg("in", 0), OpArg("out", 0)}, 1).PartialSum({OpArg("in", 1)}).Build();
      ctx->NewBuilder().Split(args, 0).Build();
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP("each").Input("in").Output("out")
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
REGISTER_USER_OP("each_of").OptionalInput("in", 2).OptionalInput("bias").Output("out")
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
REGISTER_USER_OP("none").Input("in").Output("out")
    .SetGetSbpFn(user_op::GetSbpFnUtil::DefaultBroadcastToBroadcast);
REGISTER_USER_OP("wrong").Input("in").Output("out").SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
  ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Build();
  return Maybe<void>::Ok();
});
REGISTER_USER_OP("nd").Input("in").Output("out").SetNdSbpInferFn(
    [](user_op::InferNdSbpFnContext* ctx) -> Maybe<void> {
  const NdSbp& hint = ctx->NdSbpHint4InputArgNameAndIndex("in", 0);
  CHECK_OR_RETURN(hint.sbp_parallel(0).has_split_parallel() && hint.sbp_parallel(0).split_parallel().axis() == 1);
  NdSbp* out = ctx->NdSbp4ArgNameAndIndex("out", 0);
  out->clear_sbp_parallel();
  out->add_sbp_parallel()->mutable_partial_sum_parallel();
  ctx->NdSbp4ArgNameAndIndex("in", 0)->mutable_sbp_parallel(0)->mutable_split_parallel()->set_axis(0);
  return Maybe<void>::Ok();
});
REGISTER_USER_OP("modified").Input("in", 2).OptionalInput("bias").Output("out")
    .SetInputArgModifyFn([](const user_op::GetInputArgModifier& get, const user_op::UserOpConfWrapper& conf)
                             -> Maybe<void> {
      user_op::InputArgModifier* modifier = get("in", 1);
      CHECK_OR_RETURN(modifier != nullptr);
      modifier->set_requires_grad(false);
      modifier->set_is_mutable(true);
      CHECK_OR_RETURN(get("bias", 0) == nullptr && !conf.has_input("bias", 0));
      return Maybe<void>::Ok();
    })
    .SetOutputArgModifyFn([](user_op::GetOutputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("out", 0)->set_header_infered_before_compute(false);
    });
"""
)


@pytest.fixture(scope="module")
def library(builder):
    return builder.library(SOURCE)


TWO = ["in in", "t 2 4 6 :", "t 2 4 6 :"]


def test_signatures(library, drive):
    assert drive(library, "op add_n", *TWO, "out out", "sbp") == ["sbp S0 S0 S0", "sbp S1 S1 S1", "sbp P P P", "done 0"]
    assert drive(library, "op each", "in in", "t 2 4 6 :", "out out", "sbp") == ["sbp S0 S0", "sbp S1 S1", "done 0"]
    assert drive(library, "op none", "in in", "t 2 4 6 :", "out out", "sbp") == ["done 0"]


def test_a_split_of_each_axis_wants_inputs_with_the_same_axes(library, drive):
    def message(*script):
        return drive(library, "op each_of", *script, "out out", "sbp")[0].split(" ", 3)[3]

    function = "GetSbpFnUtil::SplitForEachAxis: "
    axes = function + "all inputs must have the same number of axes; "
    assert message("in in", "t 2 4 6 :", "t 2 6 :", "in bias") == axes + '"in" has 2, "in" has 1'
    assert message(*TWO, "in bias", "t 2 :") == axes + '"in" has 2, "bias" has 0'
    assert message("in in", "in bias") == function + "it has no input to be split"
    given = drive(library, "op each_of", *TWO, "in bias", "t 2 1 1 :", "out out", "sbp")
    assert given == ["sbp S0 S0 S0 S0", "sbp S1 S1 S1 S1", "done 0"]


def test_every_form_of_the_builder(library, drive):
    signatures = ["sbp B B B", "sbp S1 P S1", "sbp S0 S0 ?", "done 0"]  # `?` is for the host to refuse
    assert drive(library, "op forms", *TWO, "in bias", "out out", "sbp") == signatures


def test_an_unknown_argument(library, drive):
    lines = drive(library, "op wrong", "in in", "t 2 4 :", "out out", "sbp")
    assert lines[0].endswith('op "wrong" has no argument "x"; its arguments are: in, out')


def test_nd_sbp(library, drive):
    assert drive(library, "op nd", "in in", "t 2 4 :", "out out", "mesh S1 B", "nd_sbp") == ["sbp S0 P", "done 0"]


def test_modifiers(library, drive):
    frame = ["op modified", *TWO, "in bias", "out out"]
    assert drive(library, *frame, "modify_inputs", "modify_outputs") == ["modify 0 011 101", "modify 0 010"]
