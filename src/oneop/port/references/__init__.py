"""What OneFlow's ops compute, said with torch: the references that ported ops are checked against.

table.py        a reference, and the gradient of one
elementwise.py  functions of elements, activations
scalars.py      a tensor and a number
reductions.py   sums, norms, sorting, softmax, losses
places.py       shapes, slices, gathering and scattering
layers.py       matrices, convolutions, pooling, padding, resampling, training

The names are those of OneFlow's ops; an op of one's own with such a name is taken for the same op.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from oneop.port.references import elementwise, layers, places, reductions, scalars
from oneop.port.references.table import Function, Reference, Table

REFERENCES = Table()
for _module in (elementwise, scalars, reductions, places, layers):
    REFERENCES.update(_module.TABLE)


def use(names: Iterable[str]) -> list[str]:
    """Have `oneop check` and `oneop bench` compare these ops with their references; return those that have one."""
    from oneop.testing import reference

    known = [name for name in names if name in REFERENCES]
    for name in known:
        entry = REFERENCES[name]
        hints = {
            key: value for key, value in vars(entry).items() if key not in ("function", "dtypes", "faults", "untried")
        }
        reference(name, **hints)(_function_of(entry))
    return known


def _function_of(entry: Reference) -> Function:
    """Return its function; calls whose dtypes torch does not serve are not compared."""

    @functools.wraps(entry.function)
    def compute(*inputs: Any, **attrs: Any) -> Any:
        from oneop.testing.explore import NotForThis

        if not entry.serves(inputs):
            raise NotForThis
        return entry.function(*inputs, **attrs)

    return entry.function if entry.dtypes == "any" else compute


__all__ = ["REFERENCES", "Reference", "Table", "use"]
