"""What a package of AOTInductor cannot hold is refused when the package is made, not run with another value."""

from __future__ import annotations

import sys

from oneop.errors import ArgumentError

_REASONS = {
    "empty list": (
        "AOTInductor cannot store an empty list, it would be read as None",
        "expected None or a list that is not empty, found []",
    ),
    "bool": (
        "AOTInductor cannot store a bool as a Scalar",
        "give 0 or 1 where the op takes them for the same, or define the attribute as bool",
    ),
    "complex": ("AOTInductor cannot store a complex number", "give the parts as two attributes of type float"),
}


def refuse_in_packages(op: str, attr: str, what: str) -> None:
    """Refuse the value of an attribute that AOTInductor would lose, while it makes a package.

    Its run-time passes None where the package has an empty list of ints, and for an optional attribute None is another
    value; the code that it writes for a scalar that is a bool cannot be compiled, and it has no complex scalars.
    Everything else that torch makes of a trace has these values.
    """
    virtualized = sys.modules.get("torch._inductor.virtualized")
    if virtualized is not None and getattr(virtualized.V.graph, "aot_mode", False):
        problem, advice = _REASONS[what]
        raise ArgumentError(f'op "{op}", attribute "{attr}": {problem}\n  {advice}')
