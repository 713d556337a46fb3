"""What the tests of commands share."""

import os
import subprocess
from pathlib import Path

import pytest

from oneop.cli.main import main
from oneop.registry import isolated
from quick_python import command

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


@pytest.fixture
def oneop(capsys):
    """Run a command in this process; returns status, stdout, stderr."""

    def run(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def process():
    """Run a command in a process of its own."""

    def run(*arguments, cwd=None, **env):
        return subprocess.run(
            [*command(), "-m", "oneop", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def leaky_relu():
    return ROOT / "examples/leaky_relu/leaky_relu.cpp"
