"""The engine and the runtime in C by themselves: their C++ tests, built without torch."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

# `make test-engine` runs them alone.
pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
TEXTS = [(HERE / name).read_text() for name in ("engine_test.cpp", "runtime_test.cpp")]
NAMES = [name for text in TEXTS for name in re.findall(r"^TEST\((\w+)\)", text, re.MULTILINE)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Build and run all tests once; return the line of each."""
    spec = importlib.util.spec_from_file_location("engine_build", HERE / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    program, library = build.build(tmp_path_factory.mktemp("engine"))
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "torch" not in linked and "python" not in linked
    output = subprocess.run([program, library], capture_output=True, text=True, timeout=120, check=False)
    assert output.returncode in (0, 1), output.stderr
    return {line.split(":")[0].split()[1]: line for line in output.stdout.splitlines()}


@pytest.mark.parametrize("name", NAMES)
def test_engine(results, name):
    assert results[name] == f"ok {name}"
