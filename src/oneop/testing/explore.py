"""Running a property over many calls, and the smallest call that breaks it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from oneop.errors import KernelNotFoundError
from oneop.testing.accuracy import widened
from oneop.testing.case import Case, inferred_shapes, is_taken

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Broken(Exception):
    """A property does not hold. `lines` reproduce it, after the lines that make the inputs."""

    def __init__(self, message: str, *lines: str) -> None:
        super().__init__(message)
        self.message = message
        self.lines = lines


class NotForThis(Exception):
    """A property says nothing about this call."""


class ReferenceRefuses(NotForThis):
    """The reference raises an error for a call that the op takes: it is no judge of it."""


class Enough(Exception):
    """A property knows all it wants to."""


#: So many calls that a property does not apply to, and none that it does: there is none.
_HOPELESS = 40
#: So many elements every op takes; one may refuse more.
MANY_ELEMENTS = 1025
_INTEGERS = (torch.int32, torch.int64)
#: How many times the processor time a search may take by the clock.
_SLEEPY = 8

Property = Callable[[Case], None]

#: Told of each call before it is tried, so that somebody else knows which one ended the process.
watchers: list[Callable[[Case], None]] = []


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What running a property showed; `left_out` calls were not tried, for lack of time."""

    count: int = 0
    left_out: int = 0
    case: Case | None = None
    broken: Broken | None = None


class _OutOfTime(KeyboardInterrupt):
    """Passes through hypothesis, which takes everything else for a failure of the property."""


def explore(strategy: SearchStrategy[Case], holds: Property, *, examples: int, seconds: float) -> Exploration:
    """Run a property on calls that the strategy draws; where one breaks it, look for a smaller one.

    Searching ends after `seconds` of processor time, with the smallest call found by then.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase

    watcher = _Watcher(holds, seconds)
    run = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )(hypothesis.given(strategy)(watcher.hypothesis_test))
    try:
        run()
    except (_OutOfTime, Broken, hypothesis.errors.HypothesisException):
        pass  # the watcher knows; a failure that does not repeat counts too
    return watcher.result(examples)


def run_all(cases: list[Case], holds: Property, *, seconds: float) -> Exploration:
    """Run a property on these calls, and return the first that breaks it; calls that the op refuses are left out."""
    watcher = _Watcher(holds, seconds)
    tried = 0
    for case in cases:
        try:
            watcher.test(case)
        except (Broken, _OutOfTime):
            break
        tried += 1
    return watcher.result(watcher.count + len(cases) - tried)


class _Watcher:
    """Counts the calls, and keeps the smallest that failed."""

    def __init__(self, holds: Property, seconds: float) -> None:
        self.holds = holds
        # Kernels that sleep use no processor time.
        self.ends = time.process_time() + seconds
        self.ends_at_last = time.monotonic() + _SLEEPY * seconds
        self.is_cut = False
        self.count = 0
        self.rejected = 0
        self.case: Case | None = None
        self.broken: Broken | None = None

    def hypothesis_test(self, case: Case) -> None:
        import hypothesis

        if not self.test(case):
            hypothesis.reject()

    def test(self, case: Case) -> bool:
        """Run the property. False where it does not apply; raises `Broken`."""
        if time.process_time() > self.ends or time.monotonic() > self.ends_at_last:
            self.is_cut = True
            raise _OutOfTime
        if self.count == 0 and self.rejected >= _HOPELESS:
            raise _OutOfTime
        self.rejected += 1
        if not is_taken(case):
            return False
        for watcher in watchers:
            watcher(case)
        try:
            self.holds(case)
        except (NotForThis, KernelNotFoundError):
            return False
        except Enough:
            raise _OutOfTime from None
        except Broken as broken:
            self.keep(case, broken)
            raise
        except Exception as error:
            if case.size[0] > MANY_ELEMENTS:
                return False  # it refuses so many, which is no wrong result
            if _reference_refuses(case) or _points_to_nothing(case):
                return False  # such as an index beyond what an attribute says: the op is not for these values
            raised = Broken(f"the call raises {type(error).__name__}: {first_lines(error)}")
            self.keep(case, raised)
            raise raised from error
        self.count += 1
        return True

    def keep(self, case: Case, broken: Broken) -> None:
        if self.case is None or case.size < self.case.size:
            self.case, self.broken = case, broken

    def result(self, wanted: int) -> Exploration:
        left_out = max(wanted - self.count, 1) if self.is_cut and self.broken is None else 0
        return Exploration(count=self.count, left_out=left_out, case=self.case, broken=self.broken)


def _reference_refuses(case: Case) -> bool:
    """Tell whether the reference raises an error too, for these numbers and in float64."""
    if case.subject.hints.reference is None:
        return False
    for tensors in (case.make(), [widened(tensor) for tensor in case.make()]):
        try:
            case.bind_reference(tensors)()
        except Exception:
            continue
        return False
    return True


def _points_to_nothing(case: Case) -> bool:
    """Tell whether inputs of elements, integers among them, give none: indices that no value of them makes right."""
    shapes = inferred_shapes(case)
    has_integers = any(recipe.dtype in _INTEGERS for recipe in case.tensors)
    is_full = all(0 not in recipe.shape for recipe in case.tensors)
    return has_integers and is_full and bool(shapes) and all(0 in shape for shape in shapes or ())


def first_lines(error: BaseException, most: int = 4) -> str:
    """Return the beginning of an error's text."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return "\n".join(lines[:most])
