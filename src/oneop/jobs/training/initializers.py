"""How variables get their first values: `oneop.constant_initializer(1.0)` and the like.

An initializer is a function `(shape, dtype) -> tensor`. Random ones draw from torch's generator, so `torch.manual_seed`
makes them repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from oneop.errors import ArgumentError

Initializer = Callable[[Sequence[int], torch.dtype], torch.Tensor]


def constant_initializer(value: float = 0.0, dtype: torch.dtype | None = None) -> Initializer:
    """Return an initializer that fills with one value. The dtype is that of the variable."""
    return lambda shape, dtype: torch.full(tuple(shape), value, dtype=dtype)


def zeros_initializer(dtype: torch.dtype | None = None) -> Initializer:
    """Return an initializer of zeros."""
    return constant_initializer(0.0)


def ones_initializer(dtype: torch.dtype | None = None) -> Initializer:
    """Return an initializer of ones."""
    return constant_initializer(1.0)


def random_normal_initializer(mean: float = 0.0, stddev: float = 1.0, seed: int | None = None) -> Initializer:
    """Return an initializer that draws from a normal distribution."""
    return lambda shape, dtype: torch.empty(tuple(shape), dtype=dtype).normal_(mean, stddev, generator=_generator(seed))


def random_uniform_initializer(minval: float = 0.0, maxval: float = 1.0, seed: int | None = None) -> Initializer:
    """Return an initializer that draws evenly from [minval, maxval)."""
    return lambda shape, dtype: torch.empty(tuple(shape), dtype=dtype).uniform_(
        minval, maxval, generator=_generator(seed)
    )


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Return an initializer that draws from a normal distribution cut at two standard deviations."""

    def draw(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        low, high = mean - 2 * stddev, mean + 2 * stddev
        return torch.nn.init.trunc_normal_(torch.empty(tuple(shape), dtype=dtype), mean, stddev, low, high)

    return draw


truncated_normal = truncated_normal_initializer


def glorot_uniform_initializer(data_format: str = "") -> Initializer:
    """Return an initializer that keeps the variance of activations and gradients (also called Xavier)."""

    def draw(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        fan_in, fan_out = _fans(shape)
        bound = math.sqrt(6.0 / (fan_in + fan_out))
        return torch.empty(tuple(shape), dtype=dtype).uniform_(-bound, bound)

    return draw


def glorot_normal_initializer(data_format: str = "") -> Initializer:
    """Return the normal form of `glorot_uniform_initializer`."""

    def draw(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        fan_in, fan_out = _fans(shape)
        return torch.empty(tuple(shape), dtype=dtype).normal_(0.0, math.sqrt(2.0 / (fan_in + fan_out)))

    return draw


xavier_uniform_initializer = glorot_uniform_initializer
xavier_normal_initializer = glorot_normal_initializer


def kaiming_initializer(
    distribution: str = "random_normal", mode: str = "fan_in", negative_slope: float = 0.0
) -> Initializer:
    """Return an initializer for layers that a (leaky) relu follows."""
    if distribution not in ("random_normal", "random_uniform"):
        raise ArgumentError(f"kaiming_initializer: expected random_normal or random_uniform, found {distribution!r}")
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"kaiming_initializer: expected fan_in or fan_out, found {mode!r}")

    def draw(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        fan = _fans(shape)[0 if mode == "fan_in" else 1]
        std = math.sqrt(2.0 / (1 + negative_slope**2) / fan)
        tensor = torch.empty(tuple(shape), dtype=dtype)
        if distribution == "random_normal":
            return tensor.normal_(0.0, std)
        return tensor.uniform_(-math.sqrt(3.0) * std, math.sqrt(3.0) * std)

    return draw


def _generator(seed: int | None) -> torch.Generator | None:
    return None if seed is None else torch.Generator().manual_seed(seed)


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a weight laid out as torch does: (out, in, ...)."""
    if len(shape) < 2:
        size = max(math.prod(shape), 1)
        return size, size
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive
