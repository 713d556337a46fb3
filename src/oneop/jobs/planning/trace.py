"""Tracing: from a job function to one graph of forward, backward and update.

One job is traced at a time, whatever mode the calling thread is in: a job does not depend on where it is called first.
What a trace makes (variables, optimizer state) is part of the session only when the whole trace has succeeded.

The function runs twice. A first run with fake tensors finds out which variables, placements and losses it has; then the
variables are made and the whole step is traced by torch's make_fx. What comes out is a flat list of torch ops on the
inputs, the variables and the state of the optimizer; nothing of Python is left in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch._dynamo.config  # the first fake tensor would import it: over a second, better spent here than in a trace
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
from torch.utils import _pytree as pytree

from oneop.errors import ArgumentError
from oneop.jobs.consistent import ConsistentView, view_of
from oneop.jobs.context import JobContext, Watch, tracing
from oneop.jobs.locks import torch_tracing_alone
from oneop.jobs.planning.captured import unchanged_captures
from oneop.jobs.planning.schema import changed_inputs, is_getitem, roots_of
from oneop.jobs.scope import Placement
from oneop.jobs.training.optimizer import Optimizer
from oneop.jobs.training.schedule import is_constant
from oneop.jobs.training.session import Draft, StepCount, Variable, VariableSpec
from oneop.runtime.core import core


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
    count: StepCount | None  # of a train job
    output_spec: pytree.TreeSpec
    gives_none: bool  # the function returns None
    num_outputs: int  # results first, then watched blobs
    watches: tuple[Watch, ...]
    device: torch.device
    is_spread: bool = False  # over several devices: the graph has collectives
    dynamic_ops: frozenset[str] = frozenset()  # ops of oneop that give sizes which depend on data

    @cached_property
    def changes(self) -> tuple[tuple[torch.fx.Node, tuple[int, ...]], ...]:
        """The calls that change inputs or held tensors, in order, with the numbers of those placeholders."""
        roots = roots_of(self.graph.graph)
        places = {node: i for i, node in enumerate(n for n in self.graph.graph.nodes if n.op == "placeholder")}
        writers = []
        for node in self.graph.graph.nodes:
            changed = {places[roots[argument]] for argument in changed_inputs(node) if roots[argument] in places}
            if changed:
                writers.append((node, tuple(sorted(changed))))
        return tuple(writers)

    @cached_property
    def changed_inputs(self) -> tuple[int, ...]:
        """The numbers of the inputs that a run changes."""
        numbers = {number for _, changed in self.changes for number in changed}
        return tuple(sorted(number for number in numbers if number < len(self.inputs)))

    @property
    def changes_held(self) -> bool:
        """Whether a run changes variables or optimizer state."""
        return any(number >= len(self.inputs) for _, changed in self.changes for number in changed)

    def held_changed_by(self, nodes: set[torch.fx.Node]) -> list[str]:
        """Return the names of what these calls change, such as "variable/w"."""
        numbers = {number - len(self.inputs) for node, changed in self.changes if node in nodes for number in changed}
        return [name for i, name in enumerate(self.held_names) if i in numbers]


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """What is to be traced: everything that stays the same when a job must be traced again."""

    name: str
    fn: Callable[..., Any]
    inputs: tuple[InputSpec, ...]
    is_train: bool
    owner: weakref.ref[Any]  # the job, to which a step count belongs
    device: torch.device | None = None
    placement: Placement | None = None  # of a job that enters none
    data_type: torch.dtype = torch.float32  # of variables that name none
    has_fused_updates: bool = True


def trace_job(request: TraceRequest, draft: Draft) -> TracedJob:
    """Return the graph of a job. Errors of the function pass through, with a note that names the job.

    It is on the device of the request, else where its first `scope.placement` says, else where its configuration says,
    else on the CPU. Variables that it makes are in the draft. The caller is tracing alone and in no mode, see `locks`.
    """
    name = request.name
    try:
        return _trace(request, draft)
    except (DynamicOutputShapeException, DataDependentOutputException) as error:
        raise ArgumentError(
            f'job "{name}": what {error.func} gives depends on the data, and a job is planned before there are any\n'
            "  compute it outside the job, or use an op of fixed shape such as torch.where"
        ) from error
    except Exception as error:
        if isinstance(error, NotImplementedError) and "torch._C.Generator" in str(error):  # torch 2.11 traces none
            raise cannot_hold(name, "Generator", "it") from error
        error.add_note(f'while tracing job "{name}"')
        raise


def cannot_hold(job: str, kind: str, users: str) -> ArgumentError:
    """Return the error for an object that is no tensor and given to ops."""
    return ArgumentError(
        f'job "{job}": a plan cannot hold the {kind} that {users} is given\n'
        "  random ops of a job draw from torch's default generator: torch.manual_seed"
    )


def _trace(request: TraceRequest, draft: Draft) -> TracedJob:
    name, fn, inputs, is_train = request.name, request.fn, request.inputs, request.is_train
    discovered = _discover(request)
    device = request.device or (discovered.devices[0] if discovered.devices else discovered.device)
    view = view_of(name, device.type, discovered.ranks)
    if view is not None and device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    variables = [draft.variable(spec, device) for spec in discovered.variables.values()]
    trained = {spec.name for spec in discovered.variables.values() if is_train and spec.trainable}
    optimizer = discovered.minimized[0] if discovered.minimized else None
    states = {v.name: _states_of(v, optimizer, draft) for v in variables if v.name in trained} if optimizer else {}
    count = None
    if optimizer is not None:
        names = tuple(sorted(trained))
        count = draft.count(name, names, request.owner, matters=not is_constant(optimizer.schedule))
    held, held_names = _flatten_held(variables, states)
    rate = torch.zeros((), dtype=torch.float32, device=device) if optimizer else None
    output: dict[str, Any] = {}

    def step(values: list[torch.Tensor], kept: list[torch.Tensor], rates: list[torch.Tensor]) -> list[torch.Tensor]:
        tensors = dict(zip(held_names, kept, strict=True))
        leaves: dict[str, torch.Tensor] = {}

        def make_variable(spec: VariableSpec, _: torch.device) -> torch.Tensor:
            leaf = tensors[f"variable/{spec.name}"].detach()
            leaf = leaf if view is None else view.spread_variable(leaf).detach()
            leaves[spec.name] = leaf.requires_grad_(spec.name in trained)
            return leaves[spec.name]

        context = JobContext(name, is_train, make_variable, request.data_type, device)
        with tracing(context), unchanged_captures():
            results = fn(*(values if view is None else map(view.spread_input, values)))
        flat, spec = pytree.tree_flatten(() if results is None else results)
        trained_leaves = {v.name: leaves[v.name] for v in variables if v.name in trained}
        flat = _own_results(name, flat, trained_leaves)
        grads_of_watched = _update(context, trained_leaves, tensors, rates, view, is_fused=request.has_fused_updates)
        watched = [grads_of_watched[id(w)] if w.is_grad else w.blob for w in context.watches]
        output.update(spec=spec, watches=tuple(context.watches), gives_none=results is None)
        return [(tensor if view is None else view.gather(tensor)).detach() for tensor in [*flat, *watched]]

    examples = [torch.empty(spec.shape, dtype=spec.dtype, device=device) for spec in inputs]
    with torch_tracing_alone():
        graph, dynamic_ops = _make_graph(name, step, examples, held, [rate] if rate is not None else [])
    return TracedJob(
        name=name,
        graph=graph,
        inputs=tuple(inputs),
        held=tuple(held),
        held_names=tuple(held_names),
        rate=rate,
        optimizer=optimizer,
        count=count,
        output_spec=output["spec"],
        gives_none=output["gives_none"],
        num_outputs=output["spec"].num_leaves,
        watches=output["watches"],
        device=device,
        is_spread=view is not None,
        dynamic_ops=dynamic_ops,
    )


def _check_dynamic(name: str, graph: torch.fx.GraphModule, ops: set[str]) -> None:
    """Refuse calls on values whose size depends on data: they were traced with the largest. Results may be such."""
    aten = torch.ops.aten
    queue = [node for node in graph.graph.nodes if getattr(node.target, "_opname", None) in ops]
    while queue:
        node = queue.pop()
        for user in node.users:
            if user.op == "output":
                continue
            if is_getitem(user) or user.target in (aten.detach.default, aten.alias.default):
                queue.append(user)
                continue
            raise ArgumentError(
                f'job "{name}": the size of what an op gives depends on data, and {user.target} uses it: {node.name}\n'
                "  return it from the job, and compute the rest outside"
            )


def _make_graph(
    name: str, step: Callable[..., Any], *examples: list[torch.Tensor]
) -> tuple[torch.fx.GraphModule, frozenset[str]]:
    """Return the graph, and the ops in it that give sizes which depend on data."""
    from torch.fx.experimental.proxy_tensor import make_fx

    with core().Bounds() as bounds:
        graph = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)
    _check_dynamic(name, graph, bounds.ops)
    return graph, frozenset(bounds.ops)


def _discover(request: TraceRequest) -> JobContext:
    """Run the function once with fake tensors, and return what it has.

    They are where the job is without a placement. If that fails, they are where its first placement says.
    """
    name, is_train = request.name, request.is_train
    usual = Placement(request.device) if request.device else request.placement or Placement(torch.device("cpu"))
    context = _context_on(request, usual.device)
    try:
        _run_fake(request, context, usual.device)
    except Exception:
        if request.device is not None or not context.devices or context.devices[0] == usual.device:
            raise
        device = context.devices[0]
        context = _context_on(request, device)
        _run_fake(request, context, device)
    if not context.devices:
        context.ranks = usual.ranks
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


def _context_on(request: TraceRequest, device: torch.device) -> JobContext:
    def make_variable(spec: VariableSpec, _: torch.device) -> torch.Tensor:
        trains = request.is_train and spec.trainable
        return torch.empty(spec.shape, dtype=spec.dtype, device=device, requires_grad=trains)

    return JobContext(request.name, request.is_train, make_variable, request.data_type, device)


def _run_fake(request: TraceRequest, context: JobContext, device: torch.device) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True), core().Bounds(), tracing(context), unchanged_captures():
        request.fn(*[torch.empty(spec.shape, dtype=spec.dtype, device=device) for spec in request.inputs])


def _states_of(variable: Variable, optimizer: Optimizer, draft: Draft) -> dict[str, torch.Tensor]:
    return {key: draft.state(variable, key, initial) for key, initial in optimizer.make_state(variable.value).items()}


def _flatten_held(
    variables: Sequence[Variable], states: dict[str, dict[str, torch.Tensor]]
) -> tuple[list[torch.Tensor], list[str]]:
    named = [(f"variable/{variable.name}", variable.value) for variable in variables]
    named += [(f"state/{name}/{key}", value) for name, state in states.items() for key, value in state.items()]
    return [value for _, value in named], [key for key, _ in named]


def _own_results(name: str, flat: Sequence[object], variables: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Return the results; a variable, or a part of it, as the job computed with it and not as the update leaves it."""
    results: list[torch.Tensor] = []
    for value in flat:
        if not isinstance(value, torch.Tensor):
            raise ArgumentError(f'job "{name}": it must return blobs (tensors), found {type(value).__name__}')
        storage = _storage(value)
        is_shared = any(storage == _storage(variable) for variable in variables.values())
        results.append(value.detach().clone() if is_shared else value)
    return results


def _storage(tensor: torch.Tensor) -> int:
    """Return which memory a tensor lies in; a DTensor has that of its part."""
    return int(getattr(tensor, "_local_tensor", tensor).untyped_storage()._cdata)


def _update(
    context: JobContext,
    leaves: dict[str, torch.Tensor],
    tensors: dict[str, torch.Tensor],
    rates: list[torch.Tensor],
    view: ConsistentView | None,
    *,
    is_fused: bool,
) -> dict[int, torch.Tensor]:
    """Add backward and update of the trained `leaves` to the trace; the gradients of watched blobs, by watch."""
    if context.minimized is None:
        return {}
    optimizer, loss = context.minimized
    watches = [watch for watch in context.watches if watch.is_grad]
    targets = [*leaves.values(), *(watch.blob for watch in watches)]
    if not loss.requires_grad:
        raise ArgumentError(
            f'job "{context.job}": the loss does not depend on any trainable variable\n'
            "  compute it from oneop.get_variable(name, shape), with trainable=True"
        )
    seed = torch.full_like(loss, optimizer.loss_scale)
    derivatives = torch.autograd.grad(loss, targets, seed, allow_unused=True)
    if view is not None:
        derivatives = tuple(grad if grad is None else view.gather(grad) for grad in derivatives)
    grads, watched = derivatives[: len(leaves)], derivatives[len(leaves) :]
    with torch.no_grad():
        factor = 1.0 / (optimizer.loss_scale * loss.numel())
        pairs = [
            (name, grad if factor == 1.0 else grad * factor)
            for name, grad in zip(leaves, grads, strict=True)
            if grad is not None
        ]
        if pairs:
            optimizer.update(
                [tensors[f"variable/{name}"] for name, _ in pairs],
                optimizer.clip([grad for _, grad in pairs]),
                [_state_in(tensors, name) for name, _ in pairs],
                rates[0],
                is_fused=is_fused,
            )
        return {
            id(watch): torch.zeros_like(watch.blob) if grad is None else grad / optimizer.loss_scale
            for watch, grad in zip(watches, watched, strict=True)
        }


def _state_in(tensors: dict[str, torch.Tensor], variable: str) -> dict[str, torch.Tensor]:
    """Return the optimizer's state of a variable by key; keys have no slash, names of variables may have."""
    parts = ((full.rpartition("/"), value) for full, value in tensors.items())
    return {key: value for (owner, _, key), value in parts if owner == f"state/{variable}"}
