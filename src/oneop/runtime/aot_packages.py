"""What a package of AOTInductor cannot hold is refused when the package is made, not run with another value."""

from __future__ import annotations

import sys

from oneop.errors import ArgumentError


def refuse_in_packages(op: str, attr: str) -> None:
    """Refuse an empty list of ints as the value of an optional attribute while AOTInductor makes a package.

    Its run-time passes None where the package has such a list, and here None is another value. Everything else that
    torch makes of a trace keeps the two apart.
    """
    virtualized = sys.modules.get("torch._inductor.virtualized")
    if virtualized is not None and getattr(virtualized.V.graph, "aot_mode", False):
        raise ArgumentError(
            f'op "{op}", attribute "{attr}": AOTInductor cannot store an empty list, it would be read as None\n'
            "  expected None or a list that is not empty, found []"
        )
