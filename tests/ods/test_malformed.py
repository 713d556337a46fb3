"""Every malformed definition is refused with file, line, column, the source line and a caret."""

import pytest

from oneop.errors import BuildError, OdsError, OneopError
from oneop.ods import read_ops

from .malformed import MALFORMED


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.name)
def test_is_refused(case, tmp_path):
    path = tmp_path / "bad.td"
    path.write_text(case.text)
    with pytest.raises(OdsError) as caught:
        read_ops(path)
    error = caught.value
    first, shown, caret = str(error).split("\n")
    assert (error.file, error.line, error.column) == (str(path), case.line, case.column), str(error)
    assert first.startswith(f"{path}:{case.line}:{case.column}: error: ")
    assert case.says in first
    assert shown == [*case.text.split("\n"), ""][case.line - 1]
    assert caret == " " * (case.column - 1) + "^"
    assert isinstance(error, (OneopError, BuildError, ValueError))


def test_there_are_enough():
    assert len(MALFORMED) >= 39


def test_fault_in_an_include_is_shown_there(tmp_path):
    (tmp_path / "inner.td").write_text("class A {\n\tint b = c;\n}")
    (tmp_path / "outer.td").write_text('include "inner.td"\n')
    with pytest.raises(OdsError) as caught:
        read_ops(tmp_path / "outer.td")
    assert str(caught.value) == f"{tmp_path}/inner.td:2:10: error: 'c' is not defined\n\tint b = c;\n\t        ^"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(OdsError, match="cannot read"):
        read_ops(tmp_path / "absent.td")


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "bad.td").write_bytes(b"def \xff;")
    with pytest.raises(OdsError, match="not UTF-8"):
        read_ops(tmp_path / "bad.td")


@pytest.mark.parametrize("opening, closing", [("(", ")"), ("[", "]"), ("!add(1, ", ")")])
def test_deep_nesting_is_an_error(opening, closing, tmp_path):
    (tmp_path / "deep.td").write_text("def a { int b = " + opening * 20000 + "1" + closing * 20000 + "; }")
    with pytest.raises(OdsError):
        read_ops(tmp_path / "deep.td")
