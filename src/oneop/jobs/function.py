"""`@global_function`: jobs on numpy in and numpy out."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future as AsyncResult
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, get_args

from torch.utils import _pytree as pytree

from oneop import typing as tp
from oneop._runtime import core
from oneop.errors import ArgumentError
from oneop.jobs.annotations import Signature, bind_values, check_returns, convert_results, read_signature
from oneop.jobs.context import current_context
from oneop.jobs.function_config import FunctionConfig
from oneop.jobs.job import CompiledJob, compile_traced
from oneop.jobs.plan_view import PlanView
from oneop.jobs.profile import JobProfile, profile_job

if TYPE_CHECKING:
    from oneop._core import JobEntry
else:
    JobEntry = core().JobEntry


def global_function(
    type: str | FunctionConfig = "predict",
    function_config: FunctionConfig | None = None,
    *,
    backend: str | None = None,
) -> Callable[[Callable[..., Any]], Job]:
    """Make a job of a function whose parameters and result are annotated, see `oneop.typing`.

    A "predict" job computes; a "train" job also updates its variables and must call `minimize`. It is traced at its
    first call. `backend` is "planned" (our own), "inductor" (torch.compile of the traced graph) or "eager".
    """
    if isinstance(type, FunctionConfig):  # the older order of arguments
        function_config = type
        type = "predict"
    if type not in ("predict", "train"):
        raise ArgumentError(f'global_function: expected type "predict" or "train", found {type!r}')
    chosen = backend or (function_config or FunctionConfig()).backend
    scope = sys._getframe(1).f_locals  # for annotations that are strings
    return lambda fn: Job(fn, is_train=type == "train", backend=chosen, scope=scope)


class Job(JobEntry):
    """A function that is traced and planned once. Call it like the function.

    The base class takes a call on plain arrays and runs it in C++; what it does not take goes to `_call`.
    """

    def __init__(
        self, fn: Callable[..., Any], *, is_train: bool, backend: str, scope: Mapping[str, Any] | None = None
    ) -> None:
        """Read the annotations of the function. Raises `ArgumentError` if they are missing or wrong."""
        functools.update_wrapper(self, fn)
        self._name = fn.__name__
        self._fn = fn
        self._signature = read_signature(fn, self._name, scope)
        self._is_train = is_train
        self._backend = backend
        self._compiled: CompiledJob | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Return the name and kind of the job."""
        return f"<oneop {'train' if self._is_train else 'predict'} job {self._name}>"

    def plan(self) -> PlanView:
        """Return the plan, made now if the job has not run yet. Print it, or write it with `to_html`."""
        return self.compile().view_plan()

    def profile(self, count: int = 20) -> JobProfile:
        """Run the job `count` times on what its inputs hold, and return the time and bytes of each step.

        A train job changes its variables by that.
        """
        return profile_job(self.compile(), count)

    def compile(self) -> CompiledJob:
        """Trace and plan the job now instead of at its first call."""
        with self._lock:
            if self._compiled is None:
                if current_context() is not None:
                    raise ArgumentError(
                        f'job "{self._name}" is called inside another job\n  call the function itself there'
                    )
                compiled = compile_traced(
                    self._name,
                    self._body,
                    self._signature.input_specs(),
                    is_train=self._is_train,
                    backend=self._backend,
                    from_host=_is_for_arrays(self._signature),
                )
                check_returns(self._signature, compiled.traced.output_spec)
                self._compiled = compiled
                if _takes_arrays_only(compiled, self._signature):
                    _enter(self, compiled)
            return self._compiled

    def _body(self, *flat: Any) -> Any:
        return self._fn(*self._signature.nest(flat))

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        values = bind_values(self._signature, args, kwargs)
        compiled = self.compile()
        if self._signature.is_callback:
            return _Pending(_worker().submit(self._run, compiled, values))
        return self._run(compiled, values)

    def _run(self, compiled: CompiledJob, values: list[Any]) -> Any:
        with compiled.lock:
            flat = compiled.run(values)
            return convert_results(self._signature, pytree.tree_unflatten(flat, compiled.traced.output_spec))


class _Pending:
    """A run on its way: call it with a function that takes the result."""

    def __init__(self, result: AsyncResult[Any]) -> None:
        self._result = result

    def __call__(self, callback: Callable[[Any], object]) -> None:
        self._result.add_done_callback(lambda done: callback(done.result()))

    def wait(self) -> Any:
        """Return the result when it is there; raises what the job raised."""
        return self._result.result()


@functools.cache
def _worker() -> ThreadPoolExecutor:
    """Return the one thread on which asynchronous jobs run, in order."""
    return ThreadPoolExecutor(1, thread_name_prefix="oneop-job")


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
        and not compiled.needs_prologue
        and not compiled.has_watches
        and not signature.is_callback
        and not bound.changes_inputs
        and compiled.traced.device.type == "cpu"
        and all(isinstance(p, tp.Placeholder) and p.kind == "Numpy" for _, p in signature.parameters)
    )
    spec = compiled.traced.output_spec
    if not plain or not (spec.is_leaf() or (spec.type is tuple and all(child.is_leaf() for child in spec.children()))):
        return False
    returns = [signature.returns] if spec.is_leaf() else list(getattr(signature.returns, "__args__", ()))
    return bool(returns) and all(kind in (tp.Numpy, Ellipsis) for kind in returns)


def _enter(job: Job, compiled: CompiledJob) -> None:
    bound = compiled.bound
    assert bound is not None
    try:
        inputs, outputs = ([buffer.numpy().dtype for buffer in buffers] for buffers in (bound.inputs, bound.outputs))
    except TypeError:  # numpy has no such dtype
        return
    as_tuple = not compiled.traced.output_spec.is_leaf()
    core().enter_job(job, bound.program, bound.inputs, inputs, bound.outputs, outputs, as_tuple)
