"""From definitions to a library: what is derived, what authors implement, and what they are told when they forget."""

import inspect
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import BuildError, OdsError
from oneop.ods.cpp import HEADER, generate_cpp
from oneop.ods.explain import explain
from oneop.ods.flags import FLAGS
from oneop.registry import isolated

KERNEL = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
class Twice final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const float factor = ctx->Attr<float>("factor");
    for (int64_t i = 0; i != x->shape_view().elem_cnt(); ++i) {
      y->mut_dptr<float>()[i] = factor * x->dptr<float>()[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("ods_twice").SetCreateFn<Twice>();
}  // namespace oneflow
"""

DERIVED = """
def OneFlow_OdsTwiceOp : OneFlow_BaseOp<"ods_twice", [NoSideEffect, NoGrad, SameOperandsAndResultType]> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let attrs = (ins DefaultValuedAttr<F32Attr, "2.">:$factor);
  let summary = "x times a factor";
  let description = [{
    The factor is "2" by default.
      Indented \U0001f600.
  }];
}
def OneFlow_OdsAttrsOp : OneFlow_BaseOp<"ods_attrs", [CpuOnly, SupportNonContiguous]> {
  let input = (ins Variadic<OneFlow_Tensor>:$in, Optional<OneFlow_Tensor>:$bias);
  let output = (outs OneFlow_Tensor:$out, Optional<OneFlow_Tensor>:$mask, Variadic<OneFlow_Tensor>:$more);
  let attrs = (ins
    BoolAttr:$a_bool, SI32Attr:$a_int32, SI64Attr:$a_int64, F32Attr:$a_float, F64Attr:$a_double, StrAttr:$a_string,
    ShapeAttr:$a_shape, OneFlow_DataType:$a_dtype, SI32ArrayAttr:$a_int32s, SI64ArrayAttr:$a_int64s,
    F32ArrayAttr:$a_floats, StrArrayAttr:$a_strings, ShapeArrayAttr:$a_shapes, DTArrayAttr:$a_dtypes,
    ComplexDoubleAttr:$a_complex, BytesAttr:$a_bytes, OneFlow_MemoryFormat:$a_format,
    DefaultValuedAttr<BoolAttr, "true">:$d_bool, DefaultValuedAttr<SI32Attr, "-1">:$d_int32,
    DefaultValuedAttr<F64Attr, "1e-5">:$d_double, DefaultValuedAttr<StrAttr, "\\"none\\"">:$d_string,
    DefaultValuedAttr<ShapeAttr, "Shape({2, 3})">:$d_shape, DefaultValuedAttr<OneFlow_DataType, "kFloat">:$d_dtype,
    DefaultValuedAttr<SI64ArrayAttr, "{1, 2}">:$d_int64s, DefaultValuedAttr<BoolAttr, "0.">:$odd_bool
  );
}
"""


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def write(folder: Path, **files: str) -> dict[str, Path]:
    paths = {name: folder / name.replace("_", ".", 1) for name in files}
    for name, text in files.items():
        paths[name].write_text(text)
    return paths


def test_an_op_without_any_cpp_function(tmp_path):
    files = write(tmp_path, ops_td=DERIVED, kernel_cpp=KERNEL)
    library = oneop.load(oneop.build("ods_derived", files["kernel_cpp"], ods=files["ops_td"]))
    assert set(library.ops) == {"ods_twice", "ods_attrs"}
    assert torch.equal(oneop.ops.ods_twice(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.equal(oneop.ops.ods_twice(torch.ones(3), factor=3.0), torch.full((3,), 3.0))
    doc = oneop.ops.ods_twice.__doc__
    assert doc.startswith(
        'x times a factor\n\nThe factor is "2" by default.\n  Indented \U0001f600.\n\noneop::ods_twice('
    )
    assert "output_counts=[1, 0, 1]" in str(inspect.signature(oneop.ops.ods_attrs))
    op = oneop.get_op("ods_twice")
    assert (op.source.file, op.source.line) == (str(files["ops_td"]), 2)
    assert op.no_grad and len(oneop.sbp_signatures("ods_twice", [(4, 4)])) == 3
    attrs = oneop.get_op("ods_attrs")
    assert attrs.cpu_only and attrs.non_contiguous and not attrs.no_grad
    assert [str(arg) for arg in attrs.inputs] == ["in x1+", "bias (optional)"]
    assert [str(arg) for arg in attrs.outputs] == ["out", "mask (optional)", "more x1+"]
    defaults = {attr.name: attr.default for attr in attrs.attrs}
    assert len(defaults) == 25 and all(attr.has_default for attr in attrs.attrs)
    assert (defaults["d_bool"], defaults["d_int32"], defaults["odd_bool"]) == ("True", "-1", "False")


def test_an_edit_of_one_definition_keeps_the_kernels_object(tmp_path):
    files = write(tmp_path, ops_td=DERIVED, kernel_cpp=KERNEL)
    first = oneop.build("ods_edit", files["kernel_cpp"], ods=files["ops_td"])
    assert oneop.build("ods_edit", files["kernel_cpp"], ods=files["ops_td"]).cached
    files["ops_td"].write_text(DERIVED.replace('"2."', '"4."'))
    second = oneop.build("ods_edit", files["kernel_cpp"], ods=files["ops_td"])
    commands = (second.log_path.parent / "build.log").read_text()
    assert not second.cached and second.path != first.path
    assert "op_generated.cpp" in commands and "-c " + str(files["kernel_cpp"]) not in commands


FLAGGED = """
def OneFlow_OdsFlagOp : OneFlow_BaseOp<"ods_flag"> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let has_check_fn = 1;
  let has_nd_sbp_infer_fn = 1;
  let has_output_blob_time_shape_infer_fn = 1;
}
"""
CHECK = """
#include "oneflow/core/framework/op_generated.h"
namespace oneflow {
Maybe<void> OdsFlagOp::CheckAttr(const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper&) {
  return Maybe<void>::Ok();
}
}  // namespace oneflow
"""
EXTRA = """
#include "oneflow/core/framework/op_generated.h"
namespace oneflow {
Maybe<void> OdsFlagOp::InferDataType(user_op::InferContext* ctx) { return Maybe<void>::Ok(); }
Maybe<void> OdsFlagOp::CheckAttr(const user_op::UserOpDefWrapper&) { return Maybe<void>::Ok(); }
}  // namespace oneflow
"""


def test_flags_without_functions_are_named(tmp_path):
    files = write(tmp_path, ops_td=FLAGGED, ops_cpp=CHECK)
    with pytest.raises(BuildError) as caught:
        oneop.build("ods_missing", files["ops_cpp"], ods=[files["ops_td"]])
    text = str(caught.value)
    assert 'op "ods_flag": has_nd_sbp_infer_fn is set, but OdsFlagOp::InferNdSbp is not defined' in text
    assert "define Maybe<void> OdsFlagOp::InferNdSbp(user_op::InferNdSbpFnContext* ctx)" in text
    assert "has_output_blob_time_shape_infer_fn is set" in text and f"remove the flag at {files['ops_td']}:2" in text
    assert "has_check_fn" not in text and "undefined reference" not in text


def test_functions_without_flags_are_named(tmp_path):
    files = write(tmp_path, ops_td=FLAGGED, extra_cpp=EXTRA)
    with pytest.raises(BuildError) as caught:
        oneop.build("ods_extra", files["extra_cpp"], ods=[files["ops_td"]])
    text = str(caught.value)
    assert f'"ods_flag": OdsFlagOp::InferDataType is defined at {files["extra_cpp"]}:4' in text
    assert "but has_data_type_infer_fn is not set" in text
    assert f"add `let has_data_type_infer_fn = 1;` to the definition at {files['ops_td']}:2" in text
    assert "OdsFlagOp::CheckAttr" in text and "other parameters than its flag promises" in text


def test_what_other_compilers_say():

    from oneop.ods import OdsOp

    op = OdsOp(
        name="a", cpp_class="AOp", inputs=(), outputs=(), attrs=(), traits=(), flags=("has_check_fn",),
        output_buffer_num=None, summary="", description="", file="a.td", line=1, column=5,
    )  # fmt: skip
    lld = "ld.lld: error: undefined symbol: oneflow::AOp::CheckAttr(oneflow::user_op::UserOpDefWrapper const&)"
    assert "has_check_fn is set" in (explain(lld, [op]) or "")
    clang = "a.cpp:4:20: error: out-of-line definition of 'GetSbp' does not match any declaration in 'oneflow::AOp'"
    assert "has_get_sbp_fn is not set" in (explain(clang, [op]) or "")
    assert explain("a.cpp:1:1: error: something else", [op]) is None
    assert explain("undefined reference to `oneflow::BOp::CheckAttr(int)'", [op]) is None


def test_every_flag_is_declared_and_registered(tmp_path):
    flags = "".join(f"  let {flag} = 1;\n" for flag in FLAGS)
    (tmp_path / "ops.td").write_text(f'def OneFlow_AOp : OneFlow_BaseOp<"a"> {{\n{flags}}}')
    texts = generate_cpp(oneop.ods.read_ops(tmp_path / "ops.td"))
    for flag in FLAGS.values():
        assert f"static {flag.declaration()};" in texts[HEADER]
        assert f".{flag.setter}(+oneop_AOp_{flag.function})" in texts["op_generated.cpp"]


@pytest.mark.parametrize(
    "text, says",
    [
        ('def OneFlow_AOp : OneFlow_BaseOp<"a"> { let output = (outs OneFlow_Tensor:$y); }', "no input"),
        (
            'class C<string s> : OneFlow_BaseOp<s> { bit has_odd = 1; } def OneFlow_AOp : C<"a">;',
            "unknown flag has_odd",
        ),
        *(
            (
                'def OneFlow_AOp : OneFlow_BaseOp<"a"> { let input = (ins OneFlow_Tensor:$x);\n'
                f'let attrs = (ins DefaultValuedAttr<{type}, "{default}">:$k); }}',
                r"ops.td:2:\d+: error: the default .* of attribute \$k " + says,
            )
            for type, default, says in [
                ("SI32Attr", "1.5", "is no int32"),
                ("SI32Attr", "2147483648", "is out of the range of int32"),
                ("SI64Attr", "99999999999999999999", "is out of the range of int64"),
                ("SI64Attr", "9" * 100, "has more than 64 bits"),
                ("F32Attr", "1e300", "is out of the range of float"),
                ("F64Attr", "1e400", "is out of the range of double"),
                ("BoolAttr", "2", "is no bool"),
                ("SI32ArrayAttr", "{1, 2.5}", "is no int32"),
            ]
        ),
    ],
)
def test_ops_that_cannot_work_are_refused(text, says, tmp_path):
    (tmp_path / "ops.td").write_text(text)
    with pytest.raises(OdsError, match=says):
        oneop.build("ods_refused", ods=tmp_path / "ops.td")


def test_one_name_in_two_files(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"a">;')
    with pytest.raises(OdsError, match=r"two.td:1:5: error: .* is defined already, at .*one.td:1:5"):
        oneop.build("ods_twice_named", ods=[tmp_path / "one.td", tmp_path / "two.td"])


def test_without_definitions_the_missing_header_is_explained(tmp_path):
    (tmp_path / "a.cpp").write_text('#include "oneflow/core/framework/op_generated.h"\n')
    with pytest.raises(BuildError, match=r"ods=\[\.\.\.\]"):
        oneop.build("ods_no_header", tmp_path / "a.cpp")


def test_an_absent_file(tmp_path):
    with pytest.raises(BuildError, match="is not there"):
        oneop.build("ods_absent", ods=[tmp_path / "absent.td"])


def test_many_ops_go_into_several_sources(tmp_path):
    lines = [f'def OneFlow_N{i}Op : OneFlow_BaseOp<"n{i}">;\n' for i in range(300)]
    (tmp_path / "ops.td").write_text("".join(lines))
    texts = generate_cpp(oneop.ods.read_ops(tmp_path / "ops.td"))
    assert sorted(texts) == [HEADER, "op_generated.cpp", "op_generated_1.cpp", "op_generated_2.cpp"] or len(texts) == 4
