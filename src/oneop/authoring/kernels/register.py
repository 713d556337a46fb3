"""`register_kernel`: a function in one of several languages becomes a kernel of an op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch

from oneop.authoring.binding import Source, caller_of, source_of, taken_by
from oneop.authoring.book import KernelPage, add_kernel, schema_of
from oneop.authoring.gaps import with_gaps
from oneop.authoring.kernels.numpy_dtypes import numpy_dtype
from oneop.authoring.rules.dynamic import has_dynamic_outputs
from oneop.authoring.schema import Schema
from oneop.authoring.spec import group
from oneop.errors import RegistrationError, described
from oneop.runtime.modes import untraced_copy

Dtypes = torch.dtype | Iterable[torch.dtype] | Mapping[str, torch.dtype | Iterable[torch.dtype]] | None
Devices = str | Sequence[str] | None

#: ONEOP_KERNEL_... in oneop/abi.h
DETERMINISTIC, NONDETERMINISTIC, BATCH_INVARIANT = 1 << 2, 1 << 3, 1 << 4


class Language(Protocol):
    """Makes the fields of a kernel's page from a function; csrc/python/kernels/python_op.h says what each needs."""

    def __call__(self, schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
        """Return the form, and its fields."""


def register(
    name: str,
    function: Callable[..., Any],
    *,
    device: Devices,
    dtypes: Dtypes,
    priority: int,
    when: Callable[..., Any] | None,
    language: str,
    caller: Source,
    deterministic: bool | None = None,
    batch_invariant: bool = False,
) -> None:
    """Register one function."""
    schema = schema_of(name)
    source = source_of(function, caller)
    if language not in LANGUAGES:
        raise RegistrationError(
            f'op "{name}": there is no kernel language "{language}"\n  there are: {", ".join(LANGUAGES)}; '
            f"for C++ and CUDA texts there is register_source\n  at {source}"
        )
    check_priority(name, priority, source)
    devices = _devices(name, device, language, source)
    if language in ("numba", "tvm-ffi") and any(arg.has_gaps for arg in schema.inputs):
        raise RegistrationError(
            f'op "{name}": {language} kernels take no list with None in it\n'
            f'  use language="numpy" or "torch"\n  at {source}'
        )
    form, fields = LANGUAGES[language](schema, with_gaps(schema, function), source)
    if (form == "native" or fields.get("takes_out")) and has_dynamic_outputs(name):
        raise RegistrationError(
            f'op "{name}": the size of an output depends on data, so a kernel must return it\n'
            f"  {'it is compiled, and can only fill its outputs' if form == 'native' else 'it takes out'}: "
            f'write it with language="numpy" or "torch" and without out\n  at {source}'
        )
    add_kernel(
        name,
        KernelPage(
            source=source,
            language=language,
            form=form,
            devices=devices,
            dtypes=_dtypes(schema, dtypes, source),
            priority=priority,
            when=None if when is None else _predicate(schema, when, source),
            when_text="" if when is None else _text_of(when, source),
            flags=declared_flags(name, deterministic, batch_invariant, source),
            fields=fields,
        ),
    )


def declared_flags(name: str, deterministic: object, batch_invariant: object, source: Source) -> int:
    """Return what is declared as the bits of oneop/abi.h."""
    for what, value, choices in (
        ("deterministic", deterministic, (True, False, None)),
        ("batch_invariant", batch_invariant, (True, False)),
    ):
        if not any(value is choice for choice in choices):
            raise RegistrationError(
                f'op "{name}": {what} is {" or ".join(map(repr, choices))}, found {described(value)}\n  at {source}'
            )
    said = 0 if deterministic is None else DETERMINISTIC if deterministic else NONDETERMINISTIC
    return said | (BATCH_INVARIANT if batch_invariant else 0)


def check_priority(name: str, priority: object, source: Source) -> None:
    """Raise `RegistrationError` for a priority that the core cannot hold."""
    if isinstance(priority, bool) or not isinstance(priority, int) or not -(2**31) <= priority < 2**31:
        raise RegistrationError(
            f'op "{name}": expected an int of 32 bits for priority, found {described(priority)}\n  at {source}'
        )


def _devices(name: str, device: Devices, language: str, source: Source) -> tuple[str | None, ...]:
    anywhere = language in ("torch", "triton", "tvm-ffi")
    choice = (None,) if device is None and anywhere else ("cpu",) if device is None else device
    devices = (choice,) if isinstance(choice, str) else tuple(choice)
    for entry in devices:
        if entry not in (None, "cpu", "cuda"):
            raise RegistrationError(f'op "{name}": there is no device "{entry}"\n  expected cpu or cuda\n  at {source}')
        if entry == "cuda" and not anywhere:
            raise RegistrationError(
                f'op "{name}": {language} kernels run on the cpu only\n'
                f'  for cuda write it with language="torch" or "triton", or in CUDA with register_source\n  at {source}'
            )
    return devices


def _dtypes(schema: Schema, wanted: Dtypes, source: Source) -> tuple[dict[str, torch.dtype], ...]:
    """Return one {argument: dtype} for each combination; a plain dtype is that of the first tensor of the schema."""
    if wanted is None:
        return ({},)
    names = [arg.name for arg in (*schema.inputs, *schema.outputs)]
    by_name = wanted if isinstance(wanted, Mapping) else {names[0]: wanted}
    combinations: list[dict[str, torch.dtype]] = [{}]
    for name, dtypes in by_name.items():
        choices = [dtypes] if isinstance(dtypes, torch.dtype) else list(dtypes)
        if name not in names or not all(isinstance(dtype, torch.dtype) for dtype in choices):
            raise RegistrationError(
                f'op "{schema.name}": cannot use dtypes {name}={choices!r}\n  expected torch dtypes for the first of, '
                f"or by name for any of: {', '.join(names)}\n  at {source}"
            )
        combinations = [{**combination, name: dtype} for combination in combinations for dtype in choices]
    return tuple(combinations)


def _predicate(schema: Schema, when: Callable[..., Any], source: Source) -> Callable[..., bool]:
    when = with_gaps(schema, when)
    call = caller_of(when, taken_by(when, schema, "when", source, out=False).attrs)
    return lambda raw, attrs: bool(call(group(schema.inputs, raw), attrs))


def _text_of(when: Callable[..., Any], source: Source) -> str:
    name = getattr(when, "__name__", "a predicate")
    return f"when at {source_of(when, source)}" if name == "<lambda>" else name


def _numpy(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    taken = taken_by(function, schema, "kernel", source)
    return "numpy", {
        "function": untraced_copy(function),
        "attrs": list(taken.attrs),
        "takes_out": taken.out,
        "dtype_of": numpy_dtype,
        "input_is_list": [arg.is_list for arg in schema.inputs],
        "input_is_mutable": [arg.is_mutable for arg in schema.inputs],
    }


def _torch(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    from oneop.authoring.kernels.compose import make_traceable

    make_traceable(schema)
    return _on_tensors(schema, function, source)


def _triton(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    """Take a function that launches kernels; torch.compile looks through it only where it uses `wrap_triton`."""
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    return (_torch if "wrap_triton" in names else _on_tensors)(schema, function, source)


def _on_tensors(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    taken = taken_by(function, schema, "kernel", source)
    return "torch", {
        "function": untraced_copy(function),
        "attrs": list(taken.attrs),
        "takes_out": taken.out,
        "arranges": taken.out,  # whoever writes into memory will read it too
        "input_is_list": [arg.is_list for arg in schema.inputs],
        "input_is_mutable": [arg.is_mutable for arg in schema.inputs],
    }


def _numba(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    from oneop.authoring.kernels.native import compile_kernel  # late: numba takes long to import

    return "native", compile_kernel(schema, function, source)


def _tvm_ffi(schema: Schema, function: Callable[..., Any], source: Source) -> tuple[str, dict[str, Any]]:
    from oneop.authoring.kernels.tvm_functions import as_kernel  # late: tvm_ffi may not be installed

    return _on_tensors(schema, as_kernel(schema, function, source), source)


LANGUAGES: dict[str, Language] = {
    "numpy": _numpy,
    "torch": _torch,
    "numba": _numba,
    "triton": _triton,
    "tvm-ffi": _tvm_ffi,
}
