"""Kernels against each other, and against the reference."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneop.errors import KernelNotFoundError
from oneop.runtime.core import core
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import NotForThis
from oneop.testing.families.context import Context, skipped
from oneop.testing.report import Outcome

LOW = (torch.float16, torch.bfloat16)


def kernels(context: Context) -> Outcome:
    """Kernels that take the same call give the same result; one for a narrow dtype, that of a wide one."""
    outcome = context.explore("kernels", Restriction(), lambda case: kernels_agree(context, case))
    return outcome if outcome.cases or outcome.failure else skipped("kernels", "only one kernel: give a reference")


def reference(context: Context) -> Outcome:
    """Results are those of the reference function."""
    if context.subject.hints.reference is None:
        return skipped("reference", "none given")
    return context.explore("reference", Restriction(), lambda case: reference_agrees(context, case))


def special_values(context: Context) -> Outcome:
    """NaN, infinities and zeros come out as in the reference, or at least alike from all kernels."""

    def holds(case: Case) -> None:
        if not any(tensor.dtype.is_floating_point for tensor in case.tensors):
            raise NotForThis
        case.run(case.make())
        if context.subject.hints.reference is not None:
            reference_agrees(context, case)
        else:
            kernels_agree(context, case)

    outcome = context.explore("special values", Restriction(fills=("special",), sizes=(5, 1, 8, 17)), holds)
    return outcome if outcome.cases or outcome.failure else skipped("special values", "nothing to compare with")


def results_of_kernel(case: Case, index: int, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run one kernel, chosen or not. Raises `KernelNotFoundError` if it does not take the call."""
    subject = case.subject
    arguments = [tensor if subject.op.non_contiguous else tensor.contiguous() for tensor in tensors]
    run = core().KernelRun(subject.name, index, subject.torch_args(case.group(arguments), case.attributes))
    outputs = [torch.empty(shape, dtype=dtype, device=case.device) for shape, dtype in run.outputs]
    tmp = torch.empty(run.tmp_bytes, dtype=torch.uint8, device=case.device)
    return list(run.run(outputs, tmp)) + case.changed(arguments)


def kernels_agree(context: Context, case: Case) -> None:
    """Compare all kernels that take the call, and the widest dtype. Raises `Broken`, or `NotForThis` if it is alone."""
    subject, hints = context.subject, context.subject.hints
    if subject.is_random:
        raise NotForThis  # each kernel draws numbers of its own
    tensors = case.make()
    scale = largest_value(tensors)
    by_kernel: list[tuple[str, list[torch.Tensor]]] = []
    for index, kernel in subject.kernels(case.device):
        try:
            by_kernel.append(
                (f"{kernel.language} kernel at {kernel.source}", results_of_kernel(case, index, case.make()))
            )
        except KernelNotFoundError:
            continue
    compared = 0
    for name, results in by_kernel[1:]:
        assert_close(
            by_kernel[0][1],
            results,
            f"the {name} differs from the {by_kernel[0][0]}",
            context.output_names(),
            rtol=hints.rtol,
            atol=hints.atol,
            scale=scale,
        )
        compared += 1
    wide = _widened(tensors)
    if by_kernel and wide is not None and _takes(context, case, wide):
        expected = case.run(wide)
        dtype = str(tensors[0].dtype).removeprefix("torch.")
        assert_close(
            expected,
            by_kernel[0][1],
            f"the {by_kernel[0][0]} on {dtype} differs from float64",
            context.output_names(),
            rtol=hints.rtol,
            atol=hints.atol,
            scale=scale,
            check_dtype=False,
        )
        compared += 1
    if not compared:
        raise NotForThis


def _widened(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """Return the same numbers in float64, where some are in less."""
    narrow = (torch.float32, *LOW)
    if not any(tensor.dtype in narrow for tensor in tensors):
        return None
    return [tensor.double() if tensor.dtype in narrow else tensor.clone() for tensor in tensors]


def _takes(context: Context, case: Case, tensors: Sequence[torch.Tensor]) -> bool:
    dtypes = tuple(tensor.dtype for tensor in tensors)
    return any(choice.dtypes == dtypes and choice.counts == case.counts for choice in context.domain.choices)


def reference_agrees(context: Context, case: Case) -> None:
    """Compare a call with the reference. Raises `Broken`."""
    hints = context.subject.hints
    if context.subject.is_random:
        raise NotForThis  # it draws numbers of its own
    tensors = case.make()
    upcast = any(tensor.dtype in LOW for tensor in tensors)
    arguments = [tensor.double() if tensor.dtype in LOW else tensor.clone() for tensor in tensors]
    expected = call_reference(case, arguments)
    assert_close(
        expected,
        case.run(tensors),
        "the result differs from the reference",
        context.output_names(),
        rtol=hints.rtol,
        atol=hints.atol,
        scale=largest_value(tensors),
        check_dtype=not upcast,
    )


def bind_reference(case: Case, tensors: Sequence[torch.Tensor]) -> functools.partial[Any]:
    """Return the call of the reference, made as the op is called.

    Attributes that are left out and that it asks for get their default.
    """
    function = case.subject.hints.reference
    assert function is not None
    attrs: dict[str, Any] = case.attributes
    values = case.subject.torch_args(case.group(tensors), attrs)[len(case.subject.op.inputs) :]
    known = dict(zip((attr.name for attr in case.subject.op.attrs), values, strict=False))
    passed = {name: value for name, value in known.items() if _passes(function, name, value, name in attrs)}
    return functools.partial(function, *case.group(tensors), **passed)


def call_reference(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Call the reference; return its results, and the inputs that the op changes."""
    results = bind_reference(case, tensors)()
    flat = [results] if isinstance(results, torch.Tensor) else list(results or ())
    return flat + case.changed(tensors)


def _passes(function: Callable[..., Any], name: str, value: Any, is_given: bool) -> bool:
    """Tell whether the function gets this attribute: if it names it, or takes any and it is given.

    One that is left out, and that the function has the same default for, is left out there too: `oneop bench` compares
    calls that are alike.
    """
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a builtin
        return is_given
    if name not in parameters:
        return is_given and any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return is_given or repr(parameters[name].default) != repr(value)  # so 1, 1.0 and True are not alike
