"""Run tests and say what they cover: `python -m tests.measure tests/core`, or all tests without arguments."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.measure import cpp_lines

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run the tests, print both tables; return pytest's status."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "coverage", help="where everything is kept")
    parser.add_argument(
        "--least", type=float, default=0, metavar="PERCENT", help="of lines in Python; fewer are an error"
    )
    options, tests = parser.parse_known_args()
    folder: Path = options.folder.resolve()
    python, native = folder / "python", folder / "cpp"
    shutil.rmtree(python, ignore_errors=True)
    python.mkdir(parents=True)
    cpp_lines.forget(native)
    os.environ |= {
        **cpp_lines.environment(native),
        "COVERAGE_FILE": str(python / "data"),
        "COVERAGE_RCFILE": str(ROOT / "pyproject.toml"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
    }
    subprocess.run([sys.executable, "-m", "oneop._build.core"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    coverage = [sys.executable, "-m", "coverage"]
    # In one process: workers of pytest-xdist end without running exit handlers, and both kinds of counts are lost.
    command = [*coverage, "run", "-m", "pytest", "-q", "-p", "no:xdist", *tests]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    report = [*coverage, "report", "--skip-covered", f"--fail-under={options.least}"]
    too_few = subprocess.run(report, cwd=ROOT, check=False).returncode
    subprocess.run([*coverage, "html", "--quiet", "-d", str(folder / "html")], cwd=ROOT, check=True)
    print("\nC++, lines:", *cpp_lines.table(cpp_lines.read(native)), sep="\n  ")
    print(f"\n{folder / 'html' / 'index.html'}")
    return status or too_few


if __name__ == "__main__":
    sys.exit(main())
