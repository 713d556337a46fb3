"""Ops from annotated functions, and kernels registered without parentheses."""

import math
import typing
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

import oneop
from oneop.authoring.annotations import _OTHERS, has_body, schema_of_function
from oneop.authoring.binding import Source
from oneop.authoring.parse_schema import parse_schema
from oneop.errors import RegistrationError
from oneop.registry import get_op, isolated

HERE = Source(file="here.py", line=1, library="python:here")


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def test_the_body_is_a_kernel_that_torch_differentiates():
    @oneop.define(infer="elementwise")
    def an_scale(x: Tensor, k: int = 2, *, by: float | None = None) -> Tensor:
        """Multiply."""
        return x * k * (1.0 if by is None else by)

    x = torch.ones(3, requires_grad=True)
    an_scale(x, 3, by=0.5).sum().backward()
    assert x.grad.tolist() == [1.5] * 3
    assert an_scale.__doc__.startswith("Multiply.\n")
    assert get_op("an_scale").schema == "oneop::an_scale(Tensor x, *, int k=2, float? by=None) -> Tensor"
    assert torch.compile(lambda x: an_scale(x, 3), backend="aot_eager", fullgraph=True)(x).tolist() == [3.0] * 3
    assert get_op("an_scale").source.file == __file__


def test_a_function_without_a_body_only_defines():
    @oneop.define
    def an_sum(xs: list[Tensor], w: Tensor | None = None) -> Tensor: ...

    an_sum.register_infer(lambda xs, w: xs[0])

    @an_sum.register_kernel
    def kernel(xs, w):
        return sum(xs) if w is None else sum(xs) * w

    assert an_sum([torch.ones(2), torch.ones(2)]).tolist() == [2.0, 2.0]
    assert an_sum([torch.ones(2)], torch.full((2,), 3.0)).tolist() == [3.0, 3.0]
    assert callable(kernel) and get_op("an_sum").kernels[0].language == "numpy"


def nothing(x: Tensor) -> Tensor: ...


def only_text(x: Tensor) -> Tensor:
    """Say what it will be."""


def passes(x: Tensor) -> Tensor:
    pass


def itself(x: Tensor) -> Tensor:
    return x


def chosen(x: Tensor, k: int = 2) -> Tensor:
    return x * k if k else x


def fails(x: Tensor) -> Tensor:
    raise NotImplementedError


def test_what_is_a_body():
    bodies = [has_body(function) for function in (nothing, only_text, passes, itself, chosen, fails)]
    assert bodies == [False, False, False, True, True, True]


def test_what_changes_in_place_and_several_outputs():
    @oneop.define(mutates=["x"])
    def an_add_(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    x = torch.ones(2)
    assert an_add_(x, torch.ones(2)) == () and x.tolist() == [2.0, 2.0]

    @oneop.define(infer="same_shape")
    def an_pair(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x + 2

    assert [y.tolist() for y in an_pair(torch.zeros(1))] == [[1.0], [2.0]]


def typed(annotation, default=...):
    def f(x, k): ...

    f.__annotations__ = {"x": Tensor, "k": annotation, "return": Tensor}
    if default is not ...:
        f.__defaults__ = (default,)
    return parse_schema(schema_of_function(f, (), HERE)).attrs[0]


@pytest.mark.parametrize(
    "annotation, default, kind",
    [
        (int, 3, "int"),
        (float, float("-inf"), "float"),
        (bool, True, "bool"),
        (str, "a, b", "str"),
        (str, "torch.float32", "str"),
        (str, 'it\'s "q", x', "str"),
        (str, "\\", "str"),
        (str, "a\\'\\\", b", "str"),
        (list[str], ["it's", '"q", x', "\\"], "str[]"),
        (bytes, b"\"',\\", "bytes"),
        (list[float], [float("inf"), 0.1], "float[]"),
        (complex, 1j, "complex"),
        (bytes, b"\x00", "bytes"),
        (torch.dtype, torch.float16, "dtype"),
        (list[int], [1, 2], "int[]"),
        (Sequence[int], (1, 2), "int[]"),
        (typing.List[int], [], "int[]"),  # noqa: UP006
        (typing.Sequence[float], [0.5], "float[]"),
        (tuple[int, ...], (1, 2), "shape"),
        (list[str], ["a"], "str[]"),
        (list[torch.dtype], [torch.int8], "dtype[]"),
        (list[tuple[int, ...]], [(1,), (2, 3)], "shape[]"),
    ],
)
def test_every_type_with_and_without_none_and_default(annotation, default, kind):
    for optional in (False, True):
        attr = typed(annotation | None if optional else annotation)
        assert (attr.type, attr.is_optional, attr.has_default) == (kind, optional, False)
        attr = typed(typing.Optional[annotation] if optional else annotation, default)  # noqa: UP045
        expected = list(default) if isinstance(default, tuple) else default
        assert (attr.type, attr.is_optional, attr.has_default, attr.default) == (kind, optional, True, expected)
    assert typed(annotation | None, None).has_default


def untyped(x, k: int) -> Tensor: ...
def star(*xs: Tensor) -> Tensor: ...
def stars(x: Tensor, **kw: int) -> Tensor: ...
def strange(x: Tensor, k: set) -> Tensor: ...
def number(x: Tensor) -> float: ...
def no_result(x: Tensor): ...
def unknown(x: "NoSuchType") -> Tensor: ...  # noqa: F821
def late(x: Tensor, k: int, y: Tensor) -> Tensor: ...


@pytest.mark.parametrize(
    "function, says",
    [
        (untyped, "untyped: parameter x has no annotation, such as x: Tensor"),
        (star, r"star: an op has a fixed number of arguments, found \*xs; use list\[Tensor\]"),
        (stars, r"stars: an op has a fixed number of arguments, found \*\*kw; use list\[Tensor\]"),
        (strange, "strange: parameter k: no schema has the type set"),
        (number, "number: an op returns tensors, found -> float"),
        (no_result, "no_result: the result has no annotation"),
        (unknown, "unknown: its annotations cannot be read: name 'NoSuchType' is not defined"),
        (late, '"Tensor y" comes after the attribute k; inputs come first'),
    ],
)
def test_functions_that_say_no_schema(function, says):
    with pytest.raises(RegistrationError, match=says):
        oneop.define(function)


@pytest.mark.parametrize("kind", _OTHERS, ids=str)
@pytest.mark.parametrize("is_optional", [False, True])
def test_types_of_torch_say_what_to_write(kind, is_optional):
    def other(x, k): ...

    other.__annotations__ = {"x": Tensor, "k": kind | None if is_optional and kind is not typing.Any else kind}
    other.__annotations__["return"] = Tensor
    with pytest.raises(RegistrationError, match="parameter k: no schema has the type ") as caught:
        oneop.define(other)
    assert str(caught.value).splitlines()[1].strip() == _OTHERS[kind]


def test_what_is_changed_must_be_a_parameter():
    with pytest.raises(RegistrationError, match="mutates names z, which is no parameter; there are: x"):
        oneop.define(mutates=["z"])(no_result)
    with pytest.raises(RegistrationError, match="mutates is for annotated functions; write Tensor"):
        oneop.define("an_f(Tensor x) -> Tensor", mutates=["x"])


@pytest.mark.parametrize("default", [1 + 2j, -1j, complex(math.inf, -2.5), complex(0.0, 1e300)])
def test_complex_defaults(default):
    def annotated(x: Tensor, k: complex = default) -> Tensor: ...

    (attr,) = parse_schema(schema_of_function(annotated, (), HERE)).attrs
    assert attr.default == default
