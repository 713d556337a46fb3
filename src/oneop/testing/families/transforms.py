"""Forward-mode differentiation and vmap."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from oneop.errors import OpNotImplementedError
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import Broken, Enough
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.gradients.inputs import WIDE, differentiable, floating, has_wide, inputs_with_grad
from oneop.testing.report import MISSING, Outcome


def jvp(context: Context) -> Outcome:
    """Tangents are the numerical derivative along them, or fit the registered gradient where there is no float64."""
    op = context.subject.op
    if op.no_grad or any(arg.is_mutable for arg in op.inputs):
        return skipped("jvp", "not differentiable")
    absent: list[str] = []

    def holds(case: Case) -> None:
        tensors = [tensor.detach() for tensor in inputs_with_grad(case)]
        flags = differentiable(case)
        directions = [torch.linspace(0.5, 1.5, t.numel()).to(t).view(t.shape) for t in tensors]
        directions = [d * (1 + 0.5j) if d.is_complex() else d for d in directions]
        own = [t for t, flag in zip(tensors, flags, strict=True) if flag]
        along = [d for d, flag in zip(directions, flags, strict=True) if flag]

        def function(*primals: torch.Tensor) -> tuple[torch.Tensor, ...]:
            rest = iter(primals)
            merged = [next(rest) if flag else t for t, flag in zip(tensors, flags, strict=True)]
            return tuple(floating(case.run(merged)))

        try:
            tangents = torch.func.jvp(function, tuple(own), tuple(along))[1]
        except (OpNotImplementedError, NotImplementedError) as error:
            absent.append(str(error).splitlines()[0])
            raise Enough from None
        wide = all(t.dtype in WIDE for t in own)
        step = 1e-6 if wide else 4e-3
        high = function(*(t + step * d for t, d in zip(own, along, strict=True)))
        low = function(*(t - step * d for t, d in zip(own, along, strict=True)))
        expected = [(above - below) / (2 * step) for above, below in zip(high, low, strict=True)]
        names = context.output_names()
        bound = 1e-5 if wide else 3e-2
        for name, derivative, other in zip(names, expected, tangents, strict=False):
            if not torch.allclose(derivative, other, rtol=bound, atol=bound * max(1.0, largest_value([derivative]))):
                place = int((derivative - other).abs().flatten().argmax())
                raise Broken(
                    f"the tangent of {name} differs from the numerical one: at element {place} it is "
                    f"{other.flatten()[place].item():.6g}, expected {derivative.flatten()[place].item():.6g}"
                )

    dtypes = {dtype for choice in context.domain.choices for dtype in choice.dtypes}
    tried = WIDE if has_wide(context) else (torch.float32, torch.complex64)
    if not dtypes.intersection(tried):
        return skipped("jvp", "no floating inputs")
    wanted = Restriction(sizes=(2, 1, 3), dtypes=tried)
    outcome = context.explore("jvp", wanted, holds, examples=8)
    if absent and outcome.failure is None:
        return Outcome(family="jvp", status=MISSING, note="no forward-mode rule is registered")
    return outcome


def vmap(context: Context) -> Outcome:
    """A batch gives what its elements give one by one, whichever inputs are batched and along whichever axis."""
    if any(arg.is_mutable for arg in context.subject.op.inputs):
        return skipped("vmap", "changes an input in place")
    if not context.subject.op.inputs:
        return skipped("vmap", "no inputs")
    if any(context.subject.dynamic_axes):
        return skipped("vmap", "the size of an output depends on data")

    def holds(case: Case) -> None:
        variants = [case.like(seed=seed) for seed in range(3)]
        samples = [variant.make() for variant in variants]
        count = len(case.tensors)
        last = [min(len(tensor.shape), 1) for tensor in case.tensors]  # a further axis than the first, if there is one
        patterns: list[tuple[Any, ...]] = [(0,) * count, tuple(last)]
        patterns += [tuple(dim if i % 2 == odd else 0 for i, dim in enumerate(last)) for odd in (0, 1)]
        for alone in range(count) if count > 1 else ():
            patterns += [tuple(dim if i == alone else None for i in range(count)) for dim in (0, last[alone])]
        for dims in dict.fromkeys(patterns):
            batched = [
                samples[0][i] if dim is None else torch.stack([sample[i] for sample in samples], dim)
                for i, dim in enumerate(dims)
            ]
            expected = []
            for k in range(len(samples)):
                example = [samples[0][i] if dim is None else samples[k][i] for i, dim in enumerate(dims)]
                expected.append(case.run(example))
            results = torch.func.vmap(lambda *tensors: tuple(case.run(tensors)), in_dims=dims)(*batched)
            stacked = [torch.stack(list(column)) for column in zip(*expected, strict=True)]
            assert_close(
                stacked,
                list(results),
                f"torch.vmap with in_dims={dims}",
                context.output_names(),
                scale=largest_value(list(itertools.chain(*samples))),
            )

    return context.explore("vmap", Restriction(sizes=(2, 3, 1)), holds, examples=6)
