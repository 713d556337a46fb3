"""oneop in an environment without torch."""

import os
import subprocess
import sys
from pathlib import Path

from host_cases import library

ROOT = Path(__file__).parents[2]

BLOCK = """\
import sys


class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


sys.meta_path.insert(0, NoTorch())
"""

CALLS = """\
import numpy as np
import oneop

library = oneop.numpy.load(sys.argv[1])
x = np.array([-1.0, 2.0])
y, pullback = oneop.numpy.vjp(library.leaky_relu, x, alpha=0.5)
print(y, *pullback(np.ones(2)), oneop.build.__name__, "numpy" in dir(oneop), "torch" in sys.modules)
"""

REFUSED = """\
import oneop

try:
    oneop.load
except oneop.errors.MissingDependencyError as error:
    print(error)
try:
    oneop.global_function
except ImportError as error:
    print(error)
"""


def run(text, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", BLOCK + text, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_ops_are_called_and_differentiated():
    assert run(CALLS, str(library("leaky_relu").path)) == "[-0.5  2. ] [0.5 1. ] build True False\n"


def test_what_needs_torch_says_so():
    text = run(REFUSED)
    assert text.startswith(
        "oneop.load needs torch, which is not installed\n  pip install torch; without it there are: "
    )
    assert "oneop.global_function needs torch, which is not installed" in text
