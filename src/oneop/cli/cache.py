"""`oneop cache`: what is built, forgetting it, and why something is built again."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, note, print_json, table


def add(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(
        commands, "cache", "list, clear or explain the build cache", "oneop cache list\noneop cache why leaky_relu"
    )
    acts = parser.add_subparsers(dest="act", metavar="list|clear|why", required=True)
    listed = add_command(acts, "list", "list what is in the cache", "oneop cache list --kind library --json")
    cleared = add_command(acts, "clear", "remove entries of the cache", "oneop cache clear --name leaky_relu")
    why = add_command(acts, "why", "say what differs between the last two builds", "oneop cache why leaky_relu")
    for one in (listed, cleared):
        one.add_argument("--kind", choices=("library", "core", "object", "source", "failed"), help="only this kind")
        one.add_argument("--name", help="only entries of this name")
    why.add_argument("name", help="name of a library, or _core")
    add_json(listed)
    add_json(why)
    listed.set_defaults(run=run_list)
    cleared.set_defaults(run=run_clear)
    why.set_defaults(run=run_why)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def run_list(options: argparse.Namespace) -> int:
    """List the entries, newest last."""
    from oneop._build.cache import cache_root, list_entries

    rows: list[dict[str, Any]] = []
    for entry in list_entries(options.kind, options.name):
        meta = entry.meta()
        rows.append(
            {
                "kind": entry.kind,
                "name": entry.name,
                "key": entry.key,
                "bytes": _size(entry.path),
                "created": meta.get("created"),
                "path": str(entry.path),
            }
        )
    if options.json:
        print_json({"root": str(cache_root()), "entries": rows})
        return 0
    note(f"{len(rows)} entries, {sum(row['bytes'] for row in rows) / 2**20:.1f} MiB in {cache_root()}")
    print(
        table(
            [
                [row["kind"], row["name"], _age(row["created"]), f"{row['bytes'] / 2**10:.0f} KiB", row["key"]]
                for row in rows
            ]
        )
    )
    return 0


def _age(created: object) -> str:
    if not isinstance(created, float):
        return "?"
    seconds = time.time() - created
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def run_clear(options: argparse.Namespace) -> int:
    """Remove entries."""
    from oneop._build.cache import clear

    print(f"removed {clear(options.kind, options.name)} entries")
    return 0


def run_why(options: argparse.Namespace) -> int:
    """Compare the inputs of the two newest builds of a library."""
    from oneop._build.cache import list_entries

    entries = [entry for kind in ("library", "core") for entry in list_entries(kind, options.name)]
    if not entries:
        print(f'oneop cache why: the cache has no build of "{options.name}"', file=sys.stderr)
        return 1
    newest = entries[-1].meta()
    changes = [] if len(entries) < 2 else differences(entries[-2].meta().get("inputs"), newest.get("inputs"))
    if options.json:
        print_json({"name": options.name, "builds": len(entries), "changes": changes})
    elif len(entries) < 2:
        print(f"{options.name}: built once, {_age(newest.get('created'))} ago; there is nothing to compare it with")
    else:
        print(f"{options.name}: built again {_age(newest.get('created'))} ago, because these differ:")
        print("\n".join(f"  {line}" for line in changes) or "  nothing: it was built with --force")
    return 0


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Return a line for each place where two nested values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted({*old, *new})
            for line in differences(old.get(key), new.get(key), f"{where}.{key}" if where else str(key))
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line for i, (a, b) in enumerate(zip(old, new, strict=True)) for line in differences(a, b, f"{where}[{i}]")
        ]
    if old == new:
        return []
    if isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in [*old, *new]):
        gone = [f"{where}: without {item}" for item in old if item not in new]
        return gone + [f"{where}: with {item}" for item in new if item not in old]
    return [f"{where}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
