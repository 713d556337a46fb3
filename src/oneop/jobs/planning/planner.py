"""Planning: which steps a graph becomes, which buffers they need, and where those are.

Every tensor of the graph is a view of a buffer. Inputs, outputs, variables and constants have buffers of their own; all
others share one arena. Views are worked out now, so they cost nothing when the job runs.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from oneop.errors import ArgumentError, KernelNotFoundError
from oneop.jobs.planning.memory import Lifetime, MemoryPlan, plan_memory
from oneop.jobs.planning.schema import (
    CONSTANT_MAKERS,
    changed_inputs,
    changed_results,
    changes_layout,
    full_arguments,
    is_getitem,
    is_op,
    is_ours,
    is_pointwise,
    is_view,
    out_variant,
    tensors_of,
)
from oneop.jobs.planning.trace import TracedJob, cannot_hold
from oneop.runtime.core import core
from oneop.runtime.dtype_numbers import dtypes_of

FOREVER = 1 << 60


@dataclass(eq=False)
class Buffer:
    """Memory for one or more tensors of the graph, one after the other."""

    kind: str  # "input", "held", "constant", "output", "arena"
    nbytes: int
    first: int
    last: int
    offset: int = -1  # in the arena
    shared_by: int = 1  # tensors that lie in it because a kernel works in place


@dataclass(eq=False, kw_only=True)
class Step:
    """One thing to do at run time.

    `kind` is "kernel", "torch", "python" (an op that allocates, its results are copied) or, in a job on a GPU, "cpu": a
    kernel for the CPU, with copies before and after.
    """

    kind: str
    node: Node
    name: str
    kernel: str = ""  # file:line
    outputs: list[tuple[Buffer, torch.Tensor]] = field(default_factory=list)  # with the fake tensor
    numbers: tuple[int, ...] = ()  # of the outputs among the results of the call: some may be changed arguments
    copies: dict[int, Buffer] = field(default_factory=dict)  # tensor inputs that must be contiguous and are not
    tmp: Buffer | None = None
    in_place: bool = False
    cpu_tmp_bytes: int = 0  # scratch of a kernel on the CPU
    cuda_graph: bool = False  # the kernel may be recorded in a CUDA graph


@dataclass(frozen=True, kw_only=True)
class JobPlan:
    """Steps and buffers, before there is any memory."""

    traced: TracedJob
    steps: tuple[Step, ...]
    buffer_of: dict[Node, Buffer]  # of the node, or of what it is a view of
    buffers: tuple[Buffer, ...]  # those in the arena
    constants: dict[Node, torch.Tensor]
    outputs: tuple[tuple[Node, Buffer | None], ...]  # a result, and the buffer it must be copied to, if any
    memory: MemoryPlan


def plan_job(traced: TracedJob) -> JobPlan:
    """Return the plan of a job. Raises `ArgumentError` for what a static plan cannot hold."""
    return _Planner(traced).plan()


class _Planner:
    def __init__(self, traced: TracedJob) -> None:
        self.traced = traced
        self.nodes = list(traced.graph.graph.nodes)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.steps: list[Step] = []
        self.buffer_of: dict[Node, Buffer] = {}
        self.results_of: dict[Node, dict[int, Buffer]] = {}  # of ops with several outputs
        self.arena: list[Buffer] = []
        self.constants: dict[Node, torch.Tensor] = {}
        self.last_use = self._find_last_uses()

    def plan(self) -> JobPlan:
        num_inputs = len(self.traced.inputs)
        placeholders = 0
        for i, node in enumerate(self.nodes):
            if node.op == "placeholder":
                kind = "input" if placeholders < num_inputs else "held"
                self.buffer_of[node] = Buffer(kind, _nbytes(node.meta["val"]), -1, FOREVER)
                placeholders += 1
            elif node.op == "get_attr":
                value = getattr(self.traced.graph, node.target)
                if not isinstance(value, torch.Tensor):
                    users = " and ".join(str(user.target) for user in node.users)
                    raise cannot_hold(self.traced.name, type(value).__name__, users)
                self.constants[node] = value
                self.buffer_of[node] = Buffer("constant", _nbytes(value), -1, FOREVER)
            elif node.op == "call_function":
                self._plan_call(i, node)
        outputs = self._plan_outputs()
        self._count_in_steps()
        lifetimes = [Lifetime(buffer.nbytes, buffer.first, buffer.last) for buffer in self.arena]
        memory = plan_memory(lifetimes)
        for buffer, offset in zip(self.arena, memory.offsets, strict=True):
            buffer.offset = offset
        return JobPlan(
            traced=self.traced,
            steps=tuple(self.steps),
            buffer_of=self.buffer_of,
            buffers=tuple(self.arena),
            constants=self.constants,
            outputs=outputs,
            memory=memory,
        )

    # --- lifetimes --------------------------------------------------------------------------------------------------

    def _find_last_uses(self) -> dict[Node, int]:
        """Return the last step at which each tensor, or a view of it, is used; results live forever."""
        last: dict[Node, int] = {}
        for i, node in reversed(list(enumerate(self.nodes))):
            end = FOREVER if node.op == "output" else max(i, last.get(node, i) if self._hands_on(node) else i)
            for argument in node.all_input_nodes:
                last[argument] = max(last.get(argument, -1), end)
        return last

    def _hands_on(self, node: Node) -> bool:
        """Tell whether a node's value lies in the buffer of its argument."""
        if is_getitem(node):
            return True
        return is_op(node) and (is_view(node.target) or bool(changed_inputs(node)))

    def _count_in_steps(self) -> None:
        """Let lifetimes count steps instead of nodes, of which many do nothing at run time."""
        places = [self.index[step.node] for step in self.steps]
        written = [buffer for step in self.steps for buffer, _ in step.outputs if buffer.kind == "output"]
        for buffer in dict.fromkeys([*self.arena, *written]):
            buffer.first = bisect.bisect_left(places, buffer.first)
            if buffer.last != FOREVER:
                buffer.last = bisect.bisect_right(places, buffer.last) - 1

    # --- calls ------------------------------------------------------------------------------------------------------

    def _plan_call(self, i: int, node: Node) -> None:
        if is_getitem(node):
            source, number = node.args
            results = self.results_of.get(source)  # type: ignore[arg-type]
            self.buffer_of[node] = self.buffer_of[source] if results is None else results[number]  # type: ignore[index]
            return
        if not is_op(node):
            raise ArgumentError(
                f'job "{self.traced.name}": {node.target} is not a torch op, a plan cannot hold it\n'
                "  use torch functions and ops on the blobs"
            )
        if is_view(node.target):
            self.buffer_of[node] = self.buffer_of[node.args[0]]  # type: ignore[index]
            return
        if changes_layout(node.target):
            raise ArgumentError(
                f'job "{self.traced.name}": {node.target} changes a shape in place, a plan cannot hold it\n'
                "  use the op that returns a view, such as t() for t_()"
            )
        if self._is_constant(node):
            self._fold(node)
            return
        values = _new_values(node, self.traced.name)
        if is_ours(node):
            self._plan_kernel(i, node, values)
        else:
            self._plan_torch(i, node, values)

    def _is_constant(self, node: Node) -> bool:
        """Tell whether a call gives the same each time and nobody writes to what it gives."""
        if node.target not in CONSTANT_MAKERS:
            return False
        queue = [node]
        while queue:
            for user in queue.pop().users:
                if user.op == "output":
                    return False  # results need buffers of their own
                if changed_inputs(user):
                    return False
                if self._hands_on(user):
                    queue.append(user)
        return True

    def _fold(self, node: Node) -> None:
        value = node.meta["val"]
        like = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
        args = [like if isinstance(argument, Node) else argument for argument in node.args]
        self.constants[node] = node.target(*args, **node.kwargs)  # type: ignore[operator]
        self.buffer_of[node] = Buffer("constant", _nbytes(value), -1, FOREVER)

    def _plan_kernel(self, i: int, node: Node, values: dict[int, torch.Tensor]) -> None:
        call, kind = _choose_place(node, self.traced.device)
        step = Step(
            kind=kind,
            node=node,
            name=node.target.name(),  # type: ignore[union-attr]
            kernel=call["kernel"],
            cuda_graph=call["cuda_graph"] or call["language"] == "triton",
        )
        if kind == "cpu":
            step.cpu_tmp_bytes = call["tmp_bytes"]
            self._add_outputs(i, node, values, step, {})
            self.steps.append(step)
            return
        inputs = tensor_inputs(node)
        for number, argument in enumerate(inputs):
            if not call["any_strides"] and not argument.meta["val"].is_contiguous():
                value = argument.meta["val"]
                step.copies[number] = Buffer("arena", value.numel() * value.dtype.itemsize, i, i)
                self.arena.append(step.copies[number])
        changed = changed_inputs(node)
        shared = {
            output: inputs[number]
            for output, number, is_mutable in call["inplace"]
            if is_mutable
            and number not in step.copies
            and inputs[number] not in changed
            and self._is_sole_reader(inputs[number], inputs)
        }
        self._add_outputs(i, node, values, step, shared)
        if call["tmp_bytes"]:
            step.tmp = Buffer("arena", call["tmp_bytes"], i, i)
            self.arena.append(step.tmp)
        self.steps.append(step)

    def _plan_torch(self, i: int, node: Node, values: dict[int, torch.Tensor]) -> None:
        if changed_inputs(node):
            # An op that writes into its arguments needs no more; what it makes besides is copied.
            step = Step(kind="python" if values else "torch", node=node, name=str(node.target))
            self._add_outputs(i, node, values, step, {})
            self.steps.append(step)
            return
        traced = node.meta.get("val")
        all_there = isinstance(traced, torch.Tensor) or (bool(values) and len(values) == len(traced or ()))
        has_out = all_there and out_variant(node.target) is not None
        step = Step(kind="torch" if has_out else "python", node=node, name=str(node.target))
        shared = {}
        if has_out and len(values) == 1 and is_pointwise(node.target):
            inputs = tensor_inputs(node)
            candidates = [
                argument
                for argument in inputs
                if _same_layout(argument.meta["val"], values[0])
                and all(_same_layout(other.meta["val"], values[0]) for other in self._readers_of(argument, inputs))
            ]
            if candidates:
                shared[0] = candidates[0]
        self._add_outputs(i, node, values, step, shared)
        self.steps.append(step)

    def _readers_of(self, argument: Node, inputs: list[Node]) -> list[Node]:
        """Return the inputs that lie in the buffer of one of them, that one too."""
        return [other for other in inputs if self.buffer_of[other] is self.buffer_of[argument]]

    def _is_sole_reader(self, argument: Node, inputs: list[Node]) -> bool:
        """Tell whether a kernel may write over an input: it may read its other inputs at any time."""
        return len(self._readers_of(argument, inputs)) == 1

    def _add_outputs(
        self, i: int, node: Node, values: dict[int, torch.Tensor], step: Step, shared: dict[int, Node]
    ) -> None:
        """Give each new result a buffer: that of a dying input if they may share it, else a new one.

        `values` has them by number, `shared` by their place among them. A result that is an argument the op has changed
        lies in that argument's buffer.
        """
        several = not isinstance(node.meta.get("val"), torch.Tensor)
        users = {user.args[1]: user for user in node.users if is_getitem(user)} if several else {0: node}
        results = {number: self.buffer_of[source] for number, source in changed_results(node).items()}
        for place, (number, value) in enumerate(values.items()):
            owner = users.get(number)
            end = i if owner is None else self.last_use.get(owner, i)
            buffer = self._share(i, shared.get(place), value, end)
            if buffer is None:
                buffer = Buffer("output" if end == FOREVER else "arena", _nbytes(value), i, end)
                if buffer.kind == "arena":
                    self.arena.append(buffer)
            else:
                step.in_place = True
            step.outputs.append((buffer, value))
            results[number] = buffer
        step.numbers = tuple(values)
        if several:
            self.results_of[node] = results
        else:
            self.buffer_of[node] = results[0]

    def _share(self, i: int, source: Node | None, value: torch.Tensor, end: int) -> Buffer | None:
        if source is None or end == FOREVER:
            return None
        buffer = self.buffer_of[source]
        fits = buffer.kind == "arena" and buffer.last == i and _same_layout(source.meta["val"], value)
        if not fits or buffer.nbytes != _nbytes(value):
            return None
        buffer.last = end
        buffer.shared_by += 1
        return buffer

    # --- results ----------------------------------------------------------------------------------------------------

    def _plan_outputs(self) -> tuple[tuple[Node, Buffer | None], ...]:
        planned = []
        taken: set[int] = set()
        for node in self.nodes[-1].args[0]:
            if not isinstance(node, Node):
                raise ArgumentError(f'job "{self.traced.name}": a result is {node!r}, not a blob')
            buffer = self.buffer_of[node]
            value = node.meta["val"]
            own = buffer.kind == "output" and id(buffer) not in taken and value.is_contiguous()
            own = own and buffer.nbytes == _nbytes(value)
            taken.add(id(buffer))
            size = value.numel() * value.dtype.itemsize
            planned.append((node, None if own else Buffer("output", size, -1, FOREVER)))
        return tuple(planned)


#: Languages of kernels that only a CPU can run.
_CPU_LANGUAGES = ("numpy", "numba", "python")


def _choose_place(node: Node, device: torch.device) -> tuple[dict[str, Any], str]:
    """Return the call and "kernel", or "cpu" for a Python kernel in a job on a GPU."""
    try:
        return describe_call(node, device.type), "kernel"
    except KernelNotFoundError:
        if device.type == "cpu":
            raise
        try:
            call = describe_call(node, "cpu")
        except KernelNotFoundError:
            call = {}
        if call.get("language") not in _CPU_LANGUAGES:
            raise
        return call, "cpu"


def describe_call(node: Node, device_type: str) -> dict[str, Any]:
    """Return what the core says about a call of an op of oneop: kernel, scratch, in-place proposals."""
    from oneop.registry import get_op

    op = get_op(node.target._opname)  # type: ignore[union-attr]
    arguments = full_arguments(node)
    inputs = []
    for value in arguments[: len(op.inputs)]:
        nodes = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        inputs.append([(tuple(n.meta["val"].shape), n.meta["val"].dtype) for n in nodes])
    attrs = dict(zip((attr.name for attr in op.attrs), arguments[len(op.inputs) :], strict=False))
    if any(arg.is_optional or arg.count_is_minimum for arg in op.outputs):
        counts = list(arguments[len(op.inputs) + len(op.attrs)])
    else:
        counts = [arg.count for arg in op.outputs]
    kinds = {attr.name: attr.type for attr in op.attrs}
    optional = {attr.name for attr in op.attrs if attr.is_optional}
    values = {
        name: dtypes_of(kinds[name], value)
        for name, value in attrs.items()
        if value is not None or name in optional  # otherwise it was not given
    }
    return core().describe_call(op.name, inputs, counts, values, 2 if device_type == "cuda" else 1)  # type: ignore[no-any-return]


def tensor_inputs(node: Node) -> list[Node]:
    """Return the tensors that a call is given, in the order of its arguments, each as often as it is given."""
    nodes: list[Node] = []
    for value in full_arguments(node):
        nodes += [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Node)]
    return nodes


def _new_values(node: Node, job: str) -> dict[int, torch.Tensor]:
    """Return the results that are no changed arguments, by number."""
    old = changed_results(node)
    values = {number: value for number, value in tensors_of(node).items() if number not in old}
    for value in values.values():
        if any(not isinstance(n, int) for n in value.shape):
            raise ArgumentError(
                f'job "{job}": what {node.target} gives depends on the data, and a job is planned before there are '
                "any\n"
                "  compute it outside the job, or use an op of fixed shape such as torch.where"
            )
    return values


def _same_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype and a.device == b.device


def _nbytes(value: torch.Tensor) -> int:
    """Return the bytes from the first to the last element, whatever the strides."""
    if value.numel() == 0:
        return 0
    last = sum((n - 1) * step for n, step in zip(value.shape, value.stride(), strict=True))
    return (int(last) + 1) * value.dtype.itemsize
