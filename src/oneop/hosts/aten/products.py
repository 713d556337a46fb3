"""Products of matrices."""

from __future__ import annotations

from typing import Any

from oneop.hosts.aten.entries import Arrays, Entry


def _product(a: Arrays, x: Any, y: Any) -> Any:
    return a.xp.matmul(x, y)


def _added(a: Arrays, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = a.xp.matmul(x, y)
    scaled = product if alpha == 1 else product * a.to(a.xp.asarray(alpha), product.dtype)
    return scaled + (bias if beta == 1 else bias * a.to(a.xp.asarray(beta), bias.dtype))


def _linear(a: Arrays, x: Any, weight: Any, bias: Any = None) -> Any:
    product = a.xp.matmul(x, a.xp.swapaxes(weight, -1, -2))
    return product if bias is None else product + bias


OPS: dict[str, Entry] = {
    **{f"aten::{name}": Entry(1, _product) for name in ("matmul", "mm", "bmm", "dot", "mv")},
    "aten::addmm": Entry(1, _added),
    "aten::baddbmm": Entry(1, _added),
    "aten::linear": Entry(1, _linear),
    "aten::outer": Entry(1, lambda a, x, y: a.xp.outer(x, y)),
    "aten::einsum": Entry(1, lambda a, equation, tensors: a.xp.einsum(equation, *tensors)),
}
