"""OneFlow's session settings: loading libraries by path, and numbers of devices, which torch decides."""

from __future__ import annotations

import os

from oneop.errors import ArgumentError
from oneop.runtime.loader import LoadedLibrary, load
from oneop.settings import settings


def load_library(path: str | os.PathLike[str]) -> LoadedLibrary:
    """Load an op library at once. A bare file name is looked for in the working folder."""
    return load(path)


load_library_now = load_library
_gpus = 1


def cpu_fallback(is_on: bool) -> None:
    """Let ops run on the CPU where they have no kernel for the device of their inputs, with copies there and back.

    Each op that does so warns once. The same as `oneop.settings.cpu_fallback = is_on`.
    """
    settings.cpu_fallback = bool(is_on)


def sync_kernels(is_on: bool) -> None:
    """Wait for each GPU kernel, so that its errors come at once and name the op and the kernel's file and line.

    For finding faults: it is slow. The same as `oneop.settings.sync_kernels = is_on`.
    """
    settings.sync_kernels = bool(is_on)


def gpu_device_num(num: int) -> None:
    """Accept the number of GPUs a program says it uses. torch finds the devices itself.

    Programs that `import oneflow` run jobs on the GPU where there is one, as OneFlow does; 0 has them run on the CPU.
    """
    global _gpus
    _check_count("gpu_device_num", num)
    _gpus = num


def uses_gpus() -> bool:
    """Say whether the program did not ask for 0 GPUs."""
    return _gpus != 0


def cpu_device_num(num: int) -> None:
    """Accept the number of CPU devices a program says it uses."""
    _check_count("cpu_device_num", num)


def machine_num(num: int) -> None:
    """Accept the number of machines a program says it uses."""
    _check_count("machine_num", num)


def _check_count(what: str, num: int) -> None:
    if not isinstance(num, int) or isinstance(num, bool) or num < 0:
        raise ArgumentError(f"config.{what}: expected a number of devices, found {num!r}")


def enable_legacy_model_io(value: bool = True) -> None:
    """Accept it: a checkpoint of `import oneflow` has variables as files of bytes too, besides its own file."""
