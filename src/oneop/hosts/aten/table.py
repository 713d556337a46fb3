"""The table, made of the files beside this one."""

from __future__ import annotations

from oneop.hosts.aten import elementwise, products, reductions, shapes
from oneop.hosts.aten.entries import Arrays as Arrays
from oneop.hosts.aten.entries import Entry

TABLE: dict[str, Entry] = {**elementwise.OPS, **reductions.OPS, **shapes.OPS, **products.OPS}
