"""What is said about wrong schemas, functors, gradients, axes and signatures."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import oneop
from oneop.authoring.other_forms import BEGINNINGS, EMPTY, OUTPUTS, PARTS, VIEW

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"

F = "f(Tensor x, *, float a) -> Tensor y"
G = "g(Tensor x, Tensor dy, *, float a) -> Tensor dx"
TWO = "two(Tensor x) -> (Tensor p, Tensor q)"

#: Forms of torch, and what is said of them; the same in Python: `test_forms_of_torch_say_what_to_write`.
OTHER_FORMS = {
    "f(Tensor x,) -> Tensor": EMPTY,
    "f(Tensor x,, int k) -> Tensor": EMPTY,
    "f(,) -> Tensor": EMPTY,
    "f(Tensor x) -> (Tensor,)": EMPTY,
    "f(Tensor(a -> *) x) -> Tensor": VIEW,
    "f(Tensor(a)[] xs) -> Tensor": VIEW,
    "f(Tensor x) -> Tensor(a)": VIEW,
    "f(Tensor x, *, int?[] k) -> Tensor": PARTS["?["],
    "f(Tensor x, *, Scalar?[] k=[]) -> Tensor": PARTS["?["],
    "f(Tensor x, *, float[][] k) -> Tensor": PARTS["[][]"],
    "f(Tensor x, *, int[][] k) -> Tensor": BEGINNINGS["int[][]"],
    "f(Tensor[][] xs) -> Tensor": BEGINNINGS["Tensor[][]"],
    "f(Tensor x, (int, int) k) -> Tensor": BEGINNINGS["("],
    "f(Tensor x, ...) -> Tensor": BEGINNINGS["..."],
    "f(Tensor x, *args) -> Tensor": BEGINNINGS["*"],
    "f(Tensor x, **kw) -> Tensor": BEGINNINGS["*"],
    "f(Tensor x, *, List[int] k) -> Tensor": BEGINNINGS["List["],
    "f(Tensor x, *, Optional[int] k=None) -> Tensor": BEGINNINGS["Optional["],
    "f(Tensor x) -> None": OUTPUTS["None"],
    "f(Tensor x) -> ...": OUTPUTS["..."],
    "f(Tensor x) -> (Tensor, ...)": OUTPUTS["..."],
    "f(Tensor x) -> (Tensor, (Tensor, Tensor))": OUTPUTS["("],
    "f(Tensor x) -> Dict(str, Tensor)": "an op returns tensors; write -> Tensor, and return one of one element",
    "f(Tensor x) -> Device": "an op returns tensors; write -> Tensor, and return one of one element",
    "f(Tensor x, int k=1, *, Tensor w) -> Tensor": "inputs come first, or after a star that stands before all",
}

#: (case, what stands in the message)
CASES = [
    # schemas
    ("f", "expected name(inputs, *, attributes) -> outputs"),
    ("f(Tensor x)", "expected -> and the outputs, as in -> Tensor y, or -> () for none"),
    ("f(Tensor x) -> Tensor y, Tensor z", "expected nothing after the outputs; several outputs stand in brackets"),
    ("f(Tensor x; int k) -> Tensor", "expected a comma, or the bracket that ends the arguments"),
    ("f(Tensor x) -> (Tensor y; Tensor z)", "expected a comma, or the bracket that ends the outputs"),
    ("f(*, Tensor x, Device? device=None) -> Tensor", "the inputs say where it runs"),
    ("f(*, Device device) -> Tensor", "a device is written Device? device=None"),
    ("f(Tensor x, int k, Tensor y) -> Tensor", "inputs come first, or after a star that stands before all attributes"),
    (
        "f(Tensor x, int k=1, int j) -> Tensor",
        "it has no default and comes after an argument that has one; put a * before it",
    ),
    ("f(Tensor? x, int j) -> Tensor", "it has no default and comes after an argument that has one; put a * before it"),
    ("f(Tensors x) -> Tensor", "expected Tensor x, Tensor? x, Tensor[] x, Tensor[2] x or Tensor(a!) x"),
    ("f(Tensor(a) x) -> Tensor", "a view; only Tensor(a!), which is changed in place, is possible"),
    *[(schema, text) for schema, text in OTHER_FORMS.items()],
    ("f(Tensor[99999] x) -> Tensor", "at most 65536 tensors are possible"),
    ("f(Tensor x=3) -> Tensor", "an input may have the default None and no other"),
    ("f(Tensor x) -> Tensor(a!)", "an op that changes an input in place returns nothing for it; write -> ()"),
    ("f(Tensor x, *, 3) -> Tensor", "expected a type and a name, such as float alpha=0.01"),
    ("f(Tensor x, *, int k=None) -> Tensor", "only an optional attribute may be None; write a ? after its type"),
    ("f(Tensor x, *, int? k=2.5) -> Tensor", "2.5 is no literal of type int"),
    ("f(Tensor x, *, floot k) -> Tensor", "there is no such type of attributes; did you mean float? there are: int32,"),
    ("f(Tensor x, *, int k=2.5) -> Tensor", "2.5 is no literal of type int"),
    ("f(Tensor x, *, bool k=1) -> Tensor", "1 is no literal of type bool"),
    ("f(Tensor x, *, int[] k=[1, a]) -> Tensor", "[1, a] is no literal of type int[]"),
    ("f(Tensor x, *, int k=9223372036854775808) -> Tensor", "9223372036854775808 does not fit type int"),
    ("f(Tensor x, *, int k=-9223372036854775809) -> Tensor", "-9223372036854775809 does not fit type int"),
    ("f(Tensor x, *, int32 k=2147483648) -> Tensor", "2147483648 does not fit type int32"),
    (f"f(Tensor x, *, int k=1{'0' * 90}) -> Tensor", "0 does not fit type int"),
    ("f(Tensor x, *, int[] k=[1, 99999999999999999999]) -> Tensor", "[1, 99999999999999999999] does not fit type int"),
    ("f(Tensor x, *, float k=1e999) -> Tensor", "1e999 does not fit type float"),
    ("f(Tensor x, *, float32 k=1e50) -> Tensor", "1e50 does not fit type float32"),
    ("f(Tensor x, *, float32? k=-1e39) -> Tensor", "-1e39 does not fit type float32"),
    ("f(Tensor x, *, float32[] k=[0, 1e50]) -> Tensor", "[0, 1e50] does not fit type float32[]"),
    ("f(Tensor x, *, int k=010) -> Tensor", "010 is no literal of type int"),
    ("f(Tensor x, *, str k='abc) -> Tensor", "the text of a str does not end; expected another quotation mark"),
    ('f(Tensor x, *, str k="a\\", int j=1) -> Tensor', "the text of a str does not end; expected another"),
    ("f(Tensor x, *, str[] k=['a', 'b]) -> Tensor", "the text of a str does not end; expected another"),
    ("f(Tensor x, *, int x) -> Tensor", "two arguments have the same name"),
    ("f(" + ", ".join(f"Tensor x{i}" for i in range(17)) + ") -> Tensor", "a schema has at most 16 inputs; use a list"),
    ("f(*, " + ", ".join(f"int x{i}" for i in range(17)) + ") -> Tensor", "a schema has at most 16 attributes"),
    ("f() -> (" + ", ".join(f"Tensor x{i}" for i in range(17)) + ")", "a schema has at most 16 outputs; use a list"),
    ("f(" + ", ".join(["Tensor"] * 9) + ") -> Tensor", "expected a name for it"),
    # axes
    (f"{F}|axes: n", "expected ->, as in b k, k n -> b n"),
    (f"{F}|axes: n, k -> n", "expected 1 inputs as in the schema, found 2"),
    (f"{F}|axes: n -> m", "no input has that axis, and no int attribute has that name"),
    (f"{F}|axes: [n -> n", "expected the bracket that ends the mixed axes"),
    (f"{F}|axes: ... n ... -> n", "... stands for any axes, once in a tensor"),
    (f"{F}|axes: n -> 2x", "expected a name, or a number of at most 18 digits"),
    (f"{F}|axes: n -> 9999999999999999999", "expected a name, or a number of at most 18 digits"),
    (
        "f("
        + ", ".join(f"Tensor x{i}" for i in range(5))
        + ") -> Tensor y|axes: "
        + ", ".join(" ".join(f"a{i}{k}" for k in range(8)) for i in range(5))
        + " -> a00",
        "a line has at most 32 different axes",
    ),
    (f"{F}|axes: a b c d e f g h i -> a", "a tensor has at most 8 axes in a line"),
    # signatures
    (f"{F}|sbp: S(0)", "write S(axis), B or P for each input, ->, and for each output"),
    (f"{F}|sbp: S(0) -> T", "expected S(axis), B or P"),
    (f"{G}|sbp: S(0) -> S(0)", "expected 2 inputs as in the schema"),
    (f"{F}|sbp: B -> B B", "expected nothing after the outputs"),
    # gradients
    (f"{F}|{G}|gradient: dx", "expected = and a call, as in dx = relu_grad(y, dy)"),
    (f"{F}|{G}|gradient: 3 = dx", "expected a statement such as dx = relu_grad(y, dy)"),
    (f"{F}|{G}|gradient: dx = 3", "expected a call of an op, a value or None"),
    (
        f"f(Tensor x, *, float? a) -> Tensor y|{G}|gradient: dx = g(x, dy, a=a)",
        'attribute "a" may be None, "a" of the called op may not',
    ),
    (f"{F}|{G}|gradient: dx = g(x, dy, a=None)", '"None" is no attribute of the op, and no literal for "a"'),
    (
        "f(Tensor x) -> Tensor y|g(Tensor x, *, int a) -> Tensor dx|gradient: dx = g(dy, a=99999999999999999999)",
        '99999999999999999999 does not fit type int, that of "a" of the called op',
    ),
    (f"{F}|{G}|gradient: dx = g(x, dy, a=1e999)", '1e999 does not fit type float, that of "a" of the called op'),
    (
        "f(Tensor x) -> Tensor y|g(Tensor x, *, str a) -> Tensor dx|gradient: dx = g(dy, a='abc)",
        "the text of a str does not end; expected another",
    ),
    (f"{F}|{G}|gradient: dx = z", 'there is no value "z"; there are: x, y, dy'),
    (f"{F}|{G}|gradient: dx = dy y", "expected one name on the left, and the end of the statement here"),
    (f"{F}|{G}|gradient: dx = dy; dx = y", '"dx" is set twice'),
    (f"{F}|{G}|gradient: dz = None", '"dz" is the gradient of no input; did you mean dx? there are: dx'),
    (f"{F}|{G}|gradient: z = dy", 'its gradient says nothing about input "x"'),
    (f"{F}|{G}|gradient: dx = h(dy)", 'this library has no op "h"; there are: f, g'),
    (f"{F}|{G}|gradient: dx = h(dy)", "for an op of another library name everything: dx = h(x=x, dy=dy).dx"),
    (f"{F}|{G}|gradient: dx = h(x=w).dx", 'there is no value and no attribute "w"'),
    (f"{F}|{G}|gradient: dx = g(x, dz, a=a)", 'there is no value "dz" for input "dy" of op "g"; did you mean'),
    (f"{F}|{G}|gradient: dx = g(x, dy, a)", 'op "g" has 2 inputs; attributes are given by name, as in alpha=alpha'),
    (f"{F}|{G}|gradient: dx = g(x, dy, b=a)", 'op "g" has no argument "b"; there are: x, dy, a'),
    (f"{F}|{G}|gradient: dx = g(x, x=dy, a=a)", 'input "x" of op "g" is given twice'),
    (f"{F}|{G}|gradient: dx = g(x, dy, a=b)", '"b" is no attribute of the op, and no literal for "a"'),
    (f"{F}|{G}|gradient: dx = g(x, dy)", 'op "g" needs its attribute "a": write a=...'),
    (f"{F}|{G}|gradient: dx = g(x, a=a)", 'op "g" needs its input "dy"'),
    (f"{F}|{G}|gradient: dx = g(x, dy, a=a", "expected a comma, or the bracket that ends the arguments"),
    (f"{F}|{G}|gradient: dx = g(x, dy, a=a).q", 'op "g" has no output "q"'),
    (f"{F}|{TWO}|gradient: dx = two(x)", 'expected 2 names on the left, as op "two" has outputs'),
    ("f(Tensor[] x) -> Tensor y|" + G + "|gradient: dx = g(x, dy, a=1)", '"x" is a list of tensors, input "x" of op'),
    (
        "f(Tensor x, *, str a) -> Tensor y|" + G + "|gradient: dx = g(x, dy, a=a)",
        'attribute "a" has another type than "a" of the called op',
    ),
    (
        F + "|g(Tensor x, *, int a) -> Tensor dx|gradient: dx = g(dy, a=a)",
        'attribute "a" has another type than "a" of the called op',
    ),
    (f"{F}|{G}|gradient: " + "; ".join(f"v{i} = g(x, dy, a=a)" for i in range(33)), "a gradient has at most 32 calls"),
    # functors
    ("functor: few", "it must take an element of each input, then the attributes"),
    ("functor: few", "[](auto x, auto alpha) { ... }"),
    ("functor: typed", "it must take an element of each input, then the attributes"),
    ("functor: silent", "it must return 1 result; several are returned by return results(a, b)"),
    ("functor: half_done", "it must return 2 results; several are returned by return results(a, b)"),
    ("functor: lists", "takes one or more inputs that are Tensor, and no lists or optional ones"),
    ("functor: row_lists", ".rows takes one or more inputs that are Tensor"),
    ("functor: signed", "write output(inputs), such as float(float, int64_t), or a dtype for all"),
    ("functor: row_wise", "it must take a row of each input and output, then the attributes"),
    ("functor: viewed", "it must take a View of each input and output, then Attrs and Call&"),
    ("functor: unknown", "nothing says what its outputs are"),
    ("functor: strided_a", ".strided() is for .kernel: .elementwise goes through contiguous memory"),
    ("functor: strided_b", ".strided() is for .kernel: .elementwise goes through contiguous memory"),
    ("functor: strided_c", ".strided() is for .kernel: .rows goes through contiguous memory"),
    ("functor: strided_d", ".strided() is for .kernel: .rows goes through contiguous memory"),
    ("functor: reshaped", 'its axes "a b -> b a" give tensors of different shapes to .elementwise'),
    ("functor: columns", 'by its axes "r n -> n" tensor "y" has no rows beside the first input\'s'),
    ("functor: other_rows", 'by its axes "r n, n k -> r n" tensor "w" has no rows beside the first input\'s'),
    ("functor: two_minds", "it has a .gradient and .no_grad(); use one of them"),
    ("functor: other_mind", "it has a .gradient and .no_grad(); use one of them"),
    ("functor: outputs_twice", "its outputs are said twice; use one of .same_shape() and .infer()"),
    ("functor: same_dtype", "two of its kernels are for the CPU and inputs of (float32)"),
    ("functor: other_output", "two of its kernels are for the CPU and inputs of (float32, int64)"),
    ("functor: same_rows", "two of its kernels are for the CPU and inputs of (float32)"),
    ("functor: narrow_int", 'the functor of .elementwise takes "x" as a type that cannot hold its values'),
    ("functor: narrow_int", "write auto x, or a type as wide as that of the elements"),
    ("functor: narrow_float", 'the functor of .elementwise takes "x" as a type that cannot hold its values'),
    ("functor: narrow_second", 'the functor of .elementwise takes "b" as a type that cannot hold its values'),
    ("functor: narrow_sign", 'the functor of .elementwise takes "x" as a type that cannot hold its values'),
    ("functor: narrow_fraction", 'the functor of .elementwise takes "x" as a type that cannot hold its values'),
    ("functor: narrow_bool", 'the functor of .elementwise takes "x" as a type that cannot hold its values'),
    ("functor: narrow_attr", 'the functor of .elementwise takes "k" as a type that cannot hold its values'),
    ("functor: narrow_attr", "write auto k, or a type as wide as that of the schema"),
    ("functor: narrow_real", 'the functor of .elementwise takes "k" as a type that cannot hold its values'),
    ("functor: narrow_optional", 'the functor of .elementwise takes "k" as a type that cannot hold its values'),
    ("functor: narrow_row", 'the functor of .rows takes "k" as a type that cannot hold its values'),
    (
        "functor: kernels_of_none",
        "OP_KERNELS adds kernels to an op that no source of this library defines; there are: ",
    ),
    ("functor: kernels_of_another", "OP_KERNELS has another schema than its OP"),
    ("functor: kernels_of_another", "repeat the arguments; defaults may be left out"),
    ("functor: kernels_twice", "two of its kernels are for the CPU and inputs of (float32)"),
    ("functor: narrow_struct", 'the functor of .elementwise takes "k" as a type that cannot hold its values'),
]

#: Right ones: nothing is said.
RIGHT = [
    "f(Tensor x, Tensor? b=None, *, int[] k, str s='a, (b)') -> (Tensor y, Tensor[] zs)",
    "f() -> Tensor",
    "f(Tensor(a!) x, Tensor[3] y, Tensor[2+] z) -> ()",
    "f(Tensor x, *, int k=-9223372036854775808, int32 j=0x10, float f=1e308, float32 g=-inf, float32 h=nan) -> Tensor",
    "f(Tensor x, *, float32 g=3.4e38, float32 z=1e-60, float e=1e-400, str s='it\\'s', int o=0) -> Tensor",
    "functor: wide",
    "functor: kernels_apart",
    f"{F}|axes: ... [n] -> ... [n]",
    f"{F}|axes: n -> n 1000000",
    f"{F}|sbp: S(-1) -> P(sum)",
    f"{F}|{G}|gradient: dx = g(x, dy=dy, a=0.5)",
    f"{F}|{G}|gradient:  ; t = g(x, dy, a=a) ; dx = g(t, dy, a=a).dx ;",
    f"{F}|gradient: dx = other(x=x, dy=dy, alpha=a).out",
]


@pytest.fixture(scope="module")
def say(tmp_path_factory):
    """Return what is said for each case: one program says it all."""
    program = tmp_path_factory.mktemp("mistakes") / "mistakes"
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    built = subprocess.run(
        [*command, str(HERE / "mistakes.cpp"), "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    cases = list(dict.fromkeys([case for case, _ in CASES] + RIGHT))
    # Functors are registered once in a process, so each case must come once.
    done = subprocess.run([str(program)], input="\n".join(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, done.stdout.split("\n----\n"), strict=False))


@pytest.mark.parametrize("case, text", CASES)
def test_what_is_said(say, case, text):
    said = say[case]
    assert text in said, said
    lines = said.splitlines()
    assert len(lines) < 12 and lines[0].startswith('op "')
    assert lines[-1].startswith("  at ") and (lines[-1].endswith("ops.cpp:7") or "mistakes.cpp:" in lines[-1])


@pytest.mark.parametrize("schema", OTHER_FORMS)
def test_forms_of_torch_say_what_to_write(schema):
    with pytest.raises(oneop.errors.RegistrationError) as caught:
        oneop.define(schema)
    assert OTHER_FORMS[schema] in str(caught.value)


def test_op_h_has_the_same_tables_of_other_forms():
    header = (INCLUDE / "oneop" / "op" / "text" / "other_forms.h").read_text()
    for name, table in (("kBeginnings", BEGINNINGS), ("kParts", PARTS), ("kOutputForms", OUTPUTS)):
        entries = re.findall(r'\{"([^"]+)",\s*((?:"[^"]*"\s*)+)\}', header.split(f"{name}[] = {{")[1].split("};")[0])
        assert {piece: "".join(re.findall(r'"([^"]*)"', text)) for piece, text in entries} == table
    for text in (EMPTY, VIEW):
        assert text in re.sub(r'"\s*"', "", header)


@pytest.mark.parametrize("case", RIGHT)
def test_nothing_is_said_of_what_is_right(say, case):
    assert say[case] == "nothing"


def test_the_place_is_marked(say):
    assert say["f(Tensor x, *, floot k) -> Tensor"].splitlines()[1:3] == [
        "    f(Tensor x, *, floot k) -> Tensor",
        "                   ^",
    ]


def test_a_library_is_refused_with_it():
    source = '#include "oneop/op.h"\nOP("oph_wrong(Tensor x, *, flaot k=1) -> Tensor y").same_shape();\n'
    with pytest.raises(oneop.errors.RegistrationError, match=r'op "oph_wrong": cannot read its schema') as caught:
        oneop.load_inline("oph_wrong", source)
    assert "did you mean float?" in str(caught.value) and ":2" in str(caught.value)
