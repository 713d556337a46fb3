"""Jobs on many devices in the consistent view: the function sees whole blobs, and each rank computes its part.

All ranks run the same program and call the job with the same whole arrays. Inputs are split along their first axis,
variables are broadcast, results are whole again. What lies between is DTensor's: ops run under their SBP signatures.
Each rank traces its own graph, in which the collectives are ops like others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import torch

from oneop.errors import ArgumentError


def ranks_of(machine_device_ids: str | Sequence[str]) -> tuple[int, ...]:
    """Return the ranks that "0:0-3", or a list of such texts, stands for. Raises `ArgumentError`.

    A machine has as many ranks as torchrun started on this one.
    """
    texts = [machine_device_ids] if isinstance(machine_device_ids, str) else list(machine_device_ids)
    here = int(os.environ.get("LOCAL_WORLD_SIZE", 0))
    ranks: list[int] = []
    for text in texts:
        match = re.fullmatch(r"@?(\d+):(\d+)(?:-(\d+))?", text)
        if match is None:
            raise ArgumentError(
                f'scope.placement: expected devices such as "0:0" or "0:0-3", found {machine_device_ids!r}'
            )
        machine, first, last = int(match[1]), int(match[2]), int(match[3] or match[2])
        ranks += range(machine * here + first, machine * here + last + 1)
    return tuple(ranks)


class ConsistentView:
    """How the tensors of one job lie on its devices."""

    def __init__(self, job: str, device_type: str, ranks: Sequence[int]) -> None:
        """Make the mesh. Raises `ArgumentError` unless the ranks are those of the process group."""
        from oneop.sharding.words import placement

        world = torch.distributed.get_world_size()
        if len(ranks) != world:
            raise ArgumentError(
                f'job "{job}": its placement has {len(ranks)} devices, and the program has {world} ranks\n'
                f"  start it with torchrun --nproc_per_node={len(ranks)}, or change the placement"
            )
        self._mesh = placement(device_type, list(ranks)).mesh

    def spread_input(self, value: torch.Tensor) -> Any:
        """Split an input along its first axis; one that is too short is broadcast."""
        from torch.distributed.tensor import Shard

        whole = self.spread_variable(value)
        can_split = value.ndim > 0 and value.shape[0] >= self._mesh.size()
        return whole.redistribute(self._mesh, [Shard(0)]) if can_split else whole

    def spread_variable(self, value: torch.Tensor) -> Any:
        """Let every device have all of a tensor."""
        from torch.distributed.tensor import DTensor, Replicate

        return DTensor.from_local(value, self._mesh, [Replicate()], run_check=False)

    def gather(self, value: torch.Tensor) -> torch.Tensor:
        """Return a result, or a gradient, whole."""
        from torch.distributed.tensor import DTensor

        return value.full_tensor() if isinstance(value, DTensor) else value


def view_of(job: str, device_type: str, ranks: Sequence[int]) -> ConsistentView | None:
    """Return the view of a job whose placement has these ranks; None where one device does it all.

    A placement of several devices in a program of one process means the first one.
    """
    if len(ranks) < 2 or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return ConsistentView(job, device_type, ranks)
