"""AOTInductor packages: attributes of every type that torch can store, given and left at their defaults."""

import pytest
import torch

import oneop
from oneop.errors import OneopError

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's own

#: Schema type: (default, another value).
ATTRIBUTES = {
    "int": ("3", 7),
    "int32": ("-2", 8),
    "bool": ("True", False),
    "float": ("1.5", 2.5),
    "float32": ("0.5", 0.25),
    "str": ('"a"', "b"),
    "bytes": ('"ab"', b"x"),
    "shape": ("[2, 3]", [1]),
    "dtype": ("float32", torch.float64),
    "int[]": ("[1, 2]", []),
    "int32[]": ("[4]", [1, 2, 3]),
    "float[]": ("[0.5]", [1.0, 2.0]),
    "str[]": ('["a", "b"]', ["c"]),
    "dtype[]": ("[float32]", [torch.int32]),
    "int?": ("None", -1),
    "float?": ("0.5", None),
    "str?": ("None", ""),
    "dtype?": ("float64", None),
    "int[]?": ("None", [0]),
    "float[]?": ("None", []),
    "bool[]": ("[True]", [False, True]),
    "bool[]?": ("None", [True]),
    "int[2]": ("1", 3),
    "float[3]": ("[0.5, 1.0, 2.0]", 4.0),
    "bool[2]": ("True", [True, False]),
    "str[2]": ('["a", "b"]', ["c", "d"]),
    "int[2]?": ("None", [4, 5]),
    "Scalar": ("2", 2.0),
    "Scalar?": ("2.0", 2),
}


def quickly():
    """Compile C++ without optimization, and without precompiled headers, which cost more than they save here."""
    options = {"compile_wrapper_opt_level": "O0", "precompile_headers": False}
    return torch._inductor.config.patch({f"aot_inductor.{name}": value for name, value in options.items()})


def mark(x, a):
    """Add a number that is another one for each value of the attribute."""
    return x + float(sum(ord(letter) * (place + 1) for place, letter in enumerate(repr(a))))


class Calls(torch.nn.Module):
    """Each op twice: with its default and with another value."""

    def forward(self, x):
        return [
            result
            for kind, (_, other) in ATTRIBUTES.items()
            for op in [getattr(oneop.ops, name_of(kind))]
            for result in (op(x), op(x, a=other))
        ] + [oneop.ops.packaged_list(x, [x]), oneop.ops.packaged_list(x, [x, x])]


def name_of(kind):
    return "packaged_" + kind.replace("[", "_list").replace("]", "").replace("?", "_or_none")


def test_attributes_of_each_type(tmp_path):
    for kind, (default, _) in ATTRIBUTES.items():
        schema = f"{name_of(kind)}(Tensor x, *, {kind} a={default}) -> Tensor y"
        oneop.define(schema, infer="elementwise", differentiable=False).register_kernel("cpu")(mark)
    add = oneop.define("packaged_list(Tensor x, Tensor[] more) -> Tensor y", differentiable=False)
    add.register_infer(lambda x, more: x)
    add.register_kernel("cpu")(lambda x, more: x + sum(more))
    x = torch.arange(6.0).view(2, 3)
    with torch.no_grad(), quickly():
        exported = torch.export.export(Calls(), (x,))
        path = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "calls.pt2"))
    run = torch._inductor.aoti_load_package(path)
    results = run(x)
    expected = Calls()(x)
    assert len({float(y[0, 0]) for y in expected}) > len(ATTRIBUTES)  # the marks tell values apart
    for given, got, want in zip(
        [*(kind for kind in ATTRIBUTES for _ in "12"), "[x]", "[x, x]"], results, expected, strict=True
    ):
        assert torch.equal(got, want), given
    # Strides that the example did not have.
    for got, want in zip(run(x.t().contiguous().t()), expected, strict=True):
        assert torch.equal(got, want)


def test_an_empty_list_that_would_be_read_as_none_is_refused(tmp_path):
    """AOTInductor's run-time gives None for it. Every other route keeps the two apart."""
    op = oneop.define("packaged_empty(Tensor x, *, int[]? a=None) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(mark)

    class Call(torch.nn.Module):
        def forward(self, x):
            return op(x, a=[])

    x = torch.ones(2)
    exported = torch.export.export(Call(), (x,))
    assert torch.equal(exported.module()(x), op(x, a=[]))
    with pytest.raises(Exception, match='op "packaged_empty", attribute "a": AOTInductor cannot store an empty list'):
        torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "call.pt2"))


@pytest.mark.parametrize("value, what", [(True, "a bool as a Scalar"), (1j, "a complex number")])
def test_scalars_that_torch_cannot_store_are_refused(value, what, tmp_path):
    op = oneop.define("packaged_kind(Tensor x, *, Scalar a) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(mark)

    class Call(torch.nn.Module):
        def forward(self, x):
            return op(x, a=value)

    x = torch.ones(2)
    exported = torch.export.export(Call(), (x,))
    assert torch.equal(exported.module()(x), op(x, a=value))
    with pytest.raises(Exception, match=f'op "packaged_kind", attribute "a": AOTInductor cannot store {what}'):
        torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "call.pt2"))


@pytest.mark.slow  # a package each, to see what torch says; what oneop says is above
@pytest.mark.parametrize("kind", ["complex", "shape[]"])
def test_types_that_torch_cannot_store_fail_by_name(kind, tmp_path):
    default = {"complex": "1j", "shape[]": "[[1], [2]]"}[kind]
    op = oneop.define(f"{name_of(kind)}(Tensor x, *, {kind} a={default}) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(mark)

    class Call(torch.nn.Module):
        def forward(self, x):
            return op(x)

    x = torch.ones(2)
    with pytest.raises((RuntimeError, OneopError), match="Unsupported"), torch.no_grad(), quickly():
        exported = torch.export.export(Call(), (x,))
        path = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "call.pt2"))
        torch._inductor.aoti_load_package(path)(x)
