"""Installs the wheel that `make dist` built into an environment of its own, and uses it there.

    python tests/smoke.py DIST PYTHON

PYTHON's environment lends torch and the other dependencies, by path only, so that nothing is downloaded; oneop itself
is the wheel's.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

PROGRAM = """
import sys, pathlib, torch, oneop
here = pathlib.Path(oneop.__file__).resolve()
assert here.is_relative_to(pathlib.Path(sys.prefix).resolve()), here
assert (here.parent / "py.typed").is_file()
assert (pathlib.Path(oneop.sysconfig.get_include()) / "oneflow/core/framework/framework.h").is_file()
import myop
x = torch.randn(5, requires_grad=True)
oneop.ops.myop(x, beta=2.0).sum().backward()
assert x.grad is not None
print("oneop", oneop.__version__, "from", here.parent)
"""


def main(dist: Path, lender: Path) -> None:
    """Try the wheel, and look into both files."""
    [wheel], [sdist] = dist.glob("oneop-*.whl"), dist.glob("oneop-*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "py.typed",
        "_csrc/python/module/module.cpp",
        "include/oneop/abi.h",
        "cli/templates/op.cpp.txt",
        "ods/prelude/prelude.td",
    ):
        assert f"oneop/{name}" in names, f"the wheel lacks {name}"
    assert any(name.endswith("csrc/python/module/module.cpp") for name in tarfile.open(sdist).getnames()), (
        "the sdist lacks csrc"
    )
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel, lender, Path(folder))
    print(f"{wheel.name}, {sdist.name}: fine")


def try_wheel(wheel: Path, lender: Path, folder: Path) -> None:
    """Install the wheel, make a project, check its op, and use it from Python."""
    environment = folder / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin/python"
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel.resolve()], folder)
    packages = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own, lent = (output([one, "-c", packages], folder).strip() for one in (python, lender))
    (Path(own) / "lent.pth").write_text(f"{lent}\n")  # a path alone: what is installed there as editable stays out
    command = environment / "bin/oneop"
    assert output([command, "--version"], folder).startswith("oneop ")
    run([command, "new", "myop", "--grad"], folder)
    run([command, "check", "--only", "memory", "--only", "reference", "--only", "gradient"], folder / "myop")
    (folder / "program.py").write_text(PROGRAM)
    run([python, "program.py"], folder, PYTHONPATH=str(folder / "myop/src"))


def run(command: list[object], folder: Path, **env: str) -> None:
    """Run a command there, and fail if it does."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=folder, env={**clean, **env}, check=True)


def output(command: list[object], folder: Path) -> str:
    """Return what a command prints."""
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).absolute())
