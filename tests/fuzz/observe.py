"""What one run of a program shows, so that two runs can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from .definitions import LOG


class Difference(AssertionError):
    """Two runs do not show the same."""


@dataclass
class Observation:
    """Everything a caller can see."""

    outputs: list[torch.Tensor]
    grads: list[torch.Tensor | None]
    inputs: list[torch.Tensor]  # after the run
    poked: list[torch.Tensor]  # inputs and outputs after each output was changed in place: shows shared memory
    log: list[tuple[str, float]]


def observe(
    function: Callable[..., Sequence[torch.Tensor]],
    inputs: Sequence[torch.Tensor],
    *,
    grads: bool,
    seed: int = 11,
    copy: bool = False,
) -> Observation:
    """Run on copies of the inputs. With `grads` gradients of x and w are taken; `copy` for outputs that are reused."""
    given = [value.detach().clone() for value in inputs]
    if grads:
        given[0].requires_grad_()
        given[2].requires_grad_()
    LOG.clear()
    torch.manual_seed(seed)
    with torch.set_grad_enabled(grads):
        outputs = list(function(*given))
    if copy:
        outputs = [value.clone() for value in outputs]
    found: list[torch.Tensor | None] = []
    shown = [value.detach().clone() for value in outputs]
    after = [value.detach().clone() for value in given]
    if grads:
        parts = [(value * (i + 1)).sum() for i, value in enumerate(outputs) if value.requires_grad]
        wanted = [given[0], given[2]]
        found = list(torch.autograd.grad(sum(parts), wanted, allow_unused=True)) if parts else [None, None]
        found = [None if one is None else one.detach().clone() for one in found]
    log = list(LOG)
    with torch.no_grad():
        for i, value in enumerate(outputs):
            value.detach().add_(i + 1)
        poked = [value.detach().clone() for value in (*given, *outputs)]
    return Observation(shown, found, after, poked, log)


def compare(found: Observation, expected: Observation, *, exact_memory: bool = True) -> None:
    """Raise `Difference` where two observations differ."""
    _close("output", found.outputs, expected.outputs)
    _close("input afterwards", found.inputs, expected.inputs)
    if len(found.grads) != len(expected.grads):
        raise Difference(f"{len(found.grads)} gradients, expected {len(expected.grads)}")
    for i, (one, other) in enumerate(zip(found.grads, expected.grads, strict=True)):
        # torch gives zeros in place of None where a compiled graph does not use an input
        zero = one if other is None else other
        if zero is not None:
            _close(f"gradient {i}", [zero * 0 if one is None else one], [zero * 0 if other is None else other])
    if found.log != expected.log:
        raise Difference(f"side effects {found.log}, expected {expected.log}")
    if exact_memory:
        _close("memory after changing outputs", found.poked, expected.poked)


def _close(what: str, found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    if len(found) != len(expected):
        raise Difference(f"{what}: {len(found)} tensors, expected {len(expected)}")
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise Difference(f"{what} {i}: {one.dtype}{list(one.shape)}, expected {other.dtype}{list(other.shape)}")
        if not torch.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True):
            worst = float((one - other).abs().max())
            raise Difference(f"{what} {i} differs by {worst:.4g}: {one.flatten()[:4]}, expected {other.flatten()[:4]}")
