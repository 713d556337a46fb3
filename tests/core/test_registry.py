"""The registries as Python sees them."""

import pytest

import oneop


def test_list_ops(ops):
    names = oneop.list_ops()
    assert names == sorted(names) and {"t_relu", "t_relu_grad", "t_range"} <= set(names)
    assert dir(oneop.ops) == names


def test_definition(ops, defined):
    op = oneop.get_op("t_relu")
    assert op.schema == "oneop::t_relu(Tensor x, *, float alpha=0.5) -> Tensor"
    assert [arg.name for arg in op.inputs] == ["x"] and [arg.name for arg in op.outputs] == ["y"]
    assert str(op.attrs[0]) == "alpha: float = 0.5"
    assert str(op.source).endswith(defined("t_relu")) and op.source.library == "t_relu"
    assert {kernel.dtype for kernel in op.kernels} >= {"float32", "float64", "bfloat16", "int8"}
    assert all(kernel.device == "cpu" and kernel.language == "c++" for kernel in op.kernels)
    assert op.grad is not None and op.has_inference and not op.no_grad and not op.has_sbp


@pytest.mark.parametrize(
    "name, schema",
    [
        ("t_add_n", "(Tensor[] in_) -> Tensor"),
        ("t_affine", "(Tensor x, Tensor? scale=None, Tensor? bias=None) -> Tensor"),
        ("t_parts", "(Tensor x) -> (Tensor, Tensor)"),
        ("t_multiples", "(Tensor x, *, int[] output_counts=[1, 0]) -> Tensor[]"),
        ("t_range", "(*, int[] shape, ScalarType dtype=6, float step=1., Device? device=None) -> Tensor"),
        ("t_accumulate", "(Tensor x, Tensor(a!) total) -> Tensor"),
        (
            "t_attrs",
            '(Tensor in_, *, int i32=1, int i64=1099511627776, bool b=True, float f=0.5, float d=0.1, str s="text", '
            "int[] shape=[2, 3], ScalarType dtype=6, int[] i32s=[1, 2], int[] i64s=[1099511627776], "
            "float[] fs=[0.5, 1.5], int[] dtypes=[1, 7], int[][] shapes=[[1], [2, 2]], str[] ss=[a, b c]) -> Tensor",
        ),
    ],
)
def test_schemas(ops, name, schema):
    assert oneop.get_op(name).schema.replace("0.10000000000000001", "0.1") == f"oneop::{name}{schema}"


def test_traits(ops):
    x, total = oneop.get_op("t_accumulate").inputs
    assert total.is_mutable and not total.requires_grad and x.requires_grad and not x.is_mutable
    y, count = oneop.get_op("t_pick").outputs
    assert y.requires_grad and not count.requires_grad
    assert oneop.get_op("t_columns").non_contiguous and oneop.get_op("t_affine").no_grad


def test_show(ops, capsys, defined, place):
    op = oneop.show("t_choice")
    text = capsys.readouterr().out
    folder = str(op.source.file).rsplit("/", 1)[0] + "/"
    kernels = [place('USER_KERNEL("t_choice")', i) for i in range(4)]
    assert text.replace(folder, "") == (
        f"t_choice  {defined('t_choice')}\n"
        '  schema   oneop::t_choice(Tensor x, *, str mode="plain") -> Tensor\n'
        "  inputs   x\n"
        "  outputs  y\n"
        "  attrs    mode: string = 'plain'\n"
        "  traits   no gradient\n"
        "  gradient not differentiable\n"
        "  sbp      broadcast only\n"
        "  kernels\n"
        f"    cpu   float32  c++   {kernels[0]}\n"
        f'    cpu   float32  c++   {kernels[1]}  priority 10  if attr("mode") == quick\n'
        f'    any   float32  c++   {kernels[2]}  if attr("mode") == tie\n'
        f"    cuda  any      cuda  {kernels[3]}\n"
    )


def test_show_an_op_with_little(ops, capsys):
    oneop.show("t_no_inference")
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "  kernels  none"


def test_show_arguments_of_all_kinds(ops, capsys):
    oneop.show("t_multiples")
    assert "  outputs  out x1+, sum (optional)\n" in capsys.readouterr().out
    oneop.show("t_accumulate")
    text = capsys.readouterr().out
    assert "  inputs   x, total (changed in place)\n" in text and "gradient /" in text


def test_sbp_signatures(inline):
    inline("""
        REGISTER_USER_OP("i_sbp").Input("x").Input("w").Output("y").NoGrad().SetTensorDescInferFn(Same).SetGetSbpFn(
            [](user_op::SbpContext* ctx) -> Maybe<void> {
              ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Broadcast(user_op::OpArg("w", 0))
                  .Split(user_op::OpArg("y", 0), 0).Build();
              return Maybe<void>::Ok();
            });
    """)
    assert oneop.get_op("i_sbp").has_sbp
    assert oneop.sbp_signatures("i_sbp", [(4, 3), (3,)]) == [
        {"x": ["S(0)"], "w": ["B"], "y": ["S(0)"]},
        {"x": ["B"], "w": ["B"], "y": ["B"]},
    ]
