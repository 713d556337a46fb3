"""Plain words: the text of the project has none of the phrases that readers stumbled over."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PHRASES = re.compile(r"\b(of ours|for ever|to and fro|anew|the seeds|upstream)\b", re.IGNORECASE)


def test_no_private_dialect():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    names = listed or [
        str(p.relative_to(ROOT)) for folder in ("src", "csrc", "docs") for p in (ROOT / folder).rglob("*")
    ]
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in names
        if Path(name).suffix in {".py", ".md", ".h", ".cpp", ".cuh", ".cu", ".td", ".pyi"}
        and name != "tests/test_wording.py"
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if PHRASES.search(line)
    ]
    assert found == []
