"""The functions of a description that can be made here; the others are left out with a warning, not an error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from oneop.functional.description import Function
from oneop.functional.signature import FOREIGN, Signature

#: Functions that a warning names; it counts the rest.
MOST_NAMED = 10


def served(functions: Sequence[Function]) -> tuple[list[Function], list[tuple[Signature, str]]]:
    """Return the functions, and what is left out of them: signatures, each with the reason. Warns about these, once.

    Left out is a signature with a parameter of a type without meaning here.
    """
    kept: list[Function] = []
    left_out: list[tuple[Function, Signature, str]] = []
    for function in functions:
        reasons = {signature: _reason(signature) for signature in function.signatures}
        signatures = tuple(signature for signature, reason in reasons.items() if reason is None)
        if signatures:
            kept.append(function if len(signatures) == len(reasons) else replace(function, signatures=signatures))
        left_out += [(function, signature, reason) for signature, reason in reasons.items() if reason is not None]
    if left_out:
        lines = [f"\n  {f.file}:{f.line}: {f.name}: {reason}" for f, _, reason in left_out[:MOST_NAMED]]
        rest = f"\n  and {len(left_out) - MOST_NAMED} more" if len(left_out) > MOST_NAMED else ""
        warnings.warn(f"signatures that are left out: {len(left_out)}{''.join(lines)}{rest}", stacklevel=3)
    return kept, [(signature, reason) for _, signature, reason in left_out]


def _reason(signature: Signature) -> str | None:
    for parameter in signature.parameters:
        if parameter.type in FOREIGN:
            return f"parameter {parameter.name} is a {parameter.type}: {FOREIGN[parameter.type]}"
    return None
