"""What OneFlow's programs read of a tensor inside a job: the name of the op that made it, and where it is."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from oneop import user_op
from oneop.config import uses_gpus
from oneop.jobs.annotations import Future
from oneop.jobs.context import current_context
from oneop.jobs.function import Job, job_maker
from oneop.jobs.function_config import FunctionConfig
from oneop.jobs.scope import placement

from .eager import EagerJob, eager_execution_enabled
from .mirrored import MirroredJob, takes_smaller


class _Tag(str):
    """A text that may be called: `device_tag` was a property first, and a method later."""

    __slots__ = ()

    def __call__(self) -> str:
        return self


class _ParallelConf:
    """The placement of a tensor."""

    def __init__(self, device: torch.device) -> None:
        self.device_tag = _Tag("cpu" if device.type == "cpu" else "gpu")


def global_function(
    type: str | FunctionConfig = "predict",
    function_config: FunctionConfig | None = None,
    *,
    backend: str | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Job | MirroredJob | EagerJob]:
    """Make a job, see `oneop.global_function`. It runs on the GPU where there is one and nothing else is said.

    Arrays of the mirrored view may be smaller than their placeholders in predict jobs.
    """
    scope = sys._getframe(1).f_locals
    usual = placement("gpu" if uses_gpus() else "cpu", "0:0")
    if eager_execution_enabled():
        is_train = type == "train"
        config = type if isinstance(type, FunctionConfig) else function_config or FunctionConfig()
        return lambda fn: EagerJob(fn, scope, config.data_type, is_train)
    make = job_maker(type, function_config, backend=backend, name=name, scope=scope, usual_placement=usual)
    return lambda fn: MirroredJob(fn, make) if type != "train" and takes_smaller(fn) else make(fn)


class _Size(int):
    """The number of elements, as a number and, for torch, as a method that gives the shape."""

    shape: torch.Size

    def __call__(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]


class LocalBlob(torch.Tensor):
    """A result of a job: its `size` is a number, as of an array."""

    @property
    def size(self) -> _Size:
        """The number of elements."""
        size = _Size(self.numel())
        size.shape = self.shape
        return size


Future.blob_type = LocalBlob


def _numpy_list(blob: torch.Tensor) -> list[Any]:
    return [blob.detach().cpu().numpy()]


# Jobs return torch's tensors; programs with the mirrored view ask them for a list, with one array for each device.
torch.Tensor.numpy_list = _numpy_list  # type: ignore[attr-defined]


def batch_axis_of(blob: torch.Tensor) -> int | None:
    """Return the axis along which a batch lies: for inputs of a job the first one; a variable has none."""
    context = current_context()
    is_variable = context is not None and context.is_variable(blob)
    axis: int | None = getattr(blob, "batch_axis", None if is_variable or blob.dim() == 0 else 0)
    return axis


def describe(blob: torch.Tensor, op_name: str, batch_axis: int | None) -> torch.Tensor:
    """Give a tensor `op_name`, `parallel_conf` and `batch_axis`."""
    blob.batch_axis = batch_axis  # type: ignore[attr-defined]
    blob.op_name = op_name  # type: ignore[attr-defined]
    context = current_context()  # a job is first traced on the CPU, wherever it will run
    blob.parallel_conf = _ParallelConf(blob.device if context is None else context.device)  # type: ignore[attr-defined]
    return blob


def named(op_name: str, function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the function with OneFlow's parameter `name`; its result has `op_name` and `parallel_conf`."""

    @functools.wraps(function)
    def call(*inputs: Any, name: str | None = None) -> torch.Tensor:
        axes = [batch_axis_of(blob) for blob in inputs if isinstance(blob, torch.Tensor)]
        return describe(function(*inputs), name or op_name, next((axis for axis in axes if axis is not None), None))

    return call


class _UserOp(user_op.UserOp):
    def InferAndTryRun(self) -> user_op.UserOp:
        super().InferAndTryRun()
        axes = self.infer_batch_axes(
            [batch_axis_of(x) for arg in self._op.inputs for x in self._inputs.get(arg.name, ())]
        )
        results = [blob for blobs in (self._results or {}).values() for blob in blobs]
        for blob, axis in zip(results, axes, strict=True):
            describe(blob, self.op_name, axis)
        return self


class _Builder(user_op.UserOpBuilder):
    def Build(self) -> user_op.UserOp:
        made = super().Build()
        made.__class__ = _UserOp
        return made


def user_op_builder(op_name: str) -> user_op.UserOpBuilder:
    """Start to build a call of an op; tensors that it returns have `op_name` and `parallel_conf`."""
    return _Builder(op_name)
