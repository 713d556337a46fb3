"""OneFlow's words for tensors on many devices: placement, global_tensor, to_global, to_local. DTensor does the work."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.distributed.tensor.placement_types import Placement as TorchPlacement

from oneop import sbp as words
from oneop.errors import ArgumentError

_TYPES = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}
GivenSbp = words.Sbp | str | Sequence[words.Sbp | str]


@dataclass(frozen=True)
class Placement:
    """Devices, as ranks in rows: `placement("cpu", [[0, 1], [2, 3]])` is a grid of 2 by 2."""

    type: str
    ranks: tuple[Any, ...]

    @property
    def mesh(self) -> DeviceMesh:
        """The device mesh of torch. All ranks must ask for it alike, since it makes process groups."""
        return _mesh(self.type, self.ranks, id(dist.group.WORLD))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many devices there are in each dimension."""
        return tuple(torch.tensor(self.ranks).shape)


def placement(type: str, ranks: Iterable[Any]) -> Placement:
    """Name devices: "cpu" or "cuda", and ranks, nested for a grid. Raises `ArgumentError`."""
    if type not in _TYPES:
        raise ArgumentError(f"placement: expected cpu or cuda, found {type!r}")
    try:
        rows = torch.tensor(_nested(ranks))
    except (ValueError, TypeError):
        raise ArgumentError(f"placement: expected ranks such as [0, 1] or [[0, 1], [2, 3]], found {ranks!r}") from None
    if rows.numel() == 0 or rows.dtype.is_floating_point or len(set(rows.flatten().tolist())) != rows.numel():
        raise ArgumentError(f"placement: expected different ranks such as [0, 1], found {ranks!r}")
    return Placement(_TYPES[type], _nested(rows.tolist()))


def _nested(ranks: Any) -> Any:
    return tuple(_nested(item) for item in ranks) if isinstance(ranks, Iterable) else ranks


@functools.cache
def _mesh(type: str, ranks: tuple[Any, ...], group: int) -> DeviceMesh:
    if not dist.is_initialized():
        raise ArgumentError(
            "placement: there is no process group\n"
            "  start the program with torchrun and call torch.distributed.init_process_group"
        )
    rows = torch.tensor(ranks)
    world = dist.get_world_size()
    if int(rows.max()) >= world:
        raise ArgumentError(f"placement: rank {int(rows.max())} of a job with {world} ranks")
    if rows.flatten().tolist() == list(range(world)):
        return init_device_mesh(type, tuple(rows.shape))
    return DeviceMesh(type, rows)


def global_tensor(
    data: Any, *, placement: Placement, sbp: GivenSbp, dtype: torch.dtype | None = None, requires_grad: bool = False
) -> DTensor:
    """Return a tensor on many devices from data that is whole on every rank.

    A partial sum has the data on the first rank and zeros on the others; a P(max), P(min) or P(avg) has it on all.
    """
    whole = torch.as_tensor(data, dtype=dtype)
    tensor = to_global(whole.detach(), placement=placement, sbp=sbp)
    tensor.requires_grad_(requires_grad)
    return tensor


def to_global(tensor: torch.Tensor, placement: Placement | None = None, sbp: GivenSbp | None = None) -> DTensor:
    """Put a tensor on devices, or move one that is there. A plain tensor is the whole, the same on every rank."""
    placements = None if sbp is None else words.placements(sbp)
    if isinstance(tensor, DTensor):
        mesh = tensor.device_mesh if placement is None else placement.mesh
        if mesh != tensor.device_mesh:
            raise ArgumentError("to_global: the tensor is on other devices; gather it first with to_local")
        wanted = tuple(tensor.placements) if placements is None else placements
        _check_dims(wanted, mesh)
        return _moved(tensor, wanted)
    if placement is None or placements is None:
        raise ArgumentError("to_global: a plain tensor needs placement= and sbp=")
    mesh = placement.mesh
    _check_dims(placements, mesh)
    here = tensor.to(mesh.device_type)
    whole = DTensor.from_local(here, mesh, words.placements([words.broadcast] * mesh.ndim), run_check=False)
    return _moved(whole, placements)


def _moved(tensor: DTensor, placements: Sequence[TorchPlacement]) -> DTensor:
    """Redistribute; where summands are asked for, the first device has the sum and the others have zeros.

    The maximum, the minimum or the mean of parts that are all the whole is the whole.
    """
    mesh = tensor.device_mesh
    for placement in [*tensor.placements, *placements]:
        if words.has_no_mean(placement, tensor.dtype):
            kind = str(tensor.dtype).removeprefix("torch.")
            raise ArgumentError(f"sbp: a tensor of {kind} cannot lie P(avg)\n  {words.NO_MEAN}")
    new = [dim for dim in range(mesh.ndim) if placements[dim].is_partial() and not tensor.placements[dim].is_partial()]
    if not new:
        return tensor.redistribute(mesh, placements)
    base = [Replicate() if dim in new else placement for dim, placement in enumerate(placements)]
    local = tensor.redistribute(mesh, base).to_local()
    if any(mesh.get_local_rank(dim) for dim in new if placements[dim] == Partial()):
        local = local * 0
    return DTensor.from_local(local, mesh, placements, run_check=False, shape=tensor.shape, stride=tensor.stride())


def to_local(tensor: torch.Tensor) -> torch.Tensor:
    """Return the part of a tensor that this rank has."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _check_dims(placements: Sequence[object], mesh: DeviceMesh) -> None:
    if len(placements) != mesh.ndim:
        raise ArgumentError(
            f"sbp: expected {mesh.ndim} of them, one for each dimension of the placement, found {len(placements)}"
        )


torch.Tensor.to_global = to_global  # type: ignore[attr-defined]
