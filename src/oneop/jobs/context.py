"""What a job knows while its function is traced."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from oneop.errors import ArgumentError
from oneop.jobs.meeting import mark_spread

if TYPE_CHECKING:
    from oneop.jobs.training.optimizer import Optimizer
    from oneop.jobs.training.session import VariableSpec

_local = threading.local()


@dataclass(frozen=True)
class Watch:
    """A blob whose value, or gradient, goes to a callback after each run."""

    blob: torch.Tensor
    callback: Callable[..., object]
    is_grad: bool


class JobContext:
    """The state of one trace of a job function."""

    def __init__(
        self,
        job: str,
        is_train: bool,
        make_variable: Callable[[VariableSpec, torch.device], torch.Tensor],
        default_dtype: torch.dtype = torch.float32,
        default_device: torch.device | None = None,
    ) -> None:
        """Start a trace; `make_variable` gives the tensor that stands for a variable."""
        self.job = job
        self.is_train = is_train
        self.default_dtype = default_dtype  # of variables that name none
        self.variables: dict[str, VariableSpec] = {}
        self.minimized: tuple[Optimizer, torch.Tensor] | None = None
        self.watches: list[Watch] = []
        self.devices: list[torch.device] = []  # placements, in the order in which they were entered
        self.ranks: tuple[int, ...] = (0,)  # of the placement
        self.op_names: dict[str, str] = {}
        self._make_variable = make_variable
        self._default_device = default_device or torch.device("cpu")
        self._tensors: dict[str, torch.Tensor] = {}
        self._device_stack: list[torch.device] = []
        self._prefix = ""

    @property
    def device(self) -> torch.device:
        """The device of the innermost placement, or that of the job."""
        return self._device_stack[-1] if self._device_stack else self._default_device

    @contextlib.contextmanager
    def on_device(self, device: torch.device, ranks: tuple[int, ...] = (0,)) -> Iterator[None]:
        """Enter a placement. Raises `ArgumentError` where two of a job have different devices, several of them."""
        if max(len(ranks), len(self.ranks)) > 1 and self.devices and ranks != self.ranks:
            raise ArgumentError(
                f'job "{self.job}": all placements must have the same devices, found ranks {self.ranks} and {ranks}'
            )
        self.ranks = ranks
        self.devices.append(device)
        self._device_stack.append(device)
        try:
            yield
        except Exception as error:
            mark_spread(error, device, ranks)
            raise
        finally:
            self._device_stack.pop()

    @contextlib.contextmanager
    def in_namespace(self, name: str) -> Iterator[None]:
        """Put a prefix before the names of ops and variables."""
        before, self._prefix = self._prefix, f"{self._prefix}{name}-"
        try:
            yield
        finally:
            self._prefix = before

    def name_op(self, name: str, op_type: str) -> str:
        """Return a name for an op that no other op of the job has.

        A wrapper with a fixed name may be called several times: the second op of the same type gets a number. A name
        that another type of op has is a mistake, and refused.
        """
        full = self._prefix + name
        taken = self.op_names.get(full)
        if taken is not None and taken != op_type:
            raise ArgumentError(
                f'job "{self.job}": op name "{full}" is taken by an op "{taken}", this is an op "{op_type}"\n'
                f'  rename one of them, or let a name be made: user_op_builder(oneop.util.unique_str("{name}"))'
            )
        number = 1
        unique = full
        while unique in self.op_names:
            unique = f"{full}_{number}"
            number += 1
        self.op_names[unique] = op_type
        return unique

    def variable(self, spec: VariableSpec) -> torch.Tensor:
        """Return the tensor that stands for a variable; the same for the same name."""
        known = self.variables.get(spec.name)
        if known is not None and (known.shape, known.dtype) != (spec.shape, spec.dtype):
            raise ArgumentError(
                f'job "{self.job}", variable "{spec.name}": expected {known.dtype} {known.shape} as before, '
                f"found {spec.dtype} {spec.shape}"
            )
        if known is not None and known.trainable != spec.trainable:
            raise ArgumentError(
                f'job "{self.job}", variable "{spec.name}": expected trainable={known.trainable} as before, '
                f"found trainable={spec.trainable}"
            )
        if known is None:
            self.variables[spec.name] = spec
            self._tensors[spec.name] = self._make_variable(spec, self.device)
        return self._tensors[spec.name]

    def is_variable(self, tensor: torch.Tensor) -> bool:
        """Say whether a tensor stands for a variable."""
        return any(tensor is known for known in self._tensors.values())

    def qualified(self, name: str) -> str:
        """Return a name with the prefix of the namespaces around."""
        return self._prefix + name


def current_context() -> JobContext | None:
    """Return the trace that this thread is in, if any."""
    return getattr(_local, "context", None)


@contextlib.contextmanager
def tracing(context: JobContext) -> Iterator[None]:
    """Make `context` the current one."""
    before = current_context()
    _local.context = context
    try:
        yield
    finally:
        _local.context = before


def require_context(what: str) -> JobContext:
    """Return the current trace. Raises `ArgumentError` outside a job."""
    context = current_context()
    if context is None:
        raise ArgumentError(f"{what} works only inside a job function: decorate it with @oneop.global_function()")
    return context
