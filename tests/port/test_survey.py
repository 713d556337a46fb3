"""`oneop port --survey`: real compilers on small folders, and one laid out like a OneFlow checkout."""

import json

import pytest

from oneop.cli.main import main

OP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("port_op").Input("x").Output("y").NoGrad().SetTensorDescInferFn(
    user_op::TensorDescInferFnUtil::Unchanged);
}
"""
NO_HEADER = '#include "oneflow/core/nowhere/never.h"\n'
NO_NAME = '#include "oneflow/core/framework/framework.h"\nint f() { return oneflow::NeverDeclared(); }\n'


@pytest.fixture
def port(capsys):
    def run(*arguments):
        status = main(["port", "--survey", *map(str, arguments)])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


@pytest.fixture
def folder(tmp_path):
    for name, text in {"good.cpp": OP, "header.cpp": NO_HEADER, "name.cpp": NO_NAME}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_each_file_needs(port, folder):
    status, out, _ = port(folder, "--json")
    assert status == 1
    files = {row["file"]: row for row in json.loads(out)["files"]}
    assert files["good.cpp"]["verdict"] == "builds"
    assert files["header.cpp"]["verdict"] == files["name.cpp"]["verdict"] == "needs"
    assert "oneflow/core/nowhere/never.h" in files["header.cpp"]["what"]
    assert "NeverDeclared" in files["name.cpp"]["what"]


def test_the_table_and_the_exit_code(port, folder):
    status, out, _ = port(folder)
    assert status == 1 and "header.cpp" in out and "never.h" in out and "33.3%" in out
    (folder / "header.cpp").unlink()
    (folder / "name.cpp").unlink()
    status, out, _ = port(folder)
    assert status == 0 and "every file in scope builds" in out


def test_only_those_that_failed_before(port, folder):
    _, out, _ = port(folder, "--json")
    report = folder / "report.json"
    report.write_text(out)
    _, out, _ = port(folder, "--failed-in", report, "--json")
    assert {row["file"] for row in json.loads(out)["files"]} == {"header.cpp", "name.cpp"}


def test_groups_of_a_checkout(port, tmp_path):
    ops = tmp_path / "oneflow/user/ops"
    ops.mkdir(parents=True)
    (ops / "good_op.cpp").write_text(OP)
    status, out, _ = port(tmp_path, "--group", "ops", "--json")
    assert status == 0 and json.loads(out)["files"][0]["verdict"] == "builds"


def test_bad_arguments(port, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("[]")
    (tmp_path / "oneflow/user").mkdir(parents=True)
    cases = {
        (folder, "--group", "nope"): 'there is no group "nope"; groups are ops, kernels, gradients, functors',
        (tmp_path / "absent",): "there is no file or folder",
        (tmp_path / "empty",): "there is no C++ source in",
        (folder / "good.cpp", "--failed-in", tmp_path / "bad.json"): "is no report of `oneop port --survey --json`",
        (tmp_path, "--group", "ops"): "has none of these groups: ops",
    }
    for arguments, text in cases.items():
        status, out, err = port(*arguments)
        assert status != 0 and text in out + err, arguments
