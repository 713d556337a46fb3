"""`oneop bench`."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.cli.output import add_command, add_json, note, print_json, table
from oneop.cli.targets import add_load, find_ops
from oneop.errors import ArgumentError

if TYPE_CHECKING:
    import torch

    from oneop.benchmark.result import BenchResult


#: More than this no machine has memory for.
MOST_ELEMENTS = 10**12


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
    parser.add_argument("--dtype", help="dtype of the inputs (float32 if the op takes it)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where it runs (cpu)")
    parser.add_argument(
        "--seconds", type=_seconds, default=0.2, help="time for each size and direction (0.2; 0.8 on a busy machine)"
    )
    parser.add_argument("--save", type=_new_file, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--plot", type=_new_file, metavar="FILE", help="write a plot as SVG")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="compare two saved runs")
    add_json(parser)
    parser.set_defaults(run=run)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(number.is_integer() for number in numbers):  # neither inf nor nan is
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 1e3,1e6, found {text!r}")
    if not all(1 <= number <= MOST_ELEMENTS for number in numbers):
        raise argparse.ArgumentTypeError(f"sizes are from 1 to {MOST_ELEMENTS:,}, found {text!r}")
    return tuple(map(int, numbers))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return seconds


def _new_file(text: str) -> Path:
    path = Path(text)
    if not path.parent.is_dir():  # said before anything is measured
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder, expected a file to write")
    return path


def run(options: argparse.Namespace) -> int:
    """Measure or compare; return 1 if a result differs from the reference."""
    if options.compare:
        return _compare(options)
    from oneop.benchmark.plot import svg
    from oneop.benchmark.sweep import bench

    dtype = _dtype(options.dtype)
    results = []
    for op in find_ops(options.target, options.load):
        measured = bench(
            op, sizes=options.sizes, dtype=dtype, device=options.device, seconds=options.seconds, progress=note
        )
        results.append(measured)
        if not options.json:
            print("\n".join(lines_of(measured)), flush=True)
        if options.plot is not None:
            path: Path = options.plot
            path = path if len(results) == 1 else path.with_name(f"{path.stem}_{op}{path.suffix}")
            path.write_text(svg(measured))
            note(f"plot: {path}")
    if options.json:
        print_json([result.to_json() for result in results])
    if options.save is not None:
        import json

        options.save.write_text(json.dumps([result.to_json() for result in results], indent=1))
        note(f"saved: {options.save}")
    return 0 if all(result.ok for result in results) else 1


def _dtype(name: str | None) -> torch.dtype | None:
    if name is None:
        return None
    import torch

    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ArgumentError(f"--dtype: expected a dtype such as float32, found {name!r}")
    return dtype


def _compare(options: argparse.Namespace) -> int:
    from oneop.benchmark import result as figures

    old, new = (figures.load(path) for path in options.compare)
    lines = figures.compare(old, new)
    if options.json:
        print_json([dict(zip(figures.COMPARE_HEADER, line, strict=True)) for line in lines])
    else:
        print(table(lines, header=figures.COMPARE_HEADER))
    return 0


def lines_of(measured: BenchResult) -> list[str]:
    """Return the figures as a terminal shows them: a block for each direction and size, and the verdict."""
    from oneop.benchmark.result import HEADER, NOISY_NOTE
    from oneop.benchmark.verdict import verdict

    threads = measured.machine["threads"]
    head = f"{measured.op}  {measured.dtype} on {measured.device}, {threads} thread{'s' if threads != 1 else ''}"
    cells = [[_short(row[2]), *row[3:-1], row[-1][:1]] for row in measured.table()]  # ✗: the verdict says more
    header, *rows = table(cells, header=["", *HEADER[3:]], indent="    ", wrap=False).splitlines()
    lines = [head, header]
    block = None
    for row, line in zip(measured.rows, rows, strict=True):
        if (row.direction, row.elements) != block:
            block = (row.direction, row.elements)
            lines.append(f"  {row.direction}, {row.elements:,} elements")
        lines.append(line)
    lines += [f"  {NOISY_NOTE}"] if any(row.is_noisy for row in measured.rows) else []
    return [*lines, "", *verdict(measured)]


def _short(name: str, most: int = 24) -> str:
    """Return the name of a contender so that lines fit; of a long one the end, where file and line are."""
    return name if len(name) <= most else f"...{name[3 - most :]}"
