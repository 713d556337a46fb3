"""The seeds' session settings: loading libraries by path, and numbers of devices, which torch decides."""

from __future__ import annotations

import os

from oneop._loader import LoadedLibrary, load
from oneop.errors import ArgumentError


def load_library(path: str | os.PathLike[str]) -> LoadedLibrary:
    """Load an op library at once. A bare file name is looked for in the working folder."""
    return load(path)


load_library_now = load_library


def gpu_device_num(num: int) -> None:
    """Accept the number of GPUs a program says it uses. torch finds the devices itself, so nothing changes."""
    _check_count("gpu_device_num", num)


def cpu_device_num(num: int) -> None:
    """Accept the number of CPU devices a program says it uses."""
    _check_count("cpu_device_num", num)


def machine_num(num: int) -> None:
    """Accept the number of machines a program says it uses."""
    _check_count("machine_num", num)


def _check_count(what: str, num: int) -> None:
    if not isinstance(num, int) or isinstance(num, bool) or num < 0:
        raise ArgumentError(f"config.{what}: expected a number of devices, found {num!r}")
