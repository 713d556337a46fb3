"""Every form of torch.library's schemas is accepted, or refused with a reason and what to write instead.

docs/schema_forms.md is the table that this test makes. To write it again: python tests/authoring/test_schema_forms.py
"""

from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import RegistrationError
from oneop.registry import isolated

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schema_forms.md"

#: What torch.library.define takes, by kind: (schema, what to write where oneop refuses it).
FORMS = {
    "Inputs": [
        ("f(Tensor x) -> Tensor", ""),
        ("f(Tensor x, Tensor y) -> Tensor", ""),
        ("f(Tensor? x) -> Tensor", ""),
        ("f(Tensor x, Tensor? y=None) -> Tensor", ""),
        ("f(Tensor x, Tensor y=None) -> Tensor", ""),
        ("f(Tensor[] xs) -> Tensor", ""),
        ("f(Tensor[2] xs) -> Tensor", ""),
        ("f(Tensor?[] xs) -> Tensor", ""),
        ("f(Tensor x, *, Tensor y) -> Tensor", ""),
    ],
    "Inputs that are changed, and views": [
        ("f(Tensor(a!) x) -> ()", ""),
        ("f(Tensor(a!)[] xs) -> ()", ""),
        ("f(Tensor(a!) x) -> Tensor(a!)", "`-> ()`; the caller has the tensor"),
        ("f(Tensor(a!) x, Tensor(b!) y) -> ()", ""),
        ("f(Tensor(a!) x, Tensor(a!) y) -> ()", "`f(Tensor(a!) x, Tensor(b!) y)`; each is a tensor of its own"),
        ("f(Tensor(a) x) -> Tensor(a)", "return a copy; torch's compilers take no views of custom ops"),
        (
            "f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            "`f(Tensor x) -> Tensor`, and `f_(Tensor(a!) out, Tensor x) -> ()`",
        ),
    ],
    "Attributes": [
        *((f"f(Tensor x, *, {kind} k) -> Tensor", "") for kind in ("int", "float", "bool", "str", "complex")),
        ("f(Tensor x, *, SymInt k) -> Tensor", ""),
        ("f(Tensor x, *, ScalarType k) -> Tensor", ""),
        ("f(Tensor x, *, Scalar k) -> Tensor", ""),
        ("f(*, int n, Device? device=None) -> Tensor", ""),
        ("f(Tensor x, *, Device k) -> Tensor", "nothing: the inputs say where it runs"),
        ("f(Tensor x, *, Layout k) -> Tensor", "`str k`, and its name"),
        ("f(Tensor x, *, MemoryFormat k) -> Tensor", "`str k`, and its name"),
        ("f(Tensor x, *, Stream k) -> Tensor", "nothing: kernels run on torch's current stream"),
        ("f(Tensor x, *, Any k) -> Tensor", "a type; a choice of several is an attribute for each, with a default"),
        ("f(Tensor x, *, Dict(str, int) k) -> Tensor", "`str[] keys, int[] values`"),
        ("f(Tensor x, *, Generator? k) -> Tensor", "`define(..., random=True)`: kernels draw from torch's generator"),
    ],
    "Lists": [
        *(
            (f"f(Tensor x, *, {kind}[] k) -> Tensor", "")
            for kind in ("int", "SymInt", "float", "bool", "str", "ScalarType")
        ),
        ("f(Tensor x, *, complex[] k) -> Tensor", "`float[] k`, real and imaginary parts in turn"),
        *(
            (f"f(Tensor x, *, {kind} k) -> Tensor", "")
            for kind in ("int[2]", "SymInt[3]", "float[2]", "bool[2]", "str[2]", "ScalarType[2]")
        ),
        ("f(Tensor x, *, Scalar[] k) -> Tensor", "`float[] k`, or `int[] k`"),
        ("f(Tensor x, *, int[][] k) -> Tensor", "`shape[] k`"),
        ("f(Tensor x, *, int?[] k) -> Tensor", "two lists: the values, and which are there"),
        ("f(Tensor x, *, (int, int) k) -> Tensor", "`int[2] k`"),
        ("f(Tensor[][] xs) -> Tensor", "`Tensor[] xs`, and an `int[]` of the lengths"),
    ],
    "Optional attributes": [
        *(
            (f"f(Tensor x, *, {kind}? k=None) -> Tensor", "")
            for kind in ("int", "float", "bool", "str", "ScalarType", "Scalar", "int[]", "float[]", "bool[]", "int[2]")
        ),
        ("f(Tensor x, *, int? k) -> Tensor", ""),
        ("f(Tensor x, *, int k=None) -> Tensor", "`int? k=None`"),
    ],
    "Defaults and positions": [
        ("f(Tensor x, int k) -> Tensor", ""),
        ("f(Tensor x, int k=2, float s=1.0) -> Tensor", ""),
        ("f(Tensor x, *, int[] k=[1, 2]) -> Tensor", ""),
        ("f(Tensor x, int[2] k=1, *, float[2] s=0.5) -> Tensor", ""),
        ("f(Tensor x, *, bool[2] k=True, Scalar s=2.0) -> Tensor", ""),
        ('f(Tensor x, *, str k="mean") -> Tensor', ""),
        ("f(Tensor x, int k=2, Tensor? y=None) -> Tensor", "`f(Tensor x, Tensor? y=None, int k=2)`"),
        ("f(int k, Tensor x) -> Tensor", "`f(Tensor x, int k)`"),
        ("f(Tensor x, int k=2, *, Tensor w) -> Tensor", "`f(Tensor x, *, Tensor w, int k=2)`"),
        ("f(Tensor x, *, *, int k) -> Tensor", "`f(Tensor x, *, int k)`"),
    ],
    "Names": [
        ("ns::f(Tensor x) -> Tensor", "`f(Tensor x)`, or `ns__f(Tensor x)`: all ops are in the namespace oneop"),
        ("f.out(Tensor x) -> Tensor", "`f_out(Tensor x)`: an op has no overloads"),
    ],
    "Results": [
        ("f(Tensor x) -> Tensor y", ""),
        ("f(Tensor x) -> (Tensor a, Tensor b)", ""),
        ("f(Tensor x) -> ()", ""),
        ("f(Tensor x) -> Tensor[]", ""),
        ("f(Tensor x) -> Tensor?", ""),
        *((f"f(Tensor x) -> {kind}", "`-> Tensor` of one element") for kind in ("int", "bool", "Scalar")),
        ("f(Tensor x) -> None", "`-> ()`"),
        ("f(Tensor x) -> ...", "`-> Tensor[]`"),
        ("f(Tensor x) -> (Tensor, float)", "`-> (Tensor, Tensor)`, the second of one element"),
    ],
}

HEAD = """# Schemas: what is accepted

`oneop.define` reads schemas in the form that torch.library uses. The tables on this page are generated by [a
test](../tests/authoring/test_schema_forms.py) that tries every form. Each form is accepted or refused; if it is
refused, the last column says what to write instead.

For torch.compile and torch.export, the value of an attribute is a constant, also that of a `SymInt`. A call with
another value is compiled again. A size that changes should therefore come from the shape of an input.
`oneop.ops.<name>` takes attributes by position if the schema allows it; `torch.ops.oneop.<name>` takes them by name.

In torch's schema, `Tensor?[] xs` becomes a list of the tensors that are given and an attribute `bool[] xs_given=[]`.
Calls of `oneop.ops` set the attribute; an empty list means that all tensors are given. An input after the star may
also be given by position.

`Tensor y=None` is read as `Tensor? y=None`, because torch's parser accepts it too. The type of an attribute that may
be None must have a question mark. The schema of an op with `-> Tensor[]` or `-> Tensor?` does not say how many
tensors it returns. The call gives the numbers, one for each output: `op(x, output_counts=[3])`. By default a list has
one tensor and a `Tensor?` has none.

`torch.ops.oneop.<name>` takes arguments as torch reads the schema. There, `dtype[]` is a list of torch's numbers of
dtypes, and among lists of a fixed length, only `int[2]` takes one number for all elements. `oneop.ops.<name>` takes
dtypes, and one number for any list of numbers of a fixed length.

An op without inputs runs on the device of its argument `device`. Without this argument it runs on torch's default
device, as `torch.arange` does: `torch.set_default_device` and `with torch.device(...)` are respected, in eager mode
and under torch.compile. An op whose inputs are all optional runs on the CPU if none is given.

An argument may have any name. In torch's schemas, in `torch.ops` and in the `attrs` of a rule for vmap, some names
get an underscore at the end, because torch uses them itself: keywords (`lambda_`), `self_`, and for attributes
`device_`, `requires_grad_`, `curr_mode_`, `op_overload_` and `output_counts_`. A gradient for an op with an argument
called `needs` is refused, because `ctx.needs` says which gradients are needed.
"""


def outcome(schema):
    """Return "" if it is accepted, else what is said."""
    with isolated():
        try:
            oneop.define(schema)
        except RegistrationError as error:
            text = str(error)
            assert text.startswith(f'schema "{schema}": '), text
            return text.removeprefix(f'schema "{schema}": ').splitlines()[0]
    return ""


def page():
    lines = [HEAD]
    for title, forms in FORMS.items():
        lines += [f"## {title}", "", "| schema | | write instead |", "|---|---|---|"]
        lines += [
            f"| `{schema}` | {'refused' if outcome(schema) else 'accepted'} | {other} |" for schema, other in forms
        ]
        lines.append("")
    return "\n".join(lines)


@pytest.mark.parametrize("schema, other", [form for forms in FORMS.values() for form in forms])
def test_each_is_accepted_or_has_an_alternative(schema, other):
    assert bool(outcome(schema)) == bool(other)
    library = torch.library.Library("schema_forms", "FRAGMENT")
    if schema.startswith("f(") and "int k=None" not in schema:
        library.define(schema.replace("f(", "f_0(", 1))


def test_the_page_says_what_was_seen():
    assert PAGE.read_text() == page(), "python tests/authoring/test_schema_forms.py"


if __name__ == "__main__":
    PAGE.write_text(page())
