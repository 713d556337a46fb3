"""`oneop.functional.read_yaml`: the grammar, and what is said about a file that does not follow it."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneop.errors import BuildError, FunctionalError
from oneop.functional import read_yaml
from oneop.functional.cpp import HEADER, generate_functions
from oneop.functional.masking import masked_signatures
from oneop.functional.stubs import function_stubs

GOOD = """\
- name: "max"
  signature: [
      "Tensor (Tensor input) => Max",
      "TensorTuple[values, indices] (Tensor input, Int64 dim, Bool keepdim=False) => ReduceMax",
  ]
  bind_python: True
- name: conv
  signature: >-
    Tensor (Tensor x, Int32List[2] stride=1, String format="a,b", *, Tensor bias=None, DataType t=kFloat)
    => Conv
"""


def read(tmp_path, text):
    path = tmp_path / "api.yaml"
    path.write_text(text)
    return read_yaml(path)


def test_entries(tmp_path):
    top, conv = read(tmp_path, GOOD)
    assert (top.name, top.bind_python, top.line) == ("max", True, 1)
    first, second = top.signatures
    assert (first.returns, first.return_names, first.cpp_name) == ("Tensor", (), "Max")
    assert (second.return_names, second.cpp_name) == (("values", "indices"), "ReduceMax")
    assert [(p.name, p.type, p.value) for p in second.parameters] == [
        ("input", "Tensor", None),
        ("dim", "Int64", None),
        ("keepdim", "Bool", False),
    ]
    assert not conv.bind_python
    x, stride, form, bias, dtype = conv.signatures[0].parameters
    assert (stride.size, stride.value, form.value) == (2, (1, 1), "a,b")
    assert bias.optional and bias.keyword_only and not form.keyword_only and x.default is None
    assert dtype.value == "float32"


@pytest.mark.parametrize(
    "default, value",
    [
        ("Int32 a=-1", -1),
        ("Int64 a=3", 3),
        ("Float a=0.5", 0.5),
        ("Double a=1e-5", 1e-5),
        ("Float a=1", 1.0),
        ("Bool a=True", True),
        ('String a="x=>y"', "x=>y"),
        ("Scalar a=2", 2),
        ("Scalar a=2.5", 2.5),
        ("Int64List a=[1, 2]", (1, 2)),
        ("FloatList[3] a=0.5", (0.5, 0.5, 0.5)),
        ("Shape a=[2, 3]", (2, 3)),
        ("DataType a=kInt64", "int64"),
        ("Tensor a=None", None),
    ],
)
def test_defaults(default, value, tmp_path):
    (function,) = read(tmp_path, f"- name: f\n  signature: 'Tensor ({default}) => F'\n")
    assert function.signatures[0].parameters[0].value == value


def entry(signature, name="f"):
    return f'- name: "{name}"\n  signature: "{signature}"\n'


MALFORMED = [
    ("a: [", 1, 5, "not YAML"),
    ("name: f\n", 1, 1, "expected a list"),
    ("- f\n", 1, 3, "expected an entry"),
    ("- name: f\n", 1, 3, "no signature"),
    ("- signature: x\n", 1, 3, "no name"),
    ("- name: f\n  names: g\n", 2, 3, "unknown key"),
    ("- name: f\n  name: g\n", 2, 3, "a second name"),
    ("- name: 1f\n  signature: 'Tensor (Tensor x) => F'\n", 1, 9, "identifier"),
    ("- name: f\n  signature: []\n", 2, 14, "at least one signature"),
    ("- name: f\n  signature: {a: b}\n", 2, 14, "expected a signature"),
    (entry("Tensor (Tensor x) => F") + "  bind_python: maybe\n", 3, 16, "True or False"),
    (entry("Tensor (Tensor x)"), 2, 32, "=> Name"),
    (entry("Tensor (Tensor x) => 1F"), 2, 35, "name of a functor"),
    (entry("Tensor Tensor x => F"), 2, 15, "expected ("),
    (entry("Tensor (Tensor x => F"), 2, 32, "expected )"),
    (entry("Tensor (Tensor x) y => F"), 2, 32, "unexpected 'y'"),
    (entry("Tenser (Tensor x) => F"), 2, 15, "cannot return Tenser"),
    (entry("Tensor[a] (Tensor x) => F"), 2, 21, "only a TensorTuple has names"),
    (entry("TensorTuple[a, a] (Tensor x) => F"), 2, 27, "one name"),
    (entry("TensorTuple[1] (Tensor x) => F"), 2, 27, "identifier"),
    (entry("Tensor (Tenser x) => F"), 2, 23, "no type Tenser"),
    (entry("Tensor (Void x) => F"), 2, 23, "cannot be Void"),
    (entry("Tensor (Tensor) => F"), 2, 23, "expected `Type name`"),
    (entry("Tensor (Tensor x, ) => F"), 2, 33, "expected `Type name`"),
    (entry("Tensor (Tensor[2] x) => F"), 2, 30, "only lists"),
    (entry("Tensor (Tensor x, Int64 x) => F"), 2, 33, "two parameters are named x"),
    (entry("Tensor (Tensor x, *, *, Int64 a) => F"), 2, 36, "a second *"),
    (entry("Tensor (Int64 a=x) => F"), 2, 31, "x is not a value of type Int64"),
    (entry("Tensor (Int64List a=1) => F"), 2, 35, "must be a list"),
    (entry("Tensor (Int64List[2] a=[1]) => F"), 2, 38, "1 elements, not 2"),
    (entry("Tensor (Bool a=1.5) => F"), 2, 30, "not a value of type Bool"),
    # What would otherwise be an error in generated C++, a wrong value, or the end of the process.
    ("- name: class\n  signature: 'Tensor (Tensor x) => F'\n", 1, 9, "a keyword of C++"),
    ("- name: é\n  signature: 'Tensor (Tensor x) => F'\n", 1, 9, "must be an identifier"),
    (entry("Tensor (Tensor x) => class"), 2, 35, "name of a functor"),
    (entry("Tensor (Tensor x) => É"), 2, 35, "name of a functor"),
    (entry("Tensor (Tensor class) => F"), 2, 30, "cannot be named 'class'"),
    (entry("Tensor (Tensor nullptr) => F"), 2, 30, "cannot be named 'nullptr'"),
    (entry("Tensor (Tensor é) => F"), 2, 23, "cannot be named 'é'|expected `Type name`"),
    (entry("TensorTuple[class, x] (Tensor x) => F"), 2, 27, "no keyword"),
    (entry("TensorTuple[a, _x] (Tensor x) => F"), 2, 27, "does not begin with _"),
    (entry("TensorTuple[é] (Tensor x) => F"), 2, 27, "Python identifier"),
    (entry("Tensor (Int64 k=99999999999999999999) => F"), 2, 31, "out of the range of Int64"),
    (entry("Tensor (Int32 k=2147483648) => F"), 2, 31, "out of the range of Int32"),
    (entry("Tensor (Int32List[2] k=[1, -2147483649]) => F"), 2, 38, "out of the range of Int32"),
    (entry("Tensor (Scalar k=9223372036854775808) => F"), 2, 32, "out of the range of Scalar"),
    (entry("Tensor (Float k=1e300) => F"), 2, 31, "out of the range of Float"),
    (entry("Tensor (Double k=1e400) => F"), 2, 32, "out of the range of Double"),
    (entry("Tensor (Int64List[99999999999] k=1) => F"), 2, 33, "at most 1024 elements"),
    ("- name: f\n  signature: |\n    Tensor (Tensor x,\n            Int64 k) => F\n", 2, 14, "a signature is one line"),
]


@pytest.mark.parametrize("text, line, column, says", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed(text, line, column, says, tmp_path):
    with pytest.raises(FunctionalError) as caught:
        read(tmp_path, text)
    error = caught.value
    first, shown, caret = str(error).split("\n")
    assert (error.line, error.column) == (line, column), str(error)
    assert first.startswith(f"{tmp_path}/api.yaml:{line}:{column}: error: ")
    assert any(choice in first for choice in says.split("|"))
    assert shown == [*text.split("\n"), ""][line - 1] and caret == " " * (column - 1) + "^"
    assert isinstance(error, BuildError)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 0, 2**31 - 1, -(2**31)])
def test_whole_defaults_are_exact(value, tmp_path):
    (function,) = read(tmp_path, entry(f"Tensor (Int64 k={value}, Scalar s={value}) => F"))
    assert [parameter.value for parameter in function.signatures[0].parameters] == [value, value]


def test_any_text_becomes_a_cpp_string(tmp_path):
    doc = 'ünï \U0001f600 ??= \\\\ \\"'
    signature = """'Tensor (Tensor x, String s="\U0001f600é") => F'"""
    text = f'- name: f\n  doc: "{doc}"\n  signature: {signature}\n'
    made = generate_functions(read(tmp_path, text))
    assert all(source.isascii() for source in made.values())


@pytest.mark.parametrize(
    "name, signature, says",
    [
        ("class", "Tensor (Tensor x) => F", "'class' cannot be a name: it is a keyword of C++"),
        ("lambda", "Tensor (Tensor x) => F", "'lambda' cannot be a name: it is a keyword of Python"),
        (
            "f",
            "Tensor (Tensor x, Int64List[99999999999] a=1) => F",
            "a list has at most 1024 elements, not 99999999999",
        ),
        (
            "f",
            f"Tensor (Tensor x, Int64List[{'9' * 100_000}] a=1) => F",
            "a list has at most 1024 elements, not 9999999",
        ),
        ("f", f"Tensor (Tensor x, Int64 a={'9' * 100_000}) => F", "has too many digits for a value of type Int64"),
        ("f", f"Tensor (Tensor x, Scalar a={'9' * 100_000}) => F", "has too many digits for a value of type Scalar"),
    ],
)
def test_limits(name, signature, says, tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text(f"- name: {name}\n  signature: {signature!r}\n  bind_python: True\n")
    with pytest.raises(FunctionalError) as caught:
        read_yaml(path)
    assert says in str(caught.value) and caught.value.line in (1, 2)
    assert len(str(caught.value)) < 1000


def test_a_file_that_is_too_large(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * 2_000_000)
    with pytest.raises(FunctionalError, match="the file has 2,000,002 characters; at most 1,000,000 are read"):
        read_yaml(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FunctionalError, match="cannot read"):
        read_yaml(tmp_path / "absent.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff")
    with pytest.raises(FunctionalError, match="UTF-8"):
        read_yaml(tmp_path / "bad.yaml")
    assert read(tmp_path, "# nothing\n") == ()


def test_types_without_a_meaning_are_left_out_when_built(tmp_path):
    functions = read(tmp_path, entry("Tensor (Tensor x, Placement p) => F") + entry("Tensor (Tensor x) => G", "g"))
    with pytest.warns(UserWarning, match="left out: 1\n.*:1: f: parameter p is a Placement: placement is torch's"):
        texts = generate_functions(functions)
    served, _, ported = texts[HEADER].partition("#if defined(ONEOP_PORT)")
    assert "> G(" in served and "> F(" not in served
    assert "> F(" in ported and "functional::F is not served: parameter p is a Placement" in ported


def test_a_warning_names_ten_that_are_left_out(tmp_path):
    text = "".join(entry("Tensor (Placement p) => F", f"f{i}") for i in range(12))
    with pytest.warns(UserWarning, match="left out: 12\n(.*\n){10}  and 2 more"):
        generate_functions(read(tmp_path, text))


def test_the_first_of_two_entries_counts(tmp_path):
    with pytest.warns(UserWarning, match=':3: function "f" is there already, in line 1; that one counts'):
        (function,) = read(tmp_path, entry("Tensor (Tensor x) => F") + entry("Tensor (Tensor y) => G"))
    assert function.signatures[0].cpp_name == "F"


def test_parameters_after_a_default_and_a_star_at_the_end(tmp_path):
    functions = read(tmp_path, entry("Tensor (Int64 a=1, Tensor b, *) => F") + "  bind_python: True\n")
    assert [(p.name, p.default, p.keyword_only) for p in functions[0].signatures[0].parameters] == [
        ("a", "1", False),
        ("b", None, False),
    ]
    stub = function_stubs(functions)
    assert "def f(a: int = ..., b: Tensor = ...) -> Tensor:" in stub
    compile(stub, "_C.pyi", "exec")


@pytest.mark.parametrize(
    "first, second, masks",
    [
        ("Tensor x", "Tensor x", True),
        ("Scalar x", "Int64 x", True),
        ("Int64 x", "Scalar x", False),
        ("Tensor x", "Int64 x", False),
        ("Tensor x, Int64 n=1", "Tensor x", True),
        ("Tensor x", "Tensor x, Int64 n=1", False),
        ("Tensor x", "Tensor y", False),
        ("Double x", "Float x=1.0", False),
        ("Tensor x, *, Int64 n=1", "Tensor x, Int64 n=1", False),
    ],
)
def test_masked_signatures(first, second, masks, tmp_path):
    text = f'- name: f\n  signature: ["Tensor ({first}) => F", "Tensor ({second}) => G"]\n'
    functions = read(tmp_path, text)
    assert bool(list(masked_signatures(functions[0]))) == masks
    if masks:
        with pytest.warns(UserWarning, match="is never called"):
            generate_functions(functions)
    else:
        generate_functions(functions)


EXAMPLES = int(os.environ.get("ONEOP_FUZZ_EXAMPLES", "150"))
WORDS = ["Tensor", "(", ")", "=>", "F", ",", "*", "=", "[", "]", "2", "x", "None", '"', "Int64List", "\n", "-", ":",
         "name", "signature", "bind_python", " ", "{", "}", "'", "1.5", "&a", "*a", "!!int"]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.text(max_size=100), st.lists(st.sampled_from(WORDS), max_size=40).map("".join)))
def test_any_file_gives_functions_or_an_error(tmp_path, text):
    for content in (text, entry(text.replace("\n", " "))):
        try:
            (tmp_path / "fuzz.yaml").write_text(content, encoding="utf-8", errors="surrogatepass")
            read_yaml(tmp_path / "fuzz.yaml")
        except FunctionalError as error:
            assert error.line >= 1
