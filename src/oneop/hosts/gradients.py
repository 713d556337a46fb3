"""Gradients as steps, replayed by a host on its own arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oneop.errors import GradientError
from oneop.hosts.engine import Spec, engine
from oneop.hosts.frameworks import Namespace, call

#: Runs an op of a library: name, tensors of each input, attributes, output counts.
RunOp = Callable[[str, list[list[Any]], bytes, Sequence[int]], Sequence[Any]]


@dataclass(frozen=True)
class Call:
    """A call of an op, without its data."""

    name: str
    inputs: tuple[tuple[Spec, ...], ...]  # tensors of each input
    attrs: bytes  # as the engine writes them
    output_counts: tuple[int, ...]

    def infer(self) -> list[Spec]:
        """Return what the call gives. Raises what the author's inference says."""
        specs: list[Spec] = engine().infer(self.name, self.inputs, self.attrs, self.output_counts)
        return specs

    @property
    def num_inputs(self) -> int:
        """Return the number of input tensors."""
        return sum(map(len, self.inputs))

    def nested(self, flat: Sequence[Any]) -> list[list[Any]]:
        """Return values, one for each input tensor, by input."""
        values = iter(flat)
        return [[next(values) for _ in tensors] for tensors in self.inputs]


@dataclass(frozen=True)
class Gradient:
    """The gradient of a call. Blobs are numbered as in oneop/abi.h."""

    what: str
    place: str
    num_blobs: int
    saved: tuple[int, ...]  # inputs and outputs that the steps read
    grad_of_input: tuple[int, ...]  # -1: it has none
    steps: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, called: Call, needs: Sequence[bool]) -> Gradient:
        """Ask the library for the gradient with respect to the inputs that need one."""
        plan: dict[str, Any] = engine().gradient(
            called.name, called.inputs, called.attrs, called.output_counts, [int(need) for need in needs]
        )
        return cls(
            what=plan["what"],
            place=plan["place"],
            num_blobs=plan["num_blobs"],
            saved=tuple(plan["saved"]),
            grad_of_input=tuple(plan["grad_of_input"]),
            steps=tuple(plan["steps"]),
        )

    def run(
        self, saved: dict[int, Any], num_before: int, grads: Sequence[Any], run_op: RunOp, space: Namespace
    ) -> list[Any]:
        """Run the steps; return a gradient or None for each input.

        `saved` holds blobs of inputs and outputs, `num_before` in all; `grads` are the gradients of the outputs.
        """
        blobs: dict[int, Any] = {**saved, **{num_before + i: grad for i, grad in enumerate(grads)}}
        for step in self.steps:
            if step["is_op"]:
                inputs = [[blobs[blob] for blob in numbers] for numbers in step["inputs"]]
                made = run_op(step["name"], inputs, step["attrs"], step["output_counts"])
            else:
                made = self._call(step, blobs, space)
            blobs.update({step["first_output"] + i: value for i, value in enumerate(made)})
        return [blobs[blob] if blob >= 0 else None for blob in self.grad_of_input]

    def _call(self, step: dict[str, Any], blobs: dict[int, Any], space: Namespace) -> Sequence[Any]:
        arguments: list[Any] = []
        for kind, value in step["arguments"]:
            if kind == "blob":
                arguments.append(blobs[value])
            elif kind == "blobs":
                arguments.append([blobs[blob] if blob >= 0 else None for blob in value])
            else:
                arguments.append(value)
        made = call(space, step["name"], arguments)
        if len(made) != step["num_outputs"]:
            raise GradientError(
                f'"{step["name"]}" returns {len(made)} tensors, expected {step["num_outputs"]}\n'
                f"  in {self.what} at {self.place}"
            )
        return made
