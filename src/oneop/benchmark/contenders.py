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

from oneop.benchmark.inspection import Inspector, Settings
from oneop.benchmark.limits import copy_function, count_flops
from oneop.benchmark.result import BACKWARD, FORWARD
from oneop.benchmark.timing import Call, Contender
from oneop.errors import GradientNotFoundError, KernelNotFoundError
from oneop.runtime.core import core
from oneop.testing.accuracy import LOW
from oneop.testing.case import Case
from oneop.testing.compare import is_close, largest_value
from oneop.testing.families.agreement import call_reference, results_of_kernel
from oneop.testing.families.gradients.inputs import differentiable, floating


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The contenders of one direction by name, and whether their results are those of the reference."""

    direction: str
    calls: Mapping[str, Call | Contender]
    nbytes: int
    matches: Mapping[str, bool] = field(default_factory=dict)
    flops: int = 0

    def problem_of(self, name: str) -> str:
        """Return what was seen to be wrong with a contender while it was measured."""
        inspect = getattr(self.calls[name], "inspect", None)
        return inspect.problem if isinstance(inspect, Inspector) else ""


def forward_contest(case: Case, settings: Settings) -> Contest:
    """Return the call of the op, its reference, each kernel that takes the call, and a copy."""
    tensors = case.make()
    with torch.no_grad():
        results = case.run(case.make())
        sets = _sets(case)
        calls: dict[str, Call | Contender] = {"op": _watched(case, sets, [case.bind(own) for own in sets], settings)}
        matches: dict[str, bool] = {}
        expected: list[torch.Tensor] | None = None
        flops = 0
        if case.subject.op.has_flops:
            flops = case.subject.call.flops(*case.group(tensors), **case.attributes)
        if case.subject.hints.reference is not None:
            calls["reference"] = Contender(calls=tuple(case.bind_reference(own) for own in _sets(case)))
            expected = _by_reference(case, case.make())
            if not case.subject.is_random:
                matches["op"] = _matches(case, expected, results)
            flops = flops or count_flops(case.bind_reference(case.make()))
        for name, index, runs in _kernels(case, sets):
            calls[name] = _watched(case, sets, runs, settings)
            if expected is not None and not case.subject.is_random:
                matches[name] = _matches(case, expected, results_of_kernel(case, index, case.make()))
    settings.restore()  # the calls so far may have changed them already; each turn tells
    nbytes = sum(_nbytes(tensor) for tensor in (*tensors, *results))
    calls["copy"] = copy_function(nbytes, case.device)
    return Contest(direction=FORWARD, calls=calls, nbytes=nbytes, matches=matches, flops=flops)


def _by_reference(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return what the reference gives. Of 16 bits it is computed in 64: a chain of torch ops rounds at each of them."""
    results = call_reference(case, list(tensors))
    if not any(tensor.dtype in LOW for tensor in tensors):
        return results
    try:
        exact = call_reference(case, [t.double() if t.dtype in LOW else t for t in tensors])
    except Exception:
        return results  # it takes no float64
    return [wide.to(result.dtype) for wide, result in zip(exact, results, strict=True)]


def _sets(case: Case) -> list[list[torch.Tensor]]:
    """Return inputs of several calls: none finds its output in memory that the call before it filled."""
    if not _is_inspected(case):
        return [case.make()]
    return [case.like(seed=case.tensors[0].seed + i).make() for i in range(2)]


def _is_inspected(case: Case) -> bool:
    """Tell whether the same call gives the same result."""
    return bool(case.tensors) and not case.subject.is_random and not any(a.is_mutable for a in case.subject.op.inputs)


def _watched(case: Case, sets: list[list[torch.Tensor]], calls: Sequence[Call], settings: Settings) -> Contender:
    """Return calls whose results are compared, between turns, with what the reference, or the op on copies, gives."""
    if not _is_inspected(case):
        return Contender(calls=tuple(calls))

    def expected(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        with torch.no_grad():
            copies = [tensor.clone() for tensor in tensors]
            if case.subject.hints.reference is None:
                return case.run(copies)
            return _by_reference(case, copies)

    inspector = Inspector(calls, sets, expected, functools.partial(_matches, case), settings)
    return Contender(calls=tuple(calls), inspect=inspector)


def _kernels(case: Case, sets: Sequence[Sequence[torch.Tensor]]) -> list[tuple[str, int, list[Call]]]:
    """Return the kernels that take the call: name, place in the op's list, and runs into buffers of their own."""
    subject = case.subject
    kernels: list[tuple[str, int, list[Call]]] = []
    for index, kernel in subject.kernels(case.device):
        runs: list[Call] = []
        for tensors in sets:
            try:
                run = core().KernelRun(subject.name, index, subject.torch_args(case.group(tensors), case.attributes))
            except KernelNotFoundError:
                break
            outputs = [torch.empty(shape, dtype=dtype, device=case.device) for shape, dtype in run.outputs]
            tmp = torch.empty(run.tmp_bytes, dtype=torch.uint8, device=case.device)
            runs.append(functools.partial(run.run, outputs, tmp))
        if runs:
            place = f"{kernel.source.file.rpartition('/')[2]}:{kernel.source.line}"
            kernels.append((f"{kernel.language} {place}", index, runs))
    return kernels


def backward_contest(case: Case, settings: Settings) -> Contest | None:
    """Return backward from results that are there, of the op and of its reference; None without gradients."""
    if case.subject.op.no_grad or not any(differentiable(case)) or any(a.is_mutable for a in case.subject.op.inputs):
        return None
    runs: dict[str, _Backward] = {}
    try:
        runs["op"] = _Backward.of(case, case.run)
        if case.subject.hints.reference is not None:
            runs["reference"] = _Backward.of(case, functools.partial(call_reference, case))
        other = runs.get("reference") or _Backward.of(case, case.run)
    except (GradientNotFoundError, _NoResult):
        return None
    matches_case = functools.partial(_matches, case)
    inspector = Inspector([runs["op"].call], [runs["op"].weights], other.grads, matches_case, settings)
    is_inspected = _is_inspected(case) and all(grad is not None for grad in runs["op"].call())
    calls: dict[str, Call | Contender] = {
        "op": Contender(calls=(runs["op"].call,), inspect=inspector if is_inspected else None)
    }
    matches: dict[str, bool] = {}
    if "reference" in runs:
        calls["reference"] = other.call
    if "reference" in runs and not case.subject.is_random:
        matches["op"] = _matches(case, other.grads(other.weights), runs["op"].grads(other.weights))
    calls["copy"] = copy_function(runs["op"].nbytes, case.device)
    # What the backward ops declare; where none does, what torch counts in the reference.
    flops = next(filter(None, (count_flops(run.call) for run in runs.values())), 0)
    return Contest(direction=BACKWARD, calls=calls, nbytes=runs["op"].nbytes, matches=matches, flops=flops)


class _NoResult(Exception):
    """No result needs a gradient."""


@dataclass(frozen=True, kw_only=True)
class _Backward:
    """A call that was made, and its backward pass: `call` runs it with `weights`."""

    nbytes: int  # of what it reads and writes, about
    inputs: list[torch.Tensor]
    results: list[torch.Tensor]
    weights: list[torch.Tensor]
    call: Callable[[], Sequence[torch.Tensor | None]]

    @staticmethod
    def of(case: Case, call: Callable[[list[torch.Tensor]], list[torch.Tensor]]) -> _Backward:
        tensors = [t.requires_grad_(flag) for t, flag in zip(case.make(), differentiable(case), strict=True)]
        results = [result for result in floating(call(tensors)) if result.requires_grad]
        if not results:
            raise _NoResult
        inputs = [tensor for tensor in tensors if tensor.requires_grad]
        weights = [_weights(result) for result in results]
        return _Backward(
            nbytes=sum(_nbytes(tensor) for tensor in (*tensors, *results, *inputs)),
            inputs=inputs,
            results=results,
            weights=weights,
            call=_bind_backward(results, inputs, weights),
        )

    def grads(self, weights: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return the gradients for these weights, zeros where there is none."""
        grads = _bind_backward(self.results, self.inputs, [weight.clone() for weight in weights])()
        return [torch.zeros_like(t) if grad is None else grad for t, grad in zip(self.inputs, grads, strict=True)]


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
