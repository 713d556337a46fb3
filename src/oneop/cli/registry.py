"""`oneop list` and `oneop show`."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.cli.output import add_command, add_json, place_text, print_json, table
from oneop.cli.targets import add_load, find_ops, load_all, load_project

if TYPE_CHECKING:
    from oneop.registry import OpDef


def add(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(
        commands,
        "list",
        "list ops",
        "oneop list --load examples/leaky_relu/leaky_relu.cpp --coverage\noneop list --json",
    )
    parser.add_argument(
        "--coverage", action="store_true", help="devices and dtypes, gradient, jvp, vmap and SBP of each op"
    )
    add_load(parser)
    add_json(parser)
    parser.set_defaults(run=run_list)

    parser = add_command(
        commands,
        "show",
        "show what is registered for an op, and where",
        "oneop show leaky_relu --load leaky_relu.cpp\noneop show leaky_relu.cpp --json",
    )
    parser.add_argument("op", nargs="?", metavar="OP|PATH", help="an op, or a path that brings some")
    add_load(parser)
    add_json(parser)
    parser.set_defaults(run=run_show)


def coverage_of(op: OpDef) -> dict[str, Any]:
    """Return what an op has: for each device the dtypes of its kernels, gradient, forward mode, vmap, SBP."""
    from oneop.authoring.rules.batching import has_rule
    from oneop.runtime.core import core
    from oneop.testing.certificate import is_certified

    devices: dict[str, list[str]] = {}
    for kernel in op.kernels:
        dtypes = devices.setdefault(kernel.device, [])
        if kernel.dtype not in dtypes:
            dtypes.append(kernel.dtype)
    composed = any(kernel.language == "torch" for kernel in op.kernels)
    grad = "registered" if op.grad else "composed" if composed else "declared none" if op.no_grad else "none"
    forward = core().op_info(op.name)["forward"] is not None
    return {
        "kernels": devices,
        "gradient": grad,
        "jvp": "registered" if forward else "composed" if composed and not op.grad else "none",
        "vmap": "rule" if has_rule(op.name) else "loop",
        "sbp": "declared" if op.has_sbp else "broadcast only",
        "flops": "declared" if op.has_flops else "none",
        "certified": is_certified(op),
    }


def run_list(options: argparse.Namespace) -> int:
    """List the ops."""
    from oneop.plugins import load_plugins
    from oneop.registry import get_op, list_ops

    load_all(options.load)
    load_project()
    load_plugins()
    ops = [get_op(name) for name in list_ops()]
    if options.json:
        print_json(
            [
                {"name": op.name, "schema": op.schema, "source": str(op.source)}
                | (coverage_of(op) if options.coverage else {})
                for op in ops
            ]
        )
    elif options.coverage:
        rows = []
        for op in ops:
            facts = coverage_of(op)
            kernels = "; ".join(f"{device}: {', '.join(dtypes)}" for device, dtypes in facts["kernels"].items())
            certified = "yes" if facts["certified"] else "no"
            columns = [facts[name] for name in ("gradient", "jvp", "vmap", "sbp")]
            rows.append([op.name, kernels or "none", *columns, certified])
        print(table(rows, header=["op", "kernels", "gradient", "jvp", "vmap", "sbp", "certified"]))
    else:
        print(table([[op.name, place_text(op.source)] for op in ops]))
    return 0


def run_show(options: argparse.Namespace) -> int:
    """Show one op, or those of a path."""
    from oneop.registry import get_op

    ops = [get_op(name) for name in find_ops(options.op, options.load)]
    if options.json:
        shown = [asdict(op) | {"coverage": coverage_of(op)} for op in ops]
        print_json(shown[0] if len(shown) == 1 else shown)
    else:
        print("\n\n".join(str(op).replace(f"{Path.cwd()}{os.sep}", "") for op in ops))
    return 0
