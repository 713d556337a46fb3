"""Which of an op library's sources are of use on this machine."""

from __future__ import annotations

from pathlib import Path

import torch

from oneop._build.cuda import find_toolkit
from oneop._build.library import CUDA_SUFFIXES, StrPath
from oneop.errors import BuildError
from oneop.settings import settings


def usable_sources(*sources: StrPath) -> list[Path]:
    """Return the sources that can be compiled and used here: all but CUDA's where there is no nvcc, or no GPU.

    For libraries whose CUDA kernels are in files of their own, beside kernels for the CPU:

        oneop.load("mine", oneop.usable_sources("op.cpp", "op.cu"))

    Where TORCH_CUDA_ARCH_LIST names architectures, no GPU is needed: the library is then built for others.
    """
    paths = [Path(source) for source in sources]
    if any(path.suffix in CUDA_SUFFIXES for path in paths) and not _uses_cuda():
        return [path for path in paths if path.suffix not in CUDA_SUFFIXES]
    return paths


def _uses_cuda() -> bool:
    if not (settings.cuda_arch_list or torch.cuda.is_available()):
        return False
    try:
        find_toolkit()
    except BuildError:
        return False
    return True
