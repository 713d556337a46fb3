"""Commands inside a project, and targets that bring no op."""

import json

import pytest

OP = """import torch, oneop
op = oneop.define("{name}(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
op.register_kernel("cpu", dtypes=torch.float32)(lambda x: x + 1)
"""
REFERENCE = """import oneop.testing
oneop.testing.reference("{name}")(lambda x: x + {added})
"""
PYPROJECT = """[project]
name = "{name}"
[project.entry-points."oneop.ops"]
{name} = "{name}"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a project with an op in Python, and work in it; returns its folder."""

    def make(name, *, added=1):
        package = tmp_path / name / "src" / name
        package.mkdir(parents=True)
        (tmp_path / name / "pyproject.toml").write_text(PYPROJECT.format(name=name))
        (package / "__init__.py").write_text(OP.format(name=name))
        (package / "reference.py").write_text(REFERENCE.format(name=name, added=added))
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.syspath_prepend(str(tmp_path))  # the path is put back afterwards
        return tmp_path / name

    return make


def test_every_command_finds_the_ops_of_the_project(oneop, project, monkeypatch, tmp_path):
    folder = project("cli_here")
    assert any(line.split() == ["cli_here", "src/cli_here/__init__.py:2"] for line in oneop("list")[1].splitlines())
    for place in (folder, folder / "src", folder / "src/cli_here"):  # in src/ the name is also that of a folder
        monkeypatch.chdir(place)
        assert "oneop::cli_here(Tensor x)" in oneop("show", "cli_here")[1]
    assert json.loads(oneop("show", "--json")[1])["name"] == "cli_here"
    status, out, _ = oneop("check", "cli_here", "--only", "reference")
    assert status == 0 and "passed   reference" in out
    assert oneop("bench", "--sizes", "10", "--seconds", "0.01", "--dtype", "float32", "--save", "b.json")[0] == 0
    status, _, err = oneop("bench", "cli_here", "--dtype", "float64")
    assert status == 2 and 'op "cli_here": takes no float64 input on cpu' in err
    assert oneop("card", "cli_here", "--no-check", "--no-bench", "-o", tmp_path / "card.html")[0] == 0
    assert oneop("gen", "cli_here", "-o", tmp_path / "generated")[0] == 0
    monkeypatch.chdir(tmp_path)
    assert oneop("check", "cli_here", "--only", "reference")[0] == 0  # the folder, from outside


def test_findings_are_1(oneop, project):
    project("cli_wrong_here", added=2)
    assert oneop("check", "--only", "reference")[0] == 1
    status, out, _ = oneop("bench", "--sizes", "10", "--seconds", "0.01")
    assert status == 1 and "forward: the result differs from the reference at 10 elements" in out


@pytest.mark.parametrize("command", ["check", "bench", "show", "card"])
def test_a_path_without_ops(oneop, tmp_path, monkeypatch, command):
    (tmp_path / "empty.py").write_text("x = 1\n")
    status, out, err = oneop(command, tmp_path / "empty.py")
    assert (status, out) == (2, "")
    assert err == (
        f"oneop {command}: {tmp_path / 'empty.py'} brings no op\n"
        "  expected a call of oneop.define or oneop.load there, or in C++ OP(...) or REGISTER_USER_OP\n"
    )
    assert "there is no op and no file" in oneop(command, "cli_no_such_op")[2]


def test_what_is_loaded_first_may_bring_no_op(oneop, project, tmp_path):
    project("cli_loaded")
    (tmp_path / "more.py").write_text("x = 1\n")
    assert oneop("show", "cli_loaded", "--load", tmp_path / "more.py")[0] == 0


def test_a_program_that_fails_is_a_problem(oneop, tmp_path):
    (tmp_path / "fails.py").write_text("import oneop\noneop.get_op('cli_no_such_op')\n")
    status, _, err = oneop("check", tmp_path / "fails.py")
    assert status == 1
    assert f"{tmp_path / 'fails.py'} could not be loaded\n  OpNotFoundError: " in err


def test_a_pyproject_that_is_damaged(oneop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project\n")
    status, _, err = oneop("check")
    assert status == 2 and f"{tmp_path / 'pyproject.toml'} cannot be read: Expected" in err
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert "expected an op or a path" in oneop("check")[2]


def test_pipes_see_no_control_characters(process, tmp_path):
    (tmp_path / "piped.py").write_text(OP.format(name="cli_piped"))
    result = process("check", tmp_path / "piped.py", "--only", "inference")
    assert result.returncode == 0, result.stderr
    assert not {c for c in result.stdout + result.stderr if ord(c) < 32} - {"\n"}
