"""Ops that must not be recorded in a CUDA graph: torch.compile(mode="reduce-overhead") is told to leave them out.

A kernel may be recorded if it says so (C++: `user_op::CudaGraphSupport`; functors of `oneop/op.h` do) or is written in
Triton or torch. One that synchronises its stream, say, makes a recording fail as a whole. torch asks the tags of an op
when it compiles, so a kernel that comes later changes them in time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from oneop.runtime.core import core, find_op

_UNSAFE: Any = getattr(torch.Tag, "cudagraph_unsafe", None)
_RECORDED = ("torch", "triton")


def declare(names: Iterable[str]) -> None:
    """Set or remove the tag of these ops."""
    if torch.version.cuda is None or _UNSAFE is None:
        return
    for name in names:
        kernels = [kernel for kernel in core().op_info(name)["kernels"] if "cuda" in kernel["devices"]]
        if not kernels:
            continue
        unsafe = any(not kernel["cuda_graph"] and kernel["language"] not in _RECORDED for kernel in kernels)
        overload: Any = find_op(name).overload
        tags = [tag for tag in overload.tags if tag != _UNSAFE]
        overload._tags = [*tags, _UNSAFE] if unsafe else tags
