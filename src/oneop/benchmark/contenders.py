"""What is measured at one size: the op, its reference, its kernels and a copy, each bound to its arguments.

A bound call is a `functools.partial` of the function itself, so that a turn holds nothing of oneop's own but the op.
The results of each are compared with the reference before anything is measured, on tensors of their own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from oneop.benchmark.limits import copy_function, count_flops
from oneop.benchmark.result import BACKWARD, FORWARD
from oneop.errors import GradientNotFoundError, KernelNotFoundError
from oneop.runtime.core import core
from oneop.testing.case import Case
from oneop.testing.compare import is_close, largest_value
from oneop.testing.families.agreement import LOW, call_reference, results_of_kernel
from oneop.testing.families.gradients import differentiable, floating

Call = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The contenders of one direction by name, and whether their results are those of the reference."""

    direction: str
    calls: Mapping[str, Call]
    nbytes: int
    matches: Mapping[str, bool] = field(default_factory=dict)
    flops: int = 0


def forward_contest(case: Case) -> Contest:
    """Return the call of the op, its reference, each kernel that takes the call, and a copy."""
    tensors = case.make()
    with torch.no_grad():
        results = case.run(case.make())
        calls: dict[str, Call] = {"op": case.bind(tensors)}
        matches: dict[str, bool] = {}
        expected: list[torch.Tensor] | None = None
        flops = 0
        if case.subject.op.has_flops:
            flops = case.subject.call.flops(*case.group(tensors), **case.attributes)
        if case.subject.hints.reference is not None:
            calls["reference"] = case.bind_reference(case.make())
            expected = _expected(case)
            matches["op"] = _matches(case, expected, results)
            flops = flops or count_flops(case.bind_reference(case.make()))
        for name, index, call in _kernels(case, tensors):
            calls[name] = call
            if expected is not None:
                matches[name] = _matches(case, expected, results_of_kernel(case, index, case.make()))
    nbytes = sum(_nbytes(tensor) for tensor in (*tensors, *results))
    calls["copy"] = copy_function(nbytes, case.device)
    return Contest(direction=FORWARD, calls=calls, nbytes=nbytes, matches=matches, flops=flops)


def _expected(case: Case) -> list[torch.Tensor]:
    """Return what the reference gives. Of 16 bits it is computed in 64: a chain of torch ops rounds at each of them."""
    results = call_reference(case, case.make())
    if not any(tensor.dtype in LOW for tensor in case.make()):
        return results
    exact = call_reference(case, [t.double() if t.dtype in LOW else t for t in case.make()])
    return [wide.to(result.dtype) for wide, result in zip(exact, results, strict=True)]


def _kernels(case: Case, tensors: Sequence[torch.Tensor]) -> list[tuple[str, int, Call]]:
    """Return the kernels that take the call: name, place in the op's list, and a run into buffers of its own."""
    subject = case.subject
    runs: list[tuple[str, int, Call]] = []
    for index, kernel in subject.kernels(case.device):
        try:
            run = core().KernelRun(subject.name, index, subject.torch_args(case.group(tensors), case.attributes))
        except KernelNotFoundError:
            continue
        outputs = [torch.empty(shape, dtype=dtype, device=case.device) for shape, dtype in run.outputs]
        tmp = torch.empty(run.tmp_bytes, dtype=torch.uint8, device=case.device)
        place = f"{kernel.source.file.rpartition('/')[2]}:{kernel.source.line}"
        runs.append((f"{kernel.language} {place}", index, functools.partial(run.run, outputs, tmp)))
    return runs


def backward_contest(case: Case) -> Contest | None:
    """Return backward from results that are there, of the op and of its reference; None without gradients."""
    if case.subject.op.no_grad or not any(differentiable(case)) or any(a.is_mutable for a in case.subject.op.inputs):
        return None
    call_of: dict[str, Callable[[list[torch.Tensor]], list[torch.Tensor]]] = {"op": case.run}
    if case.subject.hints.reference is not None:
        call_of["reference"] = functools.partial(call_reference, case)
    calls: dict[str, Call] = {}
    grads: dict[str, list[torch.Tensor]] = {}
    nbytes = 0
    for name, call in call_of.items():
        tensors = [t.requires_grad_(flag) for t, flag in zip(case.make(), differentiable(case), strict=True)]
        try:
            results = [result for result in floating(call(tensors)) if result.requires_grad]
        except GradientNotFoundError:
            return None
        if not results:
            return None
        inputs = [t for t in tensors if t.requires_grad]
        weights = [_weights(result) for result in results]
        run = _bind_backward(results, inputs, weights)
        calls[name] = run
        grads[name] = [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, run(), strict=True)]
        nbytes = nbytes or sum(_nbytes(tensor) for tensor in (*tensors, *results, *inputs))
    matches = {"op": _matches(case, grads["reference"], grads["op"])} if "reference" in grads else {}
    calls["copy"] = copy_function(nbytes, case.device)
    # What the backward ops declare; where none does, what torch counts in the reference.
    flops = next(filter(None, (count_flops(calls[name]) for name in call_of)), 0)
    return Contest(direction=BACKWARD, calls=calls, nbytes=nbytes, matches=matches, flops=flops)


def _bind_backward(
    results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]
) -> Callable[[], Sequence[torch.Tensor | None]]:
    """Return what `torch.autograd.grad` ends in: the engine itself.

    The checks before it, in Python, take as long as the backward of a small op, and would hide it.
    """
    engine: Any = torch.autograd.Variable._execution_engine
    keep_graph, create_graph, allow_unreachable, accumulate_grad = True, False, True, False
    return functools.partial(
        engine.run_backward,
        tuple(results),
        tuple(weights),
        keep_graph,
        create_graph,
        tuple(inputs),
        allow_unreachable,
        accumulate_grad=accumulate_grad,
    )


def _weights(result: torch.Tensor) -> torch.Tensor:
    """Return what flows back into a result: values that differ, so that a gradient in the wrong place shows."""
    return (torch.arange(result.numel(), device=result.device) % 7 + 1).reshape(result.shape).to(result.dtype)


def _matches(case: Case, expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor]) -> bool:
    """Tell whether all results are those of the reference: as many, of the same shapes and dtypes, and close."""
    hints = case.subject.hints
    tensors = case.make()
    scale = largest_value(tensors) * max(1.0, math.sqrt(max((tensor.numel() for tensor in tensors), default=1)) / 100)
    return len(expected) == len(actual) and all(
        left.shape == right.shape
        and left.dtype == right.dtype
        and is_close(left, right, rtol=hints.rtol, atol=hints.atol, scale=scale)
        for left, right in zip(expected, actual, strict=True)
    )


def _nbytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
