"""Short files that ask for unbounded time or memory are refused, at the line that asks for it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from oneop.errors import OdsError
from oneop.ods import dump_records, read_ops
from oneop.ods.lexer import BUILT_IN


def doubled(line: str, times: int = 60) -> str:
    return "\n".join(line.replace("NEW", f"v{i + 1}").replace("OLD", f"v{i}") for i in range(times)) + "\n"


#: name: (text, line of the fault, what is said)
LIMITS = {
    "string": (
        'defvar v0 = "aaaaaaaaaa";\n' + doubled("defvar NEW = !strconcat(OLD, OLD);"),
        18,
        "a string of 1,310,720",
    ),
    "paste": (
        'defvar v0 = "aaaaaaaaaa";\n' + doubled("defvar NEW = OLD # !substr(OLD, 0);"),
        18,
        "a string of 1,310,720",
    ),
    "list": ("defvar v0 = [1, 2];\n" + doubled("defvar NEW = !listconcat(OLD, OLD);"), 20, "a list of|steps"),
    "nested list": (
        "defvar v0 = [1];\n" + doubled("defvar NEW = [OLD, OLD];") + "def a { string s = !repr(v60); }",
        62,
        "steps",
    ),
    "nested dag": (
        "def o;\ndefvar v0 = (o 1);\n" + doubled("defvar NEW = (o OLD, OLD);") + "def a { int s = !eq(v60, v60); }",
        63,
        "steps",
    ),
    "nested type": (
        f"class A {{ {'list<' * 40}int{'>' * 40} l; }}\ndefvar v0 = [1];\n"
        + doubled("defvar NEW = [OLD, OLD];", 39)
        + "def a : A { let l = v39; }",
        42,
        "steps",
    ),
    "foreach": (
        "class A;\n" + "".join(f"foreach i{n} = 0...999 in {{\n" for n in range(8)) + "def : A;" + "}" * 8,
        2,
        "steps",
    ),
    "empty foreach": ("".join(f"foreach i{n} = 0...999 in {{\n" for n in range(8)) + "}" * 8, 1, "steps"),
    "fold": (
        f"def a {{ int i = {''.join(f'!foldl(0, !range(999), x{n}, y{n}, ' for n in range(6))}1{')' * 6}; }}",
        1,
        "steps",
    ),
    "multiclass": (
        "class A;\nmulticlass v0 { def a : A; }\n"
        + doubled("multiclass NEW { defm x : OLD; defm y : OLD; }")
        + "defm z : v60;",
        63,
        "steps",
    ),
    "interleave": (
        'def a { string s = !interleave(!listsplat("' + "x" * 999 + '", 100000), ", "); }',
        1,
        "a string of",
    ),
    "subst": (f'def a {{ string s = !subst("a", "{"b" * 9999}", "{"a" * 9999}"); }}', 1, "a string of"),
    "splat": ("def a { list<list<int>> l = !listsplat(!listsplat(1, 1000000), 1000000); }", 1, "steps"),
    "bits": ("def a {\n" + "".join(f"bits<65536> b{n} = 0;\n" for n in range(3000)) + "}", 1, "steps"),
    "digits": (
        "def a { int i = " + "9" * 100_000 + "; }",
        1,
        r"99999999999999999999\.\.\. \(100000 digits\) does not fit",
    ),
    "hex digits": ("def a {\n  int i = 0x" + "f" * 100_000 + "; }", 2, "does not fit in 64 bits"),
    "long string": ('def a;\ndef b { string s = "' + "x" * 10_000_000 + '"; }', 2, "a string of 10,000,002"),
    "blanks": ("def a;\n" + " " * 100_000 + "@", 2, "unexpected character '@'"),
}


#: Each file is read in a process of its own, a fork, which the kernel stops at 15 s of processor time or 2 GiB.
READ_ALL = """
import os, resource, sys
import oneop.ods
for path in sys.argv[1:]:
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        os.dup2(os.open(path + ".err", os.O_CREAT | os.O_WRONLY), 2)
        try:
            oneop.ods.read_ops(path)
            said = "read"
        except oneop.errors.OdsError as error:
            said = f"{error.line} {error}"
        with open(path + ".out", "w") as out:
            print(said, file=out)
        os._exit(0)
    with open(path + ".status", "w") as out:
        print(os.wait()[1], file=out)
"""


@pytest.fixture(scope="module")
def read_all(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    paths = {name: folder / f"{name.replace(' ', '_')}.td" for name in LIMITS}
    for name, path in paths.items():
        path.write_text(LIMITS[name][0])
    subprocess.run([sys.executable, "-c", READ_ALL, *paths.values()], check=True)
    return paths


@pytest.mark.parametrize("name", LIMITS)
def test_is_refused_in_little_time_and_memory(name, read_all):
    _, line, said = LIMITS[name]
    path = read_all[name]
    assert Path(f"{path}.status").read_text() == "0\n", Path(f"{path}.err").read_text()[-500:]
    output = Path(f"{path}.out").read_text()
    assert output.startswith(f"{line} {path}:{line}:"), output[:300]
    first, shown, _ = output.split("\n", 2)
    assert re.search(said, first), first
    assert len(first) < 400 and len(shown) <= 240


def test_includes_that_double(tmp_path):
    for n in range(40):
        (tmp_path / f"i{n}.td").write_text(f'include "i{n + 1}.td"\n' * 2)
    (tmp_path / "i40.td").write_text("")
    with pytest.raises(OdsError, match="steps") as caught:
        dump_records(tmp_path / "i0.td")
    assert caught.value.line in (1, 2)


def test_leading_zeros_are_no_digits(tmp_path):
    (tmp_path / "a.td").write_text("def a { int i = " + "0" * 100_000 + "7; int j = -0012; }")
    fields = dump_records(tmp_path / "a.td")["a"]
    assert (fields["i"], fields["j"]) == (7, -12)


def test_a_missing_include_names_the_search_path(tmp_path):
    (tmp_path / "a.td").write_text('def a;\ninclude "OneFlow/Typo.td"\n')
    (tmp_path / "inc").mkdir()
    with pytest.raises(OdsError) as caught:
        read_ops(tmp_path / "a.td", [tmp_path / "inc"])
    assert str(caught.value) == (
        f"{tmp_path}/a.td:2:9: error: could not find include file 'OneFlow/Typo.td' in {tmp_path}, {tmp_path}/inc; "
        f"add its folder to include_dirs. Built in are {', '.join(BUILT_IN)}\n"
        'include "OneFlow/Typo.td"\n        ^'
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_file_needs_no_file_and_gives_way_to_one(name, tmp_path):
    (tmp_path / "a.td").write_text(f'include "{name}"\ndef OneFlow_AOp : OneFlow_BaseOp<"a">;')
    assert [op.name for op in read_ops(tmp_path / "a.td", [tmp_path])] == ["a"]
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text('def OneFlow_BOp : OneFlow_BaseOp<"b">;')
    assert [op.name for op in read_ops(tmp_path / "a.td", [tmp_path])] == ["b", "a"]


def test_a_file_that_appears_earlier_in_the_search_path_is_read(tmp_path, monkeypatch):
    for folder in ("one", "two", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a.td").write_text('include "x.td"')
    (tmp_path / "two/x.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"two">;')
    folders = [tmp_path / "one", tmp_path / "two"]
    assert [op.name for op in read_ops(tmp_path / "a.td", folders)] == ["two"]
    (tmp_path / "one/x.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"one">;')
    assert [op.name for op in read_ops(tmp_path / "a.td", folders)] == ["one"]
    (tmp_path / "x.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"beside">;')
    assert [op.name for op in read_ops(tmp_path / "a.td", folders)] == ["beside"]
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here/x.td").write_text('def OneFlow_AOp : OneFlow_BaseOp<"here">;')
    assert [op.name for op in read_ops(tmp_path / "a.td", folders)] == ["here"]
    (tmp_path / "here/x.td").unlink()
    assert [op.name for op in read_ops(tmp_path / "a.td", folders)] == ["beside"]
