"""The documentation builds without a warning, and says what the code says."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from oneop.cli.main import COMMANDS
from oneop.settings import settings

ROOT = Path(__file__).parents[1]


def test_documentation_builds(tmp_path):
    if importlib.util.find_spec("sphinx.__main__" if importlib.util.find_spec("sphinx") else "sphinx") is None:
        pytest.skip("needs sphinx: make docs installs it")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "settings.html").read_text()
    for setting in settings.describe():
        assert setting.env in page
    commands = (tmp_path / "cli.html").read_text()
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        assert f"oneop {name}" in commands or name in ("registry",)
