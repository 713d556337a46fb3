"""Small names of OneFlow's Python API that oneop itself has no use for."""

from typing import Any

import torch

from oneop import typing


def dtypes() -> list[torch.dtype]:
    """Return the dtypes that OneFlow had in those years."""
    floats = [torch.float16, torch.float32, torch.float64]
    return [*floats, torch.int8, torch.int32, torch.int64, torch.uint8]


def eager_execution_enabled() -> bool:
    """Return False: a job is traced first, as OneFlow did by default."""
    return False


def FixedTensorDef(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **_: object) -> Any:
    """Describe an input of exactly this shape, as programs of 2019 wrote `oft.Numpy.Placeholder`."""
    return typing.Numpy.Placeholder(shape, dtype=dtype)


def MirroredTensorDef(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **_: object) -> Any:
    """Describe an input of at most this many elements, as programs of 2019 wrote `oft.ListNumpy.Placeholder`."""
    return typing.ListNumpy.Placeholder(shape, dtype=dtype)
