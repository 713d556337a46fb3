"""What is refused in schemas and calls says why and what to write, the same in Python and in C++."""

import re
import typing
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

import oneop
from oneop.authoring.other_forms import INSTEAD
from oneop.errors import ArgumentError, CheckError, OneopError, RegistrationError
from oneop.registry import isolated

HEAD = '#include "oneop/op.h"\n'


def python_says(schema):
    with pytest.raises(RegistrationError) as caught:
        oneop.define(schema)
    return str(caught.value)


# --- types that torch has ---


def test_op_h_has_the_same_table():
    header = (Path(oneop.__file__).parent / "include" / "oneop" / "op" / "schema.h").read_text()
    table = header[header.index("kInstead[] = {") :].split("};")[0]
    entries = dict(re.findall(r'\{"([^"]+)",\s*((?:"[^"]*"\s*)+)\}', table))
    joined = {name: "".join(re.findall(r'"([^"]*)"', text)) for name, text in entries.items()}
    assert joined == {name: f"there is no such type of attributes; {text}" for name, text in INSTEAD.items()}


@pytest.mark.parametrize("word", [word for word in INSTEAD if word != "Dict"])
@pytest.mark.parametrize("form", ["{} k", "{}? k=None"])
def test_types_of_torch_say_what_to_write(word, form):
    said = python_says(f"sr_type(Tensor x, *, {form.format(word)}) -> Tensor")
    assert said.splitlines()[-1].strip() == INSTEAD[word]


@pytest.mark.parametrize("word", ["bool", "int", "Scalar", "float[]", "Layout", "str?", "double"])
def test_results_are_tensors(word):
    for returns in (word, f"(Tensor, {word})", f"({word} y, Tensor)"):
        assert "an op returns tensors; write -> Tensor" in python_says(f"sr_result(Tensor x) -> {returns}")


REFUSED = {
    "ns::sr_f(Tensor x) -> Tensor": "all ops are in the namespace oneop; write the name alone",
    "sr_f.out(Tensor x) -> Tensor": "an op has no overloads; give it a name of its own",
    "sr_f(Tensor x, *, *, int k) -> Tensor": "there are two stars; one says that what follows is given by name",
    "sr_f(Tensor(a!) x, Tensor(a!) y) -> ()": "as if they were one tensor; write Tensor(b!) for one",
    "sr_f(Tensor(a!)[] x, Tensor y, Tensor(a!) z) -> ()": "as if they were one tensor; write Tensor(b!) for one",
    "sr_f(Tensor x, *, Stream k) -> Tensor": "leave it out: kernels run on torch's current stream",
    "sr_f(Tensor x) -> Scalar": "an op returns tensors; write -> Tensor, and return one of one element",
}


@pytest.mark.parametrize("schema", REFUSED)
def test_python_refuses_with_a_reason(schema):
    assert REFUSED[schema] in python_says(schema)


# Every second one among the quick tests: each compiles a library.
@pytest.mark.parametrize(
    "schema", [pytest.param(schema, marks=[pytest.mark.slow] * (n % 2)) for n, schema in enumerate(REFUSED)]
)
def test_cpp_refuses_with_the_same_reason(schema):
    with pytest.raises(RegistrationError) as caught:
        oneop.load_inline("sr_refused", HEAD + f'OP("{schema}").kernel<float>([](oneop::Call&) {{}});')
    assert REFUSED[schema] in str(caught.value)


# --- annotated functions ---


@pytest.mark.parametrize("default", [torch.ones(3), 1, 0.5, "x", [torch.ones(1)], True, 0], ids=str)
@pytest.mark.parametrize("kind", [Tensor, Tensor | None, list[Tensor], list[Tensor | None]], ids=str)
def test_an_input_has_no_default_but_none(kind, default):
    def sr_default(x, y=default): ...

    sr_default.__annotations__ = {"x": Tensor, "y": kind, "return": Tensor}
    with pytest.raises(RegistrationError, match=r"an input may have the default None and no other(.|\n)*write y:"):
        oneop.define(sr_default)


@pytest.mark.parametrize(
    "kind",
    [list[Tensor | None], typing.List[typing.Optional[Tensor]], Sequence[Tensor | None]],  # noqa: UP006, UP045
    ids=str,
)
def test_lists_with_gaps_from_annotations(kind):
    def sr_gaps(xs, w=None):
        return sum(x for x in xs if x is not None) + (0 if w is None else w)

    sr_gaps.__annotations__ = {"xs": kind, "w": Tensor | None, "return": Tensor}
    op = oneop.define(sr_gaps)
    op.register_infer(lambda xs, w: next(x for x in xs if x is not None))
    assert op([None, torch.ones(2), None, torch.ones(2)]).tolist() == [2, 2]


def test_a_tensor_that_is_none_by_default_is_optional():
    op = oneop.define("sr_none(Tensor x, Tensor y=None) -> Tensor z", infer="same_shape", differentiable=False)
    op.register_kernel("cpu")(lambda x, y: x if y is None else x + y)
    assert (op(torch.ones(1)).item(), op(torch.ones(1), torch.ones(1)).item()) == (1, 2)


# --- sizes that depend on data ---


@pytest.mark.parametrize("axes", [1, 5, [0, 1], 31])
def test_an_axis_beyond_a_known_rank_is_refused_at_once(axes):
    with pytest.raises(RegistrationError, match='dynamic: output "y" has 1 axes, found axis'):
        oneop.define("sr_rank(Tensor x) -> Tensor y", infer="a b -> a", dynamic={"y": axes})
    oneop.define("sr_open(Tensor x) -> Tensor y", infer="... b -> ...", dynamic={"y": axes})


@pytest.mark.parametrize("axis", [1, 5, 31])
def test_an_axis_beyond_the_rank_of_a_call_is_refused(axis):
    op = oneop.define(
        "sr_late(Tensor x) -> Tensor y", infer="same_shape", dynamic={"y": [0, axis]}, differentiable=False
    )
    op.register_kernel("cpu")(lambda x: x[:1])
    with pytest.raises(CheckError, match=f"depends on data along axis {axis}, and inference gave it 1 axes"):
        op(torch.ones(3))
    with pytest.raises(Exception, match=f"depends on data along axis {axis}, and inference gave it 1 axes"):
        torch.compile(op, backend="aot_eager", fullgraph=True)(torch.ones(3))
    if axis == 1:
        assert op(torch.ones(3, 2)).shape == (1, 2)


@pytest.mark.parametrize("form", ["elementwise<float>([](auto x) { return x; })", "rows<float>([](auto x, auto y) {})"])
def test_forms_that_cannot_say_a_size_are_refused(form):
    for chain in (f'.dynamic("y", 0).{form}', f'.{form}.dynamic("y", 0)'):
        text = f'OP("sr_form(Tensor x) -> Tensor y").same_shape(){chain}.no_grad();'
        with pytest.raises(RegistrationError, match="cannot say what the size of output y came to"):
            oneop.load_inline("sr_form", HEAD + text)


# --- what inference says ---


def test_errors_of_inference_show_what_was_found():
    library = oneop.load_inline(
        "sr_infer",
        HEAD + 'OP("sr_check(Tensor x, Tensor[] ys) -> Tensor z").infer([](oneop::Infer& ctx) {'
        ' ctx.check(ctx.size("x", 0) == 2, "x has two rows"); ctx.set_like("z", "x"); })'
        ".kernel<float>([](oneop::Call&) {}).no_grad();",
    )
    with pytest.raises(OneopError) as caught:
        library.sr_check(torch.ones(3, 4), [torch.ones(5, dtype=torch.int8), torch.ones(())])
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("x has two rows")
    assert lines[1] == "  x: float32[3, 4], ys: int8[5], ys: float32[]"

    op = oneop.define("sr_raises(Tensor x) -> Tensor z")

    @op.register_infer
    def infer(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match=r"no\n  x: float64\[7\]"):
        op(torch.ones(7, dtype=torch.float64))


@pytest.mark.parametrize(
    "returns, hint", [("Tensor[] ys", "how many tensors ys has"), ("Tensor? y", "y is there where")]
)
def test_a_wrong_number_of_outputs_names_output_counts(returns, hint):
    op = oneop.define(f"sr_counts(Tensor x) -> ({returns})")
    op.register_infer(lambda x: [x, x, x])
    with pytest.raises(CheckError, match=f"inference gave 3, expected(.|\n)*{hint}.*output_counts"):
        op(torch.ones(1))


# --- where an op without inputs runs ---


@pytest.fixture
def arange():
    op = oneop.define("sr_arange(*, int n, Device? device=None) -> Tensor y", differentiable=False)
    op.register_infer(lambda n: oneop.TensorSpec((n,), torch.float32))
    op.register_kernel("cpu")(lambda n: torch.arange(n, dtype=torch.float32, device="cpu").numpy())
    return op


@pytest.mark.parametrize("device", ["cpu:1", "cpu:7", torch.device("cpu:1"), torch.device("cpu", 2)], ids=str)
def test_there_is_one_cpu(arange, device):
    for call in (arange, torch.ops.oneop.sr_arange):
        with pytest.raises(
            ArgumentError, match='device: there is one cpu, found an index above 0\n  write device="cpu"'
        ):
            call(n=2, device=device)
        assert call(n=2, device="cpu:0").tolist() == [0, 1]


def test_the_default_device_of_torch_counts(arange):
    compiled = torch.compile(lambda: arange(n=2), backend="aot_eager", fullgraph=True)
    calls = [lambda: arange(n=2), lambda: torch.ops.oneop.sr_arange(n=2), compiled]
    assert [call().device.type for call in calls] == ["cpu"] * 3
    with torch.device("meta"):
        assert [call().device.type for call in calls] == ["meta"] * 3
        assert arange(n=2, device="cpu").tolist() == [0, 1]
        with torch.device("cpu"):
            assert arange(n=2).tolist() == [0, 1]
    torch.set_default_device("meta")
    try:
        assert [call().device.type for call in calls] == ["meta"] * 3
    finally:
        torch.set_default_device(None)
    assert [call().tolist() for call in calls] == [[0, 1]] * 3


def test_the_default_device_is_not_for_ops_with_inputs():
    with isolated():
        oneop.define("sr_maybe(*, int n=2) -> Tensor y", differentiable=False)
    op = oneop.define("sr_maybe(Tensor? x=None, *, int n=2) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, n: oneop.TensorSpec((n,), torch.float32))
    op.register_kernel("cpu")(lambda x, n: torch.arange(n, dtype=torch.float32, device="cpu").numpy())
    x = torch.ones(1)
    with torch.device("meta"):
        assert op(x).tolist() == op().tolist() == [0, 1]


def test_the_default_device_counts_for_ops_in_cpp():
    library = oneop.load_inline(
        "sr_fill",
        HEAD + 'OP("sr_fill(*, int n) -> Tensor y").infer([](oneop::Infer& ctx) {'
        ' ctx.set<float>("y", {ctx.attr<int64_t>("n")}); }).kernel<float>([](auto y) { y[0] = 1; }).no_grad();',
    )
    with torch.device("meta"):
        assert library.sr_fill(n=2).device.type == "meta"


def test_a_scalar_has_64_bits():
    op = oneop.define("sr_scalar(Tensor x, *, Scalar k) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x, k: x)
    for value in (2**63, 2**70, -(2**63) - 1):
        with pytest.raises(ArgumentError, match="expected an int of 64 bits, float, bool or complex, found int"):
            op(torch.ones(1), k=value)
