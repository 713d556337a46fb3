"""What jobs share: their variables, by name, with the state that optimizers keep for them, and step counts.

Two locks guard a session. Which variables, states and counts there are changes only under the tracing lock; their
values are read under the session's own lock, shared, and changed under it, exclusively. A run of a job holds it for a
whole step, so whoever has it sees the variables of one step.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.jobs.locks import holding
from oneop.jobs.training.initializers import Initializer
from oneop.runtime.core import core


@dataclass
class Variable:
    """A named tensor that outlives the calls of a job. Once a job uses it its storage never changes: plans hold it."""

    name: str
    value: torch.Tensor
    state: dict[str, torch.Tensor] = field(default_factory=dict)  # of the optimizer that updates it
    is_used: bool = True  # by a job; false for what a checkpoint brought and no job asked for yet


@dataclass(frozen=True, kw_only=True)
class VariableSpec:
    """What a job says about a variable when it asks for it."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    initializer: Initializer
    trainable: bool


@dataclass
class StepCount:
    """How many steps a train job has done. The job is known by its name and the variables it trains."""

    job: str
    variables: tuple[str, ...]
    value: torch.Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.int64))
    owner: weakref.ref[Any] | None = None  # the job; None for one that a checkpoint brought

    def is_of(self, job: str, variables: tuple[str, ...]) -> bool:
        """Tell whether this is the count of that job."""
        return self.job == job and self.variables == variables


@dataclass(frozen=True)
class Loaded:
    """Where variables came from, and whether all that jobs ask for must have come from there."""

    file: Path
    is_strict: bool


class Session:
    """The variables of this process, and the step counts of train jobs."""

    def __init__(self) -> None:
        """Start empty."""
        self.lock = core().JobLock("the variables", is_recursive=True)
        self.variables: dict[str, Variable] = {}
        self.counts: dict[str, StepCount] = {}  # by the name under which a checkpoint has it
        self.loaded: Loaded | None = None

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield everything a checkpoint must hold, by name. The caller holds the lock."""
        for name, variable in self.variables.items():
            yield f"variable/{name}", variable.value
            for key, value in variable.state.items():
                yield f"state/{name}/{key}", value
        for name, count in self.counts.items():
            yield f"counter/{name}/steps", count.value

    def add_count(self, count: StepCount) -> None:
        """Give a count a name that no other has. Two jobs of one name that train different variables have one each."""
        key, number = count.job, 2
        while key in self.counts:
            key, number = f"{count.job}#{number}", number + 1
        self.counts[key] = count


class Draft:
    """What a job that is being traced adds to a session. Nothing of it is there until `commit`: a trace may fail."""

    def __init__(self, session: Session) -> None:
        """Start with nothing new. The caller is tracing alone until the draft is committed or dropped."""
        self._session = session
        self._new: dict[str, Variable] = {}
        self._moved: list[tuple[Variable, torch.Tensor, dict[str, torch.Tensor]]] = []
        self._state: list[tuple[Variable, str, torch.Tensor]] = []
        self._counts: list[tuple[StepCount, weakref.ref[Any]]] = []
        self._names: set[str] = set()

    def variable(self, spec: VariableSpec, device: torch.device) -> Variable:
        """Return the variable of this name, made now if it is new. Raises if it has another shape or dtype."""
        self._names.add(spec.name)
        known = self._session.variables.get(spec.name)
        if known is None:
            return self._make(spec, device)
        if tuple(known.value.shape) != spec.shape or known.value.dtype != spec.dtype:
            loaded = self._session.loaded
            origin = "another job made" if known.is_used or loaded is None else f"was loaded from {loaded.file}"
            raise ArgumentError(
                f'variable "{spec.name}": expected {spec.dtype} {spec.shape}, found one of '
                f"{known.value.dtype} {tuple(known.value.shape)} that {origin}\n"
                "  variables are shared by name: "
                "rename it, or call oneop.clear_default_session()"
            )
        if known.value.device != device:
            if known.is_used:
                raise ArgumentError(
                    f'variable "{spec.name}" is on {known.value.device}, this job runs on {device}\n'
                    "  use the same placement in all jobs that share it"
                )
            value, state = known.value.to(device), {key: item.to(device) for key, item in known.state.items()}
            self._moved.append((known, value, state))
            return Variable(known.name, value, state)
        return known

    def _make(self, spec: VariableSpec, device: torch.device) -> Variable:
        loaded = self._session.loaded
        if loaded is not None and loaded.is_strict:
            spare = [f'"{name}"' for name, known in self._session.variables.items() if not known.is_used]
            raise ArgumentError(
                f'variable "{spec.name}" is not in the checkpoint {loaded.file}\n'
                f"  variables of the checkpoint that no job has asked for: {', '.join(spare) or 'none'}\n"
                "  rename it, or let new variables start from their initializers: checkpoint.load(path, strict=False)"
            )
        value = spec.initializer(spec.shape, spec.dtype).to(device)
        if tuple(value.shape) != spec.shape or value.dtype != spec.dtype:
            raise ArgumentError(
                f'variable "{spec.name}": expected {spec.dtype} {spec.shape} from its initializer, '
                f"found {value.dtype} {tuple(value.shape)}"
            )
        # A copy that nobody else has: an initializer may return a tensor of its own, or views of one.
        made = Variable(spec.name, value.detach().clone(memory_format=torch.contiguous_format))
        self._new[spec.name] = made
        return made

    def state(self, variable: Variable, key: str, initial: torch.Tensor) -> torch.Tensor:
        """Return what the optimizer keeps for a variable under this name; `initial` if there is nothing yet."""
        if key not in variable.state:
            self._state.append((variable, key, initial))
            return initial
        return variable.state[key]

    def count(self, job: str, variables: tuple[str, ...], owner: weakref.ref[Any], *, matters: bool) -> StepCount:
        """Return the step count of a train job. `matters`: its learning rate depends on it.

        Raises `ArgumentError` if another job that is alive has it, or if it is not clear where the job is in its
        schedule.
        """
        counts = self._session.counts.values()
        mine = next((count for count in counts if count.is_of(job, variables)), None)
        if mine is not None and _other_owner(mine, owner) is not None:
            raise ArgumentError(
                f'job "{job}": another train job of this name trains the same variables, '
                "and a checkpoint could not tell their step counts apart\n"
                '  name one of them: global_function("train", name="...")'
            )
        if mine is None and matters:
            spare = [count for count in counts if count.owner is None and int(count.value)]
            if spare:
                orphans = "; ".join(f'"{c.job}" ({c.value} steps, trains {", ".join(c.variables)})' for c in spare)
                raise ArgumentError(
                    f'job "{job}" (trains {", ".join(variables)}) is not in the checkpoint '
                    f"{self._session.loaded.file if self._session.loaded else ''}, so its learning rate would start "
                    f"again at step 0\n  jobs of the checkpoint that do not exist here: {orphans}\n"
                    '  give the job the name it had, global_function("train", name="..."), '
                    "or start at 0: checkpoint.load(path, restart=True)"
                )
        count = mine or StepCount(job, variables)
        self._counts.append((count, owner))
        return count

    def commit(self) -> None:
        """Make everything part of the session."""
        session = self._session
        with holding(session.lock, is_exclusive=True):
            session.variables.update(self._new)
            for variable, value, state in self._moved:
                variable.value, variable.state = value, state
            for variable, key, value in self._state:
                session.variables[variable.name].state.setdefault(key, value)
            for count, owner in self._counts:
                if not any(count is known for known in session.counts.values()):
                    session.add_count(count)
                count.owner = owner
            for name in self._names:
                session.variables[name].is_used = True


def _other_owner(count: StepCount, owner: weakref.ref[Any]) -> Any:
    """Return the job, other than `owner`, that a count belongs to, if it is alive."""
    if count.owner is None or count.owner() is None or count.owner() is owner():
        return None
    gc.collect()  # it may be alive only because nobody has looked: a cell of a notebook that was run again
    return count.owner()


_sessions_lock = threading.Lock()
_session: Session | None = None


def current_session() -> Session:
    """Return the session that jobs use."""
    global _session
    with _sessions_lock:
        if _session is None:
            _session = Session()
        return _session


def clear_default_session() -> None:
    """Forget all variables. Jobs that were traced before keep the old ones; define them again."""
    global _session
    with _sessions_lock:
        _session = None
