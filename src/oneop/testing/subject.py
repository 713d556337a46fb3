"""The op under check: its definition, its kernels, and what its author says beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from oneop.errors import ArgumentError
from oneop.registry import KernelDef, OpDef, get_op
from oneop.runtime.core import core, find_op
from oneop.runtime.dtype_numbers import DTYPE_CODES

if TYPE_CHECKING:
    from oneop._core import Op

F = TypeVar("F", bound=Callable[..., Any])
Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What a definition cannot say."""

    reference: Callable[..., Any] | None = None
    shapes: tuple[tuple[tuple[int, ...], ...], ...] = ()
    attrs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    values: Mapping[str, Bounds] = field(default_factory=dict)
    rtol: float | None = None
    atol: float | None = None


_hints: dict[str, Hints] = {}


def reference(
    op: str | Op,
    *,
    shapes: Sequence[Sequence[Sequence[int]]] = (),
    attrs: Mapping[str, Sequence[Any]] | None = None,
    values: Mapping[str, Bounds] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Callable[[F], F]:
    """Say what an op should compute: the decorated function of tensors and attributes, written with torch.

    `oneop check`, `oneop bench` and `check` find it by the op's name.

    Args:
        op: the op, or its name.
        shapes: shapes of the inputs, one list for each call, where inference does not show which go together.
        attrs: values of attributes to try: `{"mode": ["mean", "sum"]}`.
        values: lowest and highest value of inputs: `{"index": (0, 3)}`.
        rtol: how far results may differ, relative to their size; by default what their dtype allows.
        atol: the same, absolute.

    Example::

        @oneop.testing.reference("leaky_relu")
        def leaky_relu(x, alpha=0.01):
            return torch.nn.functional.leaky_relu(x, alpha)
    """
    name = name_of(op)
    hints = make_hints(reference=None, shapes=shapes, attrs=attrs, values=values, rtol=rtol, atol=atol)

    def keep(function: F) -> F:
        _hints[name] = replace(hints, reference=function)
        return function

    return keep


def make_hints(
    *,
    reference: Callable[..., Any] | None,
    shapes: Sequence[Sequence[Sequence[int]]],
    attrs: Mapping[str, Sequence[Any]] | None,
    values: Mapping[str, Bounds] | None,
    rtol: float | None,
    atol: float | None,
) -> Hints:
    """Return hints from what a caller gives. Raises `ArgumentError` for shapes of another form."""
    for call in shapes:
        if not _is_sequence(call) or not all(_is_sequence(shape) and all(map(_is_size, shape)) for shape in call):
            raise ArgumentError(
                f"shapes: expected one list for each call, with the shape of each tensor, found {call!r}\n"
                "  such as shapes=[[(2, 3), (3,)], [(1, 4), (4,)]]; the tensors of a list come one after the other"
            )
    return Hints(
        reference=reference,
        shapes=tuple(tuple(tuple(shape) for shape in call) for call in shapes),
        attrs=dict(attrs or {}),
        values=dict(values or {}),
        rtol=rtol,
        atol=atol,
    )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def hints_of(name: str, hints: Hints) -> Hints:
    """Return what the caller gives, and for the rest what `reference` was told."""
    known = _hints.get(name)
    if known is None:
        return hints
    return replace(
        known,
        **{key: value for key, value in vars(hints).items() if value not in (None, (), {})},
    )


def is_registered(name: str, function: Callable[..., Any]) -> bool:
    """Tell whether a function is the reference that was registered for an op."""
    return name in _hints and _hints[name].reference is function


def name_of(op: str | Op) -> str:
    """Return the name of an op. Raises `ArgumentError` if it is none."""
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if not isinstance(name, str):
        raise ArgumentError(f"expected an op or its name, found {op!r}")
    return name


@dataclass(frozen=True, kw_only=True)
class Subject:
    """An op and all that is known of it."""

    op: OpDef
    hints: Hints
    is_random: bool = False  # defined with random=True; a field, because torch.compile traces what reads it

    @property
    def name(self) -> str:
        """The name of the op."""
        return self.op.name

    @property
    def call(self) -> Op:
        """The op itself."""
        return find_op(self.op.name)

    @property
    def has_forward_rule(self) -> bool:
        """Whether a forward-mode rule is registered."""
        return core().op_info(self.name)["forward"] is not None

    def kernels(self, device: str) -> list[tuple[int, KernelDef]]:
        """Return the kernels that may run on a device, with their place in the op's list."""
        return [(i, kernel) for i, kernel in enumerate(self.op.kernels) if kernel.device in (device, "any")]

    def infer_kind(self) -> str:
        """Return the declarative kind of a Python op's inference, `b k, k n -> b n` too, or "function"."""
        from oneop.authoring import book

        page = book.definition_of(self.name)
        return page.infer.kind if page is not None and page.infer is not None else "function"

    def call_overload(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Call it as torch does, whatever kind of tensors these are."""
        from oneop.runtime.traced_calls import traced_call

        return traced_call(self.call, *inputs, **attrs)

    @property
    def dynamic_axes(self) -> list[int]:
        """The axes of each output, as bits, along which its size depends on data."""
        return [arg.dynamic_axes for arg in self.op.outputs]

    def infer(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[torch.Tensor]:
        """Return what inference says of the outputs; of sizes that depend on data, the largest."""
        with core().Bounds():
            results = self.call_overload(inputs, attrs)
        return list(results or ()) if isinstance(results, (list, tuple)) else [results]

    def torch_args(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments of the torch op, defaults filled in; dtypes in lists as the numbers that it takes."""
        overload: torch._ops.OpOverload = self.call.overload
        names = [argument.name for argument in overload._schema.arguments]
        by_name: dict[str, Any] = dict(zip(names, inputs, strict=False))
        own = names[len(self.op.inputs) :]
        by_author = dict(zip((attr.name for attr in self.op.attrs), own, strict=False))
        by_name |= {by_author.get(name, name): value for name, value in attrs.items()}
        values = []
        for argument in overload._schema.arguments:
            value = by_name.get(argument.name, argument.default_value if argument.has_default_value() else None)
            if value is None and "List[Tensor]" in str(argument.type):
                value = []
            if isinstance(value, (list, tuple)) and any(isinstance(item, torch.dtype) for item in value):
                value = [DTYPE_CODES.get(item, item) for item in value]
            values.append(value)
        return tuple(values)


def subject_of(op: str | Op, hints: Hints) -> Subject:
    """Return the subject. Raises `OpNotFoundError`, with the nearest name."""
    from oneop.sharding.random import is_random

    definition = get_op(name_of(op))
    return Subject(op=definition, hints=hints_of(definition.name, hints), is_random=is_random(definition))
