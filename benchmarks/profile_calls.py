"""Where the time of a call goes: samples of `perf`, by shared object (`python -m benchmarks.profile_calls`)."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

#: Shared objects by who wrote the code in them; the first pattern that fits counts.
OWNERS = {
    r"^_core\.": "oneop's core",
    r"^leaky_relu": "the op's library",
    r"^lib(torch|c10|torch_python|torch_cpu)": "torch",
    r"^(libpython|python)": "Python",
    r"^(libc\.|ld-linux|libpthread|libstdc\+\+|libm\.)": "C library: malloc, free, thread-local storage, locks",
}
MODES = ("no grad", "with grad", "20-chain forward+backward")


def work(mode: str, seconds: float, ready: Path) -> None:
    """Call the op for so long; `ready` is made when imports and first calls are done."""
    import torch

    from benchmarks._peers import our_library

    torch.set_num_threads(1)
    op = our_library().leaky_relu
    x = torch.randn(8, requires_grad=mode != "no grad")
    g = torch.ones(8)

    def run() -> None:
        if "chain" not in mode:
            for _ in range(1000):
                op(x, alpha=0.2)
            return
        for _ in range(50):
            y = x
            for _ in range(20):
                y = op(y, alpha=0.2)
            torch.autograd.grad(y, x, g)

    run()
    ready.touch()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        run()


def owner_of(shared_object: str) -> str:
    """Return who wrote the code of a shared object."""
    return next((owner for pattern, owner in OWNERS.items() if re.search(pattern, shared_object)), "other")


def profile(mode: str, seconds: float) -> Counter[str]:
    """Return percent of the samples by owner."""
    with tempfile.TemporaryDirectory() as folder:
        ready, data = Path(folder, "ready"), Path(folder, "perf.data")
        command = [sys.executable, "-m", "benchmarks.profile_calls", "--work", mode, str(seconds + 2), str(ready)]
        worker = subprocess.Popen(command)
        while not ready.exists():
            if worker.poll() is not None:
                raise SystemExit(f"the process that makes the calls ended with status {worker.returncode}")
            time.sleep(0.05)
        record = ["perf", "record", "-q", "-F", "2999", "-p", str(worker.pid), "-o", str(data), "--"]
        subprocess.run([*record, "sleep", str(seconds)], check=True, stderr=subprocess.DEVNULL)
        worker.wait()
        report = ["perf", "report", "-i", str(data), "--stdio", "--no-children", "-F", "overhead,dso"]
        text = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    shares: Counter[str] = Counter()
    for percent, shared_object in re.findall(r"^\s+([\d.]+)%\s+(\S+)", text, re.MULTILINE):
        shares[owner_of(shared_object)] += float(percent)
    return shares


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile_calls", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="to sample each mode")
    parser.add_argument("--work", nargs=3, metavar=("MODE", "SECONDS", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], float(options.work[1]), Path(options.work[2]))
        return 0
    if shutil.which("perf") is None:
        print("perf is missing: install linux-perf (Debian) or linux-tools (Ubuntu)", file=sys.stderr)
        return 2
    os.environ.setdefault("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    tables = {mode: profile(mode, options.seconds) for mode in MODES}
    owners = sorted({owner for table in tables.values() for owner in table}, key=lambda o: -tables[MODES[0]][o])
    print(f"| percent of the samples, n = 8 | {' | '.join(MODES)} |")
    print("|---" * (len(MODES) + 1) + "|")
    for owner in owners:
        print(f"| {owner} | {' | '.join(f'{tables[mode][owner]:.0f}' for mode in MODES)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
