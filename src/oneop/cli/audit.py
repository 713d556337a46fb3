"""`oneop audit`: what a compiled op library asks for, offers and says of its making. Nothing of it is run.

With `--rebuild`, the commands that the build cache remembers are run again and the bytes compared. With `--handshake`,
the library is loaded in a process of its own and asked for its ABI: that does run its code.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, paint, print_json, table
from oneop.errors import ArgumentError

#: What any process has: the C and C++ runtimes.
RUNTIME = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+")
RUNTIME_VERSIONS = re.compile(r"@(GLIBC|GLIBCXX|CXXABI|GCC)_[\d.]+$")
#: Weak symbols that every shared object of gcc's asks for, and nobody has to have.
OPTIONAL = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize"}

HANDSHAKE = """
import ctypes, sys
class Handshake(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_uint32) for name in "size host_major host_minor major minor reserved".split()),
                ("host", ctypes.c_void_p), ("sdk", ctypes.c_char_p), ("library", ctypes.c_void_p)]
shake = Handshake(size=ctypes.sizeof(Handshake), host_major=2**31)  # a version that no library serves
ctypes.CDLL(sys.argv[1]).oneop_plugin(ctypes.byref(shake))
print(f"{shake.major}.{shake.minor} of {(shake.sdk or b'an unnamed SDK').decode()}")
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "audit",
        "say what a compiled op library imports, exports and is made by, without loading it",
        "oneop audit fast_gelu.so\noneop audit fast_gelu.so --rebuild --json",
    )
    parser.add_argument("library", type=Path, help="a shared object")
    parser.add_argument("--rebuild", action="store_true", help="run the remembered commands again; compare the bytes")
    parser.add_argument("--handshake", action="store_true", help="load it in a process of its own to ask for its ABI")
    add_json(parser)
    parser.set_defaults(run=run)


def audit(path: Path) -> dict[str, Any]:
    """Return what is known of a library from its bytes and from the build cache. Raises `AuditError`."""
    from oneop._build.elf import read_elf
    from oneop._build.sources import sha_of

    if not path.exists():
        raise ArgumentError(f"there is no file {path}")
    elf = read_elf(path)
    digest = sha_of(path)
    record = _record_of(path, digest)
    strangers = [name for name in elf.imports if not RUNTIME_VERSIONS.search(name) and name not in OPTIONAL]
    return {
        "file": str(path),
        "digest": digest,
        "machine": elf.machine,
        "links": list(elf.needed),
        "imports": len(elf.imports),
        "imports beside the C and C++ runtime": strangers,
        "exports": list(elf.exports),
        "oldest glibc": _newest(elf.versions),
        "sdk": _sdk_text(path.read_bytes()),
        "compilers": list(elf.compilers),
        "build id": elf.build_id,
        "commands": _commands(record) if record is not None else None,
        "problems": [
            *(f"{segment} is writable and executable" for segment in elf.writable_code),
            *(["its stack is executable"] if elf.has_executable_stack else []),
            *(["its code is changed when it is loaded (text relocations)"] if elf.has_text_relocations else []),
            *(f"RPATH {entry}: libraries are searched there first" for entry in elf.rpath),
            *(f"RUNPATH {entry}: libraries are searched there" for entry in elf.runpath),
            *([] if elf.is_read_only_after_relocation else ["its tables of addresses stay writable (no RELRO)"]),
            *([] if elf.exports == ("oneop_plugin",) else [_wrong_exports(elf.exports)]),
            *(f"it links {name}" for name in elf.needed if not RUNTIME.fullmatch(name)),
        ],
    }


def _wrong_exports(exports: tuple[str, ...]) -> str:
    if "oneop_plugin" not in exports:
        return "it is no op library: it does not export oneop_plugin"
    return f"it exports {len(exports)} symbols; an op library exports oneop_plugin alone"


def _newest(versions: tuple[str, ...]) -> str:
    numbers = [tuple(map(int, name[6:].split("."))) for name in versions if re.fullmatch(r"GLIBC_[\d.]+", name)]
    return ".".join(map(str, max(numbers, default=())))


def _sdk_text(content: bytes) -> str:
    text = re.search(rb"\0(oneop \d+\.\d+[\w.+]*)\0", content)
    return text[1].decode() if text else ""


def _record_of(path: Path, digest: str) -> Path | None:
    """Return the folder of the build cache in which the file was made, or another one with a file of this content."""
    from oneop._build.cache import list_entries

    entries = [entry for kind in ("library", "core") for entry in list_entries(kind)]
    for entry in sorted(entries, key=lambda entry: entry.path != path.resolve().parent):
        files = entry.meta().get("files")
        if isinstance(files, dict) and digest in files.values():
            return entry.path
    return None


def _commands(record: Path) -> list[str]:
    try:
        return (record / "command.txt").read_text().splitlines()
    except OSError:
        return []


def rebuild(commands: list[str] | None) -> str:
    """Run the commands of a build again, in another folder; return the digest of what comes of it, or why none does."""
    from oneop._build.sources import sha_of

    if not commands:
        return "unknown: the build cache of this user does not remember how it was built"
    folder, *lines = [shlex.split(line) for line in commands]
    *compiles, link = lines
    objects = [i for i, word in enumerate(link) if word.endswith("/unit.o")]
    if folder[:1] != ["cd"] or len(objects) != len(compiles):
        return "unknown: its record does not name the command of each object; build it again and repeat"
    with tempfile.TemporaryDirectory() as name:
        for i, words in enumerate(compiles):
            words[words.index("-o") + 1] = link[objects[i]] = f"{name}/{i}/unit.o"
            words[words.index("-MF") + 1] = f"{name}/{i}/unit.d"
            Path(name, str(i)).mkdir()
        result = Path(name, Path(link[link.index("-o") + 1]).name)
        link[link.index("-o") + 1] = str(result)
        link = [f"--dependency-file={name}/linked.d" if "--dependency-file=" in word else word for word in link]
        for words in (*compiles, link):
            try:
                done = subprocess.run(
                    words,
                    cwd=folder[1] if Path(folder[1]).is_dir() else name,
                    capture_output=True,
                    text=True,
                    check=False,
                )
            except OSError as error:
                return f"unknown: {error.filename or words[0]}: {error.strerror}"
            if done.returncode != 0:
                return f"unknown: {shlex.join(words)[:80]}... failed: {done.stderr.strip().partition(chr(10))[0]}"
        return sha_of(result)


def handshake(path: Path) -> str:
    """Return the ABI that the library speaks, asked in a process of its own, which may crash."""
    command = [sys.executable, "-c", HANDSHAKE, str(path.absolute())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else f"unknown: the process ended with status {done.returncode}"


def run(options: argparse.Namespace) -> int:
    """Print the audit; 1 if there are problems."""
    facts = audit(options.library)
    if options.handshake:
        facts["abi"] = handshake(options.library)
    if options.rebuild:
        digest = rebuild(facts["commands"])
        facts["rebuilds to"] = "the same bytes" if digest == facts["digest"] else digest
        if not digest.startswith("unknown") and digest != facts["digest"]:
            facts["problems"].append(f"it does not rebuild to the same bytes: {digest}")
    problems = facts["problems"]
    if options.json:
        print_json(facts)
        return 1 if problems else 0
    facts["commands"] = "not known here" if facts["commands"] is None else "\n".join(facts["commands"])
    rows = [[name, _shown(value)] for name, value in facts.items() if name not in ("problems", "commands")]
    print(table(rows))
    print(f"\n{paint('built by', 'bold')}\n{facts['commands']}")
    print(f"\n{paint('problems', 'bold')}\n" + ("\n".join(f"  {text}" for text in problems) or "  none"))
    return 1 if problems else 0


def _shown(value: Any) -> str:
    listed = value if isinstance(value, list) else [value]
    return ", ".join(map(str, listed[:12])) + (f", and {len(listed) - 12} more" if len(listed) > 12 else "") or "none"
