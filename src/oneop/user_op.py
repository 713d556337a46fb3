"""OneFlow's way to call an op from Python: `user_op_builder(name).Op(...).Input(...).Output(...).Build()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from oneop.errors import ArgumentError, did_you_mean
from oneop.jobs.context import current_context
from oneop.registry import ArgDef, OpDef, get_op
from oneop.runtime.core import core, find_op


def user_op_builder(op_name: str) -> UserOpBuilder:
    """Start to build a call of an op. `op_name` names this call, not the op: that is what `.Op()` is for."""
    return UserOpBuilder(op_name)


class UserOpBuilder:
    """Collects the inputs, outputs and attributes of one call."""

    def __init__(self, op_name: str) -> None:
        """Start a call with this name."""
        if not isinstance(op_name, str) or not op_name:
            raise ArgumentError(f"user_op_builder: expected a name, found {op_name!r}")
        self._name = op_name
        self._op: OpDef | None = None
        self._inputs: dict[str, Sequence[torch.Tensor]] = {}
        self._outputs: dict[str, int] = {}
        self._attrs: dict[str, object] = {}

    def Op(self, op_type_name: str) -> UserOpBuilder:
        """Choose the op. Raises `OpNotFoundError` if it is not registered."""
        self._op = get_op(op_type_name)
        return self

    def Input(self, input_name: str, input_blob_list: Sequence[torch.Tensor]) -> UserOpBuilder:
        """Give the tensors of one input, in a list."""
        if not isinstance(input_blob_list, (list, tuple)):
            raise ArgumentError(
                f'{self._where()}, input "{input_name}": expected a list of tensors, '
                f'found {type(input_blob_list).__name__}\n  write .Input("{input_name}", [x])'
            )
        self._inputs[input_name] = input_blob_list
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpBuilder:
        """Ask for an output, or for `num` tensors of it."""
        if not isinstance(num, int) or isinstance(num, bool) or num < 1:
            raise ArgumentError(
                f'{self._where()}, output "{output_name}": expected a count of at least 1, found {num!r}'
            )
        self._outputs[output_name] = num
        return self

    def Attr(self, attr_name: str, attr_value: object, attr_type_name: str | None = None) -> UserOpBuilder:
        """Set an attribute. The type name of older programs is accepted and not needed."""
        self._attrs[attr_name] = attr_value
        return self

    def Build(self) -> UserOp:
        """Check inputs, outputs and attributes against the definition. Raises `ArgumentError`."""
        if self._op is None:
            raise ArgumentError(f'{self._where()}: no op was chosen\n  call .Op("op_type_name") before .Build()')
        op = self._op
        self._check_names("input", self._inputs, op.inputs)
        self._check_names("output", self._outputs, op.outputs)
        for arg in op.inputs:
            _check_count(op, "input", arg, len(self._inputs.get(arg.name, ())))
        for arg in op.outputs:
            if arg.name in self._outputs:
                _check_count(op, "output", arg, self._outputs[arg.name])
        return UserOp(self._name, op, dict(self._inputs), dict(self._outputs), dict(self._attrs))

    def _check_names(self, side: str, named: Mapping[str, object], args: Sequence[ArgDef]) -> None:
        names = [arg.name for arg in args]
        for name in named:
            if name not in names:
                hint = did_you_mean(name, names)
                raise ArgumentError(f'{self._where()} has no {side} "{name}"{hint}\n  it has: {", ".join(names)}')

    def _where(self) -> str:
        return f'op "{self._op.name}"' if self._op else f'user_op_builder("{self._name}")'


def _check_count(op: OpDef, side: str, arg: ArgDef, count: int) -> None:
    if not arg.takes(count):
        wanted = f"{'none or ' if arg.is_optional else ''}{'at least' if arg.count_is_minimum else 'exactly'}"
        noun = "tensor" if arg.count == 1 else "tensors"
        raise ArgumentError(
            f'op "{op.name}", {side} "{arg.name}": expected {wanted} {arg.count} {noun}, found {count}\n'
            f"  defined at {op.source}"
        )


class UserOp:
    """A call that is ready to run."""

    def __init__(
        self,
        name: str,
        op: OpDef,
        inputs: dict[str, Sequence[torch.Tensor]],
        outputs: dict[str, int],
        attrs: dict[str, object],
    ) -> None:
        """Keep the parts of the call; `UserOpBuilder.Build` has checked them."""
        self._name = name
        self._op = op
        self._inputs = inputs
        self._outputs = outputs
        self._attrs = attrs
        self._results: dict[str, list[torch.Tensor]] | None = None
        self._counts: list[int] = []

    @property
    def op_name(self) -> str:
        """The name of this call."""
        return self._name

    def InferAndTryRun(self) -> UserOp:
        """Run the op; the results are in `SoleOutputBlob`, `RemoteBlobList` and `RemoteBlobDict`."""
        context = current_context()
        if context is not None:
            self._name = context.name_op(self._name, self._op.name)
        arguments: dict[str, Any] = {**self._inputs, **self._attrs}
        if context is not None and not any(self._inputs.values()) and context.device.type != "cpu":
            arguments["device"] = context.device  # there is no tensor that would say it
        counts = [self._outputs.get(arg.name, 0 if arg.is_optional else arg.count) for arg in self._op.outputs]
        if any(arg.is_optional or arg.count_is_minimum for arg in self._op.outputs):
            arguments["output_counts"] = counts
        self._counts = counts
        results = find_op(self._op.name)(**arguments)
        rest = iter([results] if isinstance(results, torch.Tensor) else results)
        self._results = {
            arg.name: [next(rest) for _ in range(count)] for arg, count in zip(self._op.outputs, counts, strict=True)
        }
        return self

    def infer_batch_axes(self, of_inputs: Sequence[int | None]) -> list[int | None]:
        """Return the axis along which a batch lies in each output, as the op says, from those of the inputs."""
        tensors = [[(tuple(x.shape), x.dtype) for x in self._inputs.get(arg.name, ())] for arg in self._op.inputs]
        axes = [-1 if axis is None else axis for axis in of_inputs]
        return [
            None if axis < 0 else axis
            for axis in core().infer_batch_axes(self._op.name, tensors, self._counts, self._attrs, axes)
        ]

    def RemoteBlobDict(self) -> dict[str, list[torch.Tensor]]:
        """Return the tensors of each output that was asked for."""
        if self._results is None:
            raise RuntimeError(f'op "{self._op.name}" has not run: call .InferAndTryRun() first')
        return {name: self._results[name] for name in self._outputs}

    def RemoteBlobList(self) -> tuple[torch.Tensor, ...]:
        """Return all tensors that were asked for, in the order of the `.Output()` calls."""
        return tuple(blob for blobs in self.RemoteBlobDict().values() for blob in blobs)

    def SoleOutputBlob(self) -> torch.Tensor:
        """Return the only output. Raises `ArgumentError` if there are several."""
        blobs = self.RemoteBlobList()
        if len(blobs) != 1:
            raise ArgumentError(
                f'op "{self._op.name}" has {len(blobs)} outputs here\n'
                "  use .RemoteBlobList() instead of .SoleOutputBlob()"
            )
        return blobs[0]
