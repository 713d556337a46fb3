"""Run tests and measure what they cover: `python -m tests.measure tests/core`, or those of `make test` by default."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.measure import cpp

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run the tests, print both tables; return pytest's status."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "coverage", help="where everything is kept")
    parser.add_argument(
        "--least", type=float, default=0, metavar="PERCENT", help="of lines in Python; fewer are an error"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time when all tests run; each a gigabyte")
    parser.add_argument("--slow", action="store_true", help="run the tests of `make test-slow` too")
    options, tests = parser.parse_known_args()
    folder: Path = options.folder.resolve()
    python, native = folder / "python", folder / "cpp"
    shutil.rmtree(python, ignore_errors=True)
    python.mkdir(parents=True)
    cpp.forget(native)
    os.environ |= {
        **cpp.environment(native),
        "COVERAGE_FILE": str(python / "data"),
        "COVERAGE_RCFILE": str(ROOT / "pyproject.toml"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
    }
    coverage = [sys.executable, "-m", "coverage"]
    # Not workers of pytest-xdist: they end without running exit handlers, and both kinds of counts are lost.
    command = [*coverage, "run", "-m", "pytest", "-q", "-p", "no:xdist", *([] if options.slow else ["-m", "not slow"])]
    if any(not word.startswith("-") for word in tests):
        status = subprocess.run([*command, *tests], cwd=ROOT, check=False).returncode
    else:
        status = _run_folders([*command, *tests], options.jobs, folder)
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    report = [*coverage, "report", "--skip-covered", f"--fail-under={options.least}"]
    too_few = subprocess.run(report, cwd=ROOT, check=False).returncode
    subprocess.run([*coverage, "html", "--quiet", "-d", str(folder / "html")], cwd=ROOT, check=True)
    print("\nC++:", *cpp.table(cpp.read(native)), sep="\n  ")
    print(f"\n{folder / 'html' / 'index.html'}")
    return status or too_few


def _run_folders(command: list[str], jobs: int, folder: Path) -> int:
    """Run all tests, a process for each folder of them; return 1 if any failed. Counts of processes are added up."""
    tests = ROOT / "tests"
    parts = {path.name: [path] for path in sorted(tests.iterdir()) if any(path.glob("test_*.py"))}
    parts["the rest"] = sorted(tests.glob("test_*.py"))
    start = time.monotonic()

    def run(name: str) -> int:
        result = subprocess.run(
            [*command, *map(str, parts[name])], cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        (folder / f"{name}.log").write_bytes(result.stdout)
        lines = result.stdout.decode(errors="replace").splitlines()
        failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        print(f"{time.monotonic() - start:6.0f} s  {name}: {lines[-1]}", *failures, sep="\n  ", flush=True)
        return result.returncode

    with ThreadPoolExecutor(jobs) as pool:
        # Without a GPU all tests of a folder may be skipped or left out, which is no failure.
        statuses = list(pool.map(run, parts))  # of all: `any` would leave out what comes after a failure
    return int(any(status not in (0, 5) for status in statuses))


if __name__ == "__main__":
    sys.exit(main())
