"""docs/tutorial.md from its first block to its last, in an environment of its own: commands, files, printed text.

A block in sh is run line by line. One in Python or C++ is the file that its first line names. One in text is part of
what the commands before it printed. This is also the test of a wheel that a project of `oneop new` makes.
`make test` runs the blocks up to the one that makes a wheel, without the environment.
"""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from oneop._build.cache import cache_root
from quick_python import executable

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TAG = sysconfig.get_platform().replace("-", "_")
#: What the test adds to commands that take long; other tests run them whole.
SHORTER = {
    "oneop check squareplus": "--only memory --only reference --only gradient --only jvp --examples 4",
    "oneop bench squareplus": "--sizes 1000 --seconds 0.02",
    "python -m pytest -q": "-k values",
}


def blocks(text=None):
    """Yield the language and text of each block, with the platform of this machine."""
    for match in BLOCK.finditer(text or PAGE.read_text()):
        yield match[1], match[2].replace("linux_x86_64", TAG)


def without_figures(text):
    """Return a text without what differs from run to run."""
    text = re.sub(r"\S*/src/", ".../src/", text)
    text = re.sub(r"[\d.]+x (faster|slower) than|as fast as", "N x", text)
    return re.sub(r"\d[\d,.]*", "N", re.sub(r"(call|memory|compute)-bound", "X-bound", text)).replace(" (noisy)", "")


def write_program(path, command):
    """Write a program that runs a command with the arguments it is given."""
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)


@pytest.fixture
def quick_environment(tmp_path):
    """Variables for commands that are forks, and import the project from its sources; nothing is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, command in {"python": executable(), "oneop": f"{executable()} -m oneop", "pip": "true"}.items():
        write_program(folder / name, command)
    sources = f"{ROOT / 'src'}:{tmp_path / 'squareplus/src'}"
    kept = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    return {**kept, "PYTHONPATH": sources, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def environment(tmp_path):
    """Variables for commands that see a fresh environment, with torch and the tools of this one."""
    folder = tmp_path / "environment"
    venv.create(folder)
    [packages] = folder.glob("lib/python*/site-packages")
    lent = {sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("site-packages"))}
    (packages / "lent.pth").write_text("\n".join([str(ROOT / "src"), *sorted(lent)]) + "\n")
    for name in ("pip", "oneop"):
        write_program(folder / "bin" / name, f"{folder}/bin/python -m {name}")
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    quiet = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    return {**kept, **quiet, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def run_line(line, folder, environment):
    """Run a line of a shell; returns what it printed."""
    command = f"{line} {SHORTER.get(line, '')}"
    result = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def run_blocks(chosen, folder, environment):
    """Write the files, run the commands and compare what they print; returns the folder that they end in."""
    printed, seen = "", set()
    for language, text in chosen:
        if language == "sh":
            printed = ""
            for line in text.splitlines():
                seen.add(line)
                if line.startswith("cd "):
                    folder = (folder / line[3:]).resolve(strict=True)
                else:
                    printed += run_line(line, folder, environment)
        elif language == "text":
            lines = without_figures(printed).splitlines() if {*SHORTER} & seen else printed.splitlines()
            for line in text.splitlines():
                assert (without_figures(line) if {*SHORTER} & seen else line) in lines, printed
            seen = set()
        else:
            path = folder / re.match(r"(?:#|//) ([\w/.]+)\n", text)[1]
            assert path.parent.is_dir()
            path.write_text(text)
    return folder


def test_blocks_before_the_wheel(tmp_path, quick_environment):
    before, rest = PAGE.read_text().split("\n## 6. Build a wheel\n")
    assert run_blocks(blocks(before), tmp_path, quick_environment) == (tmp_path / "squareplus").resolve()
    assert "pip wheel" in rest


@pytest.mark.slow  # an environment with an import of torch for each command
def test_every_block(tmp_path, environment):
    folder = run_blocks(blocks(), tmp_path, environment)
    assert folder == tmp_path.resolve()
    [wheel] = (folder / "squareplus/dist").glob(f"squareplus-*-py3-none-{TAG}.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {"squareplus/squareplus.so", "squareplus/squareplus.cpp"} <= {*archive.namelist()}
        library = archive.read("squareplus/squareplus.so")
    assert not [path for path in (tmp_path, ROOT, cache_root()) if str(path).encode() in library]


def test_shortened_commands_are_on_the_page():
    assert {*SHORTER} <= {line for language, text in blocks() if language == "sh" for line in text.splitlines()}
