"""The content of a folder of sources as one digest."""

from __future__ import annotations

import os
import time
from pathlib import Path

from oneop._build.cache import cache_root, digest, note_json, read_json
from oneop._build.sources import sha_of, stamp_of, trusted


def tree_digest(folder: Path) -> str:
    """Return a digest of the names and contents of all files below a folder, hidden and backup files left out.

    Files are read only if their stamps have changed since the last time.
    """
    note = cache_root() / "manifest" / f"tree-{digest(str(folder))}.json"
    known = read_json(note).get("files")
    old = known if isinstance(known, dict) else {}
    now, rows, changed = time.time_ns(), {}, False
    for path in _files_below(folder):
        stamp = stamp_of(path)
        row = old.get(path)
        if isinstance(row, list) and len(row) == 2 and row[0] == list(stamp) and isinstance(row[1], str):
            rows[path] = (stamp, row[1])
        else:
            rows[path] = (trusted(stamp, now), sha_of(path))
            changed = True
    if changed or len(rows) != len(old):
        note_json(note, {"files": rows})
    length = len(str(folder))
    return digest({path[length:]: sha for path, (_, sha) in rows.items()})


def _files_below(folder: Path) -> list[str]:
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        files += [f"{parent}/{name}" for name in names if not name.startswith(".") and not name.endswith("~")]
    return sorted(files)
