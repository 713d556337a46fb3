"""What the tests of the build share: an own cache, a folder for sources, and a count of compiler runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import oneop._build
from oneop._build.library import build
from oneop.settings import settings

SRC = Path(oneop._build.__file__).parents[2]


def pytest_runtest_setup():
    """Fixtures of modules see no flags either; `tests/conftest.py` sets them before each test."""
    os.environ.pop("ONEOP_CXXFLAGS", None)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Every test starts with an empty cache and none of the variables a user may have set."""
    for name in ("CC", "CXX", "NVCC", "TORCH_CUDA_ARCH_LIST", "MAX_JOBS", "ONEOP_VERBOSE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def functions_cache(tmp_path_factory):
    """A cache with the SDK's functions, compiled with -O0: five seconds, once for all tests that copy it."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "seed.cpp").write_text('int seed;\n#include "oneop/op.h"\n')  # the header is not precompiled for it
    with pytest.MonkeyPatch.context() as patch, settings.override(cache_dir=folder / "cache"):
        patch.delenv("CC", raising=False)
        patch.delenv("CXX", raising=False)
        build("seed", [folder / "seed.cpp"], cflags=["-O0"])
    return folder / "cache"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A g++ that writes down what it is run for; calling the fixture returns that and starts again."""
    log = tmp_path / "runs.txt"
    script = tmp_path / "counting-g++"
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec g++ "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))

    def take():
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        words = [line.split() for line in lines]
        return [Path(line[line.index("-c") + 1]).name if "-c" in line else "link" for line in words if "-o" in line]

    return take


@pytest.fixture
def start(project):
    """Start Python code in another process, in the same folder and with the same cache."""
    processes = []

    def run(code, *, is_limited=False):
        environment = {**os.environ, "PYTHONPATH": str(SRC)}
        if is_limited:  # it could not write what it covered either, and would say so
            environment.pop("COVERAGE_PROCESS_CONFIG", None)
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that runs these tests in the background has had them ignore interrupts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
