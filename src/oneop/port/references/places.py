"""Ops that move elements: shapes, views, slices, gathering and scattering; tensors that are made from nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from oneop.port.references.table import Table

TABLE = Table()

for name in ("identity", "to_contiguous"):
    TABLE.put(name, lambda x: x.clone())
TABLE.put("ones_like", torch.ones_like)
TABLE.put("zero_like", torch.zeros_like)
TABLE.put("tuple_identity", lambda xs: [x.clone() for x in xs])
TABLE.put("add_n", lambda xs: sum(xs[1:], start=xs[0]))
TABLE.put(
    "cast",
    lambda x, dtype: x.to(dtype),
    faults={"memory": "declared for any strides, and the kernel reads its input as if it were dense (0.8.0)"},
    attrs={"dtype": [torch.float64, torch.int32, torch.int64], "pin_memory": [False]},
)
TABLE.put("cast_like", lambda x, like: x.to(like.dtype))
TABLE.put("expand_dims", lambda x, axis: x.unsqueeze(axis), attrs={"axis": [0, 1]}, shapes=[[(2, 3)], [(4,)]])
TABLE.put("squeeze", lambda x, axes: x.squeeze(axes), attrs={"axes": [[1]]}, shapes=[[(2, 1, 3)], [(4, 1)]])
TABLE.put(
    "flatten",
    lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim),
    attrs={"start_dim": [0, 1], "end_dim": [-1, 1]},
    shapes=[[(2, 3, 4)], [(2, 5)]],
)
TABLE.put(
    "reshape", lambda x, shape: x.reshape(tuple(shape)), attrs={"shape": [(6,), (3, 2)]}, shapes=[[(2, 3)], [(6,)]]
)
TABLE.put("reshape_like", lambda x, like: x.reshape(like.shape), shapes=[[(2, 3), (6,)], [(4, 3), (2, 6)]])
TABLE.put(
    "transpose",
    lambda x, perm: x.permute(perm).contiguous(),
    attrs={"perm": [[1, 0, 2], [2, 1, 0]]},
    shapes=[[(2, 3, 4)], [(1, 5, 2)]],
)
TABLE.put("flip", lambda x, dims: x.flip(dims), attrs={"dims": [[0], [1], [0, 1]]}, shapes=[[(2, 3)], [(4, 5, 2)]])
TABLE.put(
    "roll",
    lambda x, shifts, dims: x.roll(shifts, dims),
    attrs={"shifts": [[1], [-2]], "dims": [[0], [1]]},
    shapes=[[(3, 4)], [(5, 2, 3)]],
)
TABLE.put(
    "narrow",
    lambda x, dim, start, length: x.narrow(dim, start, length),
    attrs={"dim": [0, 1], "start": [0, 1], "length": [1, 2]},
    shapes=[[(3, 4)], [(3, 3, 2)]],
)
TABLE.put(
    "diagonal", lambda x, offset: x.diagonal(offset), attrs={"offset": [0, 1, -1]}, shapes=[[(3, 4)], [(4, 4, 2)]]
)
TABLE.put(
    "diag", lambda x, diagonal: torch.diag(x, diagonal), attrs={"diagonal": [0, 1, -1]}, shapes=[[(3, 4)], [(4,)]]
)
TABLE.put("triu", lambda x, diagonal: x.triu(diagonal), attrs={"diagonal": [0, 1, -1]}, shapes=[[(3, 4)], [(2, 4, 3)]])


@TABLE.of(
    "tril",
    attrs={
        "diagonal": [0, 1, -1],
        "is_floating_fill_value": [False],
        "integer_fill_value": [0],
        "floating_fill_value": [0.0],
    },
    shapes=[[(3, 4)], [(2, 4, 3)]],
)
def tril(x: torch.Tensor, diagonal: int) -> torch.Tensor:
    """Zeros above a diagonal."""
    return x.tril(diagonal)


@TABLE.of(
    "slice",
    attrs={"start": [[0, 1], [1, 0]], "stop": [[2, 3], [3, 4]], "step": [[1, 1], [1, 2]]},
    shapes=[[(3, 4)], [(5, 6)]],
)
def take_slice(x: torch.Tensor, start: list[int], stop: list[int], step: list[int]) -> torch.Tensor:
    """Part of every axis."""
    return x[tuple(slice(*bounds) for bounds in zip(start, stop, step, strict=True))]


@TABLE.of("concat", attrs={"axis": [0, 1], "max_dim_size": [64]}, shapes=[[(2, 3)], [(2, 3)] * 2])
def concat(xs: list[torch.Tensor], axis: int) -> torch.Tensor:
    """Along an axis."""
    return torch.cat(xs, axis)


@TABLE.of("stack", attrs={"axis": [0, 1], "max_dim_size": [64]}, shapes=[[(2, 3)], [(2, 3)] * 2])
def stack(xs: list[torch.Tensor], axis: int) -> torch.Tensor:
    """Along a new axis."""
    return torch.stack(xs, axis)


TABLE.put(
    "broadcast_like",
    lambda x, like: x.expand(like.shape).clone(),
    attrs={"broadcast_axes": [[0]]},
    shapes=[[(1, 3), (2, 3)], [(1, 4), (5, 4)]],
)
TABLE.put(
    "expand",
    lambda x: x.expand(2, 3).clone(),
    attrs={"logical_in_shape": [[1, 3]], "logical_expand_shape": [[2, 3]]},
    shapes=[[(1, 3)]],
)
TABLE.put(
    "as_strided",
    lambda x, size, stride, storage_offset: x.as_strided(size, stride, storage_offset).clone(),
    attrs={"size": [[2, 2]], "stride": [[2, 1], [1, 2]], "storage_offset": [0, 1]},
    shapes=[[(3, 4)], [(12,)]],
)
TABLE.put(
    "unfold_tensor",
    lambda x, dimension, size, step: x.unfold(dimension, size, step).clone(),
    attrs={"dimension": [0, 1], "size": [2], "step": [1, 2]},
    shapes=[[(4, 5)], [(3, 4)]],
)


@TABLE.of("assign", shapes=[[(2, 3)] * 2])
def assign(ref: torch.Tensor, value: torch.Tensor) -> None:
    """In place."""
    ref.copy_(value)


# Gathering and scattering; indices stay inside.
TABLE.put(
    "gather",
    lambda x, indices, axis: torch.stack([x.select(axis, int(i)) for i in indices], axis),
    attrs={"axis": [0, 1]},
    shapes=[[(4, 4), (3,)], [(4, 5, 2), (2,)]],
    values={"indices": (0, 3)},
)
TABLE.put(
    "batch_gather",
    lambda x, indices: torch.stack([row[own.long()] for row, own in zip(x, indices, strict=True)]),
    shapes=[[(2, 4), (2, 3)], [(3, 4, 2), (3, 2)]],
    values={"indices": (0, 3)},
)
DIM = {"dim": [0, 1]}
PLACES = {"index": (0, 2)}
TABLE.put(
    "dim_gather",
    lambda x, index, dim: x.gather(dim, index.long()),
    attrs=DIM,
    shapes=[[(3, 3), (3, 3)], [(3, 4), (2, 3)]],
    values=PLACES,
)
SCATTERED = [[(4, 4), (2, 3), (2, 3)], [(3, 3), (3, 3), (3, 3)]]


@TABLE.of("dim_scatter_add", attrs=DIM, shapes=SCATTERED, values=PLACES)
def scatter_add(x: torch.Tensor, index: torch.Tensor, src: torch.Tensor, dim: int) -> torch.Tensor:
    """Add at places along an axis."""
    return x.scatter_add(dim, index.long(), src)


@TABLE.of("dim_scatter_add_like", attrs=DIM, shapes=SCATTERED, values=PLACES)
def scatter_add_like(like: torch.Tensor, index: torch.Tensor, src: torch.Tensor, dim: int) -> torch.Tensor:
    """The same into zeros."""
    return torch.zeros_like(like).scatter_add(dim, index.long(), src)


@TABLE.of("dim_scatter_mul", attrs=DIM, shapes=SCATTERED, values=PLACES)
def scatter_mul(x: torch.Tensor, index: torch.Tensor, src: torch.Tensor, dim: int) -> torch.Tensor:
    """Multiply at places along an axis."""
    return x.scatter_reduce(dim, index.long(), src, "prod")


NUMBER = {**DIM, "src_scalar": [0.5, 2.0]}
SCALAR_PLACES = [[(4, 4), (2, 3)], [(3, 3), (3, 3)]]


@TABLE.of("dim_scatter_update_scalar", attrs=NUMBER, shapes=SCALAR_PLACES, values=PLACES)
def scatter_update_scalar(x: torch.Tensor, index: torch.Tensor, src_scalar: float, dim: int) -> torch.Tensor:
    """Put a number."""
    return x.scatter(dim, index.long(), torch.full(index.shape, src_scalar).to(x.dtype))


@TABLE.of("dim_scatter_add_scalar", attrs=NUMBER, shapes=SCALAR_PLACES, values=PLACES)
def scatter_add_scalar(x: torch.Tensor, index: torch.Tensor, src_scalar: float, dim: int) -> torch.Tensor:
    """Add a number."""
    return x.scatter_add(dim, index.long(), torch.full(index.shape, src_scalar).to(x.dtype))


def _nd(index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(index.long().unbind(-1))


TABLE.put(
    "gather_nd", lambda x, index: x[_nd(index)], shapes=[[(3, 4), (2, 2)], [(3, 4), (5, 1)]], values={"indices": (0, 2)}
)


@TABLE.of("scatter_nd", attrs={"shape": [(4,)]}, shapes=[[(3, 1), (3,)]], values={"indices": (0, 3)})
def scatter_nd(index: torch.Tensor, updates: torch.Tensor, shape: Any) -> torch.Tensor:
    """Add to zeros at places."""
    return torch.zeros(tuple(shape), dtype=updates.dtype).index_put(_nd(index), updates, accumulate=True)


@TABLE.of("scatter_nd_like", shapes=[[(4, 2), (3, 1), (3, 2)]], values={"indices": (0, 3)})
def scatter_nd_like(like: torch.Tensor, index: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    """The same, of the shape of another tensor."""
    return torch.zeros_like(like).index_put(_nd(index), updates, accumulate=True)


@TABLE.of("tensor_scatter_nd_add", shapes=[[(4, 2), (3, 2), (3, 1)]], values={"indices": (0, 3)})
def tensor_scatter_nd_add(x: torch.Tensor, updates: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Add to a copy at places."""
    return x.index_put(_nd(index), updates, accumulate=True)


@TABLE.of(
    "unsorted_segment_sum",
    attrs={"axis": [0], "num_segments": [4]},
    shapes=[[(3, 2), (3,)], [(5,), (5,)]],
    values={"segment_ids": (0, 3)},
)
def segment_sum(data: torch.Tensor, ids: torch.Tensor, num_segments: int) -> torch.Tensor:
    """Sums of rows by their numbers."""
    return torch.zeros((num_segments, *data.shape[1:]), dtype=data.dtype).index_add(0, ids.long(), data)


@TABLE.of(
    "unsorted_segment_sum_like", attrs={"axis": [0]}, shapes=[[(3, 2), (3,), (4, 2)]], values={"segment_ids": (0, 3)}
)
def segment_sum_like(data: torch.Tensor, ids: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The same, of the shape of another tensor."""
    return torch.zeros(like.shape, dtype=data.dtype).index_add(0, ids.long(), data)


@TABLE.of(
    "unsorted_batch_segment_sum", attrs={"num_segments": [4]}, shapes=[[(2, 3), (2, 3)]], values={"segment_ids": (0, 3)}
)
def batch_segment_sum(data: torch.Tensor, ids: torch.Tensor, num_segments: int) -> torch.Tensor:
    """The same in each row."""
    return torch.zeros((len(data), num_segments), dtype=data.dtype).scatter_add(1, ids.long(), data)


ONE_HOT = {
    "depth": [4, 5],
    "dtype": [torch.float32],
    "floating_on_value": [1.0, 2.0],
    "floating_off_value": [0.0, -1.0],
}


@TABLE.of(
    "one_hot",
    attrs={**ONE_HOT, "integer_on_value": [1], "integer_off_value": [0]},
    shapes=[[(3,)], [(2, 2)]],
    values={"indices": (0, 3)},
)
def one_hot(indices: torch.Tensor, depth: int, floating_on_value: float, floating_off_value: float) -> torch.Tensor:
    """Two values."""
    hot = F.one_hot(indices.long(), depth).bool()
    return torch.where(hot, floating_on_value, floating_off_value).float()


# Choosing between tensors.
TABLE.put(
    "where", lambda condition, x, y: torch.where(condition.bool(), x, y), shapes=[[(2, 3)] * 3, [(3,), (2, 3), (2, 1)]]
)
FILL = {
    "has_int_operand": [False],
    "has_float_operand": [True],
    "has_bool_operand": [False],
    "int_operand": [0],
    "float_operand": [2.0, 0.5],
    "bool_operand": [False],
}


def _number(x: torch.Tensor, float_operand: float) -> torch.Tensor:
    return torch.tensor(float_operand).to(x.dtype)


@TABLE.of("masked_fill", attrs=FILL, shapes=[[(2, 3)] * 2, [(4,)] * 2])
def masked_fill(x: torch.Tensor, mask: torch.Tensor, float_operand: float) -> torch.Tensor:
    """A number where the mask is set."""
    return torch.where(mask.bool(), _number(x, float_operand), x)


@TABLE.of("where_scalar_x", attrs=FILL, shapes=[[(2, 3)] * 2])
def where_scalar_x(condition: torch.Tensor, y: torch.Tensor, float_operand: float) -> torch.Tensor:
    """A number, or a tensor."""
    return torch.where(condition.bool(), _number(y, float_operand), y)


@TABLE.of("where_scalar_y", attrs=FILL, shapes=[[(2, 3)] * 2])
def where_scalar_y(condition: torch.Tensor, x: torch.Tensor, float_operand: float) -> torch.Tensor:
    """A tensor, or a number."""
    return torch.where(condition.bool(), x, _number(x, float_operand))


# Made from nothing.
NOWHERE: dict[str, list[Any]] = {"nd_sbp": [[]]}
TABLE.put(
    "eye",
    lambda rows, cols, dtype: torch.eye(rows, cols, dtype=dtype),
    attrs={"rows": [2, 3], "cols": [3, 4], "dtype": [torch.float32, torch.int64], **NOWHERE},
)


@TABLE.of(
    "constant",
    attrs={
        "floating_value": [0.5],
        "integer_value": [3],
        "is_floating_value": [True],
        "dtype": [torch.float32, torch.float64],
        "shape": [(2, 3)],
        **NOWHERE,
    },
)
def constant(floating_value: float, dtype: torch.dtype, shape: Any) -> torch.Tensor:
    """One value."""
    return torch.full(tuple(shape), floating_value, dtype=dtype)


@TABLE.of(
    "arange",
    attrs={
        "integer_start": [0, 1],
        "integer_delta": [1, 2],
        "integer_limit": [5, 6],
        "float_start": [0.0],
        "float_delta": [1.0],
        "float_limit": [1.0],
        "dtype": [torch.int64, torch.int32],
        **NOWHERE,
    },
)
def arange(integer_start: int, integer_delta: int, integer_limit: int, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in steps."""
    return torch.arange(integer_start, integer_limit, integer_delta, dtype=dtype)
