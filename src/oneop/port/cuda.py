"""nvcc for the CUDA sources of a checkout."""

from __future__ import annotations

import os
from collections.abc import Sequence

#: A source is compiled for one architecture: which it is decides little, and each more takes as long again.
ARCH = "90"


def nvcc_command(flags: Sequence[str]) -> list[str]:
    """Return the command that compiles a CUDA source, both halves of it, and keeps nothing.

    Raises `BuildError` if there is no nvcc.
    """
    from oneop._build.compiler import find_cxx
    from oneop._build.cuda import cuda_flags, find_toolkit

    toolkit = find_toolkit()
    number = ARCH if ARCH in toolkit.arches or not toolkit.arches else max(toolkit.arches, key=int)
    own = cuda_flags(toolkit, find_cxx(), [f"-arch=sm_{number}"])
    return [*toolkit.nvcc.command, *own, f"-arch=sm_{number}", *flags, "-DWITH_CUDA", "-w", "-c", "-o", os.devnull]
