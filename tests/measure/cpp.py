"""Coverage of the core, lines and branches: a compiler that instruments it, and reading what the runs counted.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Counts:
    """How often each line of a file ran, and each branch: (line, number on it). Copies of a template add up."""

    lines: Counter[int] = field(default_factory=Counter)
    branches: Counter[tuple[int, int]] = field(default_factory=Counter)


def read(folder: Path) -> dict[str, Counts]:
    """Return the counts of each file of csrc, without branches that only exceptions take: every call has one."""
    files: defaultdict[str, Counts] = defaultdict(Counts)
    for data in sorted((folder / "counts").rglob("*.gcda")):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", data.name]
        output = subprocess.run(command, cwd=data.parent, capture_output=True, check=True).stdout
        for document in output.splitlines():
            for file in json.loads(document)["files"]:
                _, is_csrc, name = file["file"].rpartition("csrc/")
                if is_csrc and (ROOT / "csrc" / name).is_file():  # torch has a csrc of its own
                    for line in file["lines"]:
                        _add(line, files[name])
    return dict(files)


def _add(line: dict[str, Any], counts: Counts) -> None:
    number = line["line_number"]
    counts.lines[number] += line["count"]
    for k, branch in enumerate(branch for branch in line["branches"] if not branch["throw"]):
        counts.branches[number, k] += branch["count"]


def table(files: dict[str, Counts]) -> list[str]:
    """Return a line of text for each folder of csrc, and one for all."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, counts in files.items():
        for key in (str(Path(name).parent), "all of csrc"):
            for kind, found in (("lines", counts.lines), ("branches", counts.branches)):
                totals[key][kind] += len(found)
                totals[key][f"{kind} run"] += sum(count > 0 for count in found.values())
    rows = sorted(totals.items(), key=lambda item: (item[0] == "all of csrc", item[0]))
    return [f"{name:28}" + "".join(_share(total, kind) for kind in ("lines", "branches")) for name, total in rows]


def _share(total: Counter[str], kind: str) -> str:
    share = total[f"{kind} run"] / total[kind] if total[kind] else 1.0
    return f"{total[f'{kind} run']:7} of {total[kind]:5} {kind} {share:6.1%}"
