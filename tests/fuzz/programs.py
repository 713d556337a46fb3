"""Random programs: straight-line code of random ops and torch's, on tensors of one shape."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .definitions import FuzzOp, pool_ops, python_op

TORCH: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b * 0.5,
    "tanh": lambda a, b: torch.tanh(a),
    "strided": lambda a, b: (a * 1.25).transpose(-1, -2).contiguous().transpose(-1, -2),
    "columns": lambda a, b: a[..., :1] + b,
    "halves": lambda a, b: torch.cat([a[..., :1], b[..., 1:]], -1),
    "centred": lambda a, b: a - b.mean(-1, keepdim=True),
}


@dataclass(frozen=True)
class Step:
    """One line: an op with its arguments (a place, a list of places, or None), or one of torch's functions."""

    op: FuzzOp | None
    function: str
    arguments: tuple[Any, ...]
    changes_input: bool = False  # the changed argument is the input y itself, not a copy

    @property
    def values(self) -> int:
        """How many values the line makes."""
        return 1 if self.op is None else self.op.outputs + (self.op.arguments[0] == "changed")


@dataclass
class Program:
    """A function of (x, y, w). `use` is "call" for the ops themselves, "formula" for what they should compute."""

    seed: int
    steps: list[Step]
    results: list[int]
    ops: list[FuzzOp]
    use: str = "call"

    @property
    def features(self) -> frozenset[str]:
        used = {step.op.name: step.op.features for step in self.steps if step.op is not None}
        extra = {"changes an input"} if any(step.changes_input for step in self.steps) else set()
        if self._has_unused_draw():
            extra.add("unused draw")
        return frozenset().union(*used.values(), extra)

    def _has_unused_draw(self) -> bool:
        """Whether no result depends on some call of a random op: compilers leave out such calls, of torch's ops too."""
        ends = list(itertools.accumulate((step.values for step in self.steps), initial=3))
        needed = set(self.results)
        for step, first, end in reversed(list(zip(self.steps, ends, ends[1:], strict=False))):
            if needed.isdisjoint(range(first, end)):
                if step.op is not None and "random" in step.op.features:
                    return True
                continue
            if step.op is not None and {"random", "torch"} <= step.op.features and first not in needed:
                continue  # torch traces into the op: the noise alone does not depend on the arguments
            for place in step.arguments:
                needed.update(place if isinstance(place, tuple) else () if place is None else (place,))
        return False

    def __call__(self, x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = [x, y, x * w]
        for step in self.steps:
            if step.op is None:
                values.append(TORCH[step.function](*[values[place] for place in step.arguments]))
                continue
            given: list[Any] = [
                [values[one] for one in place] if isinstance(place, tuple) else None if place is None else values[place]
                for place in step.arguments
            ]
            if step.op.arguments[0] == "changed":
                given[0] = y if step.changes_input else given[0].detach().clone()
                values.append(given[0])
            found = getattr(step.op, self.use)(*given, **step.op.attrs)
            if isinstance(found, torch.Tensor):
                values.append(found)
            elif found is not None:
                values.extend(found)
        return tuple(values[place] for place in self.results)

    @functools.cached_property
    def has_gradients(self) -> bool:
        """False where torch itself refuses: the program changes in place what a gradient needs."""
        from .observe import observe

        try:
            for program in (self, self.with_formulas()):
                observe(program, inputs_of(self.seed), grads=True)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            return False
        return True

    def with_formulas(self) -> Program:
        return Program(self.seed, self.steps, self.results, self.ops, "formula")


def make_program(seed: int) -> Program:
    """Make the program of a seed, and define its ops."""
    chance = random.Random(seed)
    ops = [python_op(f"fz_{i}", chance) for i in range(chance.randint(1, 3))]
    ops += chance.sample(pool_ops(chance), 1)
    steps: list[Step] = []
    count = 3  # values so far
    for position in range(chance.randint(2, 6)):
        if chance.random() < 0.3 and position:
            function = chance.choice(sorted(TORCH))
            steps.append(Step(None, function, (chance.randrange(count), chance.randrange(count))))
            count += 1
            continue
        op = ops[position % len(ops)] if position < len(ops) else chance.choice(ops)
        arguments = tuple(_argument(chance, kind, count) for kind in op.arguments)
        changed = op.arguments[0] == "changed"
        changes_input = changed and chance.random() < 0.4
        steps.append(Step(op, "", arguments, changes_input))
        count += steps[-1].values
    # Values that steps made, not the inputs themselves; some stay unused.
    made = list(range(3, count)) or [2]
    results = sorted(chance.sample(made, min(len(made), chance.randint(1, 3))))
    return Program(seed, steps, results, ops)


def _argument(chance: random.Random, kind: str, count: int) -> Any:
    if kind == "optional" and chance.random() < 0.4:
        return None
    if kind == "list":
        return tuple(chance.randrange(count) for _ in range(chance.randint(1, 3)))
    return chance.randrange(count)


def inputs_of(seed: int, rows: int = 3, columns: int = 4, batch: Sequence[int] = ()) -> list[torch.Tensor]:
    """Return x, y and w."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch, rows, columns)
    return [
        torch.randn(shape, generator=generator),
        torch.randn(shape, generator=generator),
        torch.randn(columns, generator=generator),
    ]
