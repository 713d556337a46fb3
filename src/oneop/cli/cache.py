"""`oneop cache`: what is built, forgetting it, and why something is built again."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, note, print_json, table
from oneop.errors import ArgumentError

#: Those of `oneop._build.cache`, which is imported only where a command needs it.
_KINDS = ("library", "core", "host", "object", "header", "source", "failed")


def add(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(
        commands, "cache", "list, clear or explain the build cache", "oneop cache list\noneop cache why leaky_relu"
    )
    acts = parser.add_subparsers(dest="act", metavar="list|clear|why", required=True)
    listed = add_command(acts, "list", "list what is in the cache", "oneop cache list --kind library --json")
    cleared = add_command(acts, "clear", "remove entries of the cache", "oneop cache clear --name leaky_relu")
    why = add_command(acts, "why", "say what differs between the last two builds", "oneop cache why leaky_relu")
    for subparser in (listed, cleared):
        subparser.add_argument("--kind", choices=_KINDS, metavar="KIND", help=f"only this kind: {', '.join(_KINDS)}")
        subparser.add_argument("--name", help="only entries of this name")
    cleared.add_argument("--all", action="store_true", help="the core too, which takes minutes to build")
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
    from oneop._build.cache import COSTLY_KINDS, clear, list_entries

    print(f"removed {clear(options.kind, options.name, everything=options.all)} entries")
    if options.kind is None and options.name is None:
        kept = [entry for kind in COSTLY_KINDS for entry in list_entries(kind)]
        if kept:
            note(
                f"kept the core ({len(kept)} build{'s' if len(kept) > 1 else ''}): remove it with --kind core or --all"
            )
    return 0


def run_why(options: argparse.Namespace) -> int:
    """Compare the inputs of the two newest builds of a library."""
    from oneop._build.cache import list_entries

    entries = [entry for kind in ("library", "core") for entry in list_entries(kind, options.name)]
    if not entries:
        raise ArgumentError(f'the cache has no build of "{options.name}"\n  oneop cache list says what it has')
    created = entries[-1].meta().get("created")
    changes = [] if len(entries) < 2 else differences(entries[-2].inputs(), entries[-1].inputs())
    if options.json:
        print_json({"name": options.name, "builds": len(entries), "changes": changes})
    elif len(entries) < 2:
        print(f"{options.name}: built once, {_age(created)} ago; there is nothing to compare it with")
    else:
        print(f"{options.name}: built again {_age(created)} ago, because of this:")
        print("\n".join(f"  {line}" for line in changes) or "  nothing: it was built with --force")
    return 0


def differences(old: Any, new: Any) -> list[str]:
    """Return a line for each thing that differs between the inputs of two builds."""
    before, after = _by_source(old), _by_source(new)
    lines = [f"{Path(source).name} is no longer a source" for source in before if source not in after]
    lines += [f"{Path(source).name} is a new source" for source in after if source not in before]
    for source in after:
        if source in before:
            lines += _unit_differences(before[source], after[source])
    plain = {
        key: {k: v for k, v in record.items() if k not in ("units", "objects")} for key, record in ((0, old), (1, new))
    }
    lines += _unit_differences(plain[0], plain[1])
    return list(dict.fromkeys(lines))  # one change may reach many sources


def _by_source(inputs: Any) -> dict[str, dict[str, Any]]:
    units = inputs.get("units", []) if isinstance(inputs, dict) else []
    return {str(unit.get("source")): unit for unit in units if isinstance(unit, dict)}


def _unit_differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    before, after = old.get("contents", {}), new.get("contents", {})
    lines = [f"{_file(path)} changed" for path in after if before.get(path, after[path]) != after[path]]
    if not lines:  # a changed file may include others: these are a consequence
        lines += [f"{_file(path)} is read now" for path in after if path not in before]
        lines += [f"{_file(path)} is not read any more" for path in before if path not in after]
    for key in sorted({*old, *new} - {"contents"}):
        lines += _value_differences(_NAMES.get(key, key), old.get(key), new.get(key))
    return lines


def _value_differences(name: str, old: Any, new: Any) -> list[str]:
    if old == new:
        return []
    if isinstance(old, list) and isinstance(new, list):
        gone = [f"{name}: without {item}" for item in old if item not in new]
        come = [f"{name}: with {item}" for item in new if item not in old]
        return gone + come or [f"{name}: in another order"]
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted({*old, *new})
            for line in _value_differences(f"{name} {key}", old.get(key), new.get(key))
        ]
    return [f"{name}: {_short(old)} -> {_short(new)}"]


#: How inputs are called in the explanation.
_NAMES = {"flags": "flag", "link_flags": "link flag", "command": "compiler command", "environment": "variable"}


def _file(path: str) -> str:
    """Return a path as a person reads it: `${sdk}/x.h` is a file of oneop."""
    return path.removeprefix("${csrc}/").removeprefix("${generated}/")


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
