"""Planned jobs for people who come from torch: tensors in, tensors out."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from oneop.errors import ArgumentError, described
from oneop.jobs.job import Compilation, CompiledJob
from oneop.jobs.meeting import refusing_traces
from oneop.jobs.planning.plan_view import PlanView
from oneop.jobs.planning.profile import JobProfile, profile_job
from oneop.jobs.planning.trace import InputSpec, TraceRequest
from oneop.jobs.traces import is_traced, refuse_transforms, run_inline
from oneop.runtime.modes import untraced


def _has_data(value: torch.Tensor) -> bool:
    return value.layout is torch.strided and (not value.is_meta or type(value) is not torch.Tensor)


class TensorJob:
    """A function on tensors, traced for the shapes of its example inputs."""

    def __init__(self, name: str, fn: Callable[..., Any], examples: Sequence[torch.Tensor], backend: str) -> None:
        """Trace and plan the function."""
        specs = []
        for i, example in enumerate(examples):
            if not isinstance(example, torch.Tensor):
                raise ArgumentError(f'job "{name}", input {i}: expected a tensor, found {type(example).__name__}')
            specs.append(InputSpec(name=f"input {i}", shape=tuple(example.shape), dtype=example.dtype))
        devices = {example.device for example in examples}
        if len(devices) > 1:
            listed = ", ".join(sorted(map(str, devices)))
            raise ArgumentError(
                f'job "{name}": its inputs must be on one device, found {listed}\n  move them: x.to(device)'
            )
        request = TraceRequest(
            name=name,
            fn=fn,
            inputs=tuple(specs),
            is_train=False,
            owner=weakref.ref(self),
            device=devices.pop() if devices else None,
        )
        self._compilation = Compilation(request, backend=backend)
        self._fn = fn
        self._expected = [(spec.shape, spec.dtype) for spec in specs]
        self._compilation.get()

    @property
    def compiled(self) -> CompiledJob:
        """The job, ready to run; traced again if an op was registered again since."""
        return self._compilation.get()

    @untraced
    def __call__(self, /, *inputs: torch.Tensor, **named: torch.Tensor) -> Any:
        """Run the job. Raises `ArgumentError` for other shapes or dtypes than those it was traced for.

        While torch traces (another job, make_fx, export) the function itself runs, so that it is traced too.
        """
        if named:
            inputs = self._in_order(inputs, named)
        if len(inputs) != len(self._expected) or not all(
            isinstance(value, torch.Tensor) and value.dtype == dtype and value.shape == shape and _has_data(value)
            for value, (shape, dtype) in zip(inputs, self._expected, strict=True)
        ):
            with self.compiled.refusing():
                self._refuse(inputs)
        refuse_transforms(self.name)
        if is_traced(inputs):
            return run_inline(self._fn, inputs)
        with refusing_traces():
            compiled = self._compilation.get()
        results = compiled.call([value.detach() if value.requires_grad else value for value in inputs])
        spec = compiled.traced.output_spec
        if compiled.traced.gives_none:
            return None
        return results[0] if spec.is_leaf() else pytree.tree_unflatten(results, spec)

    @property
    def name(self) -> str:
        """The name of the job, in messages and plans."""
        return self._compilation.name

    def _in_order(self, inputs: Sequence[torch.Tensor], named: dict[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        try:
            return inspect.signature(self._fn).bind(*inputs, **named).args
        except (TypeError, ValueError) as error:
            raise ArgumentError(f'job "{self.name}": {error}\n  its inputs are those of its function') from None

    def _refuse(self, inputs: Sequence[Any]) -> None:
        traced = self.compiled.traced
        if len(inputs) != len(traced.inputs):
            raise ArgumentError(f'job "{traced.name}" takes {len(traced.inputs)} tensors, found {len(inputs)}')
        for spec, value in zip(traced.inputs, inputs, strict=True):
            if not isinstance(value, torch.Tensor) or tuple(value.shape) != spec.shape or value.dtype != spec.dtype:
                kind = (
                    f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
                )
                raise ArgumentError(
                    f'job "{traced.name}", {spec.name}: expected {spec.dtype} {spec.shape}, found {kind}\n'
                    "  a job is planned for fixed shapes: make another one for others"
                )
            if not _has_data(value):
                kind = "a meta tensor" if value.is_meta else f"layout {str(value.layout).removeprefix('torch.')}"
                raise ArgumentError(
                    f'job "{traced.name}", {spec.name}: expected a dense tensor with data, found {kind}'
                )

    def plan(self) -> PlanView:
        """Return the plan."""
        return self.compiled.view_plan()

    def profile(self, count: int = 20) -> JobProfile:
        """Return the time and bytes of each step."""
        return profile_job(self.compiled, count)


def compile_job(
    fn: Callable[..., Any], example_inputs: Sequence[torch.Tensor], *, name: str | None = None, backend: str = "planned"
) -> TensorJob:
    """Trace and plan a function on tensors like `example_inputs`. It computes without gradients."""
    if not isinstance(example_inputs, (tuple, list)):
        raise ArgumentError(
            f"compile_job: expected example inputs as a tuple of tensors, found {described(example_inputs)}\n"
            "  for one tensor write (x,)"
        )
    return TensorJob(name or str(getattr(fn, "__name__", "job")), fn, example_inputs, backend)


class Graph:
    """The class form: define `build`, make an object, call it. It is traced once for each set of input shapes."""

    backend = "planned"

    def __init__(self) -> None:
        """Start with nothing traced."""
        self._jobs: dict[tuple[Any, ...], TensorJob] = {}

    def build(self, *inputs: torch.Tensor) -> Any:
        """Compute the results from the inputs. Define it in the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define build(self, ...)")

    @untraced
    def __call__(self, *inputs: torch.Tensor) -> Any:
        """Run the graph; while torch traces, `build` itself."""
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        refuse_transforms(type(self).__name__)
        if is_traced(tensors) and len(tensors) == len(inputs):
            return run_inline(self.build, inputs)
        with refusing_traces():
            job = self.job_for(*inputs)
        return job(*inputs)

    def job_for(self, *inputs: torch.Tensor) -> TensorJob:
        """Return the planned job for inputs like these."""
        if "_jobs" not in vars(self):
            raise ArgumentError(f"{type(self).__name__}: call super().__init__() in its __init__")
        key = tuple(
            (tuple(value.shape), value.dtype, value.device) for value in inputs if isinstance(value, torch.Tensor)
        )
        job = self._jobs.get(key)
        if job is None:
            made = TensorJob(type(self).__name__, self.build, inputs, self.backend)
            job = self._jobs.setdefault(key, made)  # another thread may have made it meanwhile
        return job
