"""What bang operators of .td files refuse, each with its text."""

import pytest

from oneop.errors import OdsError
from oneop.ods import dump_records, read_ops

#: expression: what is said of it
REFUSALS = {
    "!shl(1, 64)": "cannot shift by 64",
    "!logtwo(0)": "0 has no logarithm",
    '!lt(1, "a")': "cannot compare a int with a string",
    '!eq(1, "a")': "cannot compare a int with a string",
    "!eq(?, 1)": "an operand is not set",
    "!size(!listsplat(1, -1))": "a list cannot have -1 elements",
    "!size(!range(0, 9, 0))": "needs ints, and a step that is not 0",
    "!size(!range(0, 9999999))": "the list would have 9999999 elements",
    '!find("abc", "b", 4)': "the string has no position 4",
    '!size(!substr("abc", 4))': "the string has no part 4, ",
    "!size(!subst(1, 2, 3))": "works on strings and on records",
    '!size(!interleave([(o)], ","))': "a dag is no text",
    "!size(!con((o), (p)))": "the operators differ: o and p",
    "!getdagarg<int>((o 1:$a), 1)": "the dag has no argument 1, only 1 of them",
    '!getdagarg<int>((o 1:$a), "b")': "the dag has no argument 'b'",
}


@pytest.mark.parametrize("expression", REFUSALS)
def test_operators(expression, tmp_path):
    path = tmp_path / "a.td"
    path.write_text(f"def o;\ndef p;\ndef a {{ int i = {expression}; }}\n")
    with pytest.raises(OdsError) as caught:
        dump_records(path)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{path}:3:") and REFUSALS[expression] in first


@pytest.mark.parametrize(
    "text, said",
    [
        (
            'defvar v0 = "aaaaaaaaaa";\n' + "".join(f"defvar v{i + 1} = v{i} # !substr(v{i}, 0);\n" for i in range(20)),
            "a string of 1,310,720 characters; the longest may have ",
        ),
        (
            "defvar v0 = !listsplat(1, 1000000);\ndefvar v1 = !listconcat(v0, v0);\n",
            "a list of 2,000,000 elements; the longest may have ",
        ),
        (
            "foreach i = 0...900000 in foreach j = 0...900000 in defvar v = i;\n",
            "steps; is something doubled in a loop?",
        ),
        ("defvar v = " + "[" * 5000 + "]" * 5000 + ";\n", "nested too deeply"),
    ],
)
def test_too_much_work(text, said, tmp_path):
    path = tmp_path / "much.td"
    path.write_text(text)
    with pytest.raises(OdsError) as caught:
        read_ops(path)
    assert said in str(caught.value).splitlines()[0]
