"""A compiled call takes the attributes that an eager call takes, as the same values, and refuses the others alike."""

import decimal
import enum
import fractions

import numpy as np
import pytest
import torch

import oneop
from oneop.registry import isolated


class Three(enum.IntEnum):
    VALUE = 3


class Text(str):
    pass


class Index:
    def __index__(self):
        return 5


class Float:
    def __float__(self):
        return 2.5


VALUES = {
    "i": [1, 7, -3, 2**63 - 1, True, 1.0, "1", None, np.int64(3), np.int8(3), Three.VALUE, Index(), torch.tensor(4)],
    "f": [0.1, 3, True, "x", float("nan"), float("inf"), 1e300, None, np.float32(0.1), np.float64(0.1), Float()],
    "f ": [torch.tensor(0.5), fractions.Fraction(1, 3), decimal.Decimal("0.5")],
    "b": [True, False, 1, 0, np.bool_(True), "True", None],
    "s": ["a", "", "é", Text("q"), b"a", 1, None],
    "l": [[1, 2], (3,), [], range(3), torch.Size([3, 4]), np.array([1, 2]), [np.int64(1)], [True, 2], [1.0], 5, None],
    "fl": [[0.5], [1, 2.5], (), np.array([0.5]), [np.float32(0.1)], [True], 0.5],
    "c": [1j, 2.5, 3, complex(float("inf"), 0), np.complex64(1j), "1j"],
    "d": [torch.float32, torch.int64, np.float32, "float32", 6],
    "oi": [None, -1, 0, 3, True, 1.0, np.int64(3)],
    "of": [None, 0.0, -1.0, 2, "x", np.float32(0.5)],
    "ob": [None, True, False, 0],
    "os": [None, "", "a", 1],
    "ol": [None, [], [1, 2], (3,), [1.0], 5],
    "od": [None, torch.float32, torch.int64, 6],
    "odl": [None, [], [torch.int8], [3]],
    "oc": [None, 0j, 1j, "1j"],
    "oby": [None, b"", b"\xff", 1],
    "osh": [None, [], [(1, 2)], [[True]]],
    "bl": [[True], (False, True), [], [1], True, None, [np.bool_(True)]],
    "obl": [None, [], [True], [0]],
    "n": [2, 2.0, True, 2j, 0, 0.0, False, 0j, float("nan"), float("inf"), complex(float("inf"), 0), np.int64(3), "2"],
    "n ": [np.float32(0.5), np.bool_(True), np.complex64(1j), fractions.Fraction(1, 3), torch.tensor(4), None],
    "on": [None, 1, 1.0, True, 1j, "1"],
    "i2": [3, [3, 4], (1, 1), [1], [1, 2, 3], True, 1.5, np.int64(3), None],
    "f2": [3, 0.5, [1, 0.5], [0.5], True, np.float32(0.5)],
    "b2": [[True, False], [False], True],
    "s2": [["a", "b"], "ab", ["a"]],
    "oi2": [None, 3, [3, 4], [1]],
    "nope": [1],
}
CASES = [(name.strip(), value) for name, values in VALUES.items() for value in values]
#: Torch's compiler takes them into a graph; it breaks the graph at others.
PLAIN = (bool, int, float, complex, str, bytes, torch.dtype, type(None))
seen = []


@pytest.fixture(scope="module", autouse=True)
def op():
    with isolated():
        schema = "routes_op(Tensor x, *, int i=1, float f=0.1, bool b=False, str s='a', int[] l=[1, 2], "
        schema += "float[] fl=[0.5], complex c=0j, dtype d=torch.float32, int? oi=None, float? of=1.5, bool? ob=None, "
        schema += "str? os='a', int[]? ol=None, dtype? od=torch.float32, dtype[]? odl=None, complex? oc=1j, "
        schema += (
            "bytes? oby=None, shape[]? osh=None, bool[] bl=[True], bool[]? obl=[False], Scalar n=1, Scalar? on=1.0, "
        )
        schema += "int[2] i2=1, float[2] f2=1, bool[2] b2=True, str[2] s2=['a', 'b'], int[2]? oi2=7) -> Tensor"
        op = oneop.define(schema, infer="elementwise")

        @op.register_kernel("cpu")
        def kernel(x, i, f, b, s, l, fl, c, d, **optional):  # noqa: E741
            seen.append(repr((i, f, b, s, list(l), list(fl), c, d, sorted(optional.items()))))
            return x * 1

        yield op


def observe(call):
    """What the kernel got, or the class and the text of what was raised."""
    seen.clear()
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return seen[-1]


def is_plain(value):
    if isinstance(value, complex) and not np.isfinite(value):
        return False  # a graph is text, which has no such number
    return all(map(is_plain, value)) if type(value) in (list, tuple) else type(value) in PLAIN


def eager(attrs):
    return observe(lambda: oneop.ops.routes_op(torch.ones(2), **attrs))


def same_compiled(attrs, **options):
    torch._dynamo.reset()  # so many programs of one function are more than torch keeps
    compiled = torch.compile(lambda x: oneop.ops.routes_op(x, **attrs), backend="aot_eager", **options)
    assert observe(lambda: compiled(torch.ones(2))) == eager(attrs), attrs


def test_plain_values_compiled_as_eager():
    """All that the op takes, in as few calls as there are such values of one attribute."""
    taken = {}
    for name, value in CASES:
        if is_plain(value) and isinstance(eager({name: value}), str):
            taken.setdefault(name, []).append(value)
    rounds = max(map(len, taken.values()))
    assert len(taken) > 25 and rounds > 5
    for n in range(rounds):
        same_compiled({name: values[n] for name, values in taken.items() if n < len(values)}, fullgraph=True)


@pytest.mark.parametrize("name", {name: None for name, _ in CASES})
def test_refused_and_converted_values_compiled_as_eager(name):
    """The first that the op refuses, and the first that is not plain."""
    values = [value for other, value in CASES if other == name]
    refused = [value for value in values if not isinstance(eager({name: value}), str)]
    others = [value for value in values if not is_plain(value)]
    for value in [*refused[:1], *others[:1]]:
        same_compiled({name: value})


@pytest.mark.slow
@pytest.mark.parametrize("name, value", CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_compiled_as_eager(name, value):
    same_compiled({name: value})


def test_an_int_of_more_than_64_bits_is_refused():
    compiled = torch.compile(lambda x: oneop.ops.routes_op(x, i=2**63), backend="aot_eager")
    for call in (compiled, lambda x: oneop.ops.routes_op(x, i=2**63)):
        assert observe(lambda call=call: call(torch.ones(2)))[0] in ("TorchRuntimeError", "ArgumentError")


def test_a_graph_that_must_be_whole_says_why_it_is_not():
    compiled = torch.compile(lambda x: oneop.ops.routes_op(x, i=np.int64(3)), backend="aot_eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="an attribute of the op is not plain"):
        compiled(torch.ones(2))


def test_plain_attributes_do_not_break_the_graph():
    """Sizes of the inputs too, which are symbols while torch traces."""

    def program(x):
        return oneop.ops.routes_op(x, i=x.shape[0], f=x.shape[0] * 0.5, l=[x.shape[0], 2], fl=(0.5, x.shape[0] * 1.0))

    compiled = torch.compile(program, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (2, 5, 9):
        x = torch.ones(size)
        assert observe(lambda x=x: compiled(x)) == observe(lambda x=x: program(x))


ZEROS = {"f": -0.0, "f2": 0.0, "fl": [-0.0, 0.0], "c": complex(-0.0, -0.0), "c2": complex(0.0, 0.0)}


@pytest.mark.parametrize("language", ["numpy", "torch"])
@pytest.mark.parametrize("name", ZEROS)
def test_a_zero_of_the_other_sign_than_the_default(name, language):
    """torch's compilers leave out an argument that equals its default, so the default it is on every route."""
    with isolated():
        schema = "zeros_op(Tensor x, *, float f=0.0, float f2=-0.0, float[] fl=[0.0, -0.0], "
        op = oneop.define(schema + "complex c=0j, complex c2=-0j) -> Tensor", infer="elementwise")
        where = {"language": "torch"} if language == "torch" else {"device": "cpu"}

        @op.register_kernel(**where)
        def kernel(x, f, f2, fl, c, c2):
            numbers = [f, f2, *fl, c.real, c.imag, c2.real, c2.imag]
            return x * sum(2.0**i for i, number in enumerate(numbers) if np.copysign(1, number) < 0)

        given = {name: ZEROS[name]}
        x = torch.ones(2)
        expected = op(x)
        assert torch.equal(op(x, **given), expected)
        assert torch.equal(torch.ops.oneop.zeros_op(x, **given), expected)
        compiled = torch.compile(lambda x: op(x, **given), backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(x), expected)
        assert torch.equal(oneop.compile_job(lambda x: op(x, **given), [x])(x), expected)
