"""Op definitions that were read before: kept by what the file, its includes and the reader contain.

An entry also names the places where an included file was looked for and not found: once there is one, it is read again.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oneop._build.cache import cache_root, note_json, read_json
from oneop.ods.lexer import is_file
from oneop.ods.ops import OdsArg, OdsAttr, OdsOp


def key_of(path: Path, text: str, include_dirs: Sequence[Path], defines: Sequence[str]) -> str:
    """Return the name of an entry: everything but the contents of the included files."""
    folders = [str(folder.absolute()) for folder in include_dirs]
    # The working folder too: a name is looked for there first.
    parts = [reader_digest(), str(path.absolute()), text, str(Path.cwd()), *folders, "", *sorted(defines)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


@functools.cache
def reader_digest() -> str:
    """Return a digest of this package's own files and tables: another reader may read otherwise."""
    total = hashlib.sha256()
    own = Path(__file__).parent
    for file in sorted([*own.rglob("*"), *(own.parent / "model").glob("*")]):
        if file.suffix in (".py", ".td"):
            total.update(file.read_bytes())
    return total.hexdigest()


def digest_of(text: str) -> str:
    """Return the digest of a file's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def load(key: str) -> tuple[OdsOp, ...] | None:
    """Return the ops of an entry, None if there is none or a file it was made from has changed."""
    try:
        entry: dict[str, Any] = read_json(cache_root() / "ods" / f"{key}.json")
        if any(is_file(Path(path)) for path in entry["absent"]):
            return None
        for path, digest in entry["includes"].items():
            if digest_of(Path(path).read_text(encoding="utf-8")) != digest:
                return None
        return tuple(_op_from(op) for op in entry["ops"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def store(key: str, ops: Sequence[OdsOp], includes: Mapping[str, str], absent: Iterable[str]) -> None:
    """Keep ops; `includes` is {path: digest}, `absent` where files were looked for in vain.

    A cache that cannot be written is no error: it only costs time.
    """
    entry = {"includes": dict(includes), "absent": sorted(absent), "ops": [_to_json(op) for op in ops]}
    note_json(cache_root() / "ods" / f"{key}.json", entry)


def _to_json(op: OdsOp) -> dict[str, object]:
    result = asdict(op)
    for attr in result["attrs"]:
        attr["value"] = _encode(attr["value"])
    return result


def _encode(value: object) -> object:
    if isinstance(value, tuple):
        return {"list": [_encode(item) for item in value]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return value


def _decode(value: Any) -> object:
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "list":
        return tuple(_decode(item) for item in content)
    return complex(*content) if kind == "complex" else base64.b64decode(content)


def _op_from(entry: dict[str, Any]) -> OdsOp:
    entry["inputs"] = tuple(OdsArg(**arg) for arg in entry["inputs"])
    entry["outputs"] = tuple(OdsArg(**arg) for arg in entry["outputs"])
    for attr in entry["attrs"]:
        attr["value"] = _decode(attr["value"])
    entry["attrs"] = tuple(OdsAttr(**attr) for attr in entry["attrs"])
    entry["traits"] = tuple(entry["traits"])
    entry["flags"] = tuple(entry["flags"])
    return OdsOp(**entry)
