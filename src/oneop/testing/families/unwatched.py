"""A call that does not look like one of a check.

A kernel may look at the functions that called it, the command line or the modules of the process, and be right only
where a checker calls it. So a call is made from a new thread, which no function of oneop.testing has called, while the
command line and the modules of checkers are hidden.
"""

from __future__ import annotations

import _thread
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch

from oneop.testing.case import Case

#: Modules that tell of a check or a test, with all modules in them.
_WATCHERS = ("oneop.testing", "oneop.cli", "hypothesis", "_hypothesis_pytestplugin", "pytest", "_pytest", "xdist")

#: All that is on the stack of the thread. Not a `threading.Thread`, whose functions would be.
_PROGRAM = compile(
    """
try:
    results.append(call())
except BaseException as error:
    errors.append(error)
finally:
    done.release()
""",
    "program.py",
    "exec",
)


def run_unwatched(case: Case) -> list[torch.Tensor]:
    """Return what `Case.run` does, by a call that a kernel cannot tell from one of a program."""
    tensors = case.make()
    if case.subject.is_random:
        torch.manual_seed(1)
    results: list[Any] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()
    program = {"__name__": "__main__", "call": case.bind(tensors), "results": results, "errors": errors, "done": done}
    with _hidden():
        _thread.start_new_thread(exec, (_PROGRAM, program))
        done.acquire()
    if errors:
        raise errors[0]
    flat = [results[0]] if isinstance(results[0], torch.Tensor) else list(results[0] or ())
    return flat + case.changed(tensors)


@contextlib.contextmanager
def _hidden() -> Iterator[None]:
    """Hide what tells of a check: modules and the command line."""
    words = sys.argv[:]
    prefixes = tuple(f"{name}." for name in _WATCHERS)
    modules = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(prefixes)}
    for name in modules:
        del sys.modules[name]
    sys.argv[:] = ["program.py"]
    try:
        yield
    finally:
        sys.argv[:] = words
        sys.modules.update(modules)
