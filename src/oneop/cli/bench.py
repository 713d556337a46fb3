"""`oneop bench`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, note, print_json, table
from oneop.cli.targets import add_load, find_ops
from oneop.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "bench",
        "measure ops: calls, kernels and backward, against the reference and a copy",
        "oneop bench myop --save before.json\noneop bench myop --plot myop.svg --sizes 1000,1000000\n"
        "oneop bench --compare before.json after.json",
    )
    parser.add_argument("target", nargs="?", metavar="OP|PATH", help="an op, or a path that brings some")
    add_load(parser)
    parser.add_argument(
        "--sizes", type=_sizes, default=(100, 10_000, 1_000_000), metavar="LIST", help="elements: 1e3,1e6"
    )
    parser.add_argument("--dtype", default="float32", help="dtype of the inputs (float32)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where it runs (cpu)")
    parser.add_argument("--seconds", type=float, default=0.2, help="how long each size and direction takes (0.2)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a plot as SVG")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="compare two saved runs")
    add_json(parser)
    parser.set_defaults(run=run)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(float(word)) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers such as 1e3,1e6, found {text!r}") from None
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError("sizes are at least 1")
    return sizes


def run(options: argparse.Namespace) -> int:
    """Measure or compare; return 1 if a result differs from the reference."""
    from oneop.benchmark import result as figures

    if options.compare:
        old, new = (figures.load(path) for path in options.compare)
        lines = figures.compare(old, new)
        if options.json:
            print_json([dict(zip(figures.COMPARE_HEADER, line, strict=True)) for line in lines])
        else:
            print(table(lines, header=figures.COMPARE_HEADER))
        return 0
    import torch

    from oneop.benchmark.plot import svg
    from oneop.benchmark.sweep import bench

    dtype = getattr(torch, options.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise ArgumentError(f"--dtype: expected a dtype such as float32, found {options.dtype!r}")
    results = []
    for op in find_ops(options.target, options.load):
        measured = bench(
            op, sizes=options.sizes, dtype=dtype, device=options.device, seconds=options.seconds, progress=note
        )
        results.append(measured)
        if not options.json:
            print(f"{measured.op}  {measured.dtype} on {measured.device}, {measured.machine['threads']} threads")
            print(table(measured.table(), header=figures.HEADER, indent="  "))
        if options.plot is not None:
            has_several = len(results) > 1
            path = (
                options.plot.with_name(f"{options.plot.stem}_{op}{options.plot.suffix}")
                if has_several
                else options.plot
            )
            path.write_text(svg(measured))
            note(f"plot: {path}")
    if options.json:
        print_json([result.to_json() for result in results])
    if options.save is not None:
        import json

        options.save.write_text(json.dumps([result.to_json() for result in results], indent=1))
        note(f"saved: {options.save}")
    return 0 if all(result.ok for result in results) else 1
