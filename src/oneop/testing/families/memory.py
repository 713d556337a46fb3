"""What kernels write and read: red zones, unmapped memory, writes after the call."""

from __future__ import annotations

import functools
from dataclasses import replace

import torch

from oneop.errors import KernelNotFoundError
from oneop.testing.case import Case, Restriction, is_taken, make_case
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, failed, skipped
from oneop.testing.guards import LATE_SECONDS, Buffer, make_flush_buffer, name_buffers, run_guarded, run_in_buffers
from oneop.testing.isolation import first_death
from oneop.testing.probe import usual_attrs
from oneop.testing.report import FAILED, Outcome, arguments_text
from oneop.testing.values import LAYOUTS

#: Sizes of axes beside unmapped memory: vectors of all widths have a rest.
FLUSH_SIZES = (1, 3, 8, 13, 17, 33, 67)


def memory(context: Context) -> Outcome:
    """Kernels write all of their outputs, nothing else, and read only what is theirs."""
    if context.domain.device != "cpu" or not context.subject.kernels("cpu"):
        return skipped("memory", "no kernel for the CPU")
    layouts = LAYOUTS if context.subject.op.non_contiguous else ("contiguous",)
    sizes = (2, 1, 3, 5, 8, 17, 33)
    outcome = context.explore("memory", Restriction(sizes=sizes, layouts=layouts), lambda case: memory_holds(case))
    if outcome.status == FAILED:
        return outcome
    cases = [context.repeat] if context.repeat is not None else usual_cases(context, FLUSH_SIZES)
    for case in cases[:: len(FLUSH_SIZES)]:
        try:
            memory_holds(case, watch=LATE_SECONDS)
        except NotForThis:
            continue
        except Broken as broken:
            return failed("memory", broken.message, case, broken.lines)
    return _beside_unmapped(cases) or replace(outcome, cases=outcome.cases + len(cases))


def usual_cases(context: Context, sizes: tuple[int, ...]) -> list[Case]:
    """Return one call of each size for each kind of call, of the template with the most axes up to two."""
    cases = []
    for choice in context.domain.choices:
        template = min(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
        for size in sizes:
            named = {symbol: size if i == 0 else 3 for i, symbol in enumerate(reversed(template.symbols))}
            case = make_case(context.domain, choice, template.shapes(named), usual_attrs(context.domain))
            if is_taken(case):
                cases.append(case)
    return cases


def memory_holds(case: Case, *, watch: float = 0.0) -> None:
    """Run every kernel that takes the call between guards. Raises `Broken`."""
    ran = 0
    for index, _ in case.subject.kernels("cpu"):
        try:
            run_guarded(case.subject, index, case.group(case.make()), case.attributes, watch=watch)
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


def _beside_unmapped(cases: list[Case]) -> Outcome | None:
    """Run the kernels in a child on buffers that end, then begin, where memory does; return the failure, if any."""
    calls = [
        (case, index, at_end) for case in cases for index, _ in case.subject.kernels("cpu") for at_end in (True, False)
    ]
    death = first_death([functools.partial(_run_flush, *call) for call in calls])
    if death is None:
        return None
    case, index, at_end = calls[death.place]
    where = f"the kernel at {case.subject.op.kernels[index].source}"
    if death.how not in ("SIGSEGV", "SIGBUS"):
        end = "does not return" if death.how is None else f"ends the process ({death.how})"
        return failed("memory", f"{where} {end} on buffers beside memory that is not there", case)
    culprit = _culprit(*calls[death.place])
    side = "past the end of" if at_end else "before the start of"
    return failed("memory", f"{where} reads or writes {side} {culprit}, where there may be no memory", case)


def _culprit(case: Case, index: int, at_end: bool) -> str:
    """Return the buffer beside which unmapped memory alone ends the process."""
    for place, name in enumerate(_buffer_names(case, index)):
        if first_death([functools.partial(_run_flush, case, index, at_end, place)]) is not None:
            return name
    return "its buffers"


def _run_flush(case: Case, index: int, at_end: bool, only: int | None = None) -> None:
    """Run a kernel on flush buffers, or with the `only`-th one flush and the others far from unmapped memory."""
    made = 0

    def make(like: torch.Tensor, copy: bool) -> Buffer:
        nonlocal made
        place, made = made, made + 1
        is_flush = only is None or only == place
        return make_flush_buffer(like, 0xFF, copy=copy, at_end=at_end, slack=0 if is_flush else 2048)

    run_in_buffers(case.subject, index, case.group(case.make()), case.attributes, make)


def _buffer_names(case: Case, index: int) -> list[str]:
    """Return names of the buffers in the order in which they are made."""
    _, buffers, _ = run_in_buffers(
        case.subject,
        index,
        case.group(case.make()),
        case.attributes,
        lambda like, copy: make_flush_buffer(like, 0xFF, copy=copy, at_end=True, slack=2048),
    )
    names = dict((id(buffer), name) for name, buffer in name_buffers(case.subject, buffers))
    order = [buffer for _, _, buffer, _ in buffers.inputs] + [*buffers.outputs, buffers.tmp]
    return [names[id(buffer)] for buffer in order]
