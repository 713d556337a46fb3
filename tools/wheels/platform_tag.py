"""The platform tag of a wheel: the oldest system whose C and C++ libraries have all that the cores ask for."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from oneop._build.elf import read_elf

#: The glibc that first came, in a manylinux policy, with this version of libstdc++'s symbols.
GLIBC_OF_GLIBCXX = ((19, 17), (24, 27), (25, 28), (26, 30), (28, 31), (29, 34), (30, 35), (31, 37), (32, 38))


def platform_tag(cores: Iterable[Path]) -> str:
    """Return "manylinux_2_N_<machine>" for the newest symbol that any of the cores needs."""
    newest = 17
    for path in cores:
        for version in read_elf(path).versions:
            kind, _, numbers = version.partition("_")
            minor = int(numbers.split(".")[-1]) if kind == "GLIBCXX" and numbers.startswith("3.4.") else 0
            if kind == "GLIBC" and numbers.startswith("2."):
                newest = max(newest, int(numbers.split(".")[1]))
            newest = max(newest, next((glibc for symbols, glibc in GLIBC_OF_GLIBCXX if minor <= symbols), 99))
    return f"manylinux_2_{newest}_{platform.machine()}"


def verdict(wheel: Path) -> str:
    """Return what auditwheel says of the symbols in a wheel; it is a development tool and may be absent.

    Its verdict on the libraries is "linux", since torch's are not part of any system: torch brings them.
    """
    program = Path(sys.executable).with_name("auditwheel")
    command = [str(program) if program.exists() else "auditwheel", "show", str(wheel)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "auditwheel is not installed"
    text = " ".join((result.stdout + result.stderr).split())
    tag = re.search(r'constrains the platform tag to "(\w+)"', text)
    return f"auditwheel finds symbols of {tag[1]}" if tag else f"auditwheel: {text}"
