"""Attributes: declaring them in every form, with every type, and reading them."""

from sdk_pieces import SAME, call, kernel, unit

TYPES = [  # name, enum, C++ type, number, a default in C++, the default as the host prints it
    ("a_int32", "kAtInt32", "int32_t", 1, "-3", "-3"),
    ("a_int64", "kAtInt64", "int64_t", 2, "int64_t(1) << 40", "1099511627776"),
    ("a_bool", "kAtBool", "bool", 3, "true", "1"),
    ("a_float", "kAtFloat", "float", 4, "0.5f", "0.5"),
    ("a_double", "kAtDouble", "double", 5, "0.25", "0.25"),
    ("a_string", "kAtString", "std::string", 6, '"abc"', "abc"),
    ("a_shape", "kAtShape", "Shape", 7, "{2, 3}", "2,3"),
    ("a_dtype", "kAtDataType", "DataType", 8, "kDouble", "3"),
    ("l_int32", "kAtListInt32", "std::vector<int32_t>", 9, "{4, 5}", "4,5"),
    ("l_int64", "kAtListInt64", "std::vector<int64_t>", 10, "{6, 7}", "6,7"),
    ("l_float", "kAtListFloat", "std::vector<float>", 11, "{1, 1.5}", "1,1.5"),
    ("l_double", "kAtListDouble", "std::vector<double>", 21, "{1, 1.5}", "1,1.5"),
    ("l_dtype", "kAtListDataType", "std::vector<DataType>", 12, "{kFloat, kInt32}", "2,5"),
    ("l_shape", "kAtListShape", "std::vector<Shape>", 13, "{Shape({1}), Shape({2, 3})}", "1;2,3"),
    ("l_string", "kAtListString", "std::vector<std::string>", 14, '{"x", "yz"}', "x;yz"),
    ("a_bytes", "kAtBytes", "std::vector<char>", 20, "{'h', 'i'}", "hi"),
    ("l_bool", "kAtListBool", "std::vector<bool>", 22, "{true, false}", "1,0"),
]


def test_declarations_of_every_type(builder, drive):
    mandatory = "\n".join(f'.Attr("{row[0]}", UserOpAttrType::{row[1]})' for row in TYPES)
    valued = "\n".join(f'.Attr("{row[0]}", AttrType::{row[1]}, {row[2]}({row[4]}))' for row in TYPES)
    typed = "\n".join(f'.Attr<{row[2]}>("{row[0]}", {row[2]}({row[4]}))' for row in TYPES)
    empty = "\n".join(f'.Attr<{row[2]}>("{row[0]}")' for row in TYPES)
    forms = {"mandatory": mandatory, "valued": valued, "typed": typed, "empty": empty}
    source = unit(*(f'REGISTER_USER_OP("{name}").Output("out")\n{text};' for name, text in forms.items()))
    lines = [line.strip() for line in drive(builder.library(source), "describe") if line.startswith("  attr")]
    count = len(TYPES)
    assert lines[:count] == [f"attr {row[0]} {row[3]}" for row in TYPES]
    wanted = [f"attr {row[0]} {row[3]} default {row[3]} {row[5]}" for row in TYPES]
    assert lines[count : 2 * count] == wanted
    assert lines[2 * count : 3 * count] == wanted
    zero = ["0"] * 5 + ["", "", "0"] + [""] * 9
    assert lines[3 * count :] == [
        f"attr {row[0]} {row[3]} default {row[3]} {z}".rstrip() for row, z in zip(TYPES, zero, strict=True)
    ]


def test_literals_take_the_declared_type(builder, drive):
    source = unit(
        """
REGISTER_USER_OP("literals").Output("out")
    .Attr<std::string>("device_sub_tag", "py").Attr("text", UserOpAttrType::kAtString, "abc")
    .Attr("wide", UserOpAttrType::kAtInt64, 10).Attr("real", UserOpAttrType::kAtFloat, 0.5)
    .Attr("whole", UserOpAttrType::kAtDouble, 2).Attr<float>("alpha", 1).Attr("wrong", UserOpAttrType::kAtInt32, "x");
"""
    )
    lines = [line.strip() for line in drive(builder.library(source), "describe") if line.startswith("  attr")]
    assert lines == [
        "attr device_sub_tag 6 default 6 py",
        "attr text 6 default 6 abc",
        "attr wide 2 default 2 10",
        "attr real 4 default 4 0.5",
        "attr whole 5 default 5 2",
        "attr alpha 4 default 4 1",
        "attr wrong 1 default 6 x",  # for the host to refuse
    ]


READERS = [  # what is reported of each, and a value for it
    ("v", "-7"), ("v", "2199023255552"), ("v", "0"), ("v", "0.25"), ("v", "0.75"), ("v.size()", "hello"),
    ("v.elem_cnt()", "4,5"), ("v", "6"), ("v.at(1)", "1,2"), ("v.at(1)", "3,4"), ("v.at(1)", "0,0.5"),
    ("v.at(1)", "0,0.1"), ("v.at(1)", "2,3"), ("v.at(1).At(0)", "9 8,7"), ("v.at(1).size()", "a bcd"),
    ("v.size()", "xyz"), ("v.at(1)", "0,1"),
]  # fmt: skip


def test_reading_every_type(builder, drive):
    reads = "\n".join(
        f'{{ const {row[2]} v = ctx->Attr<{row[2]}>("{row[0]}"); (void)v; '
        f"out_tensor->mut_dptr<double>()[{i}] = static_cast<double>({report}); }}"
        for i, (row, (report, _)) in enumerate(zip(TYPES, READERS, strict=True))
    )
    infer = """.SetTensorDescInferFn([](user_op::InferContext* ctx) {
  *ctx->Shape4ArgNameAndIndex("out", 0) = Shape({17});
  *ctx->Dtype4ArgNameAndIndex("out", 0) = DataType::kDouble;
  return Maybe<void>::Ok();
})"""
    source = unit(f'REGISTER_USER_OP("read").Input("in").Output("out"){infer};', kernel("read", reads))
    attrs = [f"attr {row[0]} {row[3]} {value}" for row, (_, value) in zip(TYPES, READERS, strict=True)]
    lines = drive(builder.library(source), *call("read", 1), *attrs, "run")
    assert lines[1] == "out 3 (17) (1) -7 2.19902e+12 0 0.25 0.75 5 20 6 2 4 0.5 0.1 3 8 3 3 1"


def test_wrong_reads_are_errors(builder, drive):
    source = unit(
        'REGISTER_USER_OP("bad").Input("in").Output("out")' + SAME + ";",
        kernel("bad", 'ctx->Attr<int64_t>("alpha");'),
        'REGISTER_USER_OP("worse").Input("in").Output("out")' + SAME + ";",
        kernel("worse", 'ctx->Attr<int64_t>("alhpa");', "Worse"),
    )
    attrs = ["attr alpha 4 1", "attr beta 3 1"]
    lines = drive(builder.library(source), *call("bad", 1), *attrs, "run", *call("worse", 1), *attrs, "run")
    errors = [line for line in lines if line.startswith("error")]
    assert errors == [
        'error 2 - attribute "alpha" of op "bad" is a float, the code asks for Attr<int64_t>',
        'error 3 - op "worse" has no attribute "alhpa"; its attributes are: alpha, beta',
    ]


def test_complex_attributes_have_a_header_of_their_own(builder, drive):
    source = '#include "oneflow/core/common/complex.h"\n' + unit(
        'REGISTER_USER_OP("c").Input("in").Output("out").Attr("z", kAtComplexDouble, std::complex<double>(1, 2))'
        + SAME
        + ";",
        kernel("c", 'out_tensor->mut_dptr<float>()[0] = ctx->Attr<std::complex<double>>("z").imag();'),
    )
    lines = drive(builder.library(source), "describe", *call("c", 1), "attr z 18 3,4", "run")
    assert "  attr z 18 default 18 1,2" in lines
    assert "out 2 (1) (1) 4" in lines


def test_checking_attributes(builder, drive):
    source = unit(
        """
REGISTER_USER_OP("conv").Output("out").Attr("data_format", UserOpAttrType::kAtString, std::string("NCHW"))
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper& def, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      std::string data_format = conf.attr<std::string>("data_format");
      CHECK_OR_RETURN(def.IsAttrName("data_format") && def.IsOutputArgName("out") && !def.IsInputArgName("out"));
      if (data_format == "channels_first" || data_format == "channels_last") { return Maybe<void>::Ok(); }
      return oneflow::Error::CheckFailed() << "data_format value: " << data_format << " for Conv op is illegal.";
    });
"""
    )
    script = [["op conv", f"attr data_format 6 {value}", "check"] for value in ("channels_last", "middle")]
    assert drive(builder.library(source), *script[0], *script[1]) == [
        "check 0",
        "error 6 ops0.cpp:10 data_format value: middle for Conv op is illegal.",
        "check 6",
    ]
