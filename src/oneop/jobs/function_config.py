"""Settings of one job."""

from __future__ import annotations

import torch

from oneop.errors import ArgumentError
from oneop.jobs.scope import Placement


class FunctionConfig:
    """Settings of a job; setters of older programs that have no meaning here are accepted."""

    def __init__(self) -> None:
        """Start with the usual settings."""
        self.backend = "planned"
        self.data_type = torch.float32
        self.placement: Placement | None = None

    def default_data_type(self, value: torch.dtype = torch.float32) -> None:
        """Set the dtype of variables that name none. Raises `ArgumentError` for what is no dtype."""
        if not isinstance(value, torch.dtype):
            raise ArgumentError(f"default_data_type: expected a dtype such as oneop.float32, found {value!r}")
        self.data_type = value

    def default_logical_view(self, value: object = None) -> None:
        """Accept a view; there is one only."""

    def default_placement_scope(self, value: object = None) -> None:
        """Set where a job runs that enters no `scope.placement`. Raises `ArgumentError` for what is no placement."""
        if value is not None and not isinstance(value, Placement):
            raise ArgumentError(
                f"default_placement_scope: expected a placement, found {value!r}\n"
                '  make one with scope.placement("cpu", "0:0")'
            )
        self.placement = value


function_config = FunctionConfig
