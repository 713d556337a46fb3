"""Precompiled headers: what most sources include first is parsed once for each set of flags.

g++ takes `x.h.gch`, found where it looks for `x.h`, in place of the text, if nothing but comments stands before the
#include, and if flags and macros are those that the header was compiled with; else it reads the text. The code is the
same, and so is the list of files that -MD reports (with -fpch-deps): keys and manifests know nothing of such headers,
they only save time. Objects are the same byte by byte where the SDK has no defaulted function that they call: g++
defines such a one in the object, as it forgets which `#pragma interface` stood before it. Five rules keep it so:

* A header is compiled with all flags of its library but warnings, own folders and own macros. g++ compares the macros.
* A library with a folder of its own that has a file of any name which the header asks for does without: in the text,
  g++ would find that file.
* Files are looked at after the moment by which the inputs of the sources are dated. A header of text that is older than
  that is the header of the text that the sources are said to be made from.
* A source that does not compile with it is compiled again without, and that is what the user is told of.
* g++ takes the precompiled header once, where it stands first. Beside it lies a file for those that include it again,
  which leads to the text, and so to its guard.

Pragmas about warnings are lost in a precompiled header, so headers of the SDK give no cause for warnings.

A header is made beside the second source that could use it: whoever builds once does not pay for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from oneop import sysconfig
from oneop._build import cache
from oneop._build.compiler import Compiler
from oneop._build.inputs.lookups import read_names
from oneop._build.manifest import Reads
from oneop._build.plan import Plan, Unit, find_inputs, unit_facts
from oneop._build.sources import ABSENT, Files, stamp_of, trusted
from oneop._build.trust import why_not_trusted

#: Headers of the SDK that are slow to parse.
HEADERS = (
    "oneop/op.h",
    "oneflow/core/framework/framework.h",
    "oneflow/core/functional/functional.h",
    "oneflow/core/functional/impl/common.h",
)

#: So many precompiled headers stay in the cache.
MOST_KEPT = 8

_FIRST_INCLUDE = re.compile(r'(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*#[ \t]*include[ \t]*["<]([^">\n]+)[">]')

#: Flags after which an object is the same with and without a precompiled header. After -g, for one, it is not. The
#: warnings are those that find nothing in the SDK: what is found there, g++ says as it compiles the header, to nobody.
_HARMLESS = re.compile(
    r"-(?:O\w*|std=.*|m.*|Wall|Wextra|Wpedantic|Werror|Wno-.*|w|[IDU].+|pthread|"
    r"f(?:no-)?(?!sanitize|profile|lto|test|branch|pre|directives|module|plugin|compare|record|pch|debug|dump|instr).*)"
)


def header_of(text: str, compiler: Compiler, flags: Sequence[str], shared_flags: Sequence[str]) -> Unit | None:
    """Return the header that may be precompiled for a source with this text, None if there is none.

    `shared_flags` are those of `flags` that decide how code is made, and the SDK's folder.
    """
    first = _FIRST_INCLUDE.match(text)
    words = (*(word for word in compiler.command if word.startswith(("-", "@"))), *flags)  # CXX="g++ -g"
    if first is None or first[1] not in HEADERS or not all(map(_HARMLESS.fullmatch, words)):
        return None
    return Unit(
        source=Path(sysconfig.get_include()) / first[1],
        compiler=compiler,
        flags=tuple(shared_flags),
        kind="header",
        makes=f"{first[1]}.gch",
    )


class Headers:
    """The precompiled headers of one run of compilers."""

    def __init__(self, plan: Plan) -> None:
        """Look for nothing yet."""
        self.wanted: list[Unit] = []  # to be made beside the sources of this build
        self._plan = plan
        self._files = Files(plan.roots)  # its own: what the build knows of files may be older
        self._known: dict[Unit, cache.Entry | None] = {}

    def flags_of(self, unit: Unit) -> tuple[str, ...] | None:
        """Return the flags with which a unit finds its precompiled header, None if it has to do without."""
        header = unit.header
        if header is None:
            return None
        if header not in self._known:
            self._known[header] = self._find(header)
        entry = self._known[header]
        if entry is None:
            return None
        names = entry.meta().get("names")
        sdk = unit.flags.index(f"-I{sysconfig.get_include()}")
        own = [Path(flag[2:]) for flag in unit.flags if flag.startswith("-I") and flag != unit.flags[sdk]]
        if not isinstance(names, list) or any((folder / name).is_file() for folder in own for name in names):
            return None
        return (*unit.flags[:sdk], f"-I{entry.path}", *unit.flags[sdk:], "-fpch-deps")

    def _find(self, header: Unit) -> cache.Entry | None:
        """Return the header if the cache has it, undamaged; want it if it was asked for before."""
        facts = unit_facts(self._plan, header, self._files)
        note = cache.cache_root() / "manifest" / f"header-{cache.digest(facts)}.json"
        known = cache.read_json(note)
        if not known:
            cache.note_json(note, {"asked": True})
            return None
        inputs = find_inputs(self._plan, header, self._files)
        if inputs is None or not self._is_sound(inputs.entry, header, known, note):
            self.wanted.append(header)
            return None
        return inputs.entry

    def _is_sound(self, entry: cache.Entry, header: Unit, known: dict[str, object], note: Path) -> bool:
        """Tell whether the file is as it was made. It is large: its digest is computed only if its stamp is another."""
        path = entry.path / header.makes
        forward = path.with_suffix("")
        if not forward.is_file() or forward.read_text(errors="replace") != forward_text(header):
            return False
        stamp = stamp_of(str(path))
        if stamp == ABSENT or why_not_trusted(path):
            return False
        if known.get("key") == entry.key and known.get("stamp") == list(stamp):
            return not why_not_trusted(entry.path)
        if not entry.has(header.makes):
            return False
        cache.note_json(note, {"asked": True, "key": entry.key, "stamp": trusted(stamp, time.time_ns())})
        return True


def names_in(files: Files, reads: Reads) -> dict[str, object]:
    """Return what is kept with a new header: the names that it asks for."""
    names = read_names(files.decode(path) for path in reads.contents)
    if names.computing:  # made by macros: nobody knows them, and without them no library uses the header
        return {}
    return {"names": sorted(filter(None, {name for _, name in names.quoted} | names.angled))}


def forward_text(header: Unit) -> str:
    """Return what g++ finds beside a precompiled header where a source includes the header again."""
    return f"#pragma GCC system_header\n#include_next <{header.makes.removesuffix('.gch')}>\n"


def remove_old() -> None:
    """Remove the oldest headers, so that one more is among the newest `MOST_KEPT`."""
    entries = list(cache.list_entries("header"))
    for entry in entries[: max(0, len(entries) - MOST_KEPT + 1)]:
        cache.discard(entry)
