"""Outputs whose size depends on data.

Inference gives the largest size and a kernel less, if it likes. Where torch traces there are no data: the size is a
symbol then, an unbacked one in torch's words, between 0 and the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._library.simple_registry import singleton
from torch._library.utils import Kernel

from oneop.authoring.binding import Source
from oneop.errors import RegistrationError, described, did_you_mean
from oneop.runtime.core import core, find_op

if TYPE_CHECKING:
    from oneop.authoring.schema import Schema

MOST_AXES = 32
#: What torch asks when it traces an op, while the op is as it was declared.
_fakes: dict[str, Kernel] = {}


def read_axes(
    schema: Schema, dynamic: Mapping[str, int | Sequence[int]], sbp: object, source: Source
) -> dict[str, int]:
    """Return the axes of each output as bits. Raises `RegistrationError`."""
    if not isinstance(dynamic, Mapping):
        raise RegistrationError(
            f'op "{schema.name}", dynamic: expected a mapping of outputs to axes such as {{"y": 0}}, '
            f"found {described(dynamic)}\n  at {source}"
        )
    if dynamic and sbp is not None:
        raise cannot_split(schema.name, source)
    outputs = [arg.name for arg in schema.outputs]
    bits = {}
    for name, axes in dynamic.items():
        if name not in outputs:
            raise RegistrationError(
                f'op "{schema.name}", dynamic: there is no output "{name}"{did_you_mean(str(name), outputs)}\n'
                f"  outputs: {', '.join(outputs) or 'none'}\n  at {source}"
            )
        numbers: list[Any] = list(axes) if isinstance(axes, (list, tuple)) else [axes]
        if not numbers or not all(type(axis) is int and 0 <= axis < MOST_AXES for axis in numbers):
            raise RegistrationError(
                f'op "{schema.name}", dynamic: expected an axis of output "{name}" from 0 on, or several, '
                f"found {described(axes)}\n  at {source}"
            )
        bits[name] = sum(1 << axis for axis in set(numbers))
    return bits


def check_rank(schema: Schema, bits: Mapping[str, int], ranks: Sequence[int | None], source: Source) -> None:
    """Refuse axes that outputs do not have, where their ranks are known before any call."""
    for arg, rank in zip(schema.outputs, ranks, strict=True):
        beyond = [axis for axis in axes_of(bits.get(arg.name, 0)) if rank is not None and axis >= rank]
        if beyond:
            raise RegistrationError(
                f'op "{schema.name}", dynamic: output "{arg.name}" has {rank} axes, found axis {beyond[0]}, '
                f"counted from 0\n  at {source}"
            )


def cannot_split(name: str, source: Source) -> RegistrationError:
    """Return the error for SBP signatures beside a size that depends on data."""
    return RegistrationError(
        f'op "{name}": an op with an output whose size depends on data cannot be split over devices\n'
        f"  leave out its SBP signatures\n  at {source}"
    )


def axes_of(bits: int) -> list[int]:
    """Return the axes that the bits name."""
    return [axis for axis in range(MOST_AXES) if bits >> axis & 1]


def has_dynamic_outputs(name: str) -> bool:
    """Tell whether an op is declared to have outputs whose size depends on data."""
    return any(arg["dynamic_axes"] for arg in core().op_info(name)["outputs"])


def declare(names: Iterable[str]) -> None:
    """Tell torch how it traces these ops; forget what it was told before."""
    gone = _fakes.keys() - set(core().op_names()) if _fakes else set()
    for name in [*gone, *names]:
        kernels = singleton.find(f"oneop::{name}").fake_impl.kernels
        before = _fakes.pop(name, None)
        if before in kernels:
            kernels.remove(before)
        if name not in gone and has_dynamic_outputs(name):
            _fakes[name] = Kernel(_fake(name), "oneop")
            kernels.append(_fakes[name])


def _fake(name: str) -> Callable[..., Any]:
    def fake(*args: Any, **kwargs: Any) -> Any:
        overload: Any = find_op(name).overload
        is_bounded = core().Bounds.is_asked()
        with core().Bounds():
            largest = overload._op_dk(torch._C.DispatchKey.Meta, *args, **kwargs)
        several = isinstance(largest, (list, tuple))
        device = _device(args, kwargs)
        axes = _axes_of_tensors(name, kwargs.get("output_counts"))
        made = [
            torch.empty(
                tensor.shape if is_bounded else _with_symbols(tensor.shape, of), dtype=tensor.dtype, device=device
            )
            for tensor, of in zip(largest if several else [largest], axes, strict=True)
        ]
        return type(largest)(made) if several else made[0]

    return fake


def _axes_of_tensors(name: str, counts: Sequence[int] | None) -> list[list[int]]:
    """Return the dynamic axes of each output tensor."""
    outputs = core().op_info(name)["outputs"]
    numbers = [0 if arg["is_optional"] else arg["count"] for arg in outputs] if counts is None else counts
    return [axes_of(arg["dynamic_axes"]) for arg, count in zip(outputs, numbers, strict=True) for _ in range(count)]


def _with_symbols(shape: Sequence[Any], axes: Sequence[int]) -> list[Any]:
    context = torch.library.get_ctx()
    sizes = list(shape)
    for axis in axes:
        if axis >= len(sizes):
            continue
        largest = sizes[axis]
        if isinstance(largest, int) and largest == 0:
            continue  # there is one size: inductor takes no symbol that cannot exceed 0
        if isinstance(largest, int):
            sizes[axis] = context.new_dynamic_size(min=0, max=largest)
        else:  # itself a symbol
            sizes[axis] = context.new_dynamic_size()
            torch._check(sizes[axis] <= largest)  # type: ignore[no-untyped-call]
    return sizes


def _device(args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device:
    """Return where the outputs of a call are: with its first tensor, or where the call says."""
    for value in args:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, torch.Tensor):
                return item.device
    return torch.device(kwargs.get("device") or "cpu")
