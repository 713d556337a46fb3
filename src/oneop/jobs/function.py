"""`@global_function`: jobs on numpy in and numpy out."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

import torch
from torch.utils import _pytree as pytree

from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.jobs.annotations import Signature, bind_values, check_returns, convert_results, read_signature
from oneop.jobs.context import current_context
from oneop.jobs.function_config import FunctionConfig
from oneop.jobs.job import Compilation, CompiledJob
from oneop.jobs.meeting import refuse, refusing_traces
from oneop.jobs.pending import LostErrors, Pending
from oneop.jobs.planning.plan_view import PlanView
from oneop.jobs.planning.profile import JobProfile, profile_job
from oneop.jobs.planning.trace import TracedJob, TraceRequest
from oneop.jobs.scope import Placement
from oneop.jobs.traces import outside_traces, refuse_traces
from oneop.runtime.core import core

if TYPE_CHECKING:
    from oneop._core import JobEntry
else:
    JobEntry = core().JobEntry


def global_function(
    type: str | FunctionConfig = "predict",
    function_config: FunctionConfig | None = None,
    *,
    backend: str | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Job]:
    """Make a job of a function whose parameters and result are annotated, see `oneop.typing`.

    A "predict" job computes; a "train" job also updates its variables and must call `minimize`. It is traced at its
    first call. `backend` is "planned" (our own), "inductor" (torch.compile of the traced graph) or "eager". `name` is
    what errors and checkpoints call the job, by default the function's name.
    """
    scope = sys._getframe(1).f_locals  # for annotations that are strings
    return job_maker(type, function_config, backend=backend, name=name, scope=scope)


def job_maker(
    type: str | FunctionConfig,
    function_config: FunctionConfig | None,
    *,
    backend: str | None,
    name: str | None,
    scope: Mapping[str, Any],
    usual_placement: Placement | None = None,
) -> Callable[[Callable[..., Any]], Job]:
    """Return what makes a job of a function, see `global_function`. `scope` has the names in its annotations.

    `usual_placement` is that of a configuration which names none.
    """
    if isinstance(type, FunctionConfig):  # the older order of arguments
        function_config = type
        type = "predict"
    if type not in ("predict", "train"):
        raise ArgumentError(f'global_function: expected type "predict" or "train", found {type!r}')
    config = function_config or FunctionConfig()
    return lambda fn: Job(
        fn,
        is_train=type == "train",
        backend=backend or config.backend,
        scope=scope,
        name=name,
        data_type=config.data_type,
        placement=config.placement or usual_placement,
    )


class Job(JobEntry):
    """A function that is traced and planned once. Call it like the function.

    The base class takes a call on plain arrays and runs it in C++; what it does not take goes to `_call`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        is_train: bool,
        backend: str,
        scope: Mapping[str, Any] | None = None,
        name: str | None = None,
        data_type: torch.dtype = torch.float32,
        placement: Placement | None = None,
    ) -> None:
        """Read the annotations of the function. Raises `ArgumentError` if they are missing or wrong."""
        functools.update_wrapper(self, fn)
        self._name = name or fn.__name__
        self._signature = read_signature(fn, self._name, scope)
        self._is_train = is_train
        self._compilation = Compilation(
            TraceRequest(
                name=self._name,
                # Neither of these may lead back to the job: it would live until the garbage collector comes.
                fn=functools.partial(_body, fn, self._signature),
                owner=weakref.ref(self),
                inputs=tuple(self._signature.input_specs()),
                is_train=is_train,
                data_type=data_type,
                placement=placement,
                has_fused_updates=backend != "inductor",  # which cannot compile them
            ),
            backend=backend,
            from_host=_is_for_arrays(self._signature),
            check=functools.partial(_check, self._signature),
        )
        self._entered: tuple[CompiledJob, int] | None = None
        self._lost = LostErrors(self._name)

    def __repr__(self) -> str:
        """Return the name and kind of the job."""
        return f"<oneop {'train' if self._is_train else 'predict'} job {self._name}>"

    def plan(self) -> PlanView:
        """Return the plan, made now if the job has not run yet. Print it, or write it with `to_html`."""
        return self.compile().view_plan()

    def profile(self, count: int = 20) -> JobProfile:
        """Run the job `count` times on what its buffers hold, and return the times and bytes of each step.

        Runs before these warm up. A step has its least and its median time. Variables are put back afterwards, and the
        runs count as no steps.
        """
        return profile_job(self.compile(), count)

    def compile(self) -> CompiledJob:
        """Trace and plan the job now instead of at its first call, or again if an op was registered again since."""
        if current_context() is not None:
            raise ArgumentError(f'job "{self._name}" is called inside another job\n  call the function itself there')
        compiled = self._compilation.get()
        if self._entered != (compiled, compiled.epoch):
            self._enter(compiled)
        return compiled

    def _enter(self, compiled: CompiledJob) -> None:
        """Let plain calls go to the compiled job, as long as no op is registered."""
        self._entered = compiled, compiled.epoch
        bound = compiled.bound
        if bound is None or not _takes_arrays_only(compiled, self._signature):
            core().leave_job(self)
            return
        try:
            dtypes = [[buffer.numpy().dtype for buffer in buffers] for buffers in (bound.inputs, bound.outputs)]
        except TypeError:  # numpy has no such dtype
            core().leave_job(self)
            return
        as_tuple = not compiled.traced.output_spec.is_leaf()
        core().enter_job(
            self,
            bound.program,
            bound.inputs,
            dtypes[0],
            bound.outputs,
            dtypes[1],
            as_tuple,
            compiled.epoch,
            *compiled.around_steps(),
        )

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        if current_context() is None and not self._compilation.from_host:
            refuse_traces(self._name, ())
        with outside_traces():
            return self._call_outside(*args, **kwargs)

    def _call_outside(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._signature.is_callback:
            self._lost.raise_first()
        with refusing_traces():
            compiled = self.compile()
        try:
            values = bind_values(self._signature, args, kwargs, compiled.traced.changed_inputs)
        except ArgumentError as error:
            self._tell(compiled, error)
            raise
        if self._signature.is_callback:
            values = [value.clone() for value in values]  # the caller may change its own as soon as this returns
            return Pending(self._name, lambda: self._run(compiled, values), self._lost)
        return self._run(compiled, values)

    def _tell(self, compiled: CompiledJob, error: ArgumentError) -> None:
        """Tell the other ranks of a job on several that this one refuses its call, in the order of the calls."""
        if not compiled.traced.is_spread:
            return
        if self._signature.is_callback:
            Pending(self._name, lambda: refuse(error, compiled.traced.device), self._lost).wait()
        else:
            refuse(error, compiled.traced.device)

    def _run(self, compiled: CompiledJob, values: list[Any]) -> Any:
        flat = compiled.call(values)
        return convert_results(self._signature, pytree.tree_unflatten(flat, compiled.traced.output_spec))


def _body(fn: Callable[..., Any], signature: Signature, *flat: Any) -> Any:
    return fn(*signature.nest(flat))


def _check(signature: Signature, traced: TracedJob) -> None:
    check_returns(signature, traced.output_spec)
    if signature.is_callback and traced.changed_inputs:
        name = traced.inputs[traced.changed_inputs[0]].name
        raise ArgumentError(
            f'job "{traced.name}", parameter "{name}": the job changes it, and its result is a Callback: '
            f"the caller could not know when\n  change a copy: {name} = {name}.clone()"
        )


def _is_for_arrays(signature: Signature) -> bool:
    """Say whether only numpy arrays go in and come out, in whatever structure."""
    placeholders = pytree.tree_leaves([p for _, p in signature.parameters])
    return not _names_tensors(signature.returns) and all(p.kind != "Tensor" for p in placeholders)


def _names_tensors(annotation: Any) -> bool:
    return annotation is tp.Tensor or any(map(_names_tensors, get_args(annotation)))


def _takes_arrays_only(compiled: CompiledJob, signature: Signature) -> bool:
    """Say whether nothing but arrays goes in and out, and nothing else is to be done around a run."""
    bound = compiled.bound
    plain = (
        bound is not None
        and not compiled.traced.watches
        and not signature.is_callback
        and not compiled.traced.changed_inputs
        and compiled.traced.device.type == "cpu"
        and all(isinstance(p, tp.Placeholder) and p.kind == "Numpy" for _, p in signature.parameters)
    )
    spec = compiled.traced.output_spec
    if not plain or not (spec.is_leaf() or (spec.type is tuple and all(child.is_leaf() for child in spec.children()))):
        return False
    returns = [signature.returns] if spec.is_leaf() else list(getattr(signature.returns, "__args__", ()))
    return bool(returns) and all(kind in (tp.Numpy, Ellipsis) for kind in returns)
