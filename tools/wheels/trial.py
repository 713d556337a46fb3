"""A wheel, tried in an environment of its own, with an empty PATH, so that nothing can be compiled."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from tools.wheels.environments import Environment

#: Calls an op of a package that ships its library compiled. What is timed is all that oneop adds to `import torch`.
PROGRAM = """
import time, torch
started = time.perf_counter()
import oneop
x = torch.linspace(-2, 2, 9, dtype=torch.float64, requires_grad=True)
y = oneop.ops.fast_gelu(x)
seconds = time.perf_counter() - started
torch.testing.assert_close(y, torch.nn.functional.gelu(x, approximate="tanh"))
assert torch.autograd.gradcheck(oneop.ops.fast_gelu, x)
from oneop import _core
assert "/oneop/_cores/" in _core.__file__, _core.__file__
print(f"torch {torch.__version__}: {seconds:.2f} s from import oneop to the first result")
"""


def try_wheel(wheel: Path, shipped: Path, environment: Environment) -> str:
    """Install both wheels into a new environment beside the torch of `environment`; return what the program prints.

    The other environment lends torch by path only, so nothing is downloaded. Raises `RuntimeError` if anything fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([environment.interpreter, "-m", "venv", folder / "v"])
        python = folder / "v/bin/python"
        run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, shipped])
        packages = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own, lent = (run([one, "-c", packages]).strip() for one in (python, environment.interpreter))
        Path(own, "lent.pth").write_text(f"{lent}\n")
        (folder / "program.py").write_text(PROGRAM)
        (folder / "empty").mkdir()
        return run([python, folder / "program.py"], PATH=str(folder / "empty"), ONEOP_CACHE_DIR=str(folder / "cache"))


def run(command: list[object], **env: str) -> str:
    """Return what a command prints. Raises `RuntimeError` with all that it said if it fails."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    result = subprocess.run(words, env={**clean, **env}, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout
