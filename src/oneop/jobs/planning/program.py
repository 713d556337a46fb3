"""From a plan to something that runs: memory is taken, views are worked out, steps are bound to addresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from oneop.jobs.planning.planner import Buffer, JobPlan, Step, tensor_inputs
from oneop.jobs.planning.schema import (
    aten,
    changed_inputs,
    changed_results,
    full_arguments,
    is_getitem,
    is_op,
    is_view,
    out_variant,
)
from oneop.runtime.core import core


@dataclass(frozen=True, kw_only=True)
class BoundJob:
    """A job with its memory. `inputs` are filled, `run` is called, `outputs` are read, all inside the job's gate."""

    plan: JobPlan
    program: Any  # _core.JobProgram
    inputs: tuple[torch.Tensor, ...]
    outputs: tuple[torch.Tensor, ...]
    arena: torch.Tensor
    ends: tuple[int, ...]  # for each planned step, the number of bound steps when it is done: it may be several

    def run(self) -> None:
        """Run all steps."""
        self.program.run()


def bind_job(plan: JobPlan, gate: Any) -> BoundJob:
    """Return the job, ready to run by whoever is in its gate."""
    with torch.no_grad():
        return _Binder(plan, gate).bind()


class _Binder:
    def __init__(self, plan: JobPlan, gate: Any) -> None:
        self.plan = plan
        self.traced = plan.traced
        self.device = plan.traced.device
        self.program = core().JobProgram(gate)
        self.arena = torch.empty(max(plan.memory.size, 1), dtype=torch.uint8, device=self.device)
        self.memory: dict[int, torch.Tensor] = {}  # of buffers outside the arena
        self.env: dict[Node, Any] = {}
        self.step_of = {step.node: step for step in plan.steps}

    def bind(self) -> BoundJob:
        nodes = list(self.traced.graph.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        count = len(self.traced.inputs)
        for node in placeholders[:count]:
            self.env[node] = self._tensor(self.plan.buffer_of[node], node.meta["val"])
        held = [*self.traced.held, *([self.traced.rate] if self.traced.rate is not None else [])]
        for node, value in zip(placeholders[count:], held, strict=True):
            self.env[node] = value
        ends = []
        for node in nodes:
            if node in self.plan.constants:
                self.env[node] = self.plan.constants[node]
            elif is_getitem(node):
                self.env[node] = self.env[node.args[0]][node.args[1]]
            elif node in self.step_of:
                self._bind_step(self.step_of[node])
                ends.append(len(self.program))
            elif is_op(node) and is_view(node.target):
                self.env[node] = node.target(*self._values(node.args), **self._values(node.kwargs))
        return BoundJob(
            plan=self.plan,
            program=self.program,
            inputs=tuple(self.env[node] for node in placeholders[:count]),
            outputs=tuple(self._bind_outputs()),
            arena=self.arena,
            ends=tuple(ends),
        )

    def _tensor(self, buffer: Buffer, like: torch.Tensor) -> torch.Tensor:
        """Return a tensor laid out as `like` in the memory of a buffer."""
        size = max(buffer.nbytes, like.dtype.itemsize)
        if buffer.kind == "arena":
            raw = self.arena[buffer.offset : buffer.offset + size]
        else:
            raw = self.memory.get(id(buffer))  # type: ignore[assignment]
            if raw is None:
                # Zeros, so that a job can be profiled before it has been given anything.
                raw = self.memory[id(buffer)] = torch.zeros(size, dtype=torch.uint8, device=self.device)
        return raw.view(like.dtype).as_strided(like.shape, like.stride())

    def _values(self, value: Any) -> Any:
        return torch.fx.node.map_arg(value, lambda node: self.env[node])

    def _bind_step(self, step: Step) -> None:
        node = step.node
        tensors = [self._tensor(buffer, like) for buffer, like in step.outputs]
        results: dict[int, torch.Tensor] = {n: self.env[source] for n, source in changed_results(node).items()}
        results |= dict(zip(step.numbers, tensors, strict=True))
        if isinstance(node.meta.get("val"), torch.Tensor):
            self.env[node] = results[0]
        else:
            self.env[node] = tuple(results.get(number) for number in range(len(node.meta.get("val") or ())))
        if step.kind == "kernel":
            self._bind_kernel(step, tensors)
        elif step.kind == "cpu":
            self._bind_cpu_kernel(step, tensors)
        elif step.kind == "python":
            self.program.add_function(self._function_of(step, tensors))
        elif changed_inputs(node):
            self._add_torch(node.target, self._values(full_arguments(node)))
        else:
            variant = out_variant(node.target)
            assert variant is not None
            overload, names = variant
            rest = iter(tensors)
            values = dict(zip((a.name for a in node.target._schema.arguments), full_arguments(node), strict=True))  # type: ignore[union-attr]
            arguments = [
                next(rest) if argument.name in names else self._values(values[argument.name])
                for argument in overload._schema.arguments
            ]
            self._add_torch(overload, arguments)

    def _bind_kernel(self, step: Step, tensors: list[torch.Tensor]) -> None:
        inputs = [self.env[argument] for argument in tensor_inputs(step.node)]
        for number, buffer in step.copies.items():
            like = torch.empty(inputs[number].shape, dtype=inputs[number].dtype, device="meta")
            copy = self._tensor(buffer, like)
            self._add_torch(aten.copy_.default, [copy, inputs[number], False])
            inputs[number] = copy
        tmp = None
        if step.tmp is not None:
            tmp = self.arena[step.tmp.offset : step.tmp.offset + step.tmp.nbytes]
        self.program.add_op(step.node.target._opname, self._arguments(step, inputs), tensors, tmp)  # type: ignore[union-attr]
        self._write_back(step, {number: inputs[number] for number in step.copies})

    def _arguments(self, step: Step, inputs: list[torch.Tensor]) -> tuple[Any, ...]:
        """Return the arguments of a call with these tensors in place of its tensor inputs."""
        rest = iter(inputs)
        return tuple(torch.fx.node.map_arg(full_arguments(step.node), lambda _: next(rest)))

    def _write_back(self, step: Step, copies: dict[int, torch.Tensor]) -> None:
        """Copy what an op changed in copies of its inputs to where they came from."""
        changed = changed_inputs(step.node)
        for number, argument in enumerate(tensor_inputs(step.node)):
            if number in copies and argument in changed:
                self._add_torch(aten.copy_.default, [self.env[argument], copies[number], False])

    def _bind_cpu_kernel(self, step: Step, tensors: list[torch.Tensor]) -> None:
        """Copy the inputs to the CPU, run the kernel there, copy the results back."""
        inputs = []
        for argument in tensor_inputs(step.node):
            value = argument.meta["val"]
            inputs.append(torch.empty(value.shape, dtype=value.dtype))
            self._add_torch(aten.copy_.default, [inputs[-1], self.env[argument], False])
        results = [torch.empty(tensor.shape, dtype=tensor.dtype) for tensor in tensors]
        tmp_bytes = step.cpu_tmp_bytes
        tmp = torch.empty(tmp_bytes, dtype=torch.uint8) if tmp_bytes else None
        self.program.add_op(step.node.target._opname, self._arguments(step, inputs), results, tmp)  # type: ignore[union-attr]
        self._write_back(step, dict(enumerate(inputs)))
        for tensor, result in zip(tensors, results, strict=True):
            self._add_torch(aten.copy_.default, [tensor, result, False])

    def _add_torch(self, op: Any, arguments: list[Any]) -> None:
        name, _, overload = op.name().partition(".")
        self.program.add_torch(name, overload, tuple(arguments))

    def _function_of(self, step: Step, tensors: list[torch.Tensor]) -> Callable[[], None]:
        """Return a step for an op without an out-variant: it allocates, and its results are copied."""
        target: Any = step.node.target
        args, kwargs = self._values(step.node.args), self._values(step.node.kwargs)
        is_single = isinstance(step.node.meta.get("val"), torch.Tensor)

        def run() -> None:
            results = target(*args, **kwargs)
            for number, tensor in zip(step.numbers, tensors, strict=True):
                tensor.copy_(results if is_single else results[number])

        return run

    def _bind_outputs(self) -> list[torch.Tensor]:
        outputs = []
        for node, buffer in self.plan.outputs:
            if buffer is None:
                outputs.append(self.env[node])
                continue
            value = node.meta["val"]
            result = self._tensor(buffer, torch.empty(value.shape, dtype=value.dtype, device="meta"))
            self._add_torch(aten.copy_.default, [result, self.env[node], False])
            outputs.append(result)
        return outputs
