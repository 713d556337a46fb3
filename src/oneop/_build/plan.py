"""What a build is made from, and finding its result in the cache. This is all that an unchanged library needs."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oneop._build import cache
from oneop._build.cache import Entry
from oneop._build.compiler import Compiler
from oneop._build.sources import Files, manifest_for

#: Takes what a compiler or linker said; returns a better explanation, or None if it has none.
Explain = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One source, and how it is compiled."""

    source: Path
    compiler: Compiler
    flags: tuple[str, ...]

    def command(self, out: Path) -> tuple[str, ...]:
        """Return the command that writes `out`/<stem>.o and .d."""
        stem = out / self.source.stem
        outputs = ("-MMD", "-MF", f"{stem}.d", "-o", f"{stem}.o")
        return (*self.compiler.command, *self.flags, "-c", str(self.source), *outputs)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides what a build makes."""

    kind: str
    name: str
    file_name: str
    units: tuple[Unit, ...]
    linker: Compiler
    link_flags: tuple[str, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    roots: Mapping[str, Path] = field(default_factory=dict)
    explain: Explain | None = None

    @property
    def what(self) -> str:
        """Return how messages name it."""
        return f'{self.kind} "{self.name}"'


@dataclass(frozen=True, kw_only=True)
class Built:
    """The result of a plan."""

    path: Path
    log_path: Path
    seconds: float
    cached: bool


@dataclass(frozen=True)
class Object:
    """The object file of a unit in the cache, and the inputs of its key."""

    entry: Entry
    inputs: Mapping[str, object]

    @property
    def path(self) -> Path:
        """Return the object file."""
        return self.entry.path / f"{self.entry.name}.o"


def find_result(plan: Plan) -> Built | None:
    """Return the result of the plan if the cache has it, else None. Starts no process and takes no lock."""
    files = Files(plan.roots)
    objects = [find_object(plan, unit, files) for unit in plan.units]
    found = [one for one in objects if one is not None]
    if len(found) < len(objects):
        return None
    return find_linked(plan, found, files)


def find_object(plan: Plan, unit: Unit, files: Files) -> Object | None:
    """Return the object of a unit if the cache has it for the files as they are now, else None."""
    facts = unit_facts(plan, unit, files)
    contents = manifest_for(unit.source.stem, facts).find(files)
    if contents is None:
        return None
    inputs = {**facts, "contents": contents}
    found = Object(cache.entry_for("object", unit.source.stem, cache.digest(inputs)), inputs)
    return found if found.path.is_file() else None


def find_linked(plan: Plan, objects: Sequence[Object], files: Files) -> Built | None:
    """Return what was linked from these very objects if the cache has it, else None."""
    entry = cache.entry_for(plan.kind, plan.name, cache.digest(link_inputs(plan, objects, files)))
    path = entry.path / plan.file_name
    if not path.is_file():
        return None
    seconds = entry.meta().get("build_seconds")
    return Built(
        path=path,
        log_path=entry.path / "build.log",
        seconds=seconds if isinstance(seconds, float) else 0.0,
        cached=True,
    )


def unit_facts(plan: Plan, unit: Unit, files: Files) -> dict[str, object]:
    """Return all that decides what a unit's object is, but for the contents of its files."""
    return {
        "source": files.encode(str(unit.source)),
        "compiler": unit.compiler.identity,
        "flags": [files.encode(flag) for flag in unit.flags],
        "machine": _machine(unit.flags),
        **plan.facts,
    }


def link_inputs(plan: Plan, objects: Sequence[Object], files: Files) -> dict[str, object]:
    """Return all that decides what the result is; its key is the digest of this."""
    return {
        "name": plan.name,
        "linker": plan.linker.identity,
        "link_flags": [files.encode(flag) for flag in plan.link_flags],
        "objects": [one.inputs for one in objects],
    }


def _machine(flags: Sequence[str]) -> str:
    """Return the architecture; with -march=native also the processor, since machines may share a cache."""
    if not any(flag in ("-march=native", "-mcpu=native") for flag in flags):
        return platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.node()}"
    return cache.digest([line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))])
