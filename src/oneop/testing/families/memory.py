"""What kernels write and read: red zones, unmapped memory, writes after the call."""

from __future__ import annotations

from dataclasses import replace

from oneop.errors import KernelNotFoundError
from oneop.testing.case import Case, Restriction
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, failed, skipped, together, usual_cases
from oneop.testing.families.unmapped import beside_unmapped, on_locked_inputs
from oneop.testing.memory.cuda_child import NotDefinedAgainError
from oneop.testing.memory.guards import run_guarded
from oneop.testing.memory.late import first_late_write
from oneop.testing.report import FAILED, PARTIAL, Outcome, arguments_text
from oneop.testing.values import LAYOUTS

#: Sizes of axes beside unmapped memory: vectors of all widths have a rest, and loops over blocks have whole ones.
FLUSH_SIZES = (1, 3, 8, 13, 17, 33, 67, 1024, 2051)
#: Values for which a kernel may leave an element out: it takes none of its branches for NaN, or skips zeros.
FILLS = ("special", "zeros", "equal")


def memory(context: Context) -> Outcome:
    """Kernels write all of their outputs, nothing else, and read only what is theirs."""
    device = context.domain.device
    if not context.subject.kernels(device):
        return skipped("memory", f"no kernel for {device}")
    cases = [context.repeat] if context.repeat is not None else usual_cases(context, FLUSH_SIZES)
    late = first_late_write((case, index) for case in cases[::4] for index, _ in case.subject.kernels(device))
    if late is not None:
        where = f"the kernel at {context.subject.op.kernels[late[1]].source}"
        message = f"{where} writes to memory after it has returned, from another thread or stream"
        return failed("memory", message, late[0])
    layouts = LAYOUTS if context.subject.op.non_contiguous else ("contiguous",)
    sizes = (2, 1, 3, 5, 8, 17, 33)
    outcome = context.explore("memory", Restriction(sizes=sizes, layouts=layouts), lambda case: memory_holds(case))
    if outcome.status == FAILED:
        return outcome
    if context.repeat is None and not context.subject.hints.values:
        filled = [case.like(fill=fill) for case in usual_cases(context, (13,)) for fill in FILLS]
        outcome = together(outcome, context.run("memory", filled, memory_holds))
        if outcome.status == FAILED:
            return outcome
    try:
        failure = beside_unmapped(cases) or on_locked_inputs(cases)
    except NotDefinedAgainError:
        note = "not tried beside unmapped memory: a new process that runs its files does not define the op"
        return replace(outcome, status=PARTIAL, note=note)
    return failure or replace(outcome, cases=outcome.cases + len(cases))


def memory_holds(case: Case) -> None:
    """Run every kernel that takes the call between guards. Raises `Broken`."""
    ran = 0
    for index, _ in case.subject.kernels(case.device):
        try:
            run_guarded(case.subject, index, case.group(case.make()), case.attributes)
        except KernelNotFoundError:
            continue
        except Broken as broken:
            line = f'oneop.testing.run_kernel("{case.subject.name}", {index}, {arguments_text(case)})'
            raise Broken(broken.message, line) from None
        except Exception:
            continue  # the next families run the call too, and tell of what it raises
        ran += 1
    if not ran:
        raise NotForThis
