"""Builds under fire: a cache damaged in every way, builds killed at random moments, processes that build at once.

Whatever happened before, the next build gives the code of the sources as they are, or one clear error while the fault
lasts. Sources change between steps, so a result left over from an earlier step is a wrong answer.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STEPS = 12
NOBODY = 65534

SOURCE = """#include "value.h"
int other();
extern "C" __attribute__((visibility("default"))) int oneop_plugin() {{ return VALUE + other() + {0}; }}
"""

#: Builds in a process of its own and prints what the library answers.
BUILD = """
import ctypes, sys
from oneop._build.library import build
from oneop.errors import BuildError
try:
    library = build("tortured", ["a.cpp", "b.cpp"], include_dirs=["early", "late"])
except BuildError as error:
    print("BuildError", str(error).replace(chr(10), " | "))
    sys.exit()
print(ctypes.CDLL(str(library)).oneop_plugin())
"""


class World:
    """A project and a cache of its own."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder = folder
        self.dice = dice
        self.cache = folder / "cache"
        self.answer = 0
        for name in ("early", "late"):
            (folder / name).mkdir()
        self.edit()

    def edit(self) -> None:
        """Change something the library is made from, and note what it must answer now."""
        early, late = self.folder / "early/value.h", self.folder / "late/value.h"
        if not late.exists():
            late.write_text("#define VALUE 0\n")
        choice = self.dice.randrange(4)
        if choice == 0:
            early.write_text(f"#define VALUE {self.dice.randrange(100)}\n")
        elif choice == 1:
            early.unlink(missing_ok=True)
        elif choice == 2:
            old = late.stat()
            late.write_text(f"#define VALUE {self.dice.randrange(10)}\n")
            os.utime(late, ns=(old.st_atime_ns, old.st_mtime_ns))
        a, b = self.dice.randrange(3), self.dice.randrange(3)
        (self.folder / "a.cpp").write_text(SOURCE.format(a))
        (self.folder / "b.cpp").write_text(f"int other() {{ return {1000 * b}; }}\n")
        used = early if early.exists() else late
        self.answer = int(used.read_text().split()[-1]) + a + 1000 * b

    def start(self, limit: int = 0) -> subprocess.Popen[str]:
        """Start a build; `limit` is the largest file it may write."""
        environment = {**os.environ, "ONEOP_CACHE_DIR": str(self.cache), "MAX_JOBS": "2"}
        for name in ("CXX", "CC", "ONEOP_CXXFLAGS"):
            environment.pop(name, None)
        code = (
            f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n{BUILD}"
            if limit
            else BUILD
        )
        return subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", code],  # no fork of tests/quick_python: signals must reach it
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def check(self, what: str) -> None:
        """Build, and compare the answer."""
        out, err = self.start().communicate(timeout=120)
        assert out.strip() == str(self.answer), f"after {what}: expected {self.answer}, found {out!r} {err[-600:]}"

    def files(self) -> list[Path]:
        """Return the files of the cache, in an order that does not depend on the filesystem."""
        return sorted(path for path in self.cache.rglob("*") if path.is_file())


def _damage(world: World) -> str:
    """Damage some files of the cache."""
    dice, names = world.dice, []
    files = world.files()
    for path in dice.sample(files, min(len(files), dice.choice([1, 1, 2, 5, len(files)]))):
        if not path.is_file():
            continue
        how = dice.choice(["cut", "empty", "garble", "delete", "folder", "json", "chmod", "owner", "parent"])
        content = path.read_bytes()
        if how == "cut":
            path.write_bytes(content[: dice.randrange(len(content) + 1)])
        elif how == "empty":
            path.write_bytes(b"")
        elif how == "garble" and content:
            place = dice.randrange(len(content))
            path.write_bytes(content[:place] + bytes([content[place] ^ 1 + dice.randrange(255)]) + content[place + 1 :])
        elif how == "delete":
            path.unlink()
        elif how == "folder":
            path.unlink()
            path.mkdir()
        elif how == "json":
            path.write_text(dice.choice(["{}", "[]", "null", '{"states": [{}]}', '{"value": {"files": 1}}']))
        elif how == "chmod":
            path.chmod(dice.choice([0o666, 0o777, 0o622, 0o000]))
        elif how == "owner" and os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        elif how == "parent":
            shutil.rmtree(path.parent)
            if dice.random() < 0.5:
                path.parent.write_text("not a folder")
        names.append(f"{how} {path.relative_to(world.cache)}")
    return "; ".join(names)


def _kill(world: World) -> str:
    """Start a build and end it at a random moment."""
    world.edit()
    number = world.dice.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    process = world.start()
    time.sleep(world.dice.random() * 1.5)  # the moment is the point of this test
    process.send_signal(number)
    process.communicate(timeout=300)
    deadline = time.monotonic() + 30
    while compilers := _compilers_in(world.folder):
        assert time.monotonic() < deadline, f"compilers still run after {number!r}: {compilers}"
        time.sleep(0.02)
    return f"{number!r}"


def _compilers_in(folder: Path) -> list[str]:
    """Return the command lines of processes that work for a build in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                words = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                if str(folder) in words:
                    found.append(words)
        except OSError:
            continue
    return found


def _race(world: World) -> str:
    """Several processes build at once; one of them may be killed."""
    world.edit()
    processes = [world.start() for _ in range(3)]
    if world.dice.random() < 0.5:
        time.sleep(world.dice.random())
        processes.pop().kill()
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert out.strip() == str(world.answer), f"in a race: expected {world.answer}, found {out!r} {err[-600:]}"
    return "a race"


def _small_files(world: World) -> str:
    """Build where no file may be large: a clear error, or a result that was there."""
    world.edit()
    limit = world.dice.choice([1, 500, 3_000, 12_000, 40_000])
    out, err = world.start(limit).communicate(timeout=120)
    assert out.startswith("BuildError ") or out.strip() == str(world.answer), f"limit {limit}: {out!r} {err[-600:]}"
    return f"files of {limit} bytes"


def _edit_while_building(world: World) -> str:
    """Change the sources while they are compiled."""
    world.edit()
    process = world.start()
    time.sleep(world.dice.random())
    world.edit()
    process.communicate(timeout=120)
    return "an edit while it was built"


DEEDS: list[Callable[[World], str]] = [
    _damage,
    _damage,
    _damage,
    _kill,
    _kill,
    _race,
    _small_files,
    _edit_while_building,
]


def run_round(seed: int, share: float = 1.0) -> str:
    """Run a share of a round that seed determines (but for moments in time); raise AssertionError on a wrong result."""
    dice = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="oneop-builds-"))
    tally: dict[str, int] = {}
    started = time.monotonic()
    try:
        world = World(folder, dice)
        world.check("nothing")
        for _ in range(round(STEPS * share)):
            deed = dice.choice(DEEDS)
            what = deed(world)
            world.check(what)
            tally[deed.__name__.strip("_")] = tally.get(deed.__name__.strip("_"), 0) + 1
            if time.monotonic() - started > 15:
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ", ".join(f"{count} {name}" for name, count in sorted(tally.items()))
