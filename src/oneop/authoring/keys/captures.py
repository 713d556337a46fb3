"""Guards on what functions of ops capture: a global, a variable of an enclosing function, an attribute of an object.

A gradient, an inference rule or a composition (language="torch") becomes part of a compiled program when torch traces
it, with the values that it reads. If one of them is bound to something else, eager calls follow, and so must compiled
ones. torch.compile guards on what it reads itself; what other tracers read after it, only this file knows.

A name that is bound again is noticed, contents that are changed in place (of a list, say) are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oneop.authoring import book
from oneop.authoring.keys.digest import Place, places_of
from oneop.authoring.rules import vmap_rules

_PLAIN = (bool, int, float, complex, str, bytes, tuple)


class Captured:
    """All values that functions of ops capture. `generation` changes when one of them is another."""

    def __init__(self, *, with_kernels: bool) -> None:
        """Watch nothing yet. `with_kernels`: also kernels that no compiler looks into."""
        self._with_kernels = with_kernels
        self._generation = 0
        self._unread: set[str] = set()  # ops whose functions were not looked at yet
        self._places: dict[str, list[Place]] = {}  # by op
        self._values: list[tuple[Callable[[], object], object]] = []  # how to read each place, and what it had

    def watch(self, names: Iterable[str]) -> None:
        """Watch what the functions of these ops capture, from the next `start` on."""
        self._unread.update(names)

    def start(self) -> bool:
        """Look at the ops that are new; tell whether there is anything to guard."""
        if self._unread:
            for name in [*self._unread]:
                self._places[name] = places_of(*_functions(name, with_kernels=self._with_kernels))
            self._unread.clear()
            places = {(id(p.owner), p.name, p.kind): p for watched in self._places.values() for p in watched}
            readers = [place.reader() for place in places.values()]
            self._values = [(read, read()) for read in readers]
        return bool(self._values)

    @property
    def generation(self) -> int:
        """The number of changes so far. A guard of compiled code reads it at each call."""
        if not all([read() is value for read, value in self._values]):
            now = [(read, read()) for read, _ in self._values]
            pairs = zip(now, self._values, strict=True)
            self._generation += not all(_is_same(new, old) for (_, new), (_, old) in pairs)
            self._values = now
        return self._generation


#: What is traced into compiled code.
captured = Captured(with_kernels=False)
#: The same and what kernels capture: a proof by running them holds as long as that stays.
used_by_kernels = Captured(with_kernels=True)


def guard_captured() -> None:
    """Have the code that torch.compile is making checked against `captured` at each call."""
    from torch._guards import TracingContext

    context = TracingContext.try_get()
    if context is None or not captured.start():
        return
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.source import AttrSource, ImportSource

    package, *path = f"{__name__}.captured.generation".split(".")
    source: Any = ImportSource(package)
    for name in path:
        source = AttrSource(source, name)
    context.guards_context.dynamo_guards.add(source.make_guard(GuardBuilder.EQUALS_MATCH))


def _functions(name: str, *, with_kernels: bool) -> list[object]:
    pages = book.pages_of(name)
    return [
        *(rule for page in pages for rule in (page.op and page.op.infer, page.grad, page.forward) if rule is not None),
        *(
            kernel.fields.get("function", kernel.fields)
            for page in pages
            for kernel in page.kernels
            if with_kernels or book.is_composition(kernel)
        ),
        vmap_rules.written_rule(name),
    ]


def _is_same(value: object, other: object) -> bool:
    return value is other or (type(value) is type(other) and type(value) in _PLAIN and value == other)
