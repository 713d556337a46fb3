"""Small names of OneFlow's Python API that oneop itself has no use for."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from oneop import FunctionConfig as _FunctionConfig
from oneop import typing
from oneop.jobs.context import require_context
from oneop.jobs.training import variables
from oneop.sharding.words import placement as _placement


def dtypes() -> list[torch.dtype]:
    """Return the dtypes that OneFlow had in those years."""
    floats = [torch.float16, torch.float32, torch.float64]
    return [*floats, torch.int8, torch.int32, torch.int64, torch.uint8]


def FixedTensorDef(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **_: object) -> Any:
    """Describe an input of exactly this shape, as programs of 2019 wrote `oft.Numpy.Placeholder`."""
    return typing.Numpy.Placeholder(shape, dtype=dtype)


def MirroredTensorDef(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, **_: object) -> Any:
    """Describe an input of at most this many elements, as programs of 2019 wrote `oft.ListNumpy.Placeholder`."""
    return typing.ListNumpy.Placeholder(shape, dtype=dtype)


def constant(value: float, dtype: torch.dtype = torch.float32, shape: Any = (1,), name: str | None = None) -> Any:
    """Return a blob with one value everywhere."""
    return torch.full(tuple(shape), value, dtype=dtype, device=require_context("constant").device)


def cast_to_current_logical_view(blob: torch.Tensor) -> torch.Tensor:
    """Return the blob: there is one view only."""
    return blob


def convert_oneflow_dtype_to_numpy_dtype(dtype: torch.dtype) -> Any:
    """Return numpy's dtype for one of torch's."""
    return np.dtype(torch.zeros((), dtype=dtype).numpy().dtype)


def get_variable(name: str, *args: Any, reuse: bool = True, **kwargs: Any) -> torch.Tensor:
    """Return the variable of this name, see `oneop.get_variable`; `reuse` is so always."""
    return variables.get_variable(name, *args, **kwargs)


def current_scope() -> Any:
    """Return where ops of the job that is traced are placed."""
    tag = "cpu" if require_context("current_scope").device.type == "cpu" else "gpu"
    return SimpleNamespace(default_device_tag=tag, device_parallel_desc_symbol=SimpleNamespace(device_tag=tag))


def current_global_function_desc() -> Any:
    """Return what is known of the job that is traced."""
    context = require_context("current_global_function_desc")
    return SimpleNamespace(IsTrainable=lambda: context.is_train, job_name=context.job)


class _Placements:
    """`oneflow.placement`: a function in later programs, and a module in those of 2020."""

    current_scope = staticmethod(current_scope)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _placement(*args, **kwargs)


placement = _Placements()


class FunctionConfig(_FunctionConfig):
    """Settings of a job, with those of OneFlow's that programs read back."""

    def __init__(self) -> None:
        super().__init__()
        self.function_desc = SimpleNamespace()

    def enable_inplace(self, value: bool = True) -> None:
        """Accept it: a plan works in place where it may."""
        self.function_desc.enable_inplace = value
