"""Signatures that no call can reach, because an earlier one takes whatever they take."""

from __future__ import annotations

from collections.abc import Iterator

from oneop.functional.description import Function
from oneop.functional.signature import TYPES, Parameter, Signature

_INTS = {"INT32", "INT64", "BOOL"}
#: Type -> the other types all of whose values it takes too.
_WIDER = {
    "INT64": _INTS,
    "INT32": {"BOOL"},
    "FLOAT": {*_INTS, "FLOAT", "DOUBLE"},
    "DOUBLE": {*_INTS, "FLOAT", "DOUBLE"},
    "SCALAR": {*_INTS, "FLOAT", "DOUBLE"},
    "INT64_LIST": {"INT32_LIST", "BOOL_LIST", "SHAPE"},
    "SHAPE": {"INT32_LIST", "INT64_LIST", "BOOL_LIST"},
    "FLOAT_LIST": {"INT32_LIST", "INT64_LIST", "BOOL_LIST", "SHAPE", "DOUBLE_LIST"},
    "DOUBLE_LIST": {"INT32_LIST", "INT64_LIST", "BOOL_LIST", "SHAPE", "FLOAT_LIST"},
}


def masked_signatures(function: Function) -> Iterator[tuple[Signature, Signature]]:
    """Yield (earlier, later) where the later signature can never be chosen."""
    for i, later in enumerate(function.signatures):
        for earlier in function.signatures[:i]:
            if _masks(earlier, later):
                yield earlier, later
                break


def _masks(earlier: Signature, later: Signature) -> bool:
    """Every call of `later` is one of `earlier`: by position, by name, and with what may be left out."""
    by_name = {parameter.name: (i, parameter) for i, parameter in enumerate(earlier.parameters)}
    for i, parameter in enumerate(later.parameters):
        place, taken = by_name.pop(parameter.name, (-1, None))
        if taken is None or not _takes(taken, parameter):
            return False
        if not parameter.keyword_only and (taken.keyword_only or place != i):
            return False
        if parameter.default is not None and taken.default is None:
            return False
    return all(parameter.default is not None for _, parameter in by_name.values())


def _takes(wide: Parameter, narrow: Parameter) -> bool:
    kinds = TYPES.get(wide.type, wide.type), TYPES.get(narrow.type, narrow.type)
    fits = kinds[0] == kinds[1] or kinds[1] in _WIDER.get(kinds[0], set())
    return fits and wide.size in (None, narrow.size) and (wide.optional or not narrow.optional)
