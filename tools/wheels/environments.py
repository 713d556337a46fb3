"""One environment for each pair of torch and Python, in which its core is built and tried."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: What oneop needs beside torch, and what its wheel is built with.
REQUIREMENTS = ("filelock", "numpy", "platformdirs", "PyYAML", "safetensors")
#: The first version of setuptools that a version of torch refuses.
SETUPTOOLS = {"2.11": "setuptools>=77,<82", "2.12": "setuptools>=77,<82"}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where one torch is installed for one Python."""

    torch: str
    python: str
    folder: Path

    @property
    def interpreter(self) -> Path:
        """Return its Python."""
        return self.folder / "bin/python"


def environment_for(torch: str, python: str, folder: Path) -> Environment | None:
    """Return the environment, made now if need be; None if this machine has no such Python or pip no such torch."""
    made = Environment(torch=torch, python=python, folder=folder / f"t{torch}-p{python}")
    if (made.folder / ".done").is_file():
        return made
    interpreter = find_python(python)
    if interpreter is None:
        return None
    shutil.rmtree(made.folder, ignore_errors=True)
    packages = [f"torch=={torch}.*", SETUPTOOLS.get(torch, "setuptools>=77"), *REQUIREMENTS]
    for command in (
        [interpreter, "-m", "venv", made.folder],
        [made.interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    ):
        if subprocess.run([str(word) for word in command], check=False).returncode != 0:
            return None
    (made.folder / ".done").touch()
    return made


def find_python(version: str) -> str | None:
    """Return the interpreter of this version: the one that runs this, one on PATH, or one of pyenv's."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    return shutil.which(f"python{version}") or (str(pyenv[-1]) if pyenv else None)
