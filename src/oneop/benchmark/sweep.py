"""An op over sizes: its call, each of its kernels, backward, beside its reference and a copy of as many bytes."""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.benchmark.limits import copy_function, count_flops, flops_per_second
from oneop.benchmark.result import BACKWARD, FORWARD, BenchResult, Row
from oneop.benchmark.timing import Timing, measure
from oneop.errors import ArgumentError, GradientNotFoundError, KernelNotFoundError
from oneop.runtime.core import core
from oneop.testing.case import Case, is_taken, make_case
from oneop.testing.compare import is_close, largest_value
from oneop.testing.families.agreement import call_reference
from oneop.testing.families.gradients import differentiable, floating
from oneop.testing.probe import DEFAULT, Choice, Domain, find_domain
from oneop.testing.subject import Hints, subject_of
from oneop.testing.templates import Template

if TYPE_CHECKING:
    from oneop._core import Op

SIZES = (100, 10_000, 1_000_000)


def bench(
    op: str | Op,
    *,
    reference: Callable[..., Any] | None = None,
    sizes: Sequence[int] = SIZES,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seconds: float = 0.2,
    progress: Callable[[str], None] | None = None,
) -> BenchResult:
    """Measure an op and return the figures.

    Args:
        op: the op, or its name.
        reference: what it is measured against; else the function given to `oneop.testing.reference`.
        sizes: numbers of elements of the largest input, about.
        dtype: of the inputs, if the op takes it; else the first one that it takes.
        device: "cpu" or "cuda".
        seconds: about how long each size and direction takes.
        progress: called with a line for each size.

    Raises:
        ArgumentError: no call could be found that the op takes.
    """
    subject = subject_of(op, Hints(reference=reference))
    domain = find_domain(subject, device)
    choices = sorted(domain.choices, key=lambda choice: choice.dtypes[:1] != (dtype,))
    rows: list[Row] = []
    case: Case | None = None
    for size in sizes:
        case = _case(domain, choices[0], size)
        if case is None:
            continue
        if progress is not None:
            progress(f"{subject.name}: {case}")
        rows += _forward(case, seconds)
        rows += _backward(case, seconds)
    if case is None:
        raise ArgumentError(f'op "{subject.name}": no call of {", ".join(map(str, sizes))} elements could be made')
    flops = flops_per_second(device) if any(row.flops for row in rows) else 0.0
    return BenchResult(
        op=subject.name,
        device=device,
        dtype=str(case.tensors[0].dtype).removeprefix("torch.") if case.tensors else "",
        call=str(case),
        rows=tuple(rows),
        machine={
            "processor": platform.processor() or platform.machine(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "flops_per_second": flops,
        },
    )


def _case(domain: Domain, choice: Choice, size: int) -> Case | None:
    """Return a call whose largest input has about so many elements."""
    attrs = tuple((name, values[0]) for name, values in domain.attrs.items() if values and values[0] != DEFAULT)
    templates = sorted(
        (template for template in choice.templates if template.symbols), key=lambda template: len(template.symbols)
    )
    for template in templates or choice.templates:
        case = make_case(domain, choice, template.shapes(_sizes(template, size)), attrs)
        if is_taken(case):
            return case
    return None


def _sizes(template: Template, size: int) -> dict[str, int]:
    rank = max((sum(axis in template.symbols for axis in axes) for axes in template.axes), default=1)
    side = max(1, round(size ** (1 / max(rank, 1))))
    return dict.fromkeys(template.symbols, side)


def _wait(case: Case) -> Callable[[], object] | None:
    return torch.cuda.synchronize if case.device != "cpu" else None


def _forward(case: Case, seconds: float) -> list[Row]:
    tensors = case.make()
    with torch.no_grad():
        results = case.run(tensors)
        functions: dict[str, Callable[[], object]] = {"op": functools.partial(case.run, tensors)}
        matches: dict[str, bool | None] = {"op": None}
        expected: list[torch.Tensor] | None = None
        if case.subject.hints.reference is not None:
            functions["reference"] = functools.partial(call_reference, case, tensors)
            expected = call_reference(case, case.make())
            matches["op"] = _matches(case, expected, results, tensors)
        for name, run in _kernels(case, tensors):
            functions[name] = run
            outcome = run()
            matches[name] = None if expected is None else _matches(case, expected, outcome, tensors)
        nbytes = sum(_nbytes(tensor) for tensor in (*tensors, *results))
        functions["copy"] = copy_function(nbytes, case.device)
        timings = measure(functions, seconds=seconds, synchronize=_wait(case))
        flops = count_flops(functools.partial(functions["reference"])) if "reference" in functions else 0
    return [_row(FORWARD, name, case, nbytes, timing, matches.get(name), flops) for name, timing in timings.items()]


def _kernels(case: Case, tensors: Sequence[torch.Tensor]) -> list[tuple[str, Callable[[], list[torch.Tensor]]]]:
    """Return the kernels that take the call, each with a function that runs it into buffers of its own."""
    subject = case.subject
    runs: list[tuple[str, Callable[[], list[torch.Tensor]]]] = []
    for index, kernel in subject.kernels(case.device):
        try:
            run = core().KernelRun(subject.name, index, subject.torch_args(case.group(tensors), case.attributes))
        except KernelNotFoundError:
            continue
        outputs = [torch.empty(shape, dtype=dtype, device=case.device) for shape, dtype in run.outputs]
        tmp = torch.empty(run.tmp_bytes, dtype=torch.uint8, device=case.device)
        place = f"{kernel.source.file.rpartition('/')[2]}:{kernel.source.line}"
        runs.append((f"{kernel.language} {place}", functools.partial(run.run, outputs, tmp)))
    return runs


def _backward(case: Case, seconds: float) -> list[Row]:
    if case.subject.op.no_grad or not any(differentiable(case)) or any(a.is_mutable for a in case.subject.op.inputs):
        return []
    runs: dict[str, Callable[[], object]] = {}
    grads: dict[str, Sequence[torch.Tensor | None]] = {}
    call_of: dict[str, Callable[[list[torch.Tensor]], list[torch.Tensor]]] = {"op": case.run}
    if case.subject.hints.reference is not None:
        call_of["reference"] = functools.partial(call_reference, case)
    nbytes = 0
    for name, call in call_of.items():
        tensors = [t.requires_grad_(flag) for t, flag in zip(case.make(), differentiable(case), strict=True)]
        try:
            results = [result for result in floating(call(tensors)) if result.requires_grad]
        except GradientNotFoundError:
            return []
        if not results:
            return []
        wanted = [t for t in tensors if t.requires_grad]
        weights = [torch.ones_like(result) for result in results]
        run = functools.partial(torch.autograd.grad, results, wanted, weights, retain_graph=True, allow_unused=True)
        runs[name], grads[name] = run, run()
        nbytes = nbytes or sum(_nbytes(tensor) for tensor in (*tensors, *results, *wanted))
    matches = None
    if "reference" in grads:
        pairs = [
            (a, b) for a, b in zip(grads["op"], grads["reference"], strict=True) if a is not None and b is not None
        ]
        matches = _matches(case, [b for _, b in pairs], [a for a, _ in pairs], case.make())
    runs["copy"] = copy_function(nbytes, case.device)
    timings = measure(runs, seconds=seconds, synchronize=_wait(case))
    return [
        _row(BACKWARD, name, case, nbytes, timing, matches if name == "op" else None, 0)
        for name, timing in timings.items()
    ]


def _matches(
    case: Case, expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]
) -> bool:
    hints = case.subject.hints
    scale = largest_value(tensors) * max(1.0, math.sqrt(max((tensor.numel() for tensor in tensors), default=1)) / 100)
    return all(
        left.shape == other.shape and is_close(left, other, rtol=hints.rtol, atol=hints.atol, scale=scale)
        for left, other in zip(expected, actual, strict=False)
    )


def _nbytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _row(direction: str, what: str, case: Case, nbytes: int, timing: Timing, matches: bool | None, flops: int) -> Row:
    elements = max((torch.Size(recipe.shape).numel() for recipe in case.tensors), default=0)
    return Row(
        direction=direction,
        what=what,
        elements=elements,
        nbytes=nbytes,
        seconds=timing.median,
        spread=timing.spread,
        matches=matches,
        flops=0 if what == "copy" else flops,
    )
