"""The defaults of a schema: oneop.define and oneop/op.h take the same literals, with the same values."""

import re
import struct
import subprocess
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import oneop
from oneop._build.compiler import default_flags, find_cxx
from oneop.authoring.parse_schema import parse_schema
from oneop.errors import ArgumentError, RegistrationError
from oneop.model.attributes import BY_SCHEMA
from oneop.registry import isolated
from oneop.runtime.dtype_numbers import DTYPE_CODES

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """The verdict of op.h on one default."""
    program = tmp_path_factory.mktemp("defaults") / "read_defaults"
    compiler = find_cxx()
    flags = [*default_flags(compiler), "-O0", "-I", str(INCLUDE)]
    subprocess.run([*compiler.command, *flags, str(HERE / "read_defaults.cpp"), "-o", str(program)], check=True)
    process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(kind, size, text):
        process.stdin.write(f"{BY_SCHEMA[kind].code} {size} x{text.encode().hex()}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    yield read
    process.communicate()


def real(value, narrow=False):
    if narrow:
        (value,) = struct.unpack("f", struct.pack("f", value))
    return "nan" if value != value else struct.pack(">d", value).hex()


def without_nan(words):
    """Return the words with every NaN as one: its sign and payload are no part of a value."""
    return [
        "nan" if re.fullmatch("[7f]ff[0-9a-f]{13}", word) and int(word[3:], 16) else word for word in words.split(" ")
    ]


def numbers(values):
    return f"[ {''.join(f'{int(value)} ' for value in values)}]"


#: torch's dtypes have numbers of their own in the ABI; compared by those of op.h, read from its table.
def codes():
    header = (INCLUDE / "oneop" / "op" / "defaults.h").read_text()
    abi = dict(re.findall(r"(ONEOP_DTYPE_\w+) = (\d+)", (INCLUDE / "oneop" / "abi.h").read_text()))
    return {name: int(abi[code]) for name, code in re.findall(r'\{"(\w+)", (ONEOP_DTYPE_\w+)\}', header)}


def printed(kind, value):
    """What read_defaults prints of a value that define keeps."""
    code = BY_SCHEMA[kind].code
    if kind == "Scalar":
        kind = {bool: "bool", int: "int", float: "float", complex: "complex"}[type(value)]
        return printed(kind, value)
    if kind in ("int", "int32", "bool"):
        return f"{code} {int(value)}"
    if kind in ("float", "float32"):
        return f"{code} {real(value, kind == 'float32')}"
    if kind == "complex":
        return f"{code} {real(complex(value).real)} {real(complex(value).imag)}"
    if kind in ("str", "bytes"):
        return f"{code} {numbers(value if isinstance(value, bytes) else value.encode())}"
    if kind == "str[]":
        return " ".join([f"{code}", *(numbers(item.encode()) for item in value)])
    if kind in ("float[]", "float32[]"):
        return " ".join([f"{code}", *(real(item, kind == "float32[]") for item in value)])
    if kind == "shape[]":
        return " ".join([f"{code}", *(numbers(item) for item in value)])
    if kind == "dtype":
        return f"{code} {codes()[str(value).removeprefix('torch.')]}"
    if kind == "dtype[]":
        return f"{code} {numbers(codes()[str(item).removeprefix('torch.')] for item in value)}"
    return f"{code} {numbers(value)}"


def defined(word, text):
    """What define says: the value as read_defaults prints it, or None where it is refused."""
    schema = f"df_op(Tensor x, *, {word} k={text}) -> Tensor y"
    with isolated(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's, of escapes that it does not know
        try:
            oneop.define(schema)
            (attr,) = parse_schema(schema).attrs
        except (RegistrationError, ArgumentError):
            return None
        return printed(attr.type, attr.default)


def agree(reader, word, text):
    sized = re.fullmatch(r"(\w+)\[(\d+)\]", word)
    kind, size = (f"{sized[1]}[]", int(sized[2])) if sized else (word, 0)
    in_cpp = reader(kind, size, text)
    in_python = defined(word, text)
    if in_python is None:
        # A list of another length is refused when the library is loaded.
        is_other_length = size and in_cpp.startswith("ok") and text[:1] in ("[", "(")
        assert not in_cpp.startswith("ok") or is_other_length, (word, text, in_cpp)
    else:
        assert without_nan(in_cpp) == without_nan(f"ok {in_python}"), (word, text)


NUMBERS = """1 -1 +1 --1 1_000 1__0 _1 1_ 0x10 0X1F 0x_1F 0x 0b101 0b2 0o17 012 00 0_0 1.0 True False true
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 2147483647 2147483648 -2147483649
(5) 1j inf -inf +inf nan -nan Inf NaN infinity infj 1e3 x 2x 1.5 .5 1. . 1_0.5 1_.5 1._5 1e1_0 1e400 -1e400 1e-400 1e39
-1e39 3e38 99999999999999999999 0x1.8p3 1e 1e+ 1.e5 01.5 01j 1e400j 1+2j 1-2j -1-2j -1j +1j 1+2 1j+2j inf+1j nan-2.5j
1J 1_0j 1+-2j 1+1e400j 0-0j -0.0 -0j None 'a' [1] 0xffffffffffffffff 1..2 1.2.3 1e5j 5e-324""".split()
NUMBERS += "(1+2j) (1j) (-0-1j) (2) ((1j)) -(1j) (1+2) (1+2j (True) (1j,) (nan+1j) (1e400j) (1-infj) (1)+2j".split()
NUMBERS += ["( 1 - 2j )", "(1j ", "(1J)", "(1,2j)", "- 5", "1 + 2j", "- 1j", "1 .5", "1" + "0" * 400, "1 2", "-", "+"]
TEXTS = r"""'a' "a" '' "" 'it\'s' 'a\nb' '\x41' '\q' '\101' '\1' '\18' '\777' '\u00e9' '\U0001f600' '\ud800' '\x4'
'\u12' '''a''' r'a' u'a' b'a' B"a" f'a' rb'a' a '\\' '\xff' 'é' b'é' b'\xff\x00' b'\u00e9' b'\N' '\N{DASH}' '\0'
'\a\b\f\r\t\v' 'a,b' '"' "'" '[' ')' 1 b'' 'a""b' '\"'""".split()
TEXTS += ["'a' 'b'", "'a\nb'", "'a\\\nb'", "' '", "b 'a'", "'a"]
LISTS = ["[1, 2]", "[1,2,]", "[]", "(1, 2)", "(1,)", "(1)", "()", "[1_0]", "[True]", "[1.0]", "1", "[1 2]", "[[1]]"]
LISTS += ["[,]", str(list(range(100))), "[inf, nan, -1e400]", "[1e39]", "[2147483648]", "['a', \"b\"]", "['a,b', '']"]
LISTS += [
    "[[1, 2], []]",
    "[(1,), (2, 3)]",
    "[(1)]",
    "[float32, torch.int8]",
    "(float32,)",
    "(float32)",
    "[floaty]",
    "[1",
    "1]",
]
LISTS += ["True", "inf", "1.5", "'a'", "float32", "{1}", "[None]"]
DTYPES = [str(dtype) for dtype in DTYPE_CODES] + [
    "float",
    "double",
    "half",
    "int",
    "long",
    "short",
    "cfloat",
    "cdouble",
]
DTYPES += [
    "chalf",
    "float32",
    "bool",
    "bfloat16",
    "floaty",
    "quint8",
    "1",
    "'float32'",
    "torch.",
    "torch.nn",
    "[float32]",
]
FIXED = ["int[2]", "float[2]", "bool[2]", "str[2]", "float32[3]", "int32[2]", "dtype[2]", "shape[2]"]
#: Their items are those of lists of any length.
MORE = [pytest.param(word, marks=pytest.mark.slow) for word in FIXED[2:]]


@pytest.mark.parametrize("word", [*BY_SCHEMA, *FIXED[:2], *MORE])
def test_define_and_op_h_read_the_same(reader, word):
    for text in [*NUMBERS, *TEXTS, *LISTS, *DTYPES]:
        if text != "None" and text != "'a":
            agree(reader, word, text)


numeric = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.integers(0, 2**65).flatmap(lambda n: st.sampled_from([hex(n), oct(n), bin(n), f"{n:_}", f"-{n:_}"])),
    st.floats().map(repr),
    st.complex_numbers().flatmap(lambda c: st.sampled_from([repr(c), repr(c).strip("()")])),
    st.text("0123456789._eEjJxob+- ", min_size=1, max_size=8),
)
texts = st.one_of(
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=6).map(repr),
    st.binary(max_size=6).map(repr),
    st.text("ab\\nx01u'\"", max_size=8).map(lambda text: f"'{text}'"),
)
lists = st.lists(st.one_of(numeric, texts), max_size=3).flatmap(
    lambda items: st.sampled_from([f"[{', '.join(items)}]", f"({', '.join(items)})", f"[{', '.join(items)},]"])
)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(word=st.sampled_from([*BY_SCHEMA, *FIXED]), text=st.one_of(numeric, texts, lists))
@example(word="complex", text="1j")
@example(word="complex", text="(1-2j)")
@example(word="Scalar", text="(1-2j)")
def test_define_and_op_h_read_the_same_of_any_text(reader, word, text):
    if text.strip() == text and text != "None" and "\0" not in text and _is_one_part(text):
        agree(reader, word, text)


def _is_one_part(text):
    """Whether a schema would take the text for one default: commas and quotation marks are inside of something."""
    try:
        return parse_schema(f"df_op(Tensor x, *, str k={text}) -> Tensor y").attrs[0].name == "k"
    except RegistrationError as error:
        return "is no literal" in str(error) or "does not fit" in str(error)


def test_numbers_that_do_not_fit_are_refused_with_that():
    with pytest.raises(RegistrationError, match="1e400 does not fit type float"):
        oneop.define("df_large(Tensor x, *, float k=1e400) -> Tensor y")
    text = 'OP("df_large(Tensor x, *, float k=1e400) -> Tensor y").same_shape().kernel<float>([](auto x, auto y) {});'
    with pytest.raises(RegistrationError, match="1e400 does not fit type float"):
        oneop.load_inline("df_large", f'#include "oneop/op.h"\n{text}')


DEFAULTS = [
    "complex k=1-2j",
    "complex k=(1-2j)",
    "complex k=2.0",
    "Scalar k=1j",
    r"bytes k=b'a\xff'",
    "int k=1_000",
    "shape[] k=[[1, 2], []]",
]


def test_a_library_has_the_values():
    """The same defaults, through a library and through define."""
    source = '#include "oneop/op.h"\n'
    for i, default in enumerate(DEFAULTS):
        escaped = default.replace("\\", "\\\\")
        source += f'OP("df_cpp{i}(Tensor x, *, {escaped}) -> Tensor y").same_shape()'
        source += ".kernel<float>([](auto x, auto y) {}).no_grad();\n"
        oneop.define(f"df_python{i}(Tensor x, *, {default}) -> Tensor y")
    oneop.load_inline("df_values", source)
    for i, default in enumerate(DEFAULTS):
        ((in_cpp,), (in_python,)) = (oneop.get_op(f"df_{side}{i}").attrs for side in ("cpp", "python"))
        assert (in_cpp.type, in_cpp.default) == (in_python.type, in_python.default), default
