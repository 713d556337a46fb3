"""The Python blocks of README.md and of the pages in docs/ run as they stand, those of one page as one program.

A C++ block whose first line is a comment with a file name, `// scale.cpp`, is written to the working folder first.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from quick_python import command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
TUTORIAL = ROOT / "docs/tutorial.md"  # its blocks are files and commands: tests/test_tutorial.py
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Its checks of ops take 16 s. README.md checks an op with the same lines.
SLOW = [ROOT / "docs/check.md", ROOT / "docs/howto_fast_cpu.md"]
FILE_NAME = re.compile(r"// (\w+\.(?:cpp|h))\b")


def blocks_of(page):
    return BLOCK.findall(page.read_text())


def program_of(page):
    """All Python blocks, each on the lines it has in the page, so that a traceback points there."""
    text = page.read_text()
    kept = [match for match in BLOCK.finditer(text) if match[1] == "python"]
    lines = [""] * (text.count("\n") + 1)
    for match in kept:
        first = text.count("\n", 0, match.start(2))
        for i, line in enumerate(match[2].splitlines()):
            lines[first + i] = line
    return "\n".join(lines)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW))
        for page in PAGES
        if page != TUTORIAL and program_of(page).strip()
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_blocks_run(page, tmp_path):
    for language, text in blocks_of(page):
        name = FILE_NAME.match(text)
        if language == "cpp" and name:
            (tmp_path / name[1]).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    if "-fopt-info" in program_of(page):  # it asks the compiler what it optimized
        environment.pop("ONEOP_CXXFLAGS", None)
    program = tmp_path / f"{page.stem}.py"
    program.write_text(program_of(page))
    result = subprocess.run(
        [*command(), program.name],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for line in re.findall(r"^print\(.*?# (.*)$", program.read_text(), re.MULTILINE):
        assert line in result.stdout


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", re.sub(r"`[^`]*`", "", BLOCK.sub("", page.read_text()))):
        if "://" not in target:
            assert (page.parent / target).exists(), target
