"""`oneop port --survey`: real compilers on small folders, and one laid out like a OneFlow checkout."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from oneop.cli.main import main
from oneop.port.checkout import generation_of

OP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("port_op").Input("x").Output("y").NoGrad().SetTensorDescInferFn(
    user_op::TensorDescInferFnUtil::Unchanged);
}
"""
NO_HEADER = '#include "oneflow/core/nowhere/never.h"\n'
NO_NAME = "namespace oneflow {}\nint f() { return oneflow::NeverDeclared(); }\n"
#: Without the SDK's headers, which take a second to read.
SMALL = "int small;\n"


@pytest.fixture
def port(capsys):
    def run(*arguments):
        status = main(["port", "--survey", *map(str, arguments)])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


@pytest.fixture
def folder(tmp_path):
    for name, text in {"good.cpp": SMALL, "header.cpp": NO_HEADER, "name.cpp": NO_NAME}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_each_file_needs(port, folder):
    (folder / "good.cpp").write_text(OP)
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


@pytest.mark.slow
@pytest.mark.parametrize("worth", [1, 100])
def test_a_precompiled_header_changes_no_verdict(port, folder, monkeypatch, worth):
    # It holds <map>; a source that does not include the main header first, or at all, must not profit from it.
    (folder / "good.cpp").write_text(OP)
    (folder / "own.cpp").write_text("std::map<int, int> m;\n")
    (folder / "later.cpp").write_text("#include <vector>\n" + OP)
    monkeypatch.setattr(import_module("oneop.port.survey"), "WORTH_PRECOMPILING", worth)
    _, out, _ = port(folder, "--json")
    assert {row["file"]: row["verdict"] for row in json.loads(out)["files"]} == {
        "good.cpp": "builds",
        "header.cpp": "needs",
        "later.cpp": "builds",
        "name.cpp": "needs",
        "own.cpp": "needs",
    }


def test_groups_of_a_checkout(port, tmp_path):
    ops = tmp_path / "oneflow/user/ops"
    ops.mkdir(parents=True)
    (ops / "good_op.cpp").write_text(SMALL)
    status, out, _ = port(tmp_path, "--group", "ops", "--json")
    assert status == 0 and json.loads(out)["files"][0]["verdict"] == "builds"


CUDA = """
#include "oneflow/core/framework/framework.h"
#ifndef WITH_CUDA
#error "the macro is not there"
#endif
__global__ void Twice(int n, float* y) { CUDA_1D_KERNEL_LOOP(i, n) { y[i] *= 2; } }
"""


SMALL_CUDA = """
#ifndef WITH_CUDA
#error "the macro is not there"
#endif
__global__ void Twice(float* y) { y[threadIdx.x] *= 2; }
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.slow
@pytest.mark.parametrize("good", [SMALL_CUDA, CUDA], ids=["small", "of the SDK"])
def test_cuda_sources(port, tmp_path, good):
    kernels = tmp_path / "oneflow/user/kernels"
    kernels.mkdir(parents=True)
    bad = {
        "header": ('#include "oneflow/core/nowhere/never.h"\n', "header oneflow/core/nowhere/never.h"),
        "name": ("__global__ void F(int* y) { *y = NeverDeclared(); }\n", "NeverDeclared"),
        "member": ("namespace oneflow {}\nint n = oneflow::NeverThere();\n", "NeverThere"),
        "of_class": ("struct S {};\n__global__ void F(S s) { s.absent(); }\n", "S::absent"),
        "host": ('static_assert(sizeof(int) == 1, "odd int");\n', "odd int"),
    }
    (kernels / "good_kernel.cu").write_text(good)
    (kernels / "nccl_kernel.cu").write_text("no matter what")
    (kernels / "good_kernel.cpp").write_text(SMALL)
    for name, (text, _) in bad.items():
        (kernels / f"{name}.cu").write_text(text)
    status, out, _ = port(tmp_path, "--group", "cuda", "--json", "--jobs", "2")
    files = {Path(row["file"]).stem: row for row in json.loads(out)["files"]}
    assert status == 1 and len(files) == 7 and {row["group"] for row in files.values()} == {"cuda"}
    assert files["good_kernel"]["verdict"] == "builds" and files["nccl_kernel"]["verdict"] == "out of scope"
    for name, (_, what) in bad.items():
        assert files[name]["verdict"] == "needs" and what in files[name]["what"], files[name]
    _, out, _ = port(tmp_path, "--json")  # CUDA sources are asked for by name ...
    assert [row["file"] for row in json.loads(out)["files"]] == ["oneflow/user/kernels/good_kernel.cpp"]
    (tmp_path / "small.cu").write_text(SMALL)
    _, out, _ = port(tmp_path / "small.cu", "--json")  # ... or are all that there is
    assert [row["verdict"] for row in json.loads(out)["files"]] == ["builds"]


def test_cuda_sources_without_nvcc(port, folder, monkeypatch):
    (folder / "some.cu").write_text(CUDA)
    monkeypatch.setenv("NVCC", str(folder / "absent"))
    status, out, _ = port(folder, "--json")
    files = {row["file"]: row for row in json.loads(out)["files"]}
    assert status == 1 and files["some.cu"]["what"] == "nvcc" and "absent" in files["some.cu"]["text"]
    assert files["good.cpp"]["verdict"] == "builds"


def test_generation_of_a_checkout(tmp_path):
    header = tmp_path / "oneflow/core/framework/infer_util.h"
    assert generation_of(tmp_path) == 0
    header.parent.mkdir(parents=True)
    for year, text in {2020: "Shape* Shape4ArgNameAndIndex(", 2022: "InputShape(", 2024: "SetOutputShape("}.items():
        header.write_text(text)
        assert generation_of(tmp_path) == year


ADDRESS = """
#include "oneflow/core/framework/infer_util.h"
namespace oneflow {
const user_op::TensorDesc* f(user_op::InferContext* ctx) {
  const auto& desc = ctx->InputTensorDesc("x", 0);
  return &desc;
}
}
"""


def test_a_checkout_is_compiled_as_its_generation(port, tmp_path):
    (tmp_path / "oneflow/user/ops").mkdir(parents=True)
    (tmp_path / "oneflow/user/ops/address_op.cpp").write_text(ADDRESS)
    status, _, _ = port(tmp_path, "--group", "ops", "--json")
    assert status == 1
    header = tmp_path / "oneflow/core/framework/infer_util.h"
    header.parent.mkdir(parents=True)
    header.write_text("InputShape(")
    status, _, _ = port(tmp_path, "--group", "ops", "--json")
    assert status == 0


def test_bad_arguments(port, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("[]")
    (tmp_path / "oneflow/user").mkdir(parents=True)
    cases = {
        (folder, "--group", "nope"): 'there is no group "nope"; groups are ops, kernels, gradients, functors, cuda',
        (tmp_path / "absent",): "there is no file or folder",
        (tmp_path / "empty",): "there is no C++ or CUDA source in",
        (folder / "good.cpp", "--failed-in", tmp_path / "bad.json"): "is no report of `oneop port --survey --json`",
        (tmp_path, "--group", "ops"): "has none of these groups: ops",
    }
    for arguments, text in cases.items():
        status, out, err = port(*arguments)
        assert status != 0 and text in out + err, arguments
