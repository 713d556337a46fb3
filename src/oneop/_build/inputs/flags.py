"""Reading flags: which of them name files, and which depend on the working folder."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

#: Flags in which no part is the name of a file.
_WITHOUT_PATH = re.compile(
    r"-(?:[DUOgmw]|std=|W(?![lap],)|f[^=]*$|fvisibility=|fdiagnostics|f\w+-prefix-map=|pthread$|shared$|l[^:])"
)

#: Flags that are followed by a path without a space.
_ATTACHED = re.compile(r"^(?:-(?:I|L|B|T|isystem|iquote|idirafter|include|imacros|isysroot|l:)|@)(?=.)")

_SEARCH_PATHS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")


def path_parts(word: str) -> list[str]:
    """Return the parts of a flag that could be paths: -Wl,--version-script=x.map has `x.map`."""
    if _WITHOUT_PATH.match(word):
        return []
    return [part for part in re.split(r"[,=]", _ATTACHED.sub("", word)) if part and part[0] not in "-$"]


def depends_on_cwd(words: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Tell whether flags, or search paths in the environment, name files relative to the working folder."""
    if any(not part.startswith("/") for name in _SEARCH_PATHS for part in variables.get(name, "/").split(os.pathsep)):
        return True
    return any(word.startswith("@") or any(map(_is_relative, path_parts(word))) for word in words)


def _is_relative(part: str) -> bool:
    return not part.startswith("/") and ("/" in part or "." in part or os.path.lexists(part))


def expand(words: Sequence[str], depth: int = 0) -> Iterator[str]:
    """Yield words, and those in response files too."""
    for word in words:
        yield word
        if word.startswith("@") and depth < 8:
            try:
                inner = shlex.split(Path(word[1:]).read_text(errors="surrogateescape"))
            except (OSError, ValueError):
                continue
            yield from expand(inner, depth + 1)


def values_of(words: Sequence[str], flag: str) -> list[str]:
    """Return what -I, -L or -l is given in `words`, with or without a space."""
    attached = [word[len(flag) :] for word in words if word.startswith(flag) and len(word) > len(flag)]
    separate = [after for word, after in itertools.pairwise(words) if word == flag]
    return [*attached, *separate]
