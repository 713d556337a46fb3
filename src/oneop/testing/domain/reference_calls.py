"""Calls of a reference function: it gets the tensors as the op does, and those attributes that it names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from oneop.runtime.dtype_numbers import dtypes_of
from oneop.testing.domain.grouping import fill_gaps, fit_gaps, group_tensors
from oneop.testing.subject import Subject


def bind_reference(
    subject: Subject, counts: Sequence[int], tensors: Sequence[torch.Tensor], attrs: Mapping[str, Any]
) -> functools.partial[Any]:
    """Return the call of the reference, made as the op is called.

    Attributes that are left out and that it asks for get their default.
    """
    function = subject.hints.reference
    assert function is not None
    inputs = group_tensors(subject, counts, tensors)
    attrs = fit_gaps(subject, counts, attrs)
    gaps = {f"{arg.name}_given" for arg in subject.op.inputs if arg.has_gaps}
    values = subject.torch_args(inputs, attrs)[len(subject.op.inputs) :]
    dtypes = {attr.name for attr in subject.op.attrs if attr.type == "dtype"}
    known = {
        attr.name: dtypes_of(attr.type, value) if attr.type == "list of dtype" else value
        for attr, value in zip(subject.op.attrs, values, strict=False)
    }
    passed = {
        name: value
        for name, value in known.items()
        if name not in gaps and _passes(function, name, value, name in attrs, dtypes)
    }
    return functools.partial(function, *fill_gaps(subject, inputs, attrs), **passed)


def _passes(function: Callable[..., Any], name: str, value: Any, is_given: bool, dtypes: set[str]) -> bool:
    """Tell whether the function gets this attribute: if it names it, or takes any and it is given.

    One that is left out, and that the function has the same default for, is left out there too: `oneop bench` compares
    calls that are alike.
    """
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a builtin
        return is_given
    if not is_given and isinstance(value, int) and value is not True and value is not False and name in dtypes:
        return False  # torch keeps a default dtype as a number; the reference has its own
    if name not in parameters:
        return is_given and any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return is_given or repr(parameters[name].default) != repr(value)  # so 1, 1.0 and True are not alike
