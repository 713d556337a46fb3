"""`oneop.ods.read_ops`: ops as data, and the cache in front of it."""

import sys
from pathlib import Path

import pytest

from oneop._build import cache as build_cache
from oneop.errors import OdsError
from oneop.ods import OdsArg, OdsAttr, cache, read_ops
from oneop.ods.cpp_values import python_value

CORPUS = Path(__file__).parent / "corpus"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "ods"


def test_an_op_with_everything():
    relu, pool, pool2 = read_ops(CORPUS / "ops.td")
    assert (relu.name, relu.cpp_class) == ("leaky_relu_yzh", "LeakyReluYZHOp")
    assert relu.inputs == (OdsArg(name="x", kind="tensor"),)
    assert relu.attrs == (OdsAttr(name="alpha", type="float", cpp_type="float", default=None, value=0.0),)
    assert relu.traits == ("NoSideEffect", "UserOpCompatibleInterface")
    assert relu.flags == (
        "has_logical_tensor_desc_infer_fn",
        "has_physical_tensor_desc_infer_fn",
        "has_get_sbp_fn",
        "has_data_type_infer_fn",
    )
    assert (relu.line, relu.column, relu.output_buffer_num) == (4, 5, None)
    assert [(arg.name, arg.kind) for arg in pool.inputs + pool.outputs] == [
        ("in", "variadic"),
        ("bias", "optional"),
        ("out", "tensor"),
        ("more", "variadic"),
    ]
    assert [(attr.name, attr.type, attr.default, attr.value) for attr in pool.attrs] == [
        ("kernel_size", "list[int32]", None, ()),
        ("padding", "string", '"same"', "same"),
        ("axis", "int64", "-1", -1),
        ("ceil", "bool", "true", True),
    ]
    assert pool.traits == ("NoMemoryEffect", "NoGrad", "CpuOnly", "SupportNonContiguous")
    assert pool.has_trait("NoSideEffect") and not relu.has_trait("NoGrad")
    assert (pool.summary, pool.flags, pool.output_buffer_num) == ("Pools.", ("has_check_fn",), 2)
    assert pool2.flags == () and pool2.attrs[0].cpp_type == "double"


def test_includes_of_oneflow_are_the_prelude(tmp_path):
    (tmp_path / "ops.td").write_text(
        'include "OneFlow/OneFlowBase.td"\ninclude "/mlir/IR/OpBase.td"\ndef OneFlow_AOp : OneFlow_BaseOp<"a">;\n'
    )
    assert [op.name for op in read_ops(tmp_path / "ops.td")] == ["a"]


def test_names_of_mlir_before_2022(tmp_path):
    """OneFlow 0.6 says OpTrait and FunctionPass: lists of either name of the class take every trait."""
    (tmp_path / "ops.td").write_text(
        'def Own : NativeOpTrait<"Own">;\n'
        "class Older<string n, list<OpTrait> t = []> : OneFlow_BaseOp<n, t>;\n"
        "class Newer<string n, list<Trait> t = []> : OneFlow_BaseOp<n, t>;\n"
        'def OneFlow_AOp : Older<"a", [NoSideEffect, Own, UserOpCompatibleInterface]>;\n'
        'def OneFlow_BOp : Newer<"b", [NoSideEffect, Own, UserOpCompatibleInterface]>;\n'
        'def P : FunctionPass<"p"> { let summary = ""; let constructor = "f()"; let dependentDialects = ["g"]; }\n'
        'def L : TypedArrayAttrBase<SI32Attr, "ints"> { let constBuilderCall = "f($0)"; }\n'
    )
    a, b = read_ops(tmp_path / "ops.td")
    assert a.traits == b.traits and "Own" in a.traits and a.has_trait("NoSideEffect")


def test_a_users_base_file_takes_the_preludes_place(tmp_path):
    folder = tmp_path / "include" / "OneFlow"
    folder.mkdir(parents=True)
    (folder / "OneFlowBase.td").write_text(
        "class OneFlow_BaseOp<string n, list<Trait> t = []> : Op<OneFlow_Dialect, n, t> { dag input = "
        "(ins Optional<OneFlow_Tensor>:$UserSourceOpTickInput); dag output = (outs); dag attrs = (ins); "
        "bit has_own = 0; }"
    )
    (tmp_path / "ops.td").write_text(
        'include "OneFlow/OneFlowBase.td"\ndef OneFlow_AOp : OneFlow_BaseOp<"a"> { let has_own = 1; }\n'
    )
    (op,) = read_ops(tmp_path / "ops.td", include_dirs=[tmp_path / "include"])
    assert op.flags == ("has_own",) and op.inputs == ()


def test_defines_choose(tmp_path):
    (tmp_path / "ops.td").write_text(
        '#ifdef GET_ONEFLOW_MATH_OP_DEFINITIONS\ndef OneFlow_AOp : OneFlow_BaseOp<"a">;\n#endif\n'
    )
    with pytest.warns(UserWarning, match="left out by #ifdef of names that are not defined"):
        assert read_ops(tmp_path / "ops.td") == ()
    assert len(read_ops(tmp_path / "ops.td", defines=["GET_ONEFLOW_MATH_OP_DEFINITIONS"])) == 1


@pytest.mark.parametrize(
    "text, type, value",
    [
        ("0.", "float", 0.0),
        ("1e-5f", "float", 1e-5),
        ("-1", "int64", -1),
        ("0.", "int64", 0),
        ("0.", "bool", False),
        ("true", "bool", True),
        ("0x10", "int32", 16),
        ("010", "int32", 8),
        ("9223372036854775807", "int64", 2**63 - 1),
        ("-9223372036854775808", "int64", -(2**63)),
        ("3e38", "float", 3e38),
        ('"a" "b"', "string", "ab"),
        ('std::string("x")', "string", "x"),
        ("{1, 2}", "list[int32]", (1, 2)),
        ("std::vector<float>({1.5, 2})", "list[float]", (1.5, 2.0)),
        ("Shape({2, 3})", "shape", (2, 3)),
        ("{Shape({1}), {2, 3}}", "list[shape]", ((1,), (2, 3))),
        ("Shape()", "shape", ()),
        ("DataType::kFloat", "data_type", "float32"),
        ("{kInt32, DataType::kBool}", "list[data_type]", ("int32", "bool")),
        ('{"a,b", "c"}', "list[string]", ("a,b", "c")),
        ("std::numeric_limits<float>::infinity()", "float", float("inf")),
        ("1", "complex", 1 + 0j),
        ("{true, false}", "list[bool]", (True, False)),
        ("2", "scalar", 2),
        ("2.5", "scalar", 2.5),
        ("Scalar(true)", "scalar", True),
        ("MyConstant()", "float", None),
        ("{f()}", "list[int32]", None),
    ],
)
def test_defaults_for_python(text, type, value):
    assert python_value(text, type) == value


def test_second_read_is_the_same_and_from_the_cache(own_cache):
    first = read_ops(CORPUS / "ops.td")
    (entry,) = own_cache.glob("*.json")
    kept = build_cache.read_json(entry)
    kept["ops"][0]["name"] = "from_the_cache"
    build_cache.write_json(entry, kept)
    second = read_ops(CORPUS / "ops.td")
    assert second[0].name == "from_the_cache" and second[1:] == first[1:]


def test_changed_include_is_noticed(tmp_path):
    (tmp_path / "inner.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"a">;')
    (tmp_path / "ops.td").write_text('include "inner.td"')
    assert [op.name for op in read_ops(tmp_path / "ops.td")] == ["a"]
    (tmp_path / "inner.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"b">;')
    assert [op.name for op in read_ops(tmp_path / "ops.td")] == ["b"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"includes": {}}', b'{"includes": {}, "ops": [{}]}'])
def test_damaged_cache_is_read_over(content, own_cache):
    first = read_ops(CORPUS / "ops.td")
    (entry,) = own_cache.glob("*.json")
    entry.write_bytes(content)
    assert read_ops(CORPUS / "ops.td") == first


def calls_to_read(path):
    """Count the calls of Python functions that reading a file takes."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        read_ops(path)
    finally:
        sys.setprofile(None)
    return count


def test_the_work_grows_with_the_number_of_ops_alone(tmp_path):
    text = (CORPUS / "ops.td").read_text()
    body = text[text.index("{") : text.index("class Pool")]
    calls = []
    for count in (20, 80):
        path = tmp_path / f"{count}.td"
        path.write_text(
            "".join(f'def OneFlow_Gen{i}Op : OneFlow_BaseOp<"gen{i}", [NoMemoryEffect]> {body}\n' for i in range(count))
        )
        calls.append(calls_to_read(path))
    assert calls[1] < 4.5 * calls[0], calls


def test_what_was_read_before_is_not_read_again(tmp_path, monkeypatch):
    (tmp_path / "ops.td").write_text((CORPUS / "ops.td").read_text())
    ops = read_ops(tmp_path / "ops.td")
    monkeypatch.setattr("oneop.ods.run_file", None)
    assert read_ops(tmp_path / "ops.td") == ops


def test_broken_file_is_not_cached(tmp_path, own_cache):
    (tmp_path / "bad.td").write_text("def a")
    for _ in range(2):
        with pytest.raises(OdsError):
            read_ops(tmp_path / "bad.td")
    assert not own_cache.exists()


BESIDE_OPS = """
include "mlir/IR/EnumAttr.td"
include "mlir/Pass/PassBase.td"
def Color : I32EnumAttr<"Color", "a color", [I32EnumAttrCase<"Red", 0>]> {
  let stringToSymbolFnName = "ToColor";
  let symbolToStringFnName = "FromColor";
}
def Element : TypeDef<OneFlow_Dialect, "Element"> { let mnemonic = "element"; }
def Note : AttrDef<OneFlow_Dialect, "Note"> { let mnemonic = "note"; let parameters = (ins "int":$value); }
def Fuse : Pass<"fuse", "ModuleOp"> {
  let options = [Option<"limit", "limit", "int", "1", "how many">];
}
def Beside_Op : OneFlow_BaseOp<"beside_op"> {
  let input = (ins OneFlow_Tensor:$x);
  let builders = [OpBuilder<(ins "int":$a, CArg<"int", "1">:$b)>];
}
"""


def test_what_stands_beside_ops_in_real_files(tmp_path):
    (tmp_path / "beside.td").write_text(BESIDE_OPS)
    assert [op.name for op in read_ops(tmp_path / "beside.td")] == ["beside_op"]
