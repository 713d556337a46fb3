"""Inputs that a job changes: the caller's tensors and arrays change as they would eagerly, or the call is refused."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import torch

from oneop.errors import ArgumentError
from oneop.jobs.planning.trace import TracedJob

#: How hard numpy may look for a common element of two tensors before they count as sharing memory.
_EFFORT = 10_000


def check_changed_inputs(traced: TracedJob, inputs: Sequence[torch.Tensor]) -> None:
    """Raise `ArgumentError` before the run where a changed input cannot be written back as eager code would have it.

    A job has buffers of its own, so inputs that share memory would not see each other's changes.
    """
    for number in traced.changed_inputs:
        value = inputs[number]
        where = f'job "{traced.name}", {_named(traced, number)}: the job changes it'
        if torch._debug_has_internal_overlap(value) == 1:
            raise ArgumentError(f"{where}, and several of its elements share memory\n  give it a copy: x.clone()")
        if value.is_inference() and not torch.is_inference_mode_enabled():
            raise ArgumentError(f"{where}, and it was made under inference_mode\n  give it a copy: x.clone()")
        for other, tensor in enumerate(inputs):
            if other != number and _share_memory(value, tensor):
                raise ArgumentError(
                    f"{where}, and {_named(traced, other)} shares memory with it\n  give one of them a copy: x.clone()"
                )


def _named(traced: TracedJob, number: int) -> str:
    name = traced.inputs[number].name
    return name if name.startswith("input ") else f'parameter "{name}"'


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.device != b.device or not _ranges_meet(a, b):
        return False
    if a.device.type != "cpu":
        return True
    try:
        return np.shares_memory(_as_bytes(a), _as_bytes(b), max_work=_EFFORT)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _ranges_meet(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.numel() == 0 or b.numel() == 0:
        return False
    (a_first, a_last), (b_first, b_last) = _range(a), _range(b)
    return a_first < b_last and b_first < a_last


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.dtype.itemsize


def _as_bytes(tensor: torch.Tensor) -> np.ndarray:
    """Return an array over the elements of a tensor, whatever its dtype."""
    size = tensor.dtype.itemsize
    first, last = _range(tensor)
    memory = np.ctypeslib.as_array((ctypes.c_ubyte * (last - first)).from_address(first))
    strides = (*(step * size for step in tensor.stride()), 1)
    return np.lib.stride_tricks.as_strided(memory, (*tensor.shape, size), strides)
