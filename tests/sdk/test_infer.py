"""InferContext in the words of three API generations, and what is written back to the host."""

import pytest
from sdk_pieces import call, unit


def infer_op(name: str, body: str, args: str = '.Input("in").Output("out")') -> str:
    return f"""REGISTER_USER_OP("{name}"){args}.SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {{
{body}
  return Maybe<void>::Ok();
}});"""


GENERATIONS = {
    "pointers_2020": """
  const Shape* in_shape = ctx->Shape4ArgNameAndIndex("in", 0);
  Shape* out_shape = ctx->Shape4ArgNameAndIndex("out", 0);
  *out_shape = *in_shape;
  out_shape->Set(0, in_shape->At(0) + 1);
  DataType* type = ctx->Dtype4ArgNameAndIndex("out", 0);
  *type = DataType::kDouble;
  *ctx->IsDynamic4ArgNameAndIndex("out", 0) = true;
  user_op::TensorDesc* desc = ctx->TensorDesc4ArgNameAndIndex("out", 0);
  CHECK_OR_RETURN(desc->shape() == *out_shape && desc->data_type() == kDouble && desc->is_dynamic());
  CHECK_OR_RETURN(ctx->TensorDesc4ArgNameAndIndex("in", 0)->shape().NumAxes() == 2);""",
    "descs_2020": """
  user_op::TensorDesc* out = ctx->TensorDesc4ArgNameAndIndex("out", 0);
  *out = *ctx->TensorDesc4ArgNameAndIndex("in", 0);
  *out->mut_shape() = Shape({3, 3});
  *out->mut_data_type() = kDouble;
  out->set_is_dynamic(true);""",
    "outputs_2022": """
  const Shape& in_shape = ctx->InputShape("in", 0);
  *ctx->OutputShape("out", 0) = Shape({in_shape.At(0) + 1, in_shape.At(1)});
  *ctx->OutputDType("out", 0) = ctx->InputDType("in", 0) == kFloat ? kDouble : kInt8;
  *ctx->OutputIsDynamic("out", 0) = !ctx->InputIsDynamic("in", 0);
  user_op::TensorDesc* desc = ctx->OutputTensorDesc("out", 0);
  CHECK_EQ_OR_RETURN(desc->shape().elem_cnt(), 9);
  Shape* shape = ctx->OutputShape("out", 0);
  CHECK_EQ_OR_RETURN(shape->NumAxes(), 2);""",
    "setters_now": """
  const user_op::TensorDesc& in = ctx->InputTensorDesc("in", 0);
  ctx->SetOutputShape("out", 0, Shape({in.shape().At(0) + 1, 3}));
  ctx->SetOutputDType("out", 0, kDouble);
  ctx->SetOutputIsDynamic("out", 0, true);
  const Shape& out_shape = ctx->OutputShape("out", 0);
  DataType type = ctx->OutputDType("out", 0);
  CHECK_OR_RETURN(out_shape == Shape({3, 3}) && type == kDouble && ctx->OutputIsDynamic("out", 0));
  const user_op::TensorDesc& out = ctx->OutputTensorDesc("out", 0);
  CHECK_EQ_OR_RETURN(out.shape(), ctx->OutputShape("out", 0));
  ctx->MutOutputTensorDesc("out", 0)->set_data_type(kDouble);""",
    "mixed": """
  const Shape& a = ctx->Shape4ArgNameAndIndex("in", 0);
  Shape b = ctx->Shape4ArgNameAndIndex("in", 0);
  Shape c(ctx->Shape4ArgNameAndIndex("in", 0));
  auto d = ctx->Shape4ArgNameAndIndex("in", 0);
  CHECK_OR_RETURN(a == b && b == c && d == a && a == d && *d == a && !(d != a) && d == d);
  CHECK_EQ_OR_RETURN(d.NumAxes(), d->NumAxes());
  CHECK_EQ_OR_RETURN(ctx->OutputShape("out", 0).elem_cnt(), 6);
  CHECK_EQ_OR_RETURN(d.dim_vec().size(), 2);
  CHECK_EQ_OR_RETURN(CreateReducedShape(*d, {0}), Shape({1, 3}));
  auto type = ctx->Dtype4ArgNameAndIndex("in", 0);
  CHECK_OR_RETURN(type == kFloat && kFloat == type && *type == kFloat && DataType_Name(type) == "kFloat");
  switch (type) { case kFloat: break; default: return Error::TypeError(); }
  if (ctx->IsDynamic4ArgNameAndIndex("in", 0)) { return Error::TypeError(); }
  bool dynamic = ctx->OutputIsDynamic("out", 0);
  CHECK_OR_RETURN(!dynamic);
  CHECK_EQ_OR_RETURN(ctx->InputTensorDesc("in", 0).data_type(), ctx->InputTensorDesc("in", 0)->data_type());
  CHECK_EQ_OR_RETURN(ctx->OutputDType("out", 0), ctx->InputDType("in", 0));
  CHECK_EQ_OR_RETURN(ctx->InputStride("in", 0), Stride({3, 1}));
  ctx->OutputShape("out", 0) = Shape({3, 3});
  *ctx->OutputDType("out", 0) = kDouble;
  ctx->SetIsDynamic4ArgNameAndIndex("out", 0, true);""",
}


@pytest.fixture(scope="module")
def generations(builder):
    return builder.library(unit(*(infer_op(name, body) for name, body in GENERATIONS.items())))


@pytest.mark.parametrize("name", GENERATIONS)
def test_one_header_serves_every_generation(name, generations, drive):
    assert drive(generations, *call(name, shape=(2, 3)), "infer") == ["infer 0", "out 3 (3,3) (3,1) dynamic"]


MORE = [
    infer_op("untouched", "  (void)ctx;"),
    infer_op("strides", 'ctx->SetOutputStride("out", 0, Stride({1, 2}));'),
    infer_op("scalar", '*ctx->OutputShape("out", 0) = Shape();'),
    infer_op("deep", '*ctx->OutputShape("out", 0) = Shape(DimVector(32, 1));'),
    infer_op("too_deep", '*ctx->OutputShape("out", 0) = Shape(DimVector(33, 1));'),
    infer_op("no_arg", 'ctx->InputShape("x", 0);'),
    infer_op("no_index", 'ctx->InputShape("in", 1);'),
    infer_op("no_output", 'ctx->OutputShape("in", 0);'),
    infer_op("no_axis", 'ctx->InputShape("in", 0).At(2);'),
    infer_op(
        "facts",
        """
  CHECK_EQ_OR_RETURN(ctx->op_name(), "facts_0");
  CHECK_EQ_OR_RETURN(ctx->op_type_name(), "facts");
  CHECK_OR_RETURN(ctx->has_input("in", 1) && !ctx->has_input("in", 2) && !ctx->has_input("bias", 0));
  CHECK_EQ_OR_RETURN(ctx->input_size("in"), 2);
  CHECK_EQ_OR_RETURN(ctx->input_size("bias"), 0);
  CHECK_EQ_OR_RETURN(ctx->inputs().size(), 2);
  CHECK_EQ_OR_RETURN(ctx->inputs().at(1).first, "in");
  CHECK_EQ_OR_RETURN(ctx->inputs().at(1).second, 1);
  CHECK_EQ_OR_RETURN(ctx->outputs().size(), 1);
  CHECK_EQ_OR_RETURN(ctx->input("in", 1), "facts_0/in_1");
  CHECK_EQ_OR_RETURN(ctx->parallel_ctx().parallel_num(), 1);
  CHECK_EQ_OR_RETURN(ctx->user_op_conf().input_size("in"), 2);
  CHECK_EQ_OR_RETURN(ctx->LogicalTensorDesc4ArgNameAndIndex("in", 0)->shape(), Shape({2}));
  CHECK_OR_RETURN(ctx->NdSbp4ArgNameAndIndex("in", 0).sbp_parallel(0).has_broadcast_parallel());
  CHECK_OR_RETURN(ctx->SbpParallel4ArgNameAndIndex("in", 0).has_broadcast_parallel());""",
        '.InputWithMinimum("in", 1).OptionalInput("bias").Output("out")',
    ),
    # dtype is that of the first input where the author sets only the shape
    infer_op(
        "only_shape",
        """
  const Shape* dy_shape = ctx->Shape4ArgNameAndIndex("in", 0);
  Shape* dx_shape = ctx->Shape4ArgNameAndIndex("out", 0);
  *dx_shape = *dy_shape;""",
    ),
    """REGISTER_USER_OP("reshape").Input("in").Output("out").Attr("shape", UserOpAttrType::kAtShape)
    .SetShapeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape* in_shape = ctx->Shape4ArgNameAndIndex("in", 0);
      Shape* out_shape = ctx->Shape4ArgNameAndIndex("out", 0);
      Shape conf_shape = ctx->GetAttr<Shape>("shape");
      CHECK_EQ(in_shape->NumAxes(), conf_shape.NumAxes());
      *out_shape = conf_shape;
      return Maybe<void>::Ok();
    });""",
    """REGISTER_USER_OP("halve").Input("in").Output("out")
    .SetDataTypeInferFn([](user_op::InferContext* ctx) {
      DataType* out_tensor_type = ctx->Dtype4ArgNameAndIndex("out", 0);
      *out_tensor_type = DataType::kDouble;
      return Maybe<void>::Ok();
    });""",
]


@pytest.fixture(scope="module")
def more(builder):
    return builder.library(unit(*MORE))


def test_what_is_written_back(more, drive):
    strided = ["op untouched", "in in", "t 2 2 3 :", "strides 1 2", "out out", "infer"]
    assert drive(more, *strided) == ["infer 0", "out 2 (2,3) (3,1)"]  # contiguous, though the input is not
    assert drive(more, *call("strides", shape=(2, 3)), "infer") == ["infer 0", "out 2 (2,3) (1,2)"]
    assert drive(more, *call("scalar", shape=(2, 3)), "infer") == ["infer 0", "out 2 () ()"]
    assert drive(more, *call("deep", shape=(2,)), "infer")[0] == "infer 0"
    assert drive(more, *call("only_shape", shape=(2,), dtype="int64"), "infer") == ["infer 0", "out 6 (2) (1)"]
    assert drive(more, *call("halve", shape=(2,)), "infer_dtype") == ["infer_dtype 0", "out 3 (2) (1)"]


def test_what_a_context_knows(more, drive):
    script = ["op facts", "in in", "t 2 2 : 1 2", "t 2 2 : 3 4", "in bias", "out out", "infer"]
    assert drive(more, *script) == ["infer 0", "out 2 (2) (1)"]


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("too_deep", "3 a shape has 33 dimensions, there may be 32"),
        ("no_arg", '4 op "no_arg" has no input "x"; its inputs are: in'),
        ("no_index", '4 op "no_index" has 1 tensor in input "in", not one of index 1'),
        ("no_output", '4 op "no_output" has no output "in"; its outputs are: out'),
        ("no_axis", "4 axis 2 of a shape with 2 dimensions"),
    ],
)
def test_errors(op, message, more, drive):
    _, kind, place, text = drive(more, *call(op, shape=(2, 3)), "infer")[0].split(" ", 3)
    assert f"{kind} {text}" == message
    assert place.startswith("ops0.cpp:")  # the registration, for an error that the SDK found


def test_a_failed_check_is_an_error_with_its_line(more, drive):
    reshape = [*call("reshape", shape=(2, 3)), "attr shape 7 6", "infer"]
    message = "Check failed: in_shape->NumAxes() == conf_shape.NumAxes() (2 vs. 1)"
    assert drive(more, *reshape)[0].split(" ", 3)[3] == message
    assert drive(more, *call("reshape", shape=(2, 3)), "attr shape 7 3,2", "infer")[1] == "out 2 (3,2) (2,1)"


ARGS = '.InputWithMinimum("in", 1).OptionalInput("bias").Output("out")'
UTIL = "user_op::TensorDescInferFnUtil::"
READY = unit(
    f'REGISTER_USER_OP("same"){ARGS}.SetTensorDescInferFn({UTIL}Unchanged).SetDataTypeInferFn({UTIL}UnchangedDataType);',
    f'REGISTER_USER_OP("first"){ARGS}.SetTensorDescInferFn({UTIL}OneopLikeFirstInput);',
    f'REGISTER_USER_OP("source").Output("out").SetTensorDescInferFn({UTIL}Unchanged)'
    f".SetDataTypeInferFn({UTIL}UnchangedDataType);",
    f'REGISTER_USER_OP("pairs"){ARGS}.SetTensorDescInferFn({UTIL}InOutCorrespond);',
)


def ready(op, *tensors, bias=()):
    """A frame with these tensors, each as the host's command says it."""
    return [
        f"op {op}",
        "in in",
        *(f"t {each} :" for each in tensors),
        "in bias",
        *(f"t {each} :" for each in bias),
        "out out",
    ]


@pytest.mark.parametrize(
    "generation", [None, 2020, *(pytest.param(year, marks=pytest.mark.slow) for year in (2022, 2024))]
)
def test_ready_made_inference_looks_at_every_input(generation, builder, drive):
    """OneFlow of 2020 compares data types in Unchanged, later ones in UnchangedDataType."""
    library = builder.library(READY, flags=() if generation is None else (f"-DONEOP_PORT={generation}",))

    def run(*script, what="infer"):
        line = drive(library, *script, what)[0]
        return line if line.startswith(what) else line.split(" ", 3)[3]

    unchanged, of_type = "TensorDescInferFnUtil::Unchanged: ", "TensorDescInferFnUtil::UnchangedDataType: "
    assert run(*ready("same", "2 3", "2 3")) == "infer 0"
    assert run(*ready("same", "2 3", "2 3", bias=["2 3"])) == "infer 0"
    assert run(*ready("same", "2 3"), what="infer_dtype") == "infer_dtype 0"
    shapes = unchanged + 'all inputs must have the same shape; "in" is '
    assert run(*ready("same", "2 4", "2 2")) == shapes + '(4), "in" 1 is (2)'
    assert run(*ready("same", "2 4", "2 4", "2 2 2")) == shapes + '(4), "in" 2 is (2,2)'
    assert run(*ready("same", "2 4", bias=["2"])) == shapes + '(4), "bias" is ()'
    assert run(*ready("same", "2 0", bias=["2 1"])) == shapes + '(0), "bias" is (1)'
    types = 'all inputs must have the same data type; "in" holds kFloat, "bias" holds kDouble'
    assert run(*ready("same", "2 4", bias=["3 4"]), what="infer_dtype") == of_type + types
    assert run(*ready("same", "2 4", bias=["3 4"])) == (unchanged + types if generation == 2020 else "infer 0")
    assert run(*ready("first", "2 4", "3 7")) == "infer 0"
    no_input = "it has no input that its outputs could be like"
    assert run("op source", "out out").startswith(unchanged + no_input)
    assert run("op source", "out out", what="infer_dtype").startswith(of_type + no_input)
    assert run(*ready("pairs", "2 4", "2 3")).endswith("output i is like input i, and there are 2 inputs and 1 outputs")
