"""Commands that read: list, show, check, bench, gen, build, cache, config, info, run."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from oneop import build, sysconfig
from oneop.cli.cache import differences
from quick_python import command


def test_list_and_coverage(oneop, leaky_relu):
    status, out, _ = oneop("list", "--load", leaky_relu)
    assert status == 0 and "leaky_relu_grad" in out and "leaky_relu.cpp:" in out
    _, out, _ = oneop("list", "--coverage")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert lines["op"].split() == ["op", "kernels", "gradient", "jvp", "vmap", "sbp", "certified"]
    assert "cpu: float32, float64" in lines["leaky_relu"] and "registered" in lines["leaky_relu"]


def test_show(oneop, leaky_relu):
    status, out, _ = oneop("show", "leaky_relu", "--load", leaky_relu)
    assert status == 0 and "schema   oneop::leaky_relu(Tensor x, *, float alpha" in out
    assert json.loads(oneop("show", "leaky_relu", "--json")[1])["coverage"]["gradient"] == "registered"


def test_check_prints_a_report(oneop, leaky_relu):
    status, out, _ = oneop("check", "leaky_relu", "--load", leaky_relu, "--only", "memory", "--only", "layouts")
    assert status == 0 and "  passed   memory" in out and "2 passed in" in out


def test_check_finds_problems(oneop, tmp_path):
    (tmp_path / "wrong.py").write_text(
        "import torch, oneop\n"
        "op = oneop.define('cli_wrong(Tensor x) -> Tensor y', infer='elementwise')\n"
        "op.register_kernel('cpu', dtypes=torch.float64)(lambda x: x * x)\n"
        "op.register_grad(lambda ctx, dy: dy)\n"
    )
    status, out, _ = oneop("check", tmp_path / "wrong.py", "--only", "gradient", "--json")
    assert status == 1
    [report] = json.loads(out)
    assert report["op"] == "cli_wrong" and report["outcomes"][0]["status"] == "failed"
    assert report["outcomes"][0]["failure"]["reproduce"][0] == "import torch, oneop"
    assert oneop("check", "cli_wrong", "--only", "devices", "--strict")[0] == 1
    assert oneop("check", "cli_wrong", "--only", "devices")[0] == 0


CRASHES = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("cli_crashes").Input("x").Output("y").NoGrad().SetTensorDescInferFn(
    user_op::TensorDescInferFnUtil::Unchanged);
struct Crashes final : user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    const int64_t n = x->shape().elem_cnt();
    for (int64_t i = 0; i < n; ++i) { y[n > 4 ? i << 40 : i] = x->dptr<float>()[i]; }
  }
};
REGISTER_USER_KERNEL("cli_crashes").SetCreateFn<Crashes>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) & (user_op::HobDataType("x", 0) == DataType::kFloat));
}  // namespace oneflow
"""


def test_check_survives_a_kernel_that_ends_the_process(process, tmp_path):
    (tmp_path / "crashes.cpp").write_text(CRASHES)
    result = process("check", tmp_path / "crashes.cpp")
    assert result.returncode == 1 and "cli_crashes, crashes: the call ends the process: SIGSEGV" in result.stdout
    result = process("check", tmp_path / "crashes.cpp", "--only", "memory")
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "cli_crashes, memory: the process was ended by SIGSEGV during this call"
    assert lines[1].startswith("  x float32[") and lines[2] == "  reproduce:"
    assert lines[-2].strip() == "oneop.ops.cli_crashes(x)"
    assert lines[-1].strip().startswith('oneop.testing.repeat("cli_crashes", "memory", [')


def test_check_ends_a_call_that_does_not_return(process, tmp_path):
    (tmp_path / "hangs.py").write_text(
        "import time, torch, oneop\n"
        "op = oneop.define('cli_hangs(Tensor x) -> Tensor y', infer='elementwise', differentiable=False)\n"
        "op.register_kernel('cpu', dtypes=torch.float64)(lambda x: time.sleep(1000))\n"
    )
    result = process("check", tmp_path / "hangs.py", "--only", "inference", "--timeout", "2")
    assert result.returncode == 1
    assert result.stderr.startswith("cli_hangs, inference: this call did not return within 2 s\n  x float64[")


def test_certificate_and_verify(process, tmp_path):
    """A certificate holds for the files that it names and the properties that they have, and no others."""
    program = (
        "import torch, oneop\n"
        "op = oneop.define('cli_double(Tensor x) -> Tensor y', infer='elementwise', differentiable=False)\n"
        "op.register_kernel('cpu', dtypes=torch.float64)(lambda x: 2 * x)\n"
        "oneop.testing.reference('cli_double')(lambda x: 2 * x)\n"
    )
    path, certificate = tmp_path / "double.py", tmp_path / "double.py.certificate.json"
    path.write_text(program)
    options = ["--only", "reference", "--only", "memory", "--examples", "4"]
    assert process("check", path, *options, "--certificate", certificate).returncode == 0
    content = json.loads(certificate.read_text())
    assert content["ok"] and [outcome["family"] for outcome in content["ops"][0]["outcomes"]] == ["memory", "reference"]
    assert content["ops"][0]["accuracy"][0]["max_eps"] == 0
    result = process("verify", certificate, path)
    assert (result.returncode, result.stdout) == (0, f"{certificate}: holds (1 op checked again)\n")
    assert " yes" in process("list", "--load", path, "--coverage").stdout

    path.write_text(program.replace("lambda x: 2 * x)\noneop", "lambda x: 3 * x)\noneop"))
    result = process("verify", certificate, path)
    assert result.returncode == 1
    assert "double.py: the file is not the one that was certified" in result.stdout
    assert 'op "cli_double", reference: certified passed, now failed' in result.stdout
    assert process("verify", certificate, path, "--files-only").returncode == 1
    assert " yes" not in process("list", "--load", path, "--coverage").stdout

    certificate.write_text('{"format": "oneop certificate", "version": 9}')
    result = process("verify", certificate, path)
    assert result.returncode == 2 and "is a certificate of version 9, expected 1" in result.stderr
    certificate.write_text("{}")
    assert "is no certificate of oneop" in process("verify", certificate, path).stderr
    certificate.unlink()
    assert "cannot read the certificate" in process("verify", certificate, path).stderr


def test_target_that_is_nothing(oneop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = oneop("check")
    assert status == 2 and "expected an op or a path" in err
    (tmp_path / "notes.txt").write_text("")
    status, _, err = oneop("check", "notes.txt")
    assert status == 2 and "cannot load notes.txt" in err
    assert "there is no file or folder nowhere.py" in oneop("list", "--load", "nowhere.py")[2]


def test_gen_and_its_check(oneop, leaky_relu, tmp_path):
    assert oneop("gen", leaky_relu, "-o", tmp_path, "--check")[0] == 1
    status, out, _ = oneop("gen", leaky_relu, "-o", tmp_path)
    assert status == 0 and len(out.splitlines()) == 5
    assert oneop("gen", leaky_relu, "-o", tmp_path, "--check")[0] == 0
    assert (tmp_path / "oneop-stubs/py.typed").read_text() == "partial\n"
    stubs = (tmp_path / "oneop-stubs/ops.pyi").read_text()
    assert "def leaky_relu(x: Tensor, *, alpha: float = ...) -> Tensor:" in stubs
    compile(stubs, "ops.pyi", "exec")
    page = (tmp_path / "leaky_relu.md").read_text()
    assert "| `alpha` | double, default 0.01 |" in page and "| cpu | float32 | c++ |" in page
    (tmp_path / "leaky_relu.md").write_text("old")
    status, _, err = oneop("gen", leaky_relu, "-o", tmp_path, "--check")
    assert status == 1 and "leaky_relu.md is old" in err


def test_gen_of_functions_and_of_definitions(oneop, tmp_path):
    folder = Path(__file__).parents[1] / "functional/library"
    more = folder.parent / "more"
    library = build("more_functors", sources=[more / "functors.cpp"], functional=[more / "api.yaml"]).path
    # In a process of its own: another test may have loaded these functions already.
    words = [*command(), "-m", "oneop", "gen", library, "-o", tmp_path / "loaded"]
    assert subprocess.run(words, check=False).returncode == 0
    stubs = (tmp_path / "loaded/oneop-stubs/_C.pyi").read_text()
    assert "def more_noise(x: Tensor, *, generator: torch.Generator | None = ...) -> Tensor:" in stubs
    assert "Twice x." in stubs
    assert subprocess.run([*words, "--check"], check=False).returncode == 0
    status, out, err = oneop("gen", folder / "ops.td", folder / "api.yaml", "-o", tmp_path / "read")
    assert status == 0 and [Path(line).name for line in out.split()] == ["ops.pyi", "_C.pyi", "py.typed"], err
    read = tmp_path / "read/oneop-stubs"
    assert "def fn_leaky(x: Tensor, alpha: float = ...) -> Tensor:" in (read / "_C.pyi").read_text()
    compile((read / "ops.pyi").read_text(), "ops.pyi", "exec")
    (read / "_C.pyi").write_text("old")
    status, _, err = oneop("gen", folder / "ops.td", folder / "api.yaml", "-o", tmp_path / "read", "--check")
    assert status == 1 and "_C.pyi is old" in err
    status, _, err = oneop("gen", folder / "ops.td", "leaky_relu")
    assert status == 2 and "expected definitions (.td, .yaml) only" in err


def test_build(oneop, leaky_relu, tmp_path):
    status, out, err = oneop("build", leaky_relu, "-o", tmp_path / "ops.so", "--json")
    assert status == 0 and json.loads(out)["path"] == str(tmp_path / "ops.so")
    assert (tmp_path / "ops.so").is_file() and "log" in err
    status, _, err = oneop("build", tmp_path)
    assert status == 2 and "there is no C++ or CUDA source in" in err


def test_cache(oneop, tmp_path, monkeypatch, leaky_relu):
    source = tmp_path / "why_me.cpp"
    source.write_text(leaky_relu.read_text().replace("leaky_relu", "why_me"))
    assert oneop("build", source)[0] == 0
    assert "built once" in oneop("cache", "why", "why_me")[1]
    source.write_text(source.read_text() + "// more\n")
    oneop("build", source)
    lines = oneop("cache", "why", "why_me")[1].splitlines()
    assert lines[0].startswith("why_me: built again ") and lines[1:] == [f"  {source} changed"]
    status, _, err = oneop("cache", "why", "never_built")
    assert status == 2 and 'the cache has no build of "never_built"' in err
    assert any(entry["name"] == "why_me" for entry in json.loads(oneop("cache", "list", "--json")[1])["entries"])
    assert oneop("cache", "clear", "--name", "why_me")[1].startswith("removed ")
    assert oneop("cache", "why", "why_me")[0] == 2


def test_clear_keeps_the_core_unless_it_is_named(oneop, tmp_path, monkeypatch):
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(tmp_path / "cache"))
    for kind in ("core", "library", "object"):
        (tmp_path / f"cache/{kind}/x-1").mkdir(parents=True)
    status, out, err = oneop("cache", "clear")
    assert (status, out) == (0, "removed 2 entries\n")
    assert err == "kept the core (1 build): remove it with --kind core or --all\n"
    assert (tmp_path / "cache/core/x-1").is_dir()
    assert oneop("cache", "clear", "--all")[1] == "removed 1 entries\n"
    assert not (tmp_path / "cache/core/x-1").exists()


def test_differences():
    def inputs(files, **more):
        units = [{"source": source, "contents": contents, "flags": flags} for source, contents, flags in files]
        return {"link_flags": [], "contents": {}, "objects": [str(files)], "units": units, **more}

    old = inputs(
        [("a.cpp", {"a.cpp": "1", "v.h": "1"}, ["-O3", "-g"]), ("b.cpp", {"b.cpp": "1", "v.h": "1"}, ["-O3", "-g"])]
    )
    new = inputs([("a.cpp", {"a.cpp": "1", "v.h": "2"}, ["-O3"]), ("b.cpp", {"b.cpp": "1", "v.h": "2"}, ["-O3"])])
    assert differences(old, new) == ["v.h changed", "flag: without -g"]
    assert differences(old, old) == []
    shadowed = inputs([("a.cpp", {"a.cpp": "1", "new/v.h": "3"}, ["-O3"])], contents={"libh.a": "1"}, linker="ld 3")
    assert differences(new, shadowed) == [
        "b.cpp is no longer a source",
        "new/v.h is read now",
        "v.h is not read any more",
        "libh.a is read now",
        "linker: nothing -> ld 3",
    ]


def test_config(oneop):
    assert oneop("config", "--includedir")[1].strip() == sysconfig.get_include()
    assert oneop("config", "--cflags", "--ldflags")[1].split()[0] == f"-I{sysconfig.get_include()}"


def test_info(oneop, monkeypatch):
    monkeypatch.setenv("ONEOP_LOCK_TIMEOUT", "7")
    _, out, _ = oneop("info")
    lines = [line.split() for line in out.splitlines() if line]
    assert ["lock_timeout", "ONEOP_LOCK_TIMEOUT", "7.0", "environment"] in lines
    assert any(line[0] == "torch" for line in lines) and any(line[0] == "c++" for line in lines)


def test_run_and_compat_path(process, tmp_path):
    (tmp_path / "program.py").write_text("import sys, oneflow; print(oneflow.__name__, sys.argv[1:])\n")
    result = process("run", tmp_path / "program.py", "--epochs", "3")
    assert (result.returncode, result.stdout) == (0, "oneflow ['--epochs', '3']\n"), result.stderr
    assert process("run", tmp_path / "absent.py").returncode == 2
    path = process("compat-path").stdout.strip()
    assert os.path.isfile(os.path.join(path, "oneflow", "__init__.py"))  # noqa: PTH113, PTH118


@pytest.mark.parametrize("shape", [(), (2,)])
def test_plugins_bring_ops(monkeypatch, tmp_path, shape):
    import torch

    import oneop as package
    from oneop import plugins

    name = f"plugged{len(shape)}"
    (tmp_path / f"{name}_package.py").write_text(
        "import torch, oneop\n"
        f"op = oneop.define('{name}(Tensor x) -> Tensor y', infer='elementwise', differentiable=False)\n"
        "op.register_kernel('cpu')(lambda x: x + 1)\n"
    )
    info = tmp_path / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        f"[oneop.ops]\n{name} = {name}_package\nbroken{len(shape)} = no_such_module{len(shape)}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert name in [point.name for point in plugins.list_plugins()]
    assert torch.equal(getattr(package.ops, name)(torch.zeros(shape)), torch.ones(shape))
    with pytest.warns(UserWarning, match=f"no_such_module{len(shape)} raised ModuleNotFoundError"):
        plugins.load_plugins()
