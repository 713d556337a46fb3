"""Line coverage of the core: a compiler that instruments it, and reading what the runs counted.

g++ writes a note beside each object, in a folder that the build removes, and the program writes its counts to the same
path. So the compiler here is a script that keeps the notes, and GCOV_PREFIX sends the counts to where the notes are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Only units of the core are instrumented. -O0 comes last: optimized code has lines that cannot be counted.
SCRIPT = """#!/bin/sh
case "$*" in
  *csrc/units/*)
    {compiler} "$@" --coverage -O0 || exit $?
    while [ $# -gt 0 ]; do
      if [ "$1" = -o ]; then mkdir -p "{folder}/$(dirname "$2")" && cp "${{2%.o}}.gcno" "{folder}/$(dirname "$2")/"; fi
      shift
    done ;;
  *_core*) exec {compiler} "$@" --coverage ;;
  *) exec {compiler} "$@" ;;
esac
"""


#: Prints the folder in which the core of this environment is looked for.
WHERE = """from oneop._build import cache, core, torch_install
print(cache.entry_for("core", "_core", core.core_key(torch_install.find_torch())).path)"""


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of runs that count into `folder`, which has a cache of its own, with such a core in it."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "g++"
    counts = folder / "counts"
    text = SCRIPT.format(compiler=os.environ.get("CXX", "g++"), folder=counts)
    if not script.is_file() or script.read_text() != text:  # a new file would be another compiler, and build all again
        script.write_text(text)
        script.chmod(0o755)
    variables = {"ONEOP_CACHE_DIR": str(folder / "cache"), "GCOV_PREFIX": str(counts)}
    built = Path(_said("-m", "oneop._build.core", **variables, CXX=str(script)))
    # The tests use the compiler itself, and find this core as if it had been made by it.
    place = Path(_said("-c", WHERE, **variables))
    if not place.exists() or (place / built.name).read_bytes() != built.read_bytes():
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(built.parent, place)
    return variables


def _said(*words: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def forget(folder: Path) -> None:
    """Drop the counts of earlier runs; what was compiled stays."""
    for path in (folder / "counts").rglob("*.gcda"):
        path.unlink()


def read(folder: Path) -> dict[str, Counter[int]]:
    """Return how often each line of each file of csrc ran; a line of a template is the sum of its copies."""
    lines: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for counts in sorted((folder / "counts").rglob("*.gcda")):
        command = ["gcov", "--json-format", "--stdout", counts.name]
        output = subprocess.run(command, cwd=counts.parent, capture_output=True, check=True).stdout
        for document in output.splitlines():
            for file in json.loads(document)["files"]:
                _, is_csrc, name = file["file"].rpartition("csrc/")
                if is_csrc and (ROOT / "csrc" / name).is_file():  # torch has a csrc of its own
                    for line in file["lines"]:
                        lines[name][line["line_number"]] += line["count"]
    return dict(lines)


def table(lines: dict[str, Counter[int]]) -> list[str]:
    """Return a line of text for each folder of csrc, and one for all."""
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, counts in lines.items():
        for key in (str(Path(name).parent), "all of csrc"):
            totals[key][0] += sum(count > 0 for count in counts.values())
            totals[key][1] += len(counts)
    rows = sorted(totals.items(), key=lambda item: (item[0] == "all of csrc", item[0]))
    return [f"{name:28}{ran:7} of {total:5} lines {ran / total:6.1%}" for name, (ran, total) in rows]
