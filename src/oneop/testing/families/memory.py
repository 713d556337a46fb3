"""Red zones: what kernels write and read."""

from __future__ import annotations

from oneop.errors import KernelNotFoundError
from oneop.testing.case import Case, Restriction
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, skipped
from oneop.testing.guards import run_guarded
from oneop.testing.report import Outcome, arguments_text
from oneop.testing.values import LAYOUTS


def memory(context: Context) -> Outcome:
    """Kernels write all of their outputs, nothing else, and read only what is theirs."""
    if context.domain.device != "cpu" or not context.subject.kernels("cpu"):
        return skipped("memory", "no kernel for the CPU")
    layouts = LAYOUTS if context.subject.op.non_contiguous else ("contiguous",)
    sizes = (2, 1, 3, 5, 8, 17, 33)
    return context.explore("memory", Restriction(sizes=sizes, layouts=layouts), lambda case: memory_holds(case))


def memory_holds(case: Case) -> None:
    """Run every kernel that takes the call between guards. Raises `Broken`."""
    ran = 0
    for index, _ in case.subject.kernels("cpu"):
        try:
            run_guarded(case.subject, index, case.group(case.make()), case.attributes)
        except KernelNotFoundError:
            continue
        except Broken as broken:
            line = f'oneop.testing.run_kernel("{case.subject.name}", {index}, {arguments_text(case)})'
            raise Broken(broken.message, line) from None
        ran += 1
    if not ran:
        raise NotForThis
