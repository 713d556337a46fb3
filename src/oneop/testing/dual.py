"""`@autotest`: the same body run with torch and with oneop, and the results compared.

    @oneop.testing.autotest(n=10)
    def test_scaled(f, random):
        x = random.tensor(ndim=2)
        y = f.leaky_relu(x, alpha=random.choice(0.1, 0.5))
        return f.matmul(y, y.t())

`f.leaky_relu` is `oneop.ops.leaky_relu` in one run. In the other it is its reference, or torch's function of this name.
Functions that are no op are torch's in both. `random` gives both runs the same.
"""

from __future__ import annotations

import functools
import inspect
import random as python_random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.utils._python_dispatch

from oneop.errors import ArgumentError, OpCheckFailed
from oneop.registry import list_ops
from oneop.runtime.core import find_op
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import Broken
from oneop.testing.subject import Hints, hints_of
from oneop.testing.values import tensor


class Random:
    """What a body draws: the same for the same seed, whatever it is run with."""

    def __init__(self, seed: int) -> None:
        self._draws = python_random.Random(seed)
        self.tensors: list[torch.Tensor] = []

    def integer(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`."""
        return self._draws.randint(low, high)

    def real(self, low: float = -2.0, high: float = 2.0) -> float:
        """Return a number between two."""
        return self._draws.uniform(low, high)

    def choice(self, *values: Any) -> Any:
        """Return one of the values."""
        return self._draws.choice(values)

    def tensor(
        self,
        *shape: int,
        ndim: int | None = None,
        dtype: torch.dtype = torch.float32,
        requires_grad: bool | None = None,
        layout: str = "contiguous",
    ) -> torch.Tensor:
        """Return a tensor of this shape, or of `ndim` (by default some) axes; its gradient is compared too."""
        if not shape:
            rank = self.integer(1, 4) if ndim is None else ndim
            shape = tuple(self.integer(1, 5) for _ in range(rank))
        made = tensor(shape, dtype, layout=layout, seed=self.integer(0, 10**6))
        made.requires_grad_(dtype.is_floating_point if requires_grad is None else requires_grad)
        self.tensors.append(made)
        return made


class _Functions:
    """Functions by name: ops of oneop or what stands for them."""

    def __init__(self, references: Mapping[str, Callable[..., Any]], ours: bool) -> None:
        self._references = references
        self._ours = ours
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in list_ops():
            self.used.add(name)
            if self._ours:
                return find_op(name)
            reference = self._references.get(name) or hints_of(name, Hints()).reference
            if reference is not None:
                return reference
        for place in (torch, torch.nn.functional):
            if callable(getattr(place, name, None)):
                return getattr(place, name)  # type: ignore[no-any-return]
        raise ArgumentError(
            f'autotest: nothing stands for op "{name}" in the run with torch\n'
            f"  say what it computes: @oneop.testing.autotest(reference={{{name!r}: function}})"
        )


def autotest(
    n: int = 20,
    *,
    reference: Mapping[str, Callable[..., Any]] | None = None,
    check_graph: bool = True,
    check_grad: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a test of a body `def test(f, random)`: it runs `n` times with torch and with oneop.

    Args:
        n: how many times, each with other draws.
        reference: functions that stand for ops in the run with torch, beside those of `testing.reference`.
        check_graph: run the body as a planned job too.
        check_grad: compare the gradients of the tensors that `random` gave.
        rtol: how far results may differ, relative to their size.
        atol: the same, absolute.

    The test raises `OpCheckFailed`, an `AssertionError`, with the number of the run and what differs.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., None]:
        def test(*owner: Any) -> None:
            for seed in range(n):
                try:
                    _run_pair(
                        functools.partial(body, *owner), reference or {}, seed, check_graph, check_grad, rtol, atol
                    )
                except Broken as broken:
                    name = getattr(body, "__qualname__", "the body")
                    raise OpCheckFailed(f"{name}, run {seed} of {n}: {broken.message}") from None

        functools.update_wrapper(test, body)
        del test.__wrapped__  # type: ignore[attr-defined]  # pytest would take f and random for fixtures
        parameters = list(inspect.signature(body).parameters.values())
        test.__signature__ = inspect.Signature(parameters[:-2])  # type: ignore[attr-defined]  # `self`, or nothing
        return test

    return decorate


def _run_pair(
    body: Callable[..., Any],
    references: Mapping[str, Callable[..., Any]],
    seed: int,
    check_graph: bool,
    check_grad: bool,
    rtol: float | None,
    atol: float | None,
) -> None:
    with_torch, with_oneop = _Functions(references, ours=False), _Functions(references, ours=True)
    draws = [Random(seed), Random(seed)]
    expected = _flat(body(with_torch, draws[0]))
    actual = _flat(body(with_oneop, draws[1]))
    if not with_oneop.used:
        raise ArgumentError("autotest: the body calls no op of oneop, so there is nothing to compare")
    names = [f"result {i}" if len(expected) > 1 else "the result" for i in range(len(expected))]
    scale = largest_value([tensor.detach() for tensor in draws[0].tensors])
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "scale": scale}
    assert_close(_detached(expected), _detached(actual), "oneop differs from torch", names, **options)
    if check_grad:
        grads = [_gradients(results, draw.tensors) for results, draw in zip((expected, actual), draws, strict=True)]
        titles = [f"the gradient of tensor {i}" for i in range(len(grads[0]))]
        assert_close(grads[0], grads[1], "oneop differs from torch", titles, **options)
    if check_graph:
        _check_graph(body, references, seed, _detached(actual), names, options)


def _check_graph(
    body: Callable[..., Any],
    references: Mapping[str, Callable[..., Any]],
    seed: int,
    expected: Sequence[torch.Tensor],
    names: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """Run the body as a planned job over the tensors that it draws."""
    from oneop.jobs.graph import compile_job

    first = Random(seed)
    body(_Functions(references, ours=True), first)
    inputs = [tensor.detach() for tensor in first.tensors]

    def planned(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        draws = _Given(seed, tensors)
        return tuple(_flat(body(_Functions(references, ours=True), draws)))

    planned_results = _flat(compile_job(planned, inputs)(*inputs)) if inputs else []
    if inputs:
        assert_close(expected, _detached(planned_results), "a planned job differs", names, **options)


class _Given(Random):
    """Draws the same, but tensors are those given."""

    def __init__(self, seed: int, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__(seed)
        self._rest = iter(tensors)

    def tensor(self, *shape: int, **options: Any) -> torch.Tensor:
        """Return the next of the given tensors, drawing what the real one draws."""
        with torch.utils._python_dispatch._disable_current_modes():  # the draw is no part of the job
            super().tensor(*shape, **options)
        return next(self._rest)


def _flat(results: Any) -> list[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results]
    if not isinstance(results, (tuple, list)) or not all(isinstance(result, torch.Tensor) for result in results):
        raise ArgumentError(f"autotest: a body returns a tensor or several, found {type(results).__name__}")
    return list(results)


def _detached(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [result.detach() for result in results]


def _gradients(results: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    sources = [result for result in results if result.requires_grad]
    if not wanted or not sources:
        return []
    grads = torch.autograd.grad(sources, wanted, [torch.ones_like(source) for source in sources], allow_unused=True)
    return [torch.zeros_like(tensor) if grad is None else grad for tensor, grad in zip(wanted, grads, strict=True)]
