"""Running one kernel between red zones: what it writes beside its outputs, leaves unwritten, or changes, is found.

Every buffer lies between guard bands. Guards, outputs and scratch memory are filled with a pattern, and the kernel runs
again with other patterns. A guard that changed was written. A result that has the pattern was not written. A result
that depends on the pattern was made from memory that the kernel had no business to read. Memory that changes after the
call returned was written by a thread that the kernel left behind.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from oneop.runtime.core import core
from oneop.testing.compare import number
from oneop.testing.explore import Broken
from oneop.testing.subject import Hints, Subject, subject_of

if TYPE_CHECKING:
    from oneop._core import Op

GUARD = 4096  # bytes on each side; a multiple of every alignment
#: Two bytes that no kernel can know, and NaN in every floating dtype.
PATTERNS = (random.randrange(0x11, 0x7F), random.randrange(0x81, 0xFF), 0xFF)
#: How long memory is watched after a call returned.
LATE_SECONDS = 0.3


@dataclass(frozen=True)
class Buffer:
    """Memory between guards, and a tensor on it."""

    raw: torch.Tensor
    tensor: torch.Tensor
    pattern: int

    def broken_guard(self) -> tuple[int, int] | None:
        """Return the side that was written (-1 before, 1 after) and how many bytes away the nearest one is."""
        before, after = self.raw[:GUARD], self.raw[self.raw.numel() - GUARD :]
        touched = (after != self.pattern).nonzero()
        if touched.numel():
            return 1, int(touched[0])
        touched = (before != self.pattern).nonzero()
        return (-1, GUARD - 1 - int(touched[-1])) if touched.numel() else None


def make_buffer(like: torch.Tensor, pattern: int, *, copy: bool, device: str = "cpu") -> Buffer:
    """Return a buffer for a tensor of the same shape, dtype and strides, with its values if `copy`."""
    span = span_of(like)
    size = span * like.element_size()
    padded = -(-size // 16) * 16  # views of a dtype must begin at a multiple of its size
    raw = torch.full((GUARD + padded + GUARD,), pattern, dtype=torch.uint8, device=device)
    raw = raw[: GUARD + size + GUARD]
    return Buffer(raw, tensor_on(raw[GUARD : GUARD + size], like, span, copy=copy), pattern)


def span_of(like: torch.Tensor) -> int:
    """Return how many elements of memory a tensor reaches over."""
    return 0 if like.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(like.shape, like.stride(), strict=True))


def tensor_on(memory: torch.Tensor, like: torch.Tensor, span: int, *, copy: bool) -> torch.Tensor:
    """Return a tensor on these bytes of the same shape, dtype and strides, with its values if `copy`."""
    inside = memory.view(like.dtype)
    if copy and span:
        inside.copy_(torch.as_strided(like, (span,), (1,), like.storage_offset()))
    return inside.as_strided(like.shape, like.stride(), inside.storage_offset()) if span else inside.view(like.shape)


def device_of(inputs: Sequence[Any]) -> str:
    """Return where the inputs of a call are: "cpu" or "cuda"."""
    flat = [tensor for value in inputs for tensor in (value if isinstance(value, (list, tuple)) else [value])]
    return next((tensor.device.type for tensor in flat if isinstance(tensor, torch.Tensor)), "cpu")


class Use(enum.Enum):
    """What a kernel may do with a buffer."""

    READ = "an input"
    CHANGE = "an input that the op declares as changed"
    WRITE = "an output, or scratch memory"

    @property
    def has_values(self) -> bool:
        """Whether the buffer begins with the values of the caller's tensor."""
        return self is not Use.WRITE


MakeBuffer = Callable[[torch.Tensor, Use], Buffer]


@dataclass(frozen=True, kw_only=True)
class Buffers:
    """The buffers of one run: inputs by name, with what was in them before, outputs and scratch memory."""

    inputs: tuple[tuple[str, bool, Buffer, torch.Tensor], ...]
    outputs: tuple[Buffer, ...]
    tmp: Buffer


@dataclass(frozen=True, kw_only=True)
class GuardedRun:
    """One run: its results, and the inputs that it may change."""

    outputs: tuple[torch.Tensor, ...]
    changed: tuple[torch.Tensor, ...]


def run_guarded(subject: Subject, kernel: int, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[torch.Tensor]:
    """Run the kernel at this place of the op's list, where its inputs are, and return its outputs.

    `inputs` has one entry for each input argument. Raises `Broken` if the kernel writes or reads what it must not.
    """
    first, second, third = PATTERNS
    runs = [_run_once(subject, kernel, inputs, attrs, pattern) for pattern in (*PATTERNS, *PATTERNS)]
    where = f"the kernel at {subject.op.kernels[kernel].source}"
    names = [arg.name for arg in subject.op.outputs] or ["result"]
    for place, results in enumerate(zip(*(run.outputs for run in runs), strict=True) if not subject.is_random else ()):
        name = names[min(place, len(names) - 1)]
        if not all(torch.equal(bytes_of(a), bytes_of(b)) for a, b in zip(results[:3], results[3:], strict=True)):
            continue  # not deterministic, which is another check's business
        _check_written(where, name, results[0], results[1], (first, second))
        _check_written(where, name, results[0], results[2], (first, third))
    return list(runs[0].outputs) + list(runs[0].changed)


def _run_once(subject: Subject, kernel: int, inputs: Sequence[Any], attrs: dict[str, Any], pattern: int) -> GuardedRun:
    device = device_of(inputs)
    if device != "cpu":
        _empty_caches()
    results, buffers, overrun = run_in_buffers(
        subject, kernel, inputs, attrs, lambda like, use: make_buffer(like, pattern, copy=use.has_values, device=device)
    )
    if device != "cpu":
        torch.cuda.current_stream().synchronize()  # and no other stream: a kernel must not need that
    where = f"the kernel at {subject.op.kernels[kernel].source}"
    _check_guards(subject, where, buffers, overrun)
    changed = tuple(buffer.tensor for _, is_mutable, buffer, _ in buffers.inputs if is_mutable)
    return GuardedRun(outputs=tuple(results), changed=changed)


def _empty_caches() -> None:
    """Write more than the GPU's cache holds: no kernel finds there what a run before it left."""
    size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    torch.empty(2 * size, dtype=torch.uint8, device="cuda").zero_()


def run_in_buffers(
    subject: Subject, kernel: int, inputs: Sequence[Any], attrs: dict[str, Any], make: MakeBuffer
) -> tuple[list[torch.Tensor], Buffers, list[tuple[int, int]]]:
    """Run a kernel on buffers that `make(like, use)` makes; return results, buffers and scratch it wrote beside."""
    any_strides = subject.op.non_contiguous
    placed: list[tuple[str, bool, Buffer, torch.Tensor]] = []

    def place(value: Any, name: str, is_mutable: bool) -> Any:
        if isinstance(value, (list, tuple)):
            return [place(element, f"{name}[{i}]", is_mutable) for i, element in enumerate(value)]
        if not isinstance(value, torch.Tensor):
            return value
        use = Use.CHANGE if is_mutable else Use.READ
        buffer = make(value.detach() if any_strides else value.detach().contiguous(), use)
        placed.append((name, is_mutable, buffer, buffer.raw.clone()))
        return buffer.tensor

    arguments = [place(value, arg.name, arg.is_mutable) for arg, value in zip(subject.op.inputs, inputs, strict=True)]
    run = core().KernelRun(subject.name, kernel, subject.torch_args(arguments, attrs))
    outputs = [make(torch.empty(shape, dtype=dtype, device="meta"), Use.WRITE) for shape, dtype in run.outputs]
    tmp = make(torch.empty(run.tmp_bytes, dtype=torch.uint8, device="meta"), Use.WRITE)
    results = run.run([buffer.tensor for buffer in outputs], tmp.tensor)
    return results, Buffers(inputs=tuple(placed), outputs=tuple(outputs), tmp=tmp), run.overrun


def _check_guards(subject: Subject, where: str, buffers: Buffers, overrun: Sequence[tuple[int, int]]) -> None:
    for name, buffer in name_buffers(subject, buffers):
        hit = buffer.broken_guard()
        if hit is not None:
            side = "past the end of" if hit[0] > 0 else "before the start of"
            away = f", {hit[1]} bytes away" if hit[1] else ""
            raise Broken(f"{where} writes {side} {name}{away}")
    for size, direction in overrun:
        end = "past the end of" if direction > 0 else "before the start of"
        raise Broken(f"{where} writes {end} the {size} bytes of scratch memory it asked for")
    for name, is_mutable, buffer, before in buffers.inputs:
        if not is_mutable and not torch.equal(before, buffer.raw):
            raise Broken(f'{where} changes its input "{name}", which the op does not declare as changed in place')


def name_buffers(subject: Subject, buffers: Buffers) -> list[tuple[str, Buffer]]:
    """Return all buffers, with what to call them."""
    names = [arg.name for arg in subject.op.outputs] or ["result"]
    zones = [(f'output "{names[min(i, len(names) - 1)]}"', buffer) for i, buffer in enumerate(buffers.outputs)]
    zones.append(("its temporary buffer", buffers.tmp))
    return [*zones, *((f'input "{name}"', buffer) for name, _, buffer, _ in buffers.inputs)]


def _check_written(where: str, name: str, first: torch.Tensor, second: torch.Tensor, patterns: tuple[int, int]) -> None:
    """Compare the results of two runs over different patterns."""
    before, other = bytes_of(first), bytes_of(second)
    if torch.equal(before, other):
        return
    size = first.element_size()
    rows = before.view(-1, size), other.view(-1, size)
    untouched = (rows[0] == patterns[0]).all(1) & (rows[1] == patterns[1]).all(1)
    if untouched.any():
        place, count = int(untouched.nonzero()[0]), int(untouched.sum())
        raise Broken(
            f'{where} leaves {count} of {first.numel()} elements of output "{name}" unwritten, the first at {place}'
        )
    place = int((rows[0] != rows[1]).any(1).nonzero()[0])
    values = [number(tensor.flatten()[place].item()) for tensor in (first, second)]
    raise Broken(
        f'{where} reads memory that is not its own or that nobody wrote: element {place} of output "{name}" is '
        f"{values[0]} or {values[1]}, by what lies around"
    )


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """Return the values of a tensor as bytes."""
    return tensor.detach().contiguous().flatten().view(torch.uint8)


def run_kernel(op: str | Op, kernel: int, /, *inputs: Any, **attrs: Any) -> list[torch.Tensor]:
    """Run one kernel of an op on the CPU between red zones, and return its outputs.

    `kernel` is its place in `oneop.get_op(name).kernels`. Raises `AssertionError` if the kernel writes beside its
    outputs or scratch memory, leaves elements unwritten, changes an input, or reads what is not its own.
    """
    subject = subject_of(op, Hints())
    arguments = [*inputs, *[None] * (len(subject.op.inputs) - len(inputs))]
    try:
        return run_guarded(subject, kernel, arguments, attrs)
    except Broken as broken:
        raise AssertionError(f'op "{subject.name}": {broken.message}') from None
