"""What `torch.autocast` does to the inputs of an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from oneop.errors import ArgumentError
from oneop.runtime.core import find_op

#: Device types with an autocast of their own, and the dispatch key of each.
_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}

#: One for each op that has a policy: dropping it takes the policy back.
_registered: dict[str, torch.library.Library] = {}


def register_autocast(op: str, policy: str | None, *, devices: Sequence[str] = ("cpu", "cuda")) -> None:
    """Say what `torch.autocast` does to the floating-point inputs of an op.

    "low" casts float32 to the dtype of the autocast region: for ops that gain by it, such as products of matrices.
    "float32" casts float16 and bfloat16 up: for ops that need the precision, such as losses and long sums. "promote"
    casts all to the widest dtype among them: for ops with several inputs. None takes the policy back: inputs come as
    they are. float64 is left alone, as torch does.
    """
    find_op(op)
    if policy is not None and policy not in _POLICIES:
        raise ArgumentError(
            f'op "{op}": register_autocast knows the policies {", ".join(_POLICIES)} and None, found {policy!r}'
        )
    unknown = [device for device in devices if device not in _KEYS]
    if unknown:
        raise ArgumentError(f'op "{op}": register_autocast knows the devices cpu and cuda, found {unknown[0]!r}')
    old = _registered.pop(op, None)
    if old is not None:
        old._destroy()  # type: ignore[no-untyped-call]
    if policy is None:
        return
    library = torch.library.Library("oneop", "IMPL")  # type: ignore[no-untyped-call]
    for device in devices:
        kernel = _make_kernel(op, device, _POLICIES[policy])
        library.impl(op, kernel, _KEYS[device])  # type: ignore[no-untyped-call]
    _registered[op] = library


def _make_kernel(op: str, device: str, choose: Callable[[list[torch.Tensor], str], torch.dtype]) -> Callable[..., Any]:
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _KEYS[device]))

    def call(*args: Any, **kwargs: Any) -> Any:
        values = pytree.tree_leaves((args, kwargs))
        floating = [
            v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point() and v.dtype is not torch.float64
        ]
        if floating:
            wanted = choose(floating, device)
            chosen = {id(v) for v in floating}
            args, kwargs = pytree.tree_map(lambda v: v.to(wanted) if id(v) in chosen else v, (args, kwargs))
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return getattr(torch.ops.oneop, op).default(*args, **kwargs)

    return call


def _widest(tensors: list[torch.Tensor], device: str) -> torch.dtype:
    widest = tensors[0].dtype
    for tensor in tensors[1:]:
        widest = torch.promote_types(widest, tensor.dtype)
    return widest


_POLICIES: dict[str, Callable[[list[torch.Tensor], str], torch.dtype]] = {
    "low": lambda tensors, device: torch.get_autocast_dtype(device),
    "float32": lambda tensors, device: torch.float32,
    "promote": _widest,
}
