"""What commands refuse, each with its text and status."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "arguments, text",
    [
        *(
            (["bench", "x", "--sizes", text], f"expected whole numbers such as 1e3,1e6, found '{text}'")
            for text in ("some", "inf", "nan", "1.5", "10,", "1e3,-inf")
        ),
        *((["bench", "x", "--sizes", text], "sizes are from 1 to 1,000,000,000,000, found") for text in ("0", "1e15")),
        *((["bench", "x", "--seconds", text], "expected a number above 0, found") for text in ("-1", "0", "inf", "x")),
        (["bench", "x", "--save", "/no/folder/x.json"], "there is no folder /no/folder"),
        (["bench", "x", "--plot", "/no/folder/x.svg"], "there is no folder /no/folder"),
        (["bench", "x", "--save", "/"], "/ is a folder, expected a file to write"),
        (["audit", "/no/library.so"], "there is no file /no/library.so"),
        (["gen", "/no/ops.td"], "there is no file /no/ops.td"),
        (["bench", "x", "--dtype", "quaternion"], "--dtype: expected a dtype such as float32, found 'quaternion'"),
        (["gen", "a.td", "some_op"], "expected definitions (.td, .yaml) only, or an op or path that is loaded"),
        (["gen", "one_op", "other_op"], "expected one op or path, found 2"),
        (["new", "op", "--kernels", "fortran"], "--kernels: expected some of "),
        (["new", "é"], "'é' cannot be the name of an op\n  expected letters, digits and underscores: my_op"),
        (["new", "a b"], "'a b' cannot be the name of an op\n  expected letters, digits and underscores: my_op"),
    ],
)
def test_arguments(oneop, arguments, text):
    status, out, err = oneop(*arguments)
    assert (status, out) == (2, "")
    assert text in err


def test_a_project_that_is_there(oneop, tmp_path):
    (tmp_path / "my_op").mkdir()
    status, _, err = oneop("new", "my_op", "--dir", tmp_path)
    assert status != 0
    assert f"{tmp_path / 'my_op'} is there already\n  choose another name, or another folder with --dir" in err


@pytest.mark.parametrize("code", [0, 1, "'text'", None])
@pytest.mark.parametrize("command", [["check"], ["bench"], ["check", "no_such_op", "--load"], ["show", "x", "--load"]])
def test_a_program_that_ends_itself(oneop, tmp_path, command, code):
    """It must not end the command, with a status of its own."""
    (tmp_path / "ends.py").write_text(f"import sys\nsys.exit({code})\n")
    status, _, err = oneop(*command, tmp_path / "ends.py")
    assert status not in (0, None)
    assert f"{tmp_path / 'ends.py'} could not be loaded\n  it ended the program: SystemExit(" in err


def test_more_than_memory(oneop, leaky_relu):
    status, _, err = oneop("bench", "leaky_relu", "--load", leaky_relu, "--sizes", "1e12")
    assert status == 2 and 'op "leaky_relu": there is no memory for 1,000,000,000,000 elements' in err


def test_a_file_of_no_kind(oneop, tmp_path):
    (tmp_path / "ops.txt").write_text("")
    status, _, err = oneop("check", tmp_path / "ops.txt")
    assert status != 0
    assert f"cannot load {tmp_path / 'ops.txt'}\n  expected a source (" in err
    assert "a library (.so), a program (.py), an op module, or a folder whose pyproject.toml has entry points" in err


def test_cards_of_nothing(oneop, monkeypatch):
    monkeypatch.setattr("oneop.plugins.load_plugins", lambda: None)
    monkeypatch.setattr("oneop.registry.list_ops", lambda: [])
    status, _, err = oneop("card", "--all")
    assert status != 0 and "there are no ops\n  load some: --load PATH" in err


def test_a_result_of_another_format(oneop, tmp_path):
    (tmp_path / "a.json").write_text('{"format": 99}')
    status, _, err = oneop("bench", "--compare", tmp_path / "a.json", tmp_path / "a.json")
    assert status != 0
    assert f"{tmp_path / 'a.json'} is no result of `oneop bench --save`: another format" in err


def test_a_project_whose_module_is_not_there(oneop, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project.entry-points."oneop.ops"]\nx = "no_such_module_here"\n')
    status, out, err = oneop("check", tmp_path)
    assert (status, out) == (1, "")
    assert 'pyproject.toml names the module "no_such_module_here" in oneop.ops, and it is not there' in err


@pytest.mark.parametrize("examples", [0, -3])
def test_no_examples(oneop, leaky_relu, examples):
    status, out, err = oneop("check", leaky_relu, "--examples", examples)
    assert (status, out) == (2, "") and f"examples: expected at least 1, found {examples}" in err


def test_a_file_that_cannot_be_written(oneop, tmp_path):
    (tmp_path / "text.txt").write_text("")
    status, _, err = oneop("new", "some_op", "--dir", tmp_path / "text.txt")
    assert status == 1 and err == f"oneop new: {tmp_path}/text.txt/some_op: Not a directory\n"


def test_an_error_of_a_program_keeps_its_traceback(oneop, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("open('/no/such/file')\n")
    with pytest.raises(FileNotFoundError):
        oneop("list", "--load", program)


def test_a_project_is_whole_where_its_reader_goes_away(tmp_path):
    command = f"{sys.executable} -m oneop new piped_op --grad | true"
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "piped_op/pyproject.toml").is_file() and (tmp_path / "piped_op/tests").is_dir()


def test_a_port_of_no_op(oneop, tmp_path):
    (tmp_path / "empty.cpp").write_text("int x;\n")
    status, _, err = oneop("port", tmp_path / "empty.cpp", "-o", tmp_path / "ported_ops")
    assert status == 2 and "no op is defined there, nor implemented" in err
    assert not (tmp_path / "ported_ops").exists()


def test_a_port_of_two_files_of_one_name(oneop, tmp_path):
    for folder in ("ops", "kernels"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.cpp").write_text("int x;\n")
    status, _, err = oneop("port", tmp_path / "ops/same.cpp", tmp_path / "kernels/same.cpp", "-o", tmp_path / "ported")
    assert status == 2 and "two files are called same.cpp; the sources of a project are in one folder" in err
