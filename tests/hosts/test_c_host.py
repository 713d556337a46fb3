"""The runtime for programs in C, and the example that uses it. Its functions are tested in tests/engine."""

import re
import subprocess
from pathlib import Path

import pytest

from oneop.hosts.build import main, runtime_path

ROOT = Path(__file__).parents[2]

OUTPUT = """\
op leaky_relu: 1 inputs, 1 outputs, 1 attributes, differentiable
op leaky_relu_grad: 2 inputs, 1 outputs, 1 attributes, differentiable
op leaky_relu_parallel: 1 inputs, 1 outputs, 1 attributes, differentiable
y[0] = -0.5
y[1] = -0.25
y[2] = 1
y[3] = 2
step 0: leaky_relu_grad
dx[0] = 0.25
dx[1] = 0.25
dx[2] = 1
dx[3] = 1
KernelNotFoundError
"""


@pytest.fixture(scope="module")
def runtime():
    return runtime_path()


def said(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, **options).stdout


def test_the_runtime_is_small_and_needs_neither_torch_nor_python(runtime):
    assert runtime.stat().st_size < 1_000_000
    assert not re.search("torch|python", said("ldd", runtime))


def test_it_exports_one_function(runtime):
    defined = said("nm", "-D", "--defined-only", runtime)
    assert [line.split()[-1] for line in defined.splitlines()] == ["oneop_get_runtime"]


def test_the_example_in_c_calls_an_op_and_its_backward(runtime, leaky_relu_path, tmp_path):
    program = tmp_path / "main"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'src/oneop/include'}"]
    said("cc", *flags, ROOT / "examples/c_host/main.c", "-o", program, runtime, f"-Wl,-rpath,{runtime.parent}")
    assert said(program, leaky_relu_path) == OUTPUT
    failed = subprocess.run([program, "/nowhere.so"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and failed.stderr.startswith("load: LoadError: ") and "/nowhere.so" in failed.stderr


def test_the_runtime_is_built_by_hand_into_a_folder(tmp_path, capsys):
    assert main(["runtime", "-o", str(tmp_path / "out")]) == 0
    assert Path(capsys.readouterr().out.strip()) == tmp_path / "out/liboneop_runtime.so"
    (tmp_path / "file").write_text("")
    assert main(["runtime", "-o", str(tmp_path / "file")]) == 1
