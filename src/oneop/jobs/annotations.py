"""Reading the annotations of a job function, and moving values across its border."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.jobs.planning.trace import InputSpec
from oneop.jobs.traces import refuse_traces


@dataclass(frozen=True, kw_only=True)
class Signature:
    """What a job takes and gives, from its annotations."""

    job: str
    parameters: tuple[tuple[str, Any], ...]  # name, and a placeholder or tuple of them
    returns: Any  # an annotation; `Future` where there is none
    is_callback: bool

    def input_specs(self) -> list[InputSpec]:
        """Return the inputs of the graph, one for each placeholder."""
        specs = []
        for name, annotation in self.parameters:
            leaves, _ = pytree.tree_flatten(annotation, is_leaf=lambda value: isinstance(value, tp.Placeholder))
            for i, leaf in enumerate(leaves):
                full = name if len(leaves) == 1 else f"{name}[{i}]"
                specs.append(InputSpec(name=full, shape=leaf.shape, dtype=leaf.dtype))
        return specs

    def nest(self, flat: Sequence[torch.Tensor]) -> list[Any]:
        """Return the arguments of the function from a flat list of tensors."""
        rest = iter(flat)
        nested = []
        for _, annotation in self.parameters:
            leaves, spec = pytree.tree_flatten(annotation, is_leaf=lambda value: isinstance(value, tp.Placeholder))
            nested.append(pytree.tree_unflatten([next(rest) for _ in leaves], spec))
        return nested


class Future:
    """What a job without return annotation gives: the result is ready when it is asked for."""

    #: The class of the blobs; `import oneflow` has another one.
    blob_type: type[torch.Tensor] = torch.Tensor

    def __init__(self, value: Any) -> None:
        """Keep the results, as blobs in the memory of the host: programs ask them for arrays, `.get().numpy()`."""
        self._value = pytree.tree_map(lambda blob: blob.cpu().as_subclass(self.blob_type), value)

    def get(self) -> Any:
        """Return the blobs."""
        return self._value

    def async_get(self, callback: Callable[[Any], object]) -> None:
        """Call back with the blobs."""
        callback(self._value)


def read_signature(fn: Callable[..., Any], job: str, scope: Mapping[str, Any] | None = None) -> Signature:
    """Return the signature of a job function. Raises `ArgumentError` for what is not annotated, or wrongly.

    Where annotations are strings (`from __future__ import annotations`) they may use the names of `scope` too: that is
    where the function was defined.
    """
    try:
        signature = inspect.signature(fn, eval_str=True, locals=scope)
    except NameError as error:
        raise ArgumentError(f'job "{job}": its annotations cannot be read: {error}') from error
    parameters = []
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ArgumentError(f'job "{job}", parameter "{name}": only ordinary parameters are possible')
        parameters.append((name, _read_parameter(job, name, parameter.annotation)))
    returns = signature.return_annotation
    is_callback = typing.get_origin(returns) is tp.Callback
    if is_callback:
        (returns,) = typing.get_args(returns)
    if returns is inspect.Signature.empty:
        returns = Future
    return Signature(job=job, parameters=tuple(parameters), returns=returns, is_callback=is_callback)


def _read_parameter(job: str, name: str, annotation: Any) -> Any:
    if isinstance(annotation, tp.Placeholder):
        return annotation
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else annotation
    if isinstance(parts, (tuple, list)) and parts and all(isinstance(part, tp.Placeholder) for part in parts):
        return tuple(parts)
    shown = "no annotation" if annotation is inspect.Parameter.empty else repr(annotation)
    raise ArgumentError(
        f'job "{job}", parameter "{name}": expected a placeholder, found {shown}\n'
        f"  write {name}: oneop.typing.Numpy.Placeholder((5,), dtype=oneop.float32)"
    )


def bind_values(
    signature: Signature, args: Sequence[Any], kwargs: dict[str, Any], changed: Sequence[int] = ()
) -> list[torch.Tensor]:
    """Return the given values as a flat list of tensors, checked against the placeholders.

    Those whose numbers are in `changed` share the memory of what was given: the job writes to them.
    """
    names = [name for name, _ in signature.parameters]
    values_by_name = dict(zip(names, args, strict=False))
    unknown = [name for name in kwargs if name not in names]
    twice = [name for name in kwargs if name in values_by_name]
    missing = [name for name in names if name not in values_by_name and name not in kwargs]
    if len(args) > len(names) or unknown or twice or missing:
        what = (
            f"unknown: {', '.join(unknown)}"
            if unknown
            else f"given twice: {', '.join(twice)}"
            if twice
            else f"missing: {', '.join(missing)}"
            if missing
            else f"found {len(args)}"
        )
        raise ArgumentError(f'job "{signature.job}" takes {len(names)} arguments ({", ".join(names)}); {what}')
    values_by_name |= kwargs
    flat: list[torch.Tensor] = []
    for name, annotation in signature.parameters:
        if isinstance(annotation, tp.Placeholder):
            flat.append(_to_tensor(signature.job, name, annotation, values_by_name[name], len(flat) in changed))
            continue
        values = values_by_name[name]
        if not isinstance(values, (tuple, list)) or len(values) != len(annotation):
            raise ArgumentError(f'job "{signature.job}", parameter "{name}": expected {len(annotation)} values')
        for i, (part, value) in enumerate(zip(annotation, values, strict=True)):
            flat.append(_to_tensor(signature.job, f"{name}[{i}]", part, value, len(flat) in changed))
    return flat


def _to_tensor(job: str, name: str, placeholder: tp.Placeholder, value: Any, is_changed: bool) -> torch.Tensor:
    where = f'job "{job}", parameter "{name}"'
    expected = f"{_dtype_name(placeholder.dtype)} {placeholder.shape}"
    if placeholder.kind == "Tensor":
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(f"{where}: expected a torch tensor, {expected}, found {type(value).__name__}")
        refuse_traces(job, [value])
        tensor = value.detach()
    else:
        depth = {"Numpy": 0, "ListNumpy": 1, "ListListNumpy": 2}[placeholder.kind]
        for _ in range(depth):
            if not isinstance(value, (list, tuple)) or len(value) != 1:
                raise ArgumentError(f"{where}: expected a list with one array, found {type(value).__name__}")
            value = value[0]
        if not isinstance(value, np.ndarray):
            raise ArgumentError(f"{where}: expected a numpy array, {expected}, found {type(value).__name__}")
        if isinstance(value, np.ma.MaskedArray):
            raise ArgumentError(f"{where}: expected a numpy array without a mask\n  give it x.filled(value)")
        # What torch can take without a copy: whole, forward steps in the byte order of this machine.
        size = max(value.itemsize, 1)
        has_steps = all(step >= 0 and step % size == 0 for step in value.strides)
        shareable = value.flags.writeable and has_steps and value.dtype.isnative
        if is_changed and not shareable:
            why = (
                "is read-only"
                if not value.flags.writeable
                else "has negative strides"
                if any(step < 0 for step in value.strides)
                else "has strides or a byte order that torch does not take"
            )
            raise ArgumentError(f"{where}: the job changes it, and the array {why}\n  give it a copy: x.copy()")
        try:
            native = value.dtype.newbyteorder("=")
            tensor = torch.from_numpy(value if shareable else np.array(value, dtype=native, order="C"))
        except TypeError:
            raise ArgumentError(f"{where}: expected {expected}, found an array of dtype {value.dtype}") from None
    if tensor.dtype != placeholder.dtype or tuple(tensor.shape) != placeholder.shape:
        raise ArgumentError(f"{where}: expected {expected}, found {_dtype_name(tensor.dtype)} {tuple(tensor.shape)}")
    return tensor


def check_returns(signature: Signature, spec: pytree.TreeSpec) -> None:
    """Raise `ArgumentError` unless what the function returned has the form that the annotation promises."""
    dummy = pytree.tree_unflatten([0] * spec.num_leaves, spec)
    if not _matches(signature.returns, dummy):
        raise ArgumentError(
            f'job "{signature.job}": its return annotation is {signature.returns}, the function returned {_form(dummy)}'
        )


def _form(value: Any) -> str:
    if value == ():
        return "nothing"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return f"dict with {', '.join(map(str, value))}" if isinstance(value, dict) else "one blob"


def _matches(annotation: Any, value: Any) -> bool:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Future or origin is tp.Bundle:
        return True
    if annotation is None:
        return bool(value == ())  # what a function that returns nothing is traced to
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(_matches(args[0], item) for item in value)
        return len(args) == len(value) and all(map(_matches, args, value))
    if origin is list:
        return isinstance(value, list) and all(_matches(args[0], item) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_matches(args[1], item) for item in value.values())
    if isinstance(annotation, type) and issubclass(annotation, tp._Kind):
        return not isinstance(value, (list, tuple, dict)) and value is not None
    return False


def convert_results(signature: Signature, results: Any) -> Any:
    """Return tensors that belong to the caller in the form the annotation asks for."""
    return _convert(signature.returns, results)


def _convert(annotation: Any, value: Any) -> Any:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Future:
        return Future(value)
    if annotation is None:
        return None
    if origin is tuple:
        kinds = args[:1] * len(value) if len(args) == 2 and args[1] is Ellipsis else args
        return tuple(map(_convert, kinds, value))
    if origin is list:
        return [_convert(args[0], item) for item in value]
    if origin is dict:
        return {key: _convert(args[1], item) for key, item in value.items()}
    if origin is tp.Bundle:
        return pytree.tree_map(lambda tensor: _convert(args[0], tensor), value)
    if annotation is tp.Tensor:
        return value
    array = value.contiguous().cpu().numpy()
    if annotation is tp.ListNumpy:
        return [array]
    return [[array]] if annotation is tp.ListListNumpy else array


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
