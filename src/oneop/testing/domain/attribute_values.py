"""Values of attributes to try: usual ones by type, and ones that an op may not take.

An op that refuses an absurd value checks that attribute, so it means to take whatever it does not refuse. An op that
checks nothing may read beyond its memory, or divide by zero, for a value that its author never thought of. There a
value is tried only if the reference takes it too, or if it cannot be a size or an axis.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from oneop.registry import AttrDef
from oneop.testing.domain.reference_calls import bind_reference
from oneop.testing.domain.source_values import constants_in_code, words_in_sources, words_of_reference
from oneop.testing.memory.isolation import first_death
from oneop.testing.subject import Subject

#: Values that no op means to take. One that takes them does not check the attribute.
ABSURD: dict[str, Any] = {"int32": -1000003, "int64": -1000003, "float": math.nan, "double": math.nan}
ABSURD |= {"list of int32": [-1000003], "list of int64": [-1000003], "shape": (-1000003,), "string": "no such value"}
ABSURD["scalar"] = math.nan

_MOST_WORDS, _MOST_WORDS_OF_REFERENCE = 12, 40
#: An op may take them or not.
_DOUBTFUL_DTYPES = (torch.int32, torch.int64, torch.int8, torch.uint8, torch.bool, torch.float16, torch.bfloat16)


def values_of(attr: AttrDef) -> list[Any]:
    """Return values of an attribute by its type, usual ones first."""
    numbers = [1, 2, 0, -1, 3, -2, 5]
    by_type: dict[str, list[Any]] = {
        "int32": numbers,
        "int64": numbers,
        "bool": [True, False],
        "float": [0.5, 2.0, -0.25, 0.0, 1.0],
        "double": [0.5, 2.0, -0.25, 0.0, 1.0],
        "string": [] if attr.has_default else [""],
        "shape": [(2, 3), (6,)],
        "dtype": [torch.float32, torch.float64, *_DOUBTFUL_DTYPES],
        "list of int32": [[1], [0], [1, 2], [-1], [0, 2], [1, 0]],
        "list of int64": [[1], [0], [1, 2], [-1], [0, 2], [1, 0]],
        "list of float": [[0.5], [0.5, 2.0]],
        "list of double": [[0.5], [0.5, 2.0]],
        "list of bool": [[True], [True, False], [False], [False, True]],
        "list of dtype": [[torch.float32]],
        "list of shape": [[(2, 3)]],
        "list of string": [] if attr.has_default else [["a"]],
        "complex": [0.5 + 0.25j],
        "bytes": [] if attr.has_default else [b""],
        "scalar": [2, 0.5, 2.0, True, 0, -1, -0.25],
    }
    return _fitted(attr, by_type.get(attr.type, [])) + [None] * attr.is_optional


def _fitted(attr: AttrDef, values: Sequence[Any]) -> list[Any]:
    """Return lists of the length that the attribute asks for: the items of each, again and again."""
    if not attr.list_size:
        return list(values)
    fitted = [[items[i % len(items)] for i in range(attr.list_size)] for items in values if items]
    return list({repr(items): items for items in fitted}.values())


def extremes_of(attr: AttrDef) -> list[Any]:
    """Return values that must not end the process: a kernel works on them, or the op refuses them."""
    by_type: dict[str, list[Any]] = {
        "int32": [0, -1, -1000003],
        "int64": [0, -1, -1000003],
        "float": [0.0, -1.0, math.nan, math.inf],
        "double": [0.0, -1.0, math.nan, math.inf],
        "string": ["", ABSURD["string"]],
        "list of int32": [[], [0], [-1]],
        "list of int64": [[], [0], [-1]],
        "list of float": [[], [0.0]],
        "list of double": [[], [0.0]],
        "list of bool": [[], [False]],
        "scalar": [0, -1, 0.0, math.nan, math.inf, False, 1j],
    }
    return _fitted(attr, by_type.get(attr.type, []))


def words_of(subject: Subject) -> list[str]:
    """Return strings that the op's code compares with something."""
    constants = [constant for constant in constants_in_code(subject.name) if isinstance(constant, str)]
    words = dict.fromkeys([*constants, *words_in_sources(subject.op)])
    return [word for word in words if word.isprintable() and len(word) < 32][:_MOST_WORDS]


def words_of_its_reference(subject: Subject) -> list[str]:
    """Return strings that the reference may know as values."""
    words = words_of_reference(subject.hints.reference) if subject.hints.reference is not None else []
    return [word for word in words if len(word) < 32][:_MOST_WORDS_OF_REFERENCE]


def is_harmless(value: Any) -> bool:
    """Tell whether a value is none that an op would have to check: no number, or a positive one."""
    if isinstance(value, torch.dtype):
        return value not in _DOUBTFUL_DTYPES
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return not isinstance(value, (list, tuple)) or all(is_harmless(item) for item in value)
    return value > 0


def believed_values(
    subject: Subject,
    attr: AttrDef,
    values: Sequence[Any],
    *,
    takes: Callable[[Any], bool],
    call: Callable[[Any], Callable[[], Any]],
    sample: tuple[Sequence[int], Sequence[torch.Tensor], Mapping[str, Any]],
) -> list[Any]:
    """Return those values that the op means to take, in their order.

    Args:
        subject: the op.
        attr: the attribute.
        values: what to choose from.
        takes: whether inference takes some call with a value.
        call: a call on the CPU with a value.
        sample: number of tensors of each input, tensors and other attributes of that call, for the reference.
    """
    words = words_of(subject) if attr.type == "string" else []
    other = words_of_its_reference(subject) if attr.type == "string" else []
    other = [word for word in other if word not in (*words, *values)]
    chosen = {repr(value): value for value in [*values, *words, *other]}
    accepted = [value for value in chosen.values() if takes(value)]
    absurd = ABSURD.get(attr.type)
    if attr.list_size and absurd is not None:
        absurd = _fitted(attr, [absurd])[0]
    is_checked = absurd is not None and not takes(absurd)
    doubtful = [value for value in accepted if value in (*words, *other) or not (is_checked or is_harmless(value))]
    if not doubtful:
        return accepted
    surviving = _survivors(doubtful, call)
    right = [value for value in surviving if _is_right(subject, attr, value, call(value), sample)]
    if attr.type == "string" and subject.hints.reference is None and not is_checked and right:
        right = _that_matter(right, absurd, call)
    if any(value in other for value in right) and not is_checked:
        # Words of the reference alone: an op that takes all words means those that it tells from one without meaning.
        known = _that_matter([value for value in right if value in other], absurd, call)
        right = [value for value in right if value not in other or value in known]
    return [value for value in accepted if value not in doubtful or value in right]


def _survivors(values: Sequence[Any], call: Callable[[Any], Callable[[], Any]]) -> list[Any]:
    """Return the values with which a call neither ends the process nor hangs, found in a child."""
    remaining: list[Any] = list(values)
    alive: list[Any] = []
    while remaining:
        death = first_death([call(value) for value in remaining])
        if death is None:
            return alive + remaining
        alive += remaining[: death.place]
        remaining = remaining[death.place + 1 :]
    return alive


def _is_right(
    subject: Subject,
    attr: AttrDef,
    value: Any,
    call: Callable[[], Any],
    sample: tuple[Sequence[int], Sequence[torch.Tensor], Mapping[str, Any]],
) -> bool:
    """Tell whether the op works with a value: results are finite, the reference's too; sizes and axes need one."""
    with contextlib.suppress(Exception):
        if not _is_finite(call()):
            return False
        if subject.hints.reference is None:
            return attr.type in ("float", "double", "string", "scalar")
        counts, tensors, attrs = sample
        copies = [tensor.clone() for tensor in tensors]
        return _is_finite(bind_reference(subject, counts, copies, {**attrs, attr.name: value})())
    return False


def _is_finite(results: Any) -> bool:
    flat = [results] if isinstance(results, torch.Tensor) else list(results or ())
    return all(bool(torch.isfinite(result).all()) for result in flat if result.is_floating_point())


def _that_matter(words: Sequence[Any], absurd: Any, call: Callable[[Any], Callable[[], Any]]) -> list[Any]:
    """Return the words that give another result than a word that means nothing."""

    def results(word: Any) -> list[torch.Tensor] | None:
        with contextlib.suppress(Exception):
            made = call(word)()
            return [made] if isinstance(made, torch.Tensor) else list(made or ())
        return None

    usual = results(absurd)
    if usual is None:
        return list(words)  # kernels refuse what means nothing
    return [word for word in words if (made := results(word)) is not None and not _are_equal(made, usual)]


def _are_equal(results: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    return len(results) == len(others) and all(map(torch.equal, results, others))
