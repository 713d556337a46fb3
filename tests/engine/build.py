"""Build the engine, its plain host, their tests and an op library, with a C++17 compiler alone; run the tests.

    python tests/engine/build.py [FOLDER]

It needs neither torch nor any package. CXX names the compiler, ONEOP_TEST_CXXFLAGS adds flags (a sanitizer's, say).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CXX = shlex.split(os.environ.get("CXX", "g++"))
FLAGS = [
    "-std=c++17",
    "-O0",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-dangling-reference",
    *shlex.split(os.environ.get("ONEOP_TEST_CXXFLAGS", "")),
    f"-I{ROOT / 'csrc'}",
    f"-I{ROOT / 'src/oneop/include'}",
]


def build(folder: Path) -> tuple[Path, Path]:
    """Compile into this folder; return the test program and the op library."""
    # In the groups in which the runtime compiles them, which reads their headers once a group.
    groups = [ROOT / "csrc/units/engine.cpp", ROOT / "csrc/units/hosts/c_host.cpp"]
    sources = [*groups, *sorted(HERE.glob("*.cpp"))]
    objects = {source: folder / f"{source.stem}.o" for source in sources}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda source: _compile("-c", source, "-o", objects[source]), sources))
    library = [objects.pop(HERE / name) for name in ("ops.cpp", "host_ops.cpp")]
    program, shared = folder / "engine_test", folder / "ops.so"
    _compile(*objects.values(), "-o", program, "-ldl", "-lpthread")
    _compile("-shared", *library, "-o", shared)
    return program, shared


def _compile(*arguments: object) -> None:
    command = [*CXX, *FLAGS, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{shlex.join(command)}\n{result.stderr}")


def main() -> int:
    """Build into a folder that is given, or a temporary one, and run all tests."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        program, library = build(folder)
        return subprocess.run([program, library], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
