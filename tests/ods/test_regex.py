"""`!match` and `!instances` with a regular expression: POSIX's extended ones, which Python's are not."""

import re

import pytest

from oneop.errors import OdsError
from oneop.ods import dump_records
from oneop.ods.regex import compile_pattern

from .compare import programs


def fields(text, folder, record):
    path = folder / "program.td"
    path.write_text(text)
    return dump_records(path)[record]


def test_match(tmp_path):
    record = fields(programs()["operators: match"], tmp_path, "a")
    assert [record[name] for name in "bcdefg"] == [1, 1, 0, 1, 1, 1]


def test_match_of_an_argument(tmp_path):
    text = programs()["operators: match in a class"]
    found = {name: fields(text, tmp_path, name) for name in "abc"}
    assert {name: (record["m"], record["r"]) for name, record in found.items()} == {
        "a": (1, "no"),
        "b": (0, "xy"),
        "c": (0, "no"),
    }


def names(record, field):
    return [value["def"] for value in record[field]]


def test_instances(tmp_path):
    record = fields(programs()["operators: instances by a regular expression"], tmp_path, "z")
    assert names(record, "l") == ["a1", "a10", "a2", "ba1"]
    assert names(record, "m") == ["a1", "a2"] and names(record, "n") == ["a1", "ba1"]
    assert names(record, "o") == ["a1", "a10", "b3", "ba1"] and names(record, "p") == []
    record = fields(programs()["operators: instances by classes of characters"], tmp_path, "z")
    assert names(record, "l") == ["a1", "a10"] and names(record, "m") == ["Ab"]
    assert names(record, "n") == ["a_b"] and names(record, "p") == ["a10"]


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        ("a{2}", "aa", True),
        ("a{2}", "a", False),
        ("a{", "a{", True),
        (r"\d", "d", True),  # no class of digits in POSIX's
        (r"\d", "1", False),
        (r"(a|b)\1", "bb", True),
        (r"(a|b)\1", "ab", False),
        (r"[\d]", "\\", True),
        ("[]a]", "]", True),
        ("[^]a]", "]", False),
        ("[[:alpha:]_]+$", "ab_", True),
        ("a$", "a\n", False),
        (".", "\n", True),
        ("[a&&b]", "&", True),
    ],
)
def test_patterns(pattern, text, holds):
    assert bool(compile_pattern(pattern).search(text)) == holds


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("a**", "there is nothing that '*' could repeat"),
        ("(?a)", "there is nothing that '?' could repeat"),
        ("[a", "a [ is not closed"),
        ("[[:nope:]]", "there is no class of characters [:nope:]"),
        ("(a", "unterminated"),
    ],
)
def test_bad_patterns(pattern, says, tmp_path):
    for text in (
        f'def a {{ bit b = !match("x", "{pattern}"); }}',
        f'class A; def a {{ list<A> l = !instances<A>("{pattern}"); }}',
    ):
        with pytest.raises(OdsError, match=rf"is no regular expression: .*{re.escape(says)}"):
            fields(text, tmp_path, "a")
