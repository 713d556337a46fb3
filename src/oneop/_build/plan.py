"""What a build is made from, and finding its result in the cache. This is all that an unchanged library needs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oneop import sysconfig
from oneop._build import cache
from oneop._build.cache import Entry
from oneop._build.compiler import Compiler
from oneop._build.manifest import Manifest, Reads, manifest_for
from oneop._build.sources import Files

#: Takes what a compiler or linker said; returns a better explanation, or None if it has none.
Explain = Callable[[str], str | None]

#: Variables that change what compilers and linkers do.
VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "LPATH"),
    *("GCC_EXEC_PREFIX", "COMPILER_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "LDEMULATION", "GNUTARGET"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "SDKROOT", "MACOSX_DEPLOYMENT_TARGET"),
)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One source, and how it is compiled."""

    source: Path
    compiler: Compiler
    flags: tuple[str, ...]
    kind: str = "object"  # or "header", a precompiled one
    makes: str = "unit.o"  # the file, in the folder of the result
    header: Unit | None = None  # the precompiled header that may stand for the first #include (precompiled.py)

    @property
    def base(self) -> tuple[str, ...]:
        """Return the compiler and its flags, without source and outputs."""
        return (*self.compiler.command, *self.flags)

    def command(self, out: Path, flags: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the command that writes the result and unit.d into `out`, with other `flags` of the same meaning."""
        base = self.base if flags is None else (*self.compiler.command, *flags)
        language = ("-x", "c++-header") if self.kind == "header" else ()
        return (*base, *language, "-c", str(self.source), "-MD", "-MF", f"{out}/unit.d", "-o", f"{out}/{self.makes}")


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
    covered: tuple[str, ...] = ()  # folders whose content `facts` stand for, such as torch's
    key: str = ""  # of the result, if it is known before anything is compiled
    record: Mapping[str, object] = field(default_factory=dict)  # what else meta.json of the result holds
    explain: Explain | None = None

    @property
    def what(self) -> str:
        """Return how messages name it."""
        return f'{self.kind} "{self.name}"'

    @property
    def link_base(self) -> tuple[str, ...]:
        """Return the linker and its flags, without inputs and outputs."""
        return (*self.linker.command, *self.link_flags)


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
        return self.entry.path / "unit.o"


def find_result(plan: Plan) -> Built | None:
    """Return the result of the plan if the cache has it, else None. Takes no lock, and as a rule starts no process.

    Only manifests and the result are needed: objects may have been cleared.
    """
    if plan.key:
        return built_from(plan, plan.key)
    files = Files(plan.roots)
    objects = [find_inputs(plan, unit, files) for unit in plan.units]
    present = [unit for unit in objects if unit is not None]
    return find_linked(plan, present, files) if len(present) == len(objects) else None


def find_inputs(plan: Plan, unit: Unit, files: Files) -> Object | None:
    """Return the object that a unit makes of the files as they are now, if that is known. It may be cleared."""
    facts = unit_facts(plan, unit, files)
    reads = unit_manifest(unit, facts).find(files, lambda: _preprocessed(unit))
    return object_of(unit, facts, reads) if reads is not None else None


def object_of(unit: Unit, facts: Mapping[str, object], reads: Reads) -> Object:
    """Return the object made as `facts` and `reads` say."""
    inputs = {**facts, **reads.inputs()}
    return Object(cache.entry_for(unit.kind, unit.source.stem, cache.digest(inputs)), inputs)


def unit_manifest(unit: Unit, facts: Mapping[str, object]) -> Manifest:
    """Return the manifest of a unit."""
    return manifest_for(unit.source.stem, facts)


def link_manifest(plan: Plan, facts: Mapping[str, object]) -> Manifest:
    """Return the manifest of the linked result."""
    return manifest_for(f"link-{plan.name}", facts)


def find_linked(plan: Plan, objects: Sequence[Object], files: Files) -> Built | None:
    """Return what was linked from these very objects if the cache has it, else None."""
    if plan.key:
        return built_from(plan, plan.key)
    facts = link_facts(plan, objects, files)
    reads = link_manifest(plan, facts).find(files, lambda: "")
    return built_from(plan, cache.digest({**facts, **reads.inputs()})) if reads is not None else None


def built_from(plan: Plan, key: str) -> Built | None:
    """Return the result of this key if the cache has it and it is undamaged."""
    entry = cache.entry_for(plan.kind, plan.name, key)
    if not entry.has(plan.file_name):
        return None
    seconds = entry.meta().get("build_seconds")
    return Built(
        path=entry.path / plan.file_name,
        log_path=entry.path / "build.log",
        seconds=seconds if isinstance(seconds, float) else 0.0,
        cached=True,
    )


def unit_facts(plan: Plan, unit: Unit, files: Files) -> dict[str, object]:
    """Return all that decides what a unit's object is, but for the contents of its files."""
    return {
        "source": files.encode(str(unit.source)),
        "compiler": unit.compiler.identity,
        "command": list(unit.compiler.command),
        "flags": [files.encode_flag(flag) for flag in unit.flags],
        "machine": _machine(unit.base),
        **_surroundings(unit.base),
        **plan.facts,
        **({"sdk": sysconfig.get_include()} if unit.kind == "header" else {}),  # it holds the paths of that copy
    }


def link_facts(plan: Plan, objects: Sequence[Object], files: Files) -> dict[str, object]:
    """Return all that decides what the result is, but for the contents of the libraries that are linked."""
    return {
        "name": plan.name,
        "linker": plan.linker.identity,
        "command": list(plan.linker.command),
        "link_flags": [files.encode_flag(flag) for flag in plan.link_flags],
        "objects": [unit.entry.key for unit in objects],
        **_surroundings(plan.link_base),
    }


def _surroundings(words: Sequence[str]) -> dict[str, object]:
    """Return what else a command depends on: variables, and the working folder if a path is relative to it."""
    from oneop._build.inputs.flags import depends_on_cwd

    variables = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
    facts: dict[str, object] = {"environment": variables} if variables else {}
    if depends_on_cwd(words[1:], variables):
        facts["folder"] = os.getcwd()  # noqa: PTH109
    return facts


def _preprocessed(unit: Unit) -> str:
    from oneop._build.inputs.reads import preprocessed

    return "" if unit.compiler.problem else preprocessed(unit.base, str(unit.source))


def _machine(words: Sequence[str]) -> str:
    """Return the architecture; with -march=native also the processor, since machines may share a cache."""
    if not any("=native" in word for word in words):
        return platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.node()}"
    return cache.digest([line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))])
