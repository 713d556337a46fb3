"""One call as data, and hypothesis strategies of calls that an op takes."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError
from oneop.testing.domain.grouping import fit_gaps, group_tensors
from oneop.testing.domain.probe import DEFAULT, Choice, Domain, find_domain
from oneop.testing.domain.reference_calls import bind_reference
from oneop.testing.subject import Hints, Subject, subject_of
from oneop.testing.values import TensorCase

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from oneop._core import Op


@dataclass(frozen=True, kw_only=True)
class Case:
    """A call: its input tensors, how many of them each input has, its attributes, its device."""

    subject: Subject
    counts: tuple[int, ...]
    tensors: tuple[TensorCase, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    device: str = "cpu"

    def make(self) -> list[torch.Tensor]:
        """Return new input tensors, one after the other."""
        return [recipe.make(self.device) for recipe in self.tensors]

    def group(self, tensors: Sequence[Any]) -> list[Any]:
        """Return one entry for each input: a tensor, a list of them, or None."""
        return group_tensors(self.subject, self.counts, tensors)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes by name; those left out keep their default."""
        return dict(self.attrs)

    def bind(self, tensors: Sequence[Any]) -> functools.partial[Any]:
        """Return the call of the op on these tensors."""
        extra = {} if self.tensors else {"device": self.device}
        return functools.partial(self.subject.call, *self.group(tensors), **self.attributes, **extra)

    def bind_reference(self, tensors: Sequence[Any]) -> functools.partial[Any]:
        """Return the call of the reference on these tensors."""
        return bind_reference(self.subject, self.counts, tensors, self.attributes)

    def run(self, tensors: Sequence[Any]) -> list[torch.Tensor]:
        """Call the op on these tensors; return its results, and the inputs that it changes.

        A random op draws the same numbers each time, so that its calls can be compared.
        """
        if self.subject.is_random:
            torch.manual_seed(1)
        results = self.bind(tensors)()
        flat = [results] if isinstance(results, torch.Tensor) else list(results or ())
        return flat + self.changed(tensors)

    def changed(self, tensors: Sequence[Any]) -> list[Any]:
        """Return those tensors that the op may change in place."""
        flags = [
            arg.is_mutable for arg, count in zip(self.subject.op.inputs, self.counts, strict=True) for _ in range(count)
        ]
        return [tensor for tensor, is_mutable in zip(tensors, flags, strict=True) if is_mutable]

    def names(self) -> list[str]:
        """Return a name for each tensor."""
        names = []
        for arg, count in zip(self.subject.op.inputs, self.counts, strict=True):
            names += [arg.name] if count == 1 else [f"{arg.name}{i}" for i in range(count)]
        return [f"{name}_" if name in ("in", "out", "is") else name for name in names]

    def like(self, **changes: Any) -> Case:
        """Return this case with the same change to all tensors."""
        return replace(self, tensors=tuple(replace(recipe, **changes) for recipe in self.tensors))

    @property
    def size(self) -> tuple[int, ...]:
        """How large a case is, for telling the smallest."""
        elements = sum(torch.Size(recipe.shape).numel() for recipe in self.tensors)
        odd = sum((recipe.layout != "contiguous") + (recipe.fill != "plain") for recipe in self.tensors)
        seeds = sum(recipe.seed for recipe in self.tensors)
        return (elements, sum(len(recipe.shape) for recipe in self.tensors), odd, len(self.attrs), seeds)

    def __str__(self) -> str:
        """Return `x float32[2, 3], alpha=0.5`."""
        parts = [f"{name} {recipe}" for name, recipe in zip(self.names(), self.tensors, strict=True)]
        parts += [f"{name}={value!r}" for name, value in self.attrs]
        return ", ".join(parts) + (f" on {self.device}" if self.device != "cpu" else "") or "no arguments"


@dataclass(frozen=True, kw_only=True)
class Restriction:
    """Which calls a family of checks wants."""

    sizes: tuple[int, ...] = (2, 1, 3, 5, 8, 17)
    layouts: tuple[str, ...] = ("contiguous",)
    fills: tuple[str, ...] = ("plain",)
    dtypes: tuple[torch.dtype, ...] | None = None
    default_attrs: bool = False
    most_elements: int = 4096


def strategy_of(domain: Domain, wanted: Restriction) -> SearchStrategy[Case]:
    """Return a strategy of calls. Some of them inference may refuse; `is_taken` tells."""
    from hypothesis import strategies as st

    choices = [
        choice
        for choice in domain.choices
        if wanted.dtypes is None or any(dtype in wanted.dtypes for dtype in choice.dtypes)
    ]

    @st.composite
    def draw_case(draw: Any) -> Case:
        choice: Choice = draw(st.sampled_from(choices))
        template = draw(st.sampled_from(choice.templates))
        sizes = {symbol: draw(st.sampled_from(wanted.sizes)) for symbol in template.symbols}
        if sum(math.prod(shape) for shape in template.shapes(sizes)) > wanted.most_elements:
            sizes = {symbol: min(size, 5) for symbol, size in sizes.items()}
        attrs = []
        for name, values in domain.attrs.items():
            value = values[0] if wanted.default_attrs or not values else draw(st.sampled_from(values))
            if value is not DEFAULT:
                attrs.append((name, value))
        layouts = [draw(st.sampled_from(wanted.layouts)) for _ in choice.dtypes]
        fill = draw(st.sampled_from(wanted.fills))
        seed = draw(st.integers(0, 5))
        return make_case(domain, choice, template.shapes(sizes), tuple(attrs), layouts=layouts, fill=fill, seed=seed)

    return draw_case()


def make_case(
    domain: Domain,
    choice: Choice,
    shapes: Sequence[tuple[int, ...]],
    attrs: tuple[tuple[str, Any], ...],
    *,
    layouts: Sequence[str] | None = None,
    fill: str = "plain",
    seed: int = 0,
) -> Case:
    """Return the case of these choices."""
    subject = domain.subject
    tensors = []
    count = len(choice.dtypes)
    bounds = _bounds(domain, choice, shapes)
    for i, (shape, dtype) in enumerate(zip(shapes, choice.dtypes, strict=True)):
        layout = "contiguous" if layouts is None else layouts[i]
        tensors.append(
            TensorCase(shape=shape, dtype=dtype, layout=layout, fill=fill, seed=seed, lane=(i, count), bounds=bounds[i])
        )
    fitted = tuple(fit_gaps(subject, choice.counts, dict(attrs)).items())
    return Case(subject=subject, counts=choice.counts, tensors=tuple(tensors), attrs=fitted, device=domain.device)


def _bounds(domain: Domain, choice: Choice, shapes: Sequence[tuple[int, ...]]) -> list[tuple[float, float] | None]:
    """Return the bounds that the author gave, or that were found.

    Integers beside floats may be indices, and stay below every size.
    """
    subject = domain.subject
    names = [arg.name for arg, n in zip(subject.op.inputs, choice.counts, strict=True) for _ in range(n)]
    is_mixed = any(d.is_floating_point for d in choice.dtypes) and not all(d.is_floating_point for d in choice.dtypes)
    least = min((size for shape in shapes for size in shape), default=1)
    bounds: list[tuple[float, float] | None] = []
    for name, dtype in zip(names, choice.dtypes, strict=True):
        hinted, limits = subject.hints.values.get(name), domain.values.get(name)
        is_index = is_mixed and not dtype.is_floating_point and dtype != torch.bool
        if is_index:
            low, high = limits or (0, least - 1)
            limits = (low, min(high, least - 1))
        bounds.append(hinted or limits)
    return bounds


def is_taken(case: Case) -> bool:
    """Tell whether inference takes the call, and there is something for indices to point to."""
    if any(
        recipe.bounds is not None and recipe.bounds[1] < recipe.bounds[0] and 0 not in recipe.shape
        for recipe in case.tensors
    ):
        return False
    return inferred_shapes(case) is not None


def inferred_shapes(case: Case) -> list[tuple[int, ...]] | None:
    """Return the shapes of the results, or None if inference refuses the call."""
    metas = [torch.empty(recipe.shape, dtype=recipe.dtype, device="meta") for recipe in case.tensors]
    extra = {} if metas else {"device": "meta"}
    try:
        results = case.subject.infer(case.group(metas), {**case.attributes, **extra})
    except Exception:
        return None
    return [tuple(result.shape) for result in results]


def cases(op: str | Op, *, device: str = "cpu", **hints: Any) -> SearchStrategy[Case]:
    """Return a hypothesis strategy of calls that an op takes, for tests of one's own.

    `hints` are `shapes`, `attrs` and `values`, as `reference` has them. Of a case, `make()` gives the input tensors and
    `run(tensors)` calls the op.
    """
    unknown = set(hints) - {"shapes", "attrs", "values"}
    if unknown:
        raise ArgumentError(f"cases: expected shapes, attrs or values, found {', '.join(sorted(unknown))}")
    known: Mapping[str, Any] = hints
    subject = subject_of(op, Hints(**known))
    domain = find_domain(subject, device)
    return strategy_of(domain, Restriction()).filter(is_taken)
