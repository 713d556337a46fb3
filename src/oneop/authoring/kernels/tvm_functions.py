"""Functions of tvm-ffi as kernels, and ops as functions of tvm-ffi.

CuTe DSL, TileLang, FlashInfer and TVM hand out compiled kernels as `tvm_ffi.Function`. Such a function has no names: it
is called with the inputs, then the outputs, which it fills, then the attributes, all in the order of the schema. torch
tensors go in without a copy, and on the stream that is torch's at the time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import torch
import torch.utils.dlpack

from oneop.authoring.binding import Source
from oneop.authoring.book import schema_of
from oneop.authoring.schema import Schema
from oneop.errors import ArgumentError, MissingDependencyError, OneopError, RegistrationError, described
from oneop.runtime.core import core
from oneop.runtime.modes import untraced


def as_kernel(schema: Schema, function: object, source: Source) -> Callable[..., None]:
    """Return a function of tvm-ffi as one that takes the inputs, and `out` and the attributes by name."""
    if not isinstance(function, _tvm_ffi().Function):
        raise RegistrationError(
            f'op "{schema.name}": expected a tvm_ffi.Function for language="tvm-ffi", found {described(function)}\n'
            f'  give the function itself, or write one in Python with language="torch" that calls it\n  at {source}'
        )
    for attr in schema.attrs:
        problem = ""
        if "complex" in attr.type:
            problem = "tvm-ffi has no complex numbers\n  take its parts as two floats"
        elif attr.name == "out":
            problem = "a kernel of tvm-ffi gets its outputs as out\n  give the attribute another name"
        if problem:
            raise RegistrationError(f'op "{schema.name}", attribute "{attr.name}": {problem}\n  at {source}')
    names = [attr.name for attr in schema.attrs]

    scalars = [attr.name for attr in schema.attrs if attr.type == "Scalar"]

    def kernel(*inputs: Any, **values: Any) -> None:
        for name in scalars:  # tvm-ffi would hand it over as a Python object
            if isinstance(values[name], complex):
                raise ValueError(f'attribute "{name}": tvm-ffi has no complex numbers, found {values[name]}')
        outputs = values["out"] if isinstance(values["out"], tuple | list) else (values["out"],)
        function(*inputs, *outputs, *(values[name] for name in names))

    by_name = [Parameter(name, Parameter.KEYWORD_ONLY) for name in ("out", *names)]
    kernel.__signature__ = Signature([Parameter("inputs", Parameter.VAR_POSITIONAL), *by_name])  # type: ignore[attr-defined]
    return kernel


@untraced
def tvm_ffi_function(op: Callable[..., Any]) -> Any:
    """Return an op as a `tvm_ffi.Function`, for programs that call functions of tvm-ffi.

    It takes the inputs and then the attributes by position, tensors by DLPack without a copy, and returns the result or
    an array of the results. It computes no gradients.
    """
    if not isinstance(op, core().Op):
        raise ArgumentError(f"oneop.tvm_ffi_function: expected an op, such as oneop.ops.relu, found {described(op)}")
    tvm = _tvm_ffi()
    schema = schema_of(op.__name__)
    count, names = len(schema.inputs), [attr.name for attr in schema.attrs]

    def call(*args: Any) -> Any:
        try:
            return computed(*args)
        except OneopError as error:  # tvm-ffi knows Python's own kinds of errors and makes others a RuntimeError
            kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
            raise kind(str(error)) from error

    def computed(*args: Any) -> Any:
        values = [_to_torch(tvm, arg) for arg in args]
        if len(values) > count + len(names):
            raise ArgumentError(
                f'op "{schema.name}": expected at most {count} inputs and {len(names)} attributes by position, '
                f"found {len(values)} values\n  {schema.text}"
            )
        with torch.no_grad():
            result = op(*values[:count], **dict(zip(names, values[count:], strict=False)))
        return list(result) if isinstance(result, tuple | list) else result

    return tvm.convert(call)


def _to_torch(tvm: Any, value: Any) -> Any:
    if isinstance(value, tvm.Tensor):
        return torch.utils.dlpack.from_dlpack(value)
    if isinstance(value, tvm.dtype):
        known = getattr(torch, str(value), None)
        if not isinstance(known, torch.dtype):
            raise ArgumentError(f"torch has no dtype {value}\n  give one of torch's, such as float32")
        return known
    return [_to_torch(tvm, item) for item in value] if isinstance(value, tvm.Array) else value


def _tvm_ffi() -> Any:
    try:
        return importlib.import_module("tvm_ffi")
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "functions of tvm-ffi need the package tvm_ffi\n  pip install apache-tvm-ffi"
        ) from None
