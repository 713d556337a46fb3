"""Jobs that are called while torch traces or transforms a program. A job's own run cannot be part of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.runtime.modes import without_modes

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_traced(tensors: Sequence[torch.Tensor]) -> bool:
    """Tell whether a dispatch mode is on (make_fx, export, fake tensors) or a tensor is of a subclass.

    The steps of a job run below modes, so a trace would keep their results as constants.
    """
    return torch._C._len_torch_dispatch_stack() > 0 or any(type(tensor) not in _PLAIN for tensor in tensors)


def refuse_transforms(job: str) -> None:
    """Raise `ArgumentError` inside `torch.func.grad`, `vmap` and the like."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise ArgumentError(
            f'job "{job}" is called inside a transform of torch.func (grad, vmap, jvp)\n'
            "  a job computes without gradients, for fixed shapes: call the function itself there"
        )


def refuse_traces(job: str, tensors: Sequence[torch.Tensor]) -> None:
    """Raise `ArgumentError` for a call with tensors that torch traces."""
    refuse_transforms(job)
    if is_traced(tensors):
        raise ArgumentError(
            f'job "{job}" is called while torch traces, or on a subclass of Tensor\n  call the function itself there'
        )


@contextmanager
def outside_traces() -> Iterator[None]:
    """Run what follows below all modes. A job on arrays runs so, whoever watches tensors meanwhile."""
    if torch._C._len_torch_dispatch_stack() == 0:
        yield
        return
    with without_modes():
        yield


def run_inline(function: Any, inputs: Sequence[torch.Tensor]) -> Any:
    """Run the function of a job in place of the job, and like it without gradients: the trace sees what it does."""
    with torch.no_grad():
        return function(*[value.detach() if value.requires_grad else value for value in inputs])
