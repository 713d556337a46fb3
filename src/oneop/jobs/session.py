"""What jobs share: their variables, by name, with the state that optimizers keep for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from oneop.errors import ArgumentError
from oneop.jobs.initializers import Initializer


@dataclass
class Variable:
    """A named tensor that outlives the calls of a job. Its storage never changes: plans hold its address."""

    name: str
    value: torch.Tensor
    trainable: bool
    state: dict[str, torch.Tensor] = field(default_factory=dict)  # of the optimizer that updates it


@dataclass(frozen=True, kw_only=True)
class VariableSpec:
    """What a job says about a variable when it asks for it."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    initializer: Initializer
    trainable: bool


class Session:
    """The variables of this process, and numbers that belong to jobs (their step counts)."""

    def __init__(self) -> None:
        """Start empty."""
        self.variables: dict[str, Variable] = {}
        self.counters: dict[str, torch.Tensor] = {}

    def variable(self, spec: VariableSpec, device: torch.device) -> Variable:
        """Return the variable of this name, made now if it is new. Raises if it has another shape or dtype."""
        known = self.variables.get(spec.name)
        if known is None:
            value = spec.initializer(spec.shape, spec.dtype).to(device)
            if tuple(value.shape) != spec.shape or value.dtype != spec.dtype:
                raise ArgumentError(
                    f'variable "{spec.name}": expected {spec.dtype} {spec.shape} from its initializer, '
                    f"found {value.dtype} {tuple(value.shape)}"
                )
            known = self.variables[spec.name] = Variable(spec.name, value, spec.trainable)
        elif tuple(known.value.shape) != spec.shape or known.value.dtype != spec.dtype:
            raise ArgumentError(
                f'variable "{spec.name}": expected {spec.dtype} {spec.shape}, found one of '
                f"{known.value.dtype} {tuple(known.value.shape)} that another job made\n"
                "  variables are shared by name: "
                "rename it, or call oneop.clear_default_session()"
            )
        elif known.value.device != device:
            raise ArgumentError(
                f'variable "{spec.name}" is on {known.value.device}, this job runs on {device}\n'
                "  use the same placement in all jobs that share it"
            )
        return known

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield everything a checkpoint must hold, by name."""
        for name, variable in self.variables.items():
            yield f"variable/{name}", variable.value
            for key, value in variable.state.items():
                yield f"state/{name}/{key}", value
        for name, value in self.counters.items():
            yield f"counter/{name}", value


_session = Session()


def current_session() -> Session:
    """Return the session that jobs use."""
    return _session


def clear_default_session() -> None:
    """Forget all variables. Jobs that were traced before keep the old ones; define them again."""
    global _session
    _session = Session()
