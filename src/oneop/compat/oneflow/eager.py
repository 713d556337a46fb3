"""Jobs after `enable_eager_execution()`: the function runs at each call, on tensors that have values."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from oneop.errors import ArgumentError
from oneop.jobs.annotations import bind_values, convert_results, read_signature
from oneop.jobs.context import JobContext, tracing
from oneop.jobs.training.session import Draft, VariableSpec, current_session

_is_enabled = False


def enable_eager_execution(value: bool = True) -> None:
    """Have jobs that are defined from now on run their functions at each call, or trace them as usual."""
    global _is_enabled
    _is_enabled = bool(value)


def eager_execution_enabled() -> bool:
    """Tell whether jobs that are defined now run eagerly; at first they do not."""
    return _is_enabled


class Blob(torch.Tensor):
    """A tensor in an eager job. Its array may be asked for by the number of a device, which is 0."""

    def numpy(self, device: int = 0) -> np.ndarray[Any, Any]:  # type: ignore[override]
        """Return the array."""
        return self.detach().as_subclass(torch.Tensor).cpu().numpy()


class EagerJob:
    """A predict job whose function runs at each call."""

    def __init__(self, fn: Callable[..., Any], scope: dict[str, Any], data_type: torch.dtype, is_train: bool) -> None:
        """Read the annotations. Raises `ArgumentError` for a train job: its backward pass is part of the plan."""
        functools.update_wrapper(self, fn)
        if is_train:
            raise ArgumentError(
                f'job "{fn.__name__}": a train job does not run eagerly\n'
                "  define it after enable_eager_execution(False)"
            )
        self._fn, self._data_type = fn, data_type
        self._signature = read_signature(fn, fn.__name__, scope)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function. Variables are those of the session."""
        values = [value.as_subclass(Blob) for value in bind_values(self._signature, args, kwargs)]
        draft = Draft(current_session())

        def make_variable(spec: VariableSpec, device: torch.device) -> torch.Tensor:
            return draft.variable(spec, device).value.detach().clone().as_subclass(Blob)

        context = JobContext(self.__name__, False, make_variable, self._data_type)  # type: ignore[attr-defined]
        with tracing(context), torch.no_grad():
            results = self._fn(*self._signature.nest(values))
        draft.commit()
        plain = pytree.tree_map(lambda blob: blob.as_subclass(torch.Tensor), () if results is None else results)
        return convert_results(self._signature, plain)
