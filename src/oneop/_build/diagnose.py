"""From the output of a compiler to the few lines that help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# gcc and clang: file:12:5: error: text       nvcc: file(12): error: text       ld: file.cpp:(.text+0x5): undefined ...
_GNU = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<text>.*)$", re.MULTILINE
)
# Who asked for a template: gcc says it before the error, the author's line last; clang in notes after it.
_GNU_FROM = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? +required from here$", re.MULTILINE)
_SAID = re.compile(r": (?:warning|error|note): ")
_CLANG_FROM = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? note: (?:in|while) .* (?:requested|required) here$", re.MULTILINE
)
_LINK = re.compile(
    r"^(?!collect2)(?P<text>.*(?:undefined reference to|multiple definition of|cannot find -l|error: ).*)$",
    re.MULTILINE,
)

#: (what the compiler says, what to do about it)
_HINTS = (
    (
        r"unsupported GNU version|unsupported clang version",
        "this nvcc refuses the host compiler: set CXX to an older g++ (see the first lines of the log)",
    ),
    (r"op_generated\.h: No such file", "it is made from .td files: oneop.build(name, sources, ods=[...])"),
    (r"oneflow/\S+: No such file", "this SDK has no such header; oneflow/core/framework/framework.h includes them all"),
    (r"No space left on device", "the disk is full: make room, or set TMPDIR and ONEOP_CACHE_DIR to another one"),
    (r"File size limit exceeded", "the shell limits the size of files: ulimit -f unlimited"),
    (r"No such file or directory", "add the folder of the file to include_dirs"),
    (r"Unsupported gpu architecture", "set TORCH_CUDA_ARCH_LIST to what this nvcc knows, as in '9.0+PTX'"),
    (r"undefined reference to", "define it in one of the sources, or name its library in ldflags"),
    (r"cannot find -l", "add -L<folder of the library> to ldflags"),
    (r"multiple definition of", "two sources define the same name; make it static or put it into a namespace"),
    (r"Killed|out of memory|signal terminated", "the compiler ran out of memory: set MAX_JOBS=1"),
)


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The first error in a compiler's output, and how many follow."""

    text: str
    file: str = ""
    line: int = 0
    further: int = 0
    hint: str = ""
    from_file: str = ""  # where an error in another file, such as a header, comes from
    from_line: int = 0


def diagnose(output: str) -> Diagnosis:
    """Return the first error that `output` shows; its last line if none is recognised."""
    located = sorted([*_GNU.finditer(output), *_NVCC.finditer(output)], key=lambda match: match.start())
    if located:
        first = located[0]
        origin = _origin(output, first, located[1].start() if len(located) > 1 else len(output))
        return Diagnosis(
            text=first["text"].strip(),
            file=first["file"],
            line=int(first["line"]),
            further=len(located) - 1,
            hint=_hint_for(first[0]),
            from_file=origin["file"] if origin else "",
            from_line=int(origin["line"]) if origin else 0,
        )
    plain = list(_LINK.finditer(output))
    if plain:
        return Diagnosis(text=plain[0]["text"].strip(), further=len(plain) - 1, hint=_hint_for(plain[0][0]))
    lines = [line for line in output.splitlines() if line.strip()]
    return Diagnosis(text=lines[-1].strip() if lines else "the compiler said nothing", hint=_hint_for(output))


def _origin(output: str, error: re.Match[str], end: int) -> re.Match[str] | None:
    """Return the line that asked for the template with the error, None where it is in the file of the error."""
    before = [
        m for m in _GNU_FROM.finditer(output, 0, error.start()) if not _SAID.search(output, m.end(), error.start())
    ]
    asked = [*before, *_CLANG_FROM.finditer(output, error.end(), end)]
    return asked[-1] if asked and asked[-1]["file"] != error["file"] else None


def describe_failure(what: str, title: str, output: str, log: Path) -> str:
    """Return the message of a `BuildError`: what failed, where, the line itself, how many more, and the log."""
    diagnosis = diagnose(output)
    where = f"{diagnosis.file}:{diagnosis.line}: " if diagnosis.file else ""
    lines = [f"{what}: {title} failed", f"  {where}{_shorten(diagnosis.text)}"]
    if diagnosis.file:
        lines += _source_line(diagnosis.file, diagnosis.line)
    if diagnosis.from_file:
        lines.append(f"  from {diagnosis.from_file}:{diagnosis.from_line}")
        lines += _source_line(diagnosis.from_file, diagnosis.from_line)
    if diagnosis.further:
        lines.append(f"  and {diagnosis.further} more error{'s' if diagnosis.further > 1 else ''}")
    if diagnosis.hint:
        lines.append(f"  hint: {diagnosis.hint}")
    lines.append(f"  log: {log}")
    return "\n".join(lines)


def _source_line(file: str, line: int) -> list[str]:
    try:
        text = Path(file).read_text(errors="replace").splitlines()[line - 1]
    except (OSError, IndexError):
        return []
    return [f"    {line} | {_shorten(text.rstrip())}"]


def _shorten(text: str, limit: int = 240) -> str:
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _hint_for(text: str) -> str:
    return next((hint for pattern, hint in _HINTS if re.search(pattern, text)), "")
