"""One op library, built once and run under several versions of torch: a call, its gradient, torch.compile.

    python tools/one_binary.py PYTHON [PYTHON ...]

Each PYTHON is an interpreter that has another torch. The library is built by the one that runs this. Under each of them
the same file is loaded from its path, and its digest is printed beside the results.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PROGRAM = """
import hashlib, sys, torch, oneop
path = sys.argv[1]
library = oneop.load(path)
x = torch.randn(1000, dtype=torch.float64, requires_grad=True)
y = library.leaky_relu(x, alpha=0.2)
assert torch.equal(y, torch.nn.functional.leaky_relu(x, 0.2))
assert torch.autograd.gradcheck(lambda x: library.leaky_relu(x, alpha=0.2), x[:9].detach().requires_grad_())
(eager,) = torch.autograd.grad(y.sum(), x)
def program(x):
    return library.leaky_relu(x * 2, alpha=0.2) + 1
compiled = torch.compile(program, fullgraph=True)(x)
assert torch.allclose(compiled, program(x))
(dx,) = torch.autograd.grad(compiled.sum(), x)
assert torch.equal(dx, 2 * eager)
digest = hashlib.sha256(open(path, "rb").read()).hexdigest()[:12]
python = ".".join(map(str, sys.version_info[:2]))
print(f"torch {torch.__version__}, Python {python}: {digest} ran: call, gradient, torch.compile")
"""


def main(interpreters: list[str]) -> int:
    """Build the library, run it everywhere; return how many failed."""
    from oneop._build.library import build

    library = build("leaky_relu", [ROOT / "examples/leaky_relu/leaky_relu.cpp"], portable=True)
    print(f"{library.path.name}: {hashlib.sha256(library.path.read_bytes()).hexdigest()[:12]}", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    failures = 0
    for interpreter in interpreters:
        command = [interpreter, "-c", PROGRAM, str(library.path)]
        failures += subprocess.run(command, env=environment, check=False).returncode != 0
    return failures


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main(sys.argv[1:]))
