"""Builds a wheel for each Python with a compiled core for each torch, and tries each of them.

    python -m tools.wheels [--python 3.11 3.12] [--torch 2.13 2.15] [--environments FOLDER] [--out dist]

Every step may be repeated: environments that are there are used, objects come from the build cache. Pairs that this
machine cannot make are named and left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from oneop._build.torch_install import TESTED_TORCH
from tools.wheels.environments import Environment, environment_for
from tools.wheels.platform_tag import platform_tag, verdict
from tools.wheels.trial import run, try_wheel

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("3.11", "3.12", "3.13")


def main() -> int:
    """Make and try them; return 1 if a wheel fails its trial."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument("--python", nargs="+", default=PYTHONS)
    parser.add_argument("--torch", nargs="+", default=TESTED_TORCH)
    parser.add_argument("--environments", type=Path, default=ROOT / "build/environments")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    started, failures = time.monotonic(), 0

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.0f} s] {text}", flush=True)

    shipped = build_shipped(options.out)
    for python in options.python:
        cores = ROOT / "build/cores" / python
        shutil.rmtree(cores, ignore_errors=True)
        environments: list[Environment] = []
        for torch in options.torch:
            environment = environment_for(torch, python, options.environments)
            if environment is None:
                say(f"Python {python}, torch {torch}: cannot be had here, left out")
                continue
            say(f"Python {python}, torch {torch}: building the core")
            run([environment.interpreter, "-m", "oneop._build.prebuilt", cores], PYTHONPATH=str(ROOT / "src"))
            environments.append(environment)
        if not environments:
            continue
        wheel = build_wheel(environments[-1], cores, options.out)
        say(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {verdict(wheel)}")
        for environment in environments:
            try:
                say(f"{wheel.name}: {try_wheel(wheel, shipped, environment).strip()}")
            except RuntimeError as error:
                failures += 1
                say(f"{wheel.name}, torch {environment.torch}: FAILED\n{error}")
    return 1 if failures else 0


def build_wheel(environment: Environment, cores: Path, out: Path) -> Path:
    """Build oneop's wheel with these cores, under the Python that they are for."""
    tag = platform_tag(cores.glob("*/_core*.so"))
    for stale in (ROOT / "build").glob("lib*"):  # would bring the cores of the Python before
        shutil.rmtree(stale)
    out.mkdir(parents=True, exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(out)!r}))"
    env = {**os.environ, "ONEOP_WHEEL_CORES": str(cores), "ONEOP_WHEEL_PLATFORM": tag}
    result = subprocess.run(
        [str(environment.interpreter), "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return out / result.stdout.split()[-1]


def build_shipped(out: Path) -> Path:
    """Build the wheel of examples/shipping, with the oneop of this checkout; it serves every Python and torch."""
    copy = ROOT / "build/fast_gelu"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "examples/shipping/fast_gelu", copy)
    out.mkdir(parents=True, exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_wheel({str(out)!r}))"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run([sys.executable, "-c", code], cwd=copy, env=env, capture_output=True, text=True, check=True)
    return out / result.stdout.split()[-1]


if __name__ == "__main__":
    sys.exit(main())
