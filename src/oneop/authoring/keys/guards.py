"""Guards that tie compiled code in memory to the ops that it was traced from.

torch.compile keeps compiled code by Python function, in which an op is a name. So every op has a revision number, which
changes when anything that is registered for the op changes, and code is compiled with a guard on the number of each op
that torch traced for it: in the function itself, in a gradient, in a composition. Code that was made from another
definition fails its guard and is compiled again. Nothing is removed from torch's tables: other threads may be running
what is in them.

Invariant: a number that a guard was made with belongs to the definition that was traced, or to an earlier one. So an op
is registered first, and its number changes then, when no thread is tracing (torch's compile lock is held).
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from oneop.runtime.core import core, loaded_libraries

#: How long a registration waits for a thread that compiles. That thread may itself wait for whoever registers.
LOCK_SECONDS = 60.0


class Revisions:
    """The revision of each op that was traced, as an attribute `op_<name>`, so that guards can read it."""

    def __init__(self) -> None:
        """Start with nothing traced."""
        self.functions = 0  # of libraries: all of them together
        self.required = 0  # what is required of kernels, and so of the compositions that are traced; requirement.py
        self.everything = 0  # all ops together, for code from a cache on disk; see `guard_cached`
        self.guarded: set[str] = set()  # the attributes that compiled code is guarded on
        self.in_cached_code: set[str] = set()  # ops that code from a cache on disk may contain
        self._libraries: dict[str, str] = {}  # name to digest

    def change(self, names: Iterable[str], libraries: dict[str, str]) -> bool:
        """Give new numbers to what changed. Tell whether compiled code is guarded on one of them."""
        names = set(names)
        changed = {f"op_{name}" for name in names}.intersection(vars(self))
        if not names.isdisjoint(self.in_cached_code):
            changed.add("everything")
        if any(libraries.get(name) != digest for name, digest in self._libraries.items()):
            changed.add("functions")
        for attribute in changed:
            setattr(self, attribute, getattr(self, attribute) + 1)
        self._libraries = libraries
        return not changed.isdisjoint(self.guarded)


revisions = Revisions()


def guard_op(name: str) -> None:
    """Have the code that torch.compile is making checked against the revision of an op, or of functions for ""."""
    context = _context()
    if context is None:
        return
    if name:
        vars(revisions).setdefault(f"op_{name}", 0)
    _guard(context, f"op_{name}" if name else "functions")
    _guard(context, "required")
    context.oneop_is_traced = True


def guard_cached() -> None:
    """Guard code for which torch is about to look in its cache on disk.

    If it finds an entry then gradients and compositions are not traced again, and nobody says which ops they call. Then
    the code is guarded on the revisions of all ops. `guard_op` is called afterwards if torch does trace.
    """
    context = _context()
    if context is not None:
        context.oneop_is_traced = False

        def match_unless_traced(builder: Any, guard: Any) -> None:
            if not context.oneop_is_traced:
                revisions.in_cached_code.update(core().op_names())
                _match_revision("everything")(builder, guard)

        _guard(context, "everything", match_unless_traced)


def _context() -> Any:
    """What is being compiled by this thread; None where nothing is."""
    guards = sys.modules.get("torch._guards")
    context: Any = guards and guards.TracingContext.try_get()
    return context if context is not None and "torch._dynamo.guards" in sys.modules else None


def _guard(context: Any, attribute: str, match: Callable[[Any, Any], None] | None = None) -> None:
    from torch._dynamo.source import AttrSource, ImportSource

    package, *path = f"{__name__}.revisions.{attribute}".split(".")
    source: Any = ImportSource(package)
    for name in path:
        source = AttrSource(source, name)
    context.guards_context.dynamo_guards.add(source.make_guard(match or _match_revision(attribute)))


@functools.cache  # torch takes guards for the same if the functions that make them are
def _match_revision(attribute: str) -> Callable[[Any, Any], None]:
    def match(builder: Any, guard: Any) -> None:
        """Make the guard. torch calls this at the end of a compilation."""
        revisions.guarded.add(attribute)
        builder.EQUALS_MATCH(guard)

    return match


def change_revisions(names: Iterable[str]) -> None:
    """Have compiled code that depends on these ops compiled again. Called after they were registered."""
    changed = list(names)
    dynamo: Any = sys.modules.get("torch._dynamo")
    convert_frame = dynamo and sys.modules.get("torch._dynamo.convert_frame")
    if convert_frame is None:
        _change(None, changed)
        return
    lock = convert_frame.compile_lock
    if not lock.acquire(timeout=LOCK_SECONDS):
        # That trace may have seen the op as it was, and take the number that it gets now. So the number changes again.
        _change(dynamo, changed)
        threading.Thread(target=_change_later, args=(dynamo, changed), name="oneop guards", daemon=True).start()
        warnings.warn(
            f"{_listed(changed)} changed while another thread has been compiling for {LOCK_SECONDS:.0f} s; what that "
            "thread compiles may use the earlier definition until it is done",
            stacklevel=2,
        )
        return
    try:
        _change(dynamo, changed)
        if _context() is not None:  # this thread is tracing: what it has traced so far is of the earlier definition
            threading.Thread(target=_change_later, args=(dynamo, changed), name="oneop guards", daemon=True).start()
    finally:
        lock.release()


def _change(dynamo: Any, names: list[str]) -> None:
    libraries = {name: digest for name, (digest, _) in loaded_libraries.items()}
    if revisions.change(names, libraries) and dynamo is not None:
        # torch stops compiling a function after this many attempts. They are for what the program does, sizes and
        # types, so a redefinition brings one of its own.
        dynamo.config.recompile_limit += 1


def _change_later(dynamo: Any, names: list[str]) -> None:
    with dynamo.convert_frame.compile_lock:
        _change(dynamo, names)


def _listed(names: list[str]) -> str:
    return ", ".join(f'op "{name}"' for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
