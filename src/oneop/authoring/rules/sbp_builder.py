"""The context in which an author's function says how an op can be split, and the builder of one signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import oneop.sbp as words
from oneop.authoring.schema import Schema
from oneop.authoring.spec import TensorSpec
from oneop.errors import OpIndexError

#: Set by whoever asks for signatures.
asked_parallel_num: ContextVar[int] = ContextVar("asked_parallel_num", default=1)
#: A tensor of an argument, or all of them by the argument's name; or a list of those.
Which = str | tuple[str, int] | Sequence[str | tuple[str, int]]


class SbpContext:
    """What an SBP function sees: names, shapes and attributes of a call."""

    def __init__(
        self,
        schema: Schema,
        inputs: Sequence[Sequence[TensorSpec]],
        outputs: Sequence[Sequence[TensorSpec]],
        attrs: Mapping[str, Any],
    ) -> None:
        """Prepare for one call."""
        self._schema = schema
        self._specs = dict(zip((a.name for a in [*schema.inputs, *schema.outputs]), [*inputs, *outputs], strict=True))
        self.attrs = attrs
        #: On how many devices the tensors are split: those of one dimension of the mesh. The shapes are those of the
        #: tensors that this dimension splits, which for a later dimension are parts already.
        self.parallel_num = asked_parallel_num.get()
        self.signatures: list[list[tuple[int, int]]] = []

    @property
    def inputs(self) -> list[tuple[str, int]]:
        """The input tensors, as (argument, index)."""
        return [(arg.name, i) for arg in self._schema.inputs for i in range(len(self._specs[arg.name]))]

    @property
    def outputs(self) -> list[tuple[str, int]]:
        """The output tensors, as (argument, index)."""
        return [(arg.name, i) for arg in self._schema.outputs for i in range(len(self._specs[arg.name]))]

    def has(self, name: str) -> bool:
        """Tell whether an optional argument is there."""
        return bool(self._specs.get(name))

    def spec(self, name: str, index: int = 0) -> TensorSpec:
        """Return shape and dtype of a tensor, as all devices together have it. Raises `OpIndexError`."""
        tensors = self._specs.get(name)
        if tensors is None or not 0 <= index < len(tensors):
            raise OpIndexError(f'op "{self._schema.name}" has no tensor {name}[{index}] in this call')
        return tensors[index]

    def shape(self, name: str, index: int = 0) -> tuple[Any, ...]:
        """Return the shape of a tensor."""
        return self.spec(name, index).shape

    def new_builder(self) -> SignatureBuilder:
        """Start a signature."""
        return SignatureBuilder(self)

    def tensors(self, which: Which) -> list[tuple[str, int]]:
        """Return the tensors that are meant; those of an absent optional argument are none."""
        if isinstance(which, str):
            if which not in self._specs:
                raise OpIndexError(
                    f'op "{self._schema.name}" has no argument "{which}"; it has {", ".join(self._specs)}'
                )
            return [(which, i) for i in range(len(self._specs[which]))]
        if isinstance(which, tuple) and len(which) == 2 and isinstance(which[1], int):
            name, index = which
            self.spec(str(name), index)
            return [(str(name), index)]
        return [tensor for selector in which for tensor in self.tensors(selector)]


class SignatureBuilder:
    """One signature: `ctx.new_builder().split("x", 0).broadcast("w").split("y", 0).build()`."""

    def __init__(self, context: SbpContext) -> None:
        """Start with nothing said about any tensor."""
        self._context = context
        self._entries: dict[tuple[str, int], tuple[int, int]] = {}

    def split(self, which: Which, axis: int) -> SignatureBuilder:
        """Split tensors along an axis; a negative one counts from the end."""
        for tensor in self._context.tensors(which):
            ndim = self._context.spec(*tensor).ndim
            self._entries[tensor] = (words.SPLIT, axis + ndim if axis < 0 else axis)
        return self

    def broadcast(self, which: Which) -> SignatureBuilder:
        """Give every device all of these tensors."""
        return self._set(which, words.BROADCAST)

    def partial_sum(self, which: Which) -> SignatureBuilder:
        """Have these tensors as parts that sum up."""
        return self._set(which, words.PARTIAL_SUM)

    def partial(self, which: Which, reduction: str) -> SignatureBuilder:
        """Have these tensors as parts that are reduced: "sum", "max", "min" or "avg"."""
        return self._set(which, words.parse(f"P({reduction})").kind)

    def build(self) -> None:
        """Add the signature. What it says nothing about is refused by the core, with the argument's name."""
        tensors = [*self._context.inputs, *self._context.outputs]
        self._context.signatures.append([self._entries.get(tensor, (0, 0)) for tensor in tensors])

    def _set(self, which: Which, kind: int) -> SignatureBuilder:
        for tensor in self._context.tensors(which):
            self._entries[tensor] = (kind, 0)
        return self
