"""Tracing: from a job function to one graph of forward, backward and update.

The function runs twice. A first run with fake tensors finds out which variables, placements and losses it has; then the
variables are made and the whole step is traced by torch's make_fx. What comes out is a flat list of torch ops on the
inputs, the variables and the state of the optimizer; nothing of Python is left in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo.config  # the first fake tensor would import it: over a second, better spent here than in a trace
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils import _pytree as pytree

from oneop.errors import ArgumentError
from oneop.jobs.consistent import ConsistentView, view_of
from oneop.jobs.context import JobContext, Watch, tracing
from oneop.jobs.optimizer import Optimizer
from oneop.jobs.session import Session, Variable, VariableSpec


@dataclass(frozen=True, kw_only=True)
class InputSpec:
    """An input of a job."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True, kw_only=True)
class TracedJob:
    """A job as a graph. Its placeholders are the inputs, then `held`, then the learning rate if there is one."""

    name: str
    graph: torch.fx.GraphModule
    inputs: tuple[InputSpec, ...]
    held: tuple[torch.Tensor, ...]  # variables and optimizer state; the graph changes some of them
    held_names: tuple[str, ...]
    rate: torch.Tensor | None
    optimizer: Optimizer | None
    output_spec: pytree.TreeSpec
    num_outputs: int  # results first, then watched blobs
    watches: tuple[Watch, ...]
    device: torch.device
    is_spread: bool = False  # over several devices: the graph has collectives


def trace_job(
    name: str,
    fn: Callable[..., Any],
    inputs: Sequence[InputSpec],
    is_train: bool,
    session: Session,
    device: torch.device | None = None,
) -> TracedJob:
    """Return the graph of a job. Errors of the function pass through, with a note that names the job.

    It is on `device`, else where its first `scope.placement` says, else on the CPU.
    """
    try:
        return _trace(name, fn, inputs, is_train, session, device)
    except (DynamicOutputShapeException, DataDependentOutputException) as error:
        raise ArgumentError(
            f'job "{name}": what {error.func} gives depends on the data, and a job is planned before there are any\n'
            "  compute it outside the job, or use an op of fixed shape such as torch.where"
        ) from error
    except Exception as error:
        error.add_note(f'while tracing job "{name}"')
        raise


def _trace(
    name: str,
    fn: Callable[..., Any],
    inputs: Sequence[InputSpec],
    is_train: bool,
    session: Session,
    device: torch.device | None,
) -> TracedJob:
    found = _discover(name, fn, inputs, is_train, device or torch.device("cpu"))
    device = device or (found.devices[0] if found.devices else torch.device("cpu"))
    view = view_of(name, device.type, found.ranks)
    if view is not None and device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    variables = [session.variable(spec, device) for spec in found.variables.values()]
    optimizer = found.minimized[0] if found.minimized else None
    shared = _prepare_state(name, optimizer, variables, session, device)

    held, held_names = _flatten_held(name, variables, shared)
    rate = torch.zeros((), dtype=torch.float32, device=device) if optimizer else None
    output: dict[str, Any] = {}

    def step(values: list[torch.Tensor], kept: list[torch.Tensor], rates: list[torch.Tensor]) -> list[torch.Tensor]:
        tensors = dict(zip(held_names, kept, strict=True))
        leaves: dict[str, torch.Tensor] = {}

        def make_variable(spec: VariableSpec, _: torch.device) -> torch.Tensor:
            leaf = tensors[f"variable/{spec.name}"].detach()
            leaf = leaf if view is None else view.spread_variable(leaf).detach()
            leaves[spec.name] = leaf.requires_grad_(is_train and spec.trainable)
            return leaves[spec.name]

        context = JobContext(name, is_train, make_variable)
        with tracing(context):
            results = fn(*(values if view is None else map(view.spread_input, values)))
        flat, spec = pytree.tree_flatten(() if results is None else results)
        _check_results(name, flat)
        grads_of_watched = _update(context, variables, leaves, tensors, rates, view)
        watched = [grads_of_watched[id(w)] if w.is_grad else w.blob for w in context.watches]
        output.update(spec=spec, watches=tuple(context.watches))
        return [(tensor if view is None else view.gather(tensor)).detach() for tensor in [*flat, *watched]]

    examples = [torch.empty(spec.shape, dtype=spec.dtype, device=device) for spec in inputs]
    graph = _make_graph(step, examples, held, [rate] if rate is not None else [])
    return TracedJob(
        name=name,
        graph=graph,
        inputs=tuple(inputs),
        held=tuple(held),
        held_names=tuple(held_names),
        rate=rate,
        optimizer=optimizer,
        output_spec=output["spec"],
        num_outputs=output["spec"].num_leaves,
        watches=output["watches"],
        device=device,
        is_spread=view is not None,
    )


def _make_graph(step: Callable[..., Any], *examples: list[torch.Tensor]) -> torch.fx.GraphModule:
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)


def _discover(
    name: str, fn: Callable[..., Any], inputs: Sequence[InputSpec], is_train: bool, device: torch.device
) -> JobContext:
    with FakeTensorMode(allow_non_fake_inputs=True):

        def make_variable(spec: VariableSpec, _: torch.device) -> torch.Tensor:
            trains = is_train and spec.trainable
            return torch.empty(spec.shape, dtype=spec.dtype, device=device, requires_grad=trains)

        context = JobContext(name, is_train, make_variable)
        with tracing(context):
            fn(*[torch.empty(spec.shape, dtype=spec.dtype, device=device) for spec in inputs])
    if is_train and context.minimized is None:
        raise ArgumentError(
            f'job "{name}" is a train job without an optimizer\n'
            "  call oneop.optimizer.SGD(schedule).minimize(loss) in it, or make it a predict job"
        )
    if is_train and not any(spec.trainable for spec in context.variables.values()):
        raise ArgumentError(
            f'job "{name}" is a train job without a trainable variable\n  make one with oneop.get_variable'
        )
    return context


def _prepare_state(
    name: str, optimizer: Optimizer | None, variables: Sequence[Variable], session: Session, device: torch.device
) -> dict[str, torch.Tensor]:
    if optimizer is None:
        return {}
    for variable in variables:
        if variable.trainable:
            for key, value in optimizer.make_state(variable.value).items():
                variable.state.setdefault(key, value)
    shared = {}
    for key, value in optimizer.make_shared_state(device).items():
        shared[key] = session.counters.setdefault(f"{name}/{key}", value)
    session.counters.setdefault(f"{name}/steps", torch.zeros((), dtype=torch.int64))
    return shared


def _flatten_held(
    name: str, variables: Sequence[Variable], shared: dict[str, torch.Tensor]
) -> tuple[list[torch.Tensor], list[str]]:
    named = [(f"variable/{variable.name}", variable.value) for variable in variables]
    named += [(f"state/{v.name}/{key}", value) for v in variables for key, value in v.state.items()]
    named += [(f"counter/{name}/{key}", value) for key, value in shared.items()]
    return [value for _, value in named], [key for key, _ in named]


def _check_results(name: str, flat: Sequence[object]) -> None:
    for value in flat:
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(f'job "{name}": it must return blobs (tensors), found {type(value).__name__}')


def _update(
    context: JobContext,
    variables: Sequence[Variable],
    leaves: dict[str, torch.Tensor],
    tensors: dict[str, torch.Tensor],
    rates: list[torch.Tensor],
    view: ConsistentView | None,
) -> dict[int, torch.Tensor]:
    """Add backward and update to the trace; the gradients of watched blobs, by watch."""
    if context.minimized is None:
        return {}
    optimizer, loss = context.minimized
    trained = [v for v in variables if v.trainable]
    watches = [watch for watch in context.watches if watch.is_grad]
    targets = [leaves[v.name] for v in trained] + [watch.blob for watch in watches]
    if not loss.requires_grad:
        raise ArgumentError(f'job "{context.job}": the loss does not depend on any trainable variable')
    seed = torch.full_like(loss, optimizer.loss_scale)
    found = torch.autograd.grad(loss, targets, seed, allow_unused=True)
    if view is not None:
        found = tuple(grad if grad is None else view.gather(grad) for grad in found)
    grads, watched = found[: len(trained)], found[len(trained) :]
    with torch.no_grad():
        factor = 1.0 / (optimizer.loss_scale * loss.numel())
        pairs = [
            (v, grad if factor == 1.0 else grad * factor)
            for v, grad in zip(trained, grads, strict=True)
            if grad is not None
        ]
        if pairs:
            optimizer.update(
                [tensors[f"variable/{v.name}"] for v, _ in pairs],
                optimizer.clip([grad for _, grad in pairs]),
                [{key: tensors[f"state/{v.name}/{key}"] for key in v.state} for v, _ in pairs],
                {key.rpartition("/")[2]: value for key, value in tensors.items() if key.startswith("counter/")},
                rates[0],
            )
        return {
            id(watch): torch.zeros_like(watch.blob) if grad is None else grad / optimizer.loss_scale
            for watch, grad in zip(watches, watched, strict=True)
        }
