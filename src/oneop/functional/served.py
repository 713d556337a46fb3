"""The functions of a description that can be made here; the others are left out with a warning, not an error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from oneop.functional.description import Function
from oneop.functional.signature import FOREIGN, Signature

#: Functions that a warning names; it counts the rest.
MOST_NAMED = 10


def served(functions: Sequence[Function]) -> list[Function]:
    """Return the functions, without signatures that have a parameter of a type without meaning here; one warning."""
    kept, left_out = [], []
    for function in functions:
        reasons = {signature: _reason(signature) for signature in function.signatures}
        signatures = tuple(signature for signature, reason in reasons.items() if reason is None)
        if signatures:
            kept.append(function if len(signatures) == len(reasons) else replace(function, signatures=signatures))
        left_out += [(function, reason) for reason in reasons.values() if reason is not None]
    if left_out:
        lines = [f"\n  {f.file}:{f.line}: {f.name}: {reason}" for f, reason in left_out[:MOST_NAMED]]
        rest = f"\n  and {len(left_out) - MOST_NAMED} more" if len(left_out) > MOST_NAMED else ""
        warnings.warn(f"signatures that are left out: {len(left_out)}{''.join(lines)}{rest}", stacklevel=3)
    return kept


def _reason(signature: Signature) -> str | None:
    for parameter in signature.parameters:
        if parameter.type in FOREIGN:
            return f"parameter {parameter.name} is a {parameter.type}: {FOREIGN[parameter.type]}"
    return None
