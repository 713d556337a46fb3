"""Variables and watches, as job functions ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from oneop.errors import ArgumentError
from oneop.jobs.context import Watch, require_context
from oneop.jobs.training.initializers import Initializer, zeros_initializer
from oneop.jobs.training.session import VariableSpec


def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: torch.dtype | None = None,
    initializer: Initializer | None = None,
    regularizer: object = None,
    trainable: bool = True,
    model_name: str | None = None,
) -> torch.Tensor:
    """Return the variable of this name; all jobs that ask for it share it.

    It is made at the first use, by `initializer` (zeros by default). Its dtype is float32 unless it is given here or by
    `FunctionConfig.default_data_type`. Raises `ArgumentError` outside a job, or if it is there with another shape or
    dtype.
    """
    context = require_context("get_variable")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"get_variable: expected a name, found {name!r}")
    if not name.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise ArgumentError(f"get_variable: the name {name!r} is not valid Unicode, a checkpoint could not hold it")
    if shape is None:
        raise ArgumentError(
            f'get_variable("{name}"): it needs a shape\n  name it: get_variable("{name}", shape=(2, 3))'
        )
    if regularizer is not None:
        raise ArgumentError(
            f'get_variable("{name}"): regularizers are not supported\n  use weight_decay of the optimizer'
        )
    return context.variable(
        VariableSpec(
            name=context.qualified(name),
            shape=tuple(int(n) for n in shape),
            dtype=context.default_dtype if dtype is None else dtype,
            initializer=initializer or zeros_initializer(),
            trainable=trainable,
        )
    )


def watch(blob: torch.Tensor, callback: Callable[..., object] = print) -> None:
    """Call `callback` with the value of a blob, as a numpy array, after each run of the job."""
    context = require_context("watch")
    value = blob.detach().clone()  # as it is now: a variable changes at the end of a train job, others in place
    context.watches.append(Watch(value, callback, is_grad=False))


def watch_diff(blob: torch.Tensor, callback: Callable[..., object] = print) -> None:
    """Call `callback` with the gradient of the loss with respect to a blob after each run of a train job."""
    context = require_context("watch_diff")
    if not context.is_train:
        raise ArgumentError(
            f'job "{context.job}": watch_diff needs gradients, which a predict job does not compute\n'
            '  make it global_function(type="train")'
        )
    context.watches.append(Watch(blob, callback, is_grad=True))
