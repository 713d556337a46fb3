"""Every example runs as it stands, in a process and a folder of its own."""

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__")

#: use_rows.py compiles CUDA for 40 s, as tests/gpu does with more files. Of the two that train on several ranks one
#: runs on four here, and the other one on two in tests/sharding.
SLOW = ("cuda_rows/use_rows.py", "tensor_parallel/train.py")
PROGRAMS = [
    pytest.param(path, id=path.name, marks=[pytest.mark.slow] * str(path.relative_to(EXAMPLES)).startswith(SLOW))
    for path in [*sorted(EXAMPLES.glob("*.py")), *sorted(EXAMPLES.glob("*/*.py"))]
]

#: Of these the whole end is run: Python takes the interpreter down, and with it libraries, jobs and compiled code.
TAKEN_DOWN = ("demo.py", "leaky_relu.py", "train_and_predict.py", "running_max.py")


@pytest.mark.parametrize("path", PROGRAMS)
def test_example_runs(path, tmp_path, run_program):
    architecture = os.environ.get("TORCH_CUDA_ARCH_LIST", "9.0")  # one is enough here
    end = {"QUICK_PYTHON_WHOLE_END": "1"} if path.name in TAKEN_DOWN else {}
    result = run_program(path, cwd=tmp_path, env={"TORCH_CUDA_ARCH_LIST": architecture, **end})
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert not list(tmp_path.iterdir()), "an example writes to the cache only"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_example_folder_says_what_it_is(folder):
    assert (folder / "README.md").is_file()


@pytest.mark.parametrize("package", ["transformers", "lightning"])
def test_ops_under_a_trainer(package, tmp_path, run_program):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    result = run_program(EXAMPLES / "frameworks/trainers.py", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert f"{package}: not installed" not in result.stdout and f"{package} " in result.stdout
