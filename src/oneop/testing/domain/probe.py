"""What an op takes: dtypes, numbers of tensors, shapes and attributes, found from its kernels and its inference."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.registry import AttrDef, KernelDef
from oneop.runtime.core import core
from oneop.testing.domain.attribute_values import believed_values, values_of
from oneop.testing.domain.combinations import GUESSES, arities, dtype_combinations
from oneop.testing.domain.grouping import fit_gaps, group_tensors
from oneop.testing.domain.templates import SIZES, Shape, Template, find_templates
from oneop.testing.subject import Bounds, Subject
from oneop.testing.values import TensorCase


class _LeftOut:
    """In place of a value: the attribute is left out."""

    def __repr__(self) -> str:
        return "the default"


DEFAULT = _LeftOut()

#: Processor time for asking which shapes go together; what was found by then is used.
_SECONDS = 10.0
#: The same where nothing was found yet.
_SECONDS_MORE = 20.0
_MOST_OTHER_DTYPES = 2


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One kind of call: how many tensors each input has, their dtypes, and the shapes that go together."""

    counts: tuple[int, ...]
    dtypes: tuple[torch.dtype, ...]
    templates: tuple[Template, ...]


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Everything an op takes on one device, as far as it could be found."""

    subject: Subject
    device: str
    choices: tuple[Choice, ...]
    attrs: Mapping[str, tuple[Any, ...]]
    values: Mapping[str, Bounds] = field(default_factory=dict)  # ranges that the op takes, beside those of its author


def usual_attrs(domain: Domain) -> tuple[tuple[str, Any], ...]:
    """Return the first value of each attribute; those whose default comes first are left out."""
    firsts = ((name, values[0]) for name, values in domain.attrs.items() if values)
    return tuple((name, value) for name, value in firsts if value is not DEFAULT)


def find_domain(subject: Subject, device: str = "cpu", dtype: torch.dtype | None = None) -> Domain:
    """Return what the op takes, with some input of a dtype if that is given.

    Raises `ArgumentError` if no call that it takes could be found.
    """
    if subject.op.kernels and not subject.kernels(device):
        devices = sorted({kernel.device for kernel in subject.op.kernels})
        raise ArgumentError(
            f'op "{subject.name}": has no kernel for {device}\n'
            f"  expected one of: {', '.join(devices)}\n"
            f"  defined at {subject.op.source}"
        )
    probe = _Probe(subject, device, dtype)
    attrs, base = probe.attributes()
    choices: dict[tuple[tuple[int, ...], tuple[torch.dtype, ...]], Choice] = {}
    for _, kernel in subject.kernels(device):
        for counts in arities(subject):
            for choice in probe.choices(kernel, counts, base):
                choices.setdefault((choice.counts, choice.dtypes), choice)
    if not choices and dtype is not None:
        others = {str(d) for choice in find_domain(subject, device).choices for d in choice.dtypes}
        dtype_names = ", ".join(sorted(name.removeprefix("torch.") for name in others)) or "no tensors"
        raise ArgumentError(
            f'op "{subject.name}": takes no {str(dtype).removeprefix("torch.")} input on {device}\n'
            f"  expected one of: {dtype_names}\n"
            f"  defined at {subject.op.source}"
        )
    if not choices:
        raise ArgumentError(
            f'op "{subject.name}": found no call that it takes on {device}\n'
            f"  tried the dtypes of its kernels, usual shapes, and {_attrs_text(base)}\n"
            f"  the last one was refused: {probe.refusal}\n"
            f"  say some: oneop.testing.check(op, shapes=[[(2, 3), (3,)]], attrs={{...}})\n"
            f"  defined at {subject.op.source}"
        )
    return Domain(subject=subject, device=device, choices=tuple(choices.values()), attrs=attrs)


def _attrs_text(attrs: Mapping[str, Any]) -> str:
    return "attributes " + ", ".join(f"{k}={v!r}" for k, v in attrs.items()) if attrs else "default attributes"


class _Probe:
    """Asks inference and kernels of one op."""

    def __init__(self, subject: Subject, device: str, dtype: torch.dtype | None = None) -> None:
        self.subject = subject
        self.device = device
        self.dtype = dtype  # that some input of every choice has
        self.refusal = ""  # what inference said last
        self.ends = time.process_time() + _SECONDS
        self.known: dict[tuple[tuple[int, ...], tuple[torch.dtype, ...], str], list[Template]] = {}

    def infer(
        self, counts: Sequence[int], dtypes: Sequence[torch.dtype], shapes: Sequence[Shape], attrs: Mapping[str, Any]
    ) -> list[Shape] | None:
        """Return the shapes of the results, or None where the op refuses."""
        tensors = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in zip(shapes, dtypes, strict=True)]
        extra = {} if tensors else {"device": "meta"}
        try:
            grouped = group_tensors(self.subject, counts, tensors)
            results = self.subject.infer(grouped, {**fit_gaps(self.subject, counts, attrs), **extra})
        except Exception as error:
            self.refusal = _refusal_of(error)
            return None
        return [tuple(result.shape) for result in results]

    def choices(self, kernel: KernelDef, counts: tuple[int, ...], base: Mapping[str, Any]) -> Iterator[Choice]:
        """Yield the first combination of dtypes for which inference and this kernel take some call."""
        guesses = GUESSES if self.dtype is None else (self.dtype, *GUESSES)
        for dtypes in dtype_combinations(self.subject, kernel, counts, guesses):
            if self.dtype is not None and self.dtype not in dtypes:
                continue
            templates = self.templates(counts, dtypes, base)
            if templates and self.kernel_takes(kernel, counts, dtypes, templates, base):
                choice = Choice(counts=counts, dtypes=dtypes, templates=tuple(templates))
                yield choice
                yield from self.other_dtypes(kernel, choice, base)
                if kernel.dtypes or set(dtypes) != {torch.float32}:
                    return  # a kernel for any dtype is tried with float32, and with what comes next

    def other_dtypes(self, kernel: KernelDef, known: Choice, base: Mapping[str, Any]) -> Iterator[Choice]:
        """Yield calls with other dtypes of inputs for which the kernel declares none, where inference has a choice.

        Inference that refuses some dtypes means those that it takes: an index of int32 beside one of int64.
        """
        declared = {(name, index) for name, index, _ in kernel.dtypes}
        places = [
            (arg.name, i) for arg, count in zip(self.subject.op.inputs, known.counts, strict=True) for i in range(count)
        ]
        shapes = known.templates[0].shapes(SIZES)
        for place in (i for i, where in enumerate(places) if where not in declared):
            others = [(*known.dtypes[:place], dtype, *known.dtypes[place + 1 :]) for dtype in GUESSES]
            taken = [dtypes for dtypes in others if self.infer(known.counts, dtypes, shapes, base) is not None]
            if len(taken) == len(others):
                continue
            for dtypes in [dtypes for dtypes in taken if dtypes != known.dtypes][:_MOST_OTHER_DTYPES]:
                if self.kernel_takes(kernel, known.counts, dtypes, known.templates, base):
                    yield Choice(counts=known.counts, dtypes=dtypes, templates=known.templates)

    def templates(
        self, counts: tuple[int, ...], dtypes: tuple[torch.dtype, ...], attrs: Mapping[str, Any]
    ) -> list[Template]:
        """Return the shapes that go together."""
        if self.subject.hints.shapes:
            hinted = [shapes for shapes in self.subject.hints.shapes if len(shapes) == len(dtypes)]
            return [Template(tuple(tuple(str(size) for size in shape) for shape in shapes)) for shapes in hinted]
        key = (counts, dtypes, repr(attrs))
        if key not in self.known:
            if time.process_time() > self.ends + (0.0 if any(self.known.values()) else _SECONDS_MORE):
                return []
            self.known[key] = self.templates_of_other_dtypes(counts, dtypes, attrs) or find_templates(
                self.subject.infer_kind(), len(dtypes), lambda shapes: self.infer(counts, dtypes, shapes, attrs)
            )
        return self.known[key]

    def templates_of_other_dtypes(
        self, counts: tuple[int, ...], dtypes: tuple[torch.dtype, ...], attrs: Mapping[str, Any]
    ) -> list[Template]:
        """Return what was found for other dtypes, if inference takes all of it for these."""
        for (other_counts, _, other_attrs), templates in self.known.items():
            if other_counts != counts or other_attrs != repr(attrs) or not templates:
                continue
            if all(self.infer(counts, dtypes, template.shapes(SIZES), attrs) is not None for template in templates):
                return templates
        return []

    def kernel_takes(
        self,
        kernel: KernelDef,
        counts: tuple[int, ...],
        dtypes: tuple[torch.dtype, ...],
        templates: Sequence[Template],
        attrs: Mapping[str, Any],
    ) -> bool:
        """Tell whether the kernel takes a call of one of the templates."""
        index = self.subject.op.kernels.index(kernel)
        for template in templates[:6]:
            shapes = template.shapes(dict.fromkeys(template.symbols, 2))
            tensors = [
                torch.zeros(shape, dtype=dtype, device=self.device) for shape, dtype in zip(shapes, dtypes, strict=True)
            ]
            try:
                args = self.subject.torch_args(group_tensors(self.subject, counts, tensors), attrs)
                core().KernelRun(self.subject.name, index, args)
            except Exception as error:
                self.refusal = _refusal_of(error)
                continue
            return True
        return False

    def attributes(self) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
        """Return the values to try for each attribute, and one set of values that the op takes."""
        op = self.subject.op
        pools = {attr.name: list(self.subject.hints.attrs.get(attr.name, ())) or values_of(attr) for attr in op.attrs}
        hinted = self.subject.hints.attrs
        needed = [attr.name for attr in op.attrs if not attr.has_default or hinted.get(attr.name)]
        base: dict[str, Any] = {name: pools[name][0] for name in needed if pools[name]}
        usual = self.usual_call(base)
        if usual is None:
            for values in itertools.islice(itertools.product(*(pools[name] for name in needed)), 64):
                base = dict(zip(needed, values, strict=True))
                usual = self.usual_call(base)
                if usual is not None:
                    break
        if usual is None:  # an op may refuse its own defaults: a clamp without any bound
            for names in _one_and_all([name for name in pools if name not in needed and pools[name]]):
                wider = {**base, **{name: pools[name][0] for name in names}}
                usual = self.usual_call(wider)
                if usual is not None:
                    base, needed = wider, [*needed, *names]
                    break
        kept: dict[str, tuple[Any, ...]] = {}
        for attr in op.attrs:
            chosen = pools[attr.name]
            if attr.name not in hinted and usual is not None:
                chosen = self.believed(attr, chosen, base, usual)
            is_left_out = attr.has_default and not hinted.get(attr.name)
            if attr.name in needed:
                kept[attr.name] = (*chosen, DEFAULT) if is_left_out else tuple(chosen)
            else:
                kept[attr.name] = (DEFAULT, *chosen)
        return kept, base

    def usual_call(self, attrs: Mapping[str, Any]) -> list[tuple[tuple[int, ...], tuple[Any, ...], list[Shape]]] | None:
        """Return some calls that the op takes with these attributes: counts, dtypes, shapes."""
        calls = []
        for _, kernel in self.subject.kernels(self.device):
            for counts in arities(self.subject):
                for dtypes in itertools.islice(dtype_combinations(self.subject, kernel, counts), 4):
                    templates = self.templates(counts, dtypes, attrs)
                    for template in templates[:8]:
                        shapes = template.shapes(dict(zip(template.symbols, (2, 3, 5, 4, 6, 2, 3, 4), strict=False)))
                        if self.infer(counts, dtypes, shapes, attrs) is not None:
                            calls.append((counts, dtypes, shapes))
                    if calls:
                        return calls
        return None

    def believed(
        self, attr: AttrDef, values: Sequence[Any], base: Mapping[str, Any], calls: Sequence[Any]
    ) -> list[Any]:
        """Return the values that the op means to take in some call."""

        def takes(value: Any) -> bool:
            return any(
                self.infer(counts, dtypes, shapes, {**base, attr.name: value}) is not None
                for counts, dtypes, shapes in calls
            )

        # A call with the most axes: most values of an attribute are values there.
        counts, dtypes, shapes = max(calls, key=lambda call: sum(map(len, call[2])))
        tensors = [
            TensorCase(shape, dtype, fill="positive", bounds=None if dtype.is_floating_point else (0, 0)).make()
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]

        def call(value: Any) -> Callable[[], Any]:
            inputs = group_tensors(self.subject, counts, [tensor.clone() for tensor in tensors])
            values = fit_gaps(self.subject, counts, {**base, attr.name: value})
            return functools.partial(self.subject.call, *inputs, **values)

        sample = (counts, tensors, base)
        return believed_values(self.subject, attr, values, takes=takes, call=call, sample=sample)


def _one_and_all(names: Sequence[str]) -> list[Sequence[str]]:
    """Return each name alone, then all of them."""
    return [*([name] for name in names), *([names] if len(names) > 1 else [])]


def _refusal_of(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
