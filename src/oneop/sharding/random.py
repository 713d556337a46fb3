"""Random ops: each shard draws numbers of its own, and devices that have the same shard draw the same.

All ranks must be seeded alike. The overload `part` of a random op (csrc/part_call.cpp) draws a number from the device's
generator, the same on all ranks; it and the number of the shard make the seed with which the kernel runs. So the
generators stay alike, and a compiled graph draws as eager calls do.
"""

from __future__ import annotations

from oneop.registry import OpDef


def is_random(op: OpDef) -> bool:
    """Tell whether an op was defined with `random=True`. Nothing else makes it random, whatever its attributes.

    A kernel in C++ that draws asks where it runs, as OneFlow's do.
    """
    from oneop.authoring.book import definition_of

    page = definition_of(op.name)
    return bool(page is not None and page.random)
