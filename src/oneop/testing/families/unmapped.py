"""Kernels on buffers that end, or begin, where memory does: one byte too much ends the process, which is a child.

On the CPU the child is a fork. A process with CUDA cannot be forked, and an illegal access there is the end of all
work with the device, so that child is a new process.
"""

from __future__ import annotations

import functools

from oneop.testing.case import Case
from oneop.testing.families.context import failed
from oneop.testing.memory.cuda_child import first_cuda_death
from oneop.testing.memory.guards import FlushCall, make_buffer, name_buffers, run_in_buffers
from oneop.testing.memory.isolation import Death, first_death
from oneop.testing.memory.unmapped import make_flush
from oneop.testing.report import Outcome


def beside_unmapped(cases: list[Case]) -> Outcome | None:
    """Run the kernels on such buffers; return the failure, if any."""
    calls = [
        FlushCall(case, index, at_end)
        for case in cases
        for index, _ in case.subject.kernels(case.device)
        for at_end in (True, False)
    ]
    death = _first_death(calls)
    if death is None:
        return None
    call = calls[death.place]
    where = f"the kernel at {call.case.subject.op.kernels[call.kernel].source}"
    if death.how not in ("SIGSEGV", "SIGBUS", "illegal access"):
        end = "does not return" if death.how is None else f"ends the process ({death.how})"
        return failed("memory", f"{where} {end} on buffers beside memory that is not there", call.case)
    side = "past the end of" if call.at_end else "before the start of"
    message = f"{where} reads or writes {side} {_culprit(call)}, where there may be no memory"
    return failed("memory", message, call.case)


def _first_death(calls: list[FlushCall]) -> Death | None:
    if not calls:
        return None
    if calls[0].case.device == "cuda":
        return first_cuda_death(calls)
    return first_death([functools.partial(call.run, make_flush) for call in calls])


def _culprit(call: FlushCall) -> str:
    """Return the buffer beside which unmapped memory alone ends the process."""
    for place, name in enumerate(_buffer_names(call)):
        if _first_death([FlushCall(call.case, call.kernel, call.at_end, place)]) is not None:
            return name
    return "its buffers"


def _buffer_names(call: FlushCall) -> list[str]:
    """Return names of the buffers in the order in which they are made."""
    case = call.case
    _, buffers, _ = run_in_buffers(
        case.subject,
        call.kernel,
        case.group(case.make()),
        case.attributes,
        lambda like, copy: make_buffer(like, 0xFF, copy=copy, device=case.device),
    )
    names = {id(buffer): name for name, buffer in name_buffers(case.subject, buffers)}
    return [names[id(buffer)] for buffer in (*(entry[2] for entry in buffers.inputs), *buffers.outputs, buffers.tmp)]
