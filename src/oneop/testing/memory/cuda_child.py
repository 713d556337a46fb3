"""Calls on the GPU in a new process: an illegal access there ends that process's work with the device, and not ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from oneop.errors import OpNotFoundError
from oneop.testing.loading import loading_lines
from oneop.testing.memory.flush import FlushCall
from oneop.testing.memory.isolation import Death
from oneop.testing.report import repeat_arguments

#: How long all calls of a child may take, its start included.
SECONDS = 180.0
_ILLEGAL = 77  # exit status


class NotDefinedAgainError(Exception):
    """Running the files of an op in a new process does not define it, as where a function of them did."""


def first_cuda_death(calls: Sequence[FlushCall]) -> Death | None:
    """Run the calls one after the other in a new process; return the first that ends it.

    Raises `NotDefinedAgainError` where that process has no such op.
    """
    lines = ["import torch, oneop", *loading_lines(calls[0].case.subject)]
    lines += ["from oneop.testing.memory.cuda_child import run_calls", "run_calls(["]
    for call in calls:
        arguments = ", ".join(repeat_arguments(call.case, "memory"))
        lines.append(f"    (oneop.testing.repeated_case({arguments}), {call.kernel}, {call.at_end}, {call.only}),")
    program = "\n".join([*lines, "])"])
    try:
        # As its input: one argument of a program may have 128 KiB.
        child = subprocess.run(
            [sys.executable, "-"], input=program, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        shown = error.stdout or b""
        text = shown.decode() if isinstance(shown, bytes) else shown
        return Death(max(text.count("call ") - 1, 0), None)
    if child.returncode == 0:
        return None
    place = child.stdout.count("call ") - 1
    if place < 0 and OpNotFoundError.__name__ in child.stderr:
        raise NotDefinedAgainError
    if place < 0:
        raise RuntimeError(child.stderr.strip()[-300:])
    return Death(place, "illegal access" if child.returncode == _ILLEGAL else f"exit status {child.returncode}")


def run_calls(calls: Sequence[tuple[object, int, bool, int | None]]) -> None:
    """Be the child: run each call, and leave at the first illegal access."""
    import torch

    from oneop.testing.memory.cuda_unmapped import make_cuda_flush

    for case, kernel, at_end, only in calls:
        print("call ", flush=True)
        try:
            FlushCall(case, kernel, at_end, only).run(make_cuda_flush)  # type: ignore[arg-type]
        except MemoryError:
            raise
        except Exception as error:
            if "CUDA" not in str(error):
                continue  # the kernel does not take the call, or refuses it
        try:
            torch.cuda.synchronize()
        except Exception:
            sys.stdout.flush()
            os._exit(_ILLEGAL)
