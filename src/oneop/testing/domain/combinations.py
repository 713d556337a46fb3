"""How many tensors the inputs of an op may have, and which dtypes, as far as definition and kernels say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch

from oneop.errors import ArgumentError
from oneop.model.dtypes import DTYPES
from oneop.registry import KernelDef
from oneop.testing.subject import Subject

#: Those of which random values can be made and compared.
_DTYPES = {
    dtype.name: getattr(torch, dtype.name) for dtype in DTYPES if not dtype.name.startswith(("float8", "complex32"))
}
_MOST_OPTIONAL = 3  # that are left out and given one by one
#: Of inputs for which kernels declare none, likely ones first.
GUESSES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8, torch.complex64)


def arities(subject: Subject) -> list[tuple[int, ...]]:
    """Return how many tensors each input may have: all of them, without the optional ones, and with some of those.

    Of several optional ones each is left out alone, and given alone: a bias without a weight is a call of its own.
    """
    full = tuple(max(arg.count, 1) for arg in subject.op.inputs)
    lists = [i for i, arg in enumerate(subject.op.inputs) if arg.count_is_minimum]
    hinted = {len(shapes) - sum(full) for shapes in subject.hints.shapes} if len(lists) == 1 else set()
    longer = [
        tuple(count + by if i in lists else count for i, count in enumerate(full))
        for by in (1, 3, *sorted(by for by in hinted if by > 0))
    ]
    least = tuple(0 if arg.is_optional else count for arg, count in zip(subject.op.inputs, full, strict=True))
    optional = [i for i, arg in enumerate(subject.op.inputs) if arg.is_optional][:_MOST_OPTIONAL]
    alone = [
        tuple(other if i == place else count for i, count in enumerate(base))
        for base, others in ((full, least), (least, full))
        for place, other in enumerate(others)
        if place in optional
    ]
    arities = list(dict.fromkeys([full, *longer, least, *alone]))
    for shapes in subject.hints.shapes:
        if not any(sum(counts) == len(shapes) for counts in arities):
            numbers = ", ".join(map(str, sorted({sum(counts) for counts in arities})))
            raise ArgumentError(
                f'op "{subject.name}": no call has as many tensors as there are shapes in {shapes}\n'
                f"  found {len(shapes)}, expected one of: {numbers}\n"
                f"  defined at {subject.op.source}"
            )
    return arities


def dtype_combinations(
    subject: Subject, kernel: KernelDef, counts: Sequence[int], guesses: Sequence[torch.dtype] = GUESSES
) -> Iterator[tuple[torch.dtype, ...]]:
    """Yield dtypes of all input tensors that the kernel's conditions allow, likely ones first."""
    asked: dict[tuple[str, int], torch.dtype] = {}
    for name, index, dtype in kernel.dtypes:
        if dtype in _DTYPES:
            asked[name, index] = _DTYPES[dtype]
    places = [(arg.name, i) for arg, count in zip(subject.op.inputs, counts, strict=True) for i in range(count)]
    open_places = [place for place in places if place not in asked]
    usual = list(dict.fromkeys([*asked.values(), *guesses]))
    seen = set()
    alike = ((dtype,) * len(open_places) for dtype in usual)
    for values in itertools.islice(itertools.chain(alike, itertools.product(usual, repeat=len(open_places))), 80):
        by_place = {**asked, **dict(zip(open_places, values, strict=True))}
        dtypes = tuple(by_place[place] for place in places)
        if dtypes not in seen:
            seen.add(dtypes)
            yield dtypes
