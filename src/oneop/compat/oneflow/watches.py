"""`watch` and `watch_diff`: the annotation of the callback's parameter says what it is given, as in OneFlow."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from oneop.jobs.training import variables


def watch(blob: torch.Tensor, callback: Callable[..., object] = print) -> None:
    """Call `callback` with the value of a blob after each run of the job, see `oneop.watch`."""
    variables.watch(blob, _handing(callback))


def watch_diff(blob: torch.Tensor, callback: Callable[..., object] = print) -> None:
    """Call `callback` with the gradient of a blob after each run of a train job, see `oneop.watch_diff`."""
    variables.watch_diff(blob, _handing(callback))


def _handing(callback: Callable[..., object]) -> Callable[[np.ndarray[Any, Any]], object]:
    """Return the callback for an array: `Numpy` gets it, `ListNumpy` a list of it, anything else a tensor."""
    kind = _annotation(callback)
    if kind == "Numpy" or callback is print:
        return callback
    if kind == "ListNumpy":
        return lambda array: callback([array])
    return lambda array: callback(torch.from_numpy(array))


def _annotation(callback: Callable[..., object]) -> str:
    """Return the last part of the name of the first parameter's annotation, "" where there is none."""
    try:
        parameters = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):  # a builtin
        return ""
    if not parameters or parameters[0].annotation is inspect.Parameter.empty:
        return ""
    annotation = parameters[0].annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.rpartition(".")[2]
