"""DTensors from parts, and what is said where DTensor moves one unasked."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from oneop.sharding.dtensor.private import (
    DTensorSpec,
    ExplicitRedistributionContext,
    TensorMeta,
    redistribute_local_tensor,
)
from oneop.sharding.planning import Placements

_NOTICE = "Implicit redistribution occurred for "


def lying(spec: DTensorSpec, placements: Placements) -> DTensorSpec:
    """Return the spec of the same tensor with other placements."""
    return DTensorSpec(spec.mesh, placements, tensor_meta=spec.tensor_meta)


def moved(tensor: DTensor, placements: Placements) -> DTensor:
    """Return a tensor with other placements, partial ones too. Not differentiable."""
    target = DTensorSpec(tensor.device_mesh, placements, tensor_meta=tensor._spec.tensor_meta)
    local = redistribute_local_tensor(tensor._local_tensor, tensor._spec, target)
    return DTensor(local, target, requires_grad=tensor.requires_grad)  # type: ignore[no-untyped-call]


def wrapped(part: torch.Tensor, mesh: DeviceMesh, placements: Placements, shape: Any, stride: Any) -> DTensor:
    """Return the DTensor of which this is the rank's part. Not differentiable."""
    spec = DTensorSpec(mesh, placements, tensor_meta=TensorMeta(torch.Size(shape), tuple(stride), part.dtype))
    return DTensor(part, spec, requires_grad=part.requires_grad)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def observed_redistribution(
    mode: str, strict: bool, make_error: Callable[[str], Exception], warn: Callable[[str], None]
) -> Iterator[None]:
    """Have DTensor raise or warn where it redistributes an input unasked; with `strict` where that is free, too."""
    log = logging.getLogger(ExplicitRedistributionContext.__module__)
    handler = _Warner(warn)
    log.addHandler(handler)
    log.addFilter(handler.take)
    try:
        with ExplicitRedistributionContext(strict=strict, mode=mode):
            yield
    except RuntimeError as error:
        text = str(error)
        if not text.startswith(_NOTICE):
            raise
        raise make_error(text) from None
    finally:
        log.removeFilter(handler.take)
        log.removeHandler(handler)


class _Warner(logging.Handler):
    """Turns DTensor's log lines about redistribution into warnings."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__()
        self._warn = warn

    def take(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith(_NOTICE):
            self._warn(text)
            return False
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Leave other lines to the other handlers."""
