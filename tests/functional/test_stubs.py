"""The typed surface: stubs are Python, and say what the definitions say."""

import ast
from pathlib import Path

from oneop.functional import read_yaml
from oneop.functional.stubs import function_stubs, op_stubs
from oneop.ods import read_ops

FOLDER = Path(__file__).parent / "library"


def test_functions():
    text = function_stubs(read_yaml(FOLDER / "api.yaml"))
    ast.parse(text)
    assert "def fn_leaky(x: Tensor, alpha: float = ...) -> Tensor:" in text
    assert text.count("@overload") == 3 and "fn_leaky_grad" not in text
    assert "class _fn_pair_result(NamedTuple):\n    first: Tensor\n    second: Tensor" in text
    assert "def fn_pair(x: Tensor) -> _fn_pair_result:" in text
    assert "other: Tensor, *, twice: bool = ..." in text
    assert "in_: Sequence[Tensor], bias: Tensor | None = ..., *, weights: Sequence[int] | None = ..." in text
    assert "il: Sequence[int] | int = ..." in text


def test_ops():
    text = op_stubs(read_ops(FOLDER / "ops.td"))
    ast.parse(text)
    assert "def fn_leaky(x: Tensor, *, alpha: float = ...) -> Tensor:" in text
    assert "def fn_sum(in_: Sequence[Tensor], bias: Tensor | None = None, *, weights: Sequence[int] = ...)" in text


def test_every_type_of_the_corpus():
    ast.parse(op_stubs(read_ops(FOLDER.parents[1] / "ods" / "corpus" / "ops.td")))
