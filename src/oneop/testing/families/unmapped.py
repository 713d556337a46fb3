"""Kernels on buffers that end, or begin, where memory does: one byte too much ends the process, which is a child.

On the CPU the child is a fork. A process with CUDA cannot be forked, and an illegal access there is the end of all
work with the device, so that child is a new process.
"""

from __future__ import annotations

from collections.abc import Sequence

from oneop.testing.case import Case
from oneop.testing.families.context import failed
from oneop.testing.memory.cuda_child import first_cuda_death
from oneop.testing.memory.flush import FlushCall, LockedCall
from oneop.testing.memory.guards import make_buffer, name_buffers, run_in_buffers
from oneop.testing.memory.isolation import Death, first_death
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


def on_locked_inputs(cases: list[Case]) -> Outcome | None:
    """Run the kernels on inputs that cannot be written; return the failure, if any."""
    calls = [
        LockedCall(case, index)
        for case in cases
        if case.device == "cpu" and any(not arg.is_mutable for arg in case.subject.op.inputs)
        for index, _ in case.subject.kernels("cpu")
    ]
    death = first_death([call.run for call in calls])
    if death is None or death.how not in ("SIGSEGV", "SIGBUS"):
        return None  # what else ends a process is told of by others
    call = calls[death.place]
    for place, name in enumerate(_buffer_names(call)):
        if first_death([LockedCall(call.case, call.kernel, place).run]) is not None:
            where = f"the kernel at {call.case.subject.op.kernels[call.kernel].source}"
            message = f"{where} writes to {name}, which the op does not declare as changed, and puts it back"
            return failed("memory", message, call.case)
    return None


def _first_death(calls: Sequence[FlushCall]) -> Death | None:
    if not calls:
        return None
    if calls[0].case.device == "cuda":
        return first_cuda_death(calls)
    return first_death([call.run for call in calls])


def _culprit(call: FlushCall) -> str:
    """Return the buffer beside which unmapped memory alone ends the process."""
    for place, name in enumerate(_buffer_names(call)):
        if _first_death([FlushCall(call.case, call.kernel, call.at_end, place)]) is not None:
            return name
    return "its buffers"


def _buffer_names(call: FlushCall | LockedCall) -> list[str]:
    """Return names of the buffers in the order in which they are made."""
    case = call.case
    _, buffers, _ = run_in_buffers(
        case.subject,
        call.kernel,
        case.group(case.make()),
        case.attributes,
        lambda like, use: make_buffer(like, 0xFF, copy=use.has_values, device=case.device),
    )
    names = {id(buffer): name for name, buffer in name_buffers(case.subject, buffers)}
    return [names[id(buffer)] for buffer in (*(entry[2] for entry in buffers.inputs), *buffers.outputs, buffers.tmp)]
