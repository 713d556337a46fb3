"""calls: what one call costs, without and with grad, and forward plus backward. One thread."""

from __future__ import annotations

import argparse

import torch

from benchmarks._peers import BUILTIN, CUSTOM_OP, OURS, Peer, list_peers
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, race

CHAIN = 20
BACKWARD = "torch.autograd.grad({y}, x, g)"
#: title, shapes of the inputs that take turns, whether these are transposed
LAYOUTS = [
    ("two shapes in turn, no grad, per op", [(8,), (9,)], False),
    ("8 x 8 transposed, no grad", [(8, 8)], True),
]


def measure(options: argparse.Namespace) -> Section:
    torch.set_num_threads(1)
    section = Section(name="calls", title="leaky_relu(x, 0.2), float32, one thread")
    peers = list_peers(with_cpp=options.cpp)
    for n, size in [(8, "8"), (100_000, "1e5"), (10_000_000, "1e7")]:
        big = n > 1_000_000
        seconds = (1.5 if options.quick else 5.0 if not big else 10.0) * len(peers) / 5
        rounds = (6 if options.quick else 20) if big else 1000  # short turns: the best one finds a quiet moment
        for mode in ["no grad", "with grad", "forward+backward", *([] if big else [f"{CHAIN}-chain forward+backward"])]:
            contenders = [_contender(peer, n, mode) for peer in peers]
            section.tables.append(
                Table(
                    title=f"n = {size}, {mode}" + (", per op" if "chain" in mode else ""),
                    timings=race(contenders, seconds=seconds, rounds=rounds),
                    base=BUILTIN,
                )
            )
    seconds = (1.5 if options.quick else 5.0) * len(peers) / 5
    for title, shapes, strided in LAYOUTS:
        contenders = [_by_layout(peer, shapes, strided) for peer in peers]
        section.tables.append(
            Table(title=title, timings=race(contenders, seconds=seconds, rounds=1000), base=BUILTIN),
        )
    by_title = {table.title: table for table in section.tables}
    small = by_title["n = 8, no grad"]
    with_grad = by_title["n = 8, with grad"]
    chain = by_title[f"n = 8, {CHAIN}-chain forward+backward, per op"]
    single = by_title["n = 8, forward+backward"]
    alternating, transposed = (by_title[title] for title, _, _ in LAYOUTS)
    section.bars = [
        Bar(text="call, n=8, no grad, to built-in", limit=0.6, found=small.ratio(OURS, BUILTIN)),
        Bar(text="call, n=8, with grad, to built-in", limit=0.5, found=with_grad.ratio(OURS, BUILTIN)),
        Bar(text="call, n=8, no grad, custom_op to ours", limit=15, found=small.ratio(CUSTOM_OP, OURS), at_least=True),
        Bar(
            text="call, n=8, with grad, custom_op to ours",
            limit=15,
            found=with_grad.ratio(CUSTOM_OP, OURS),
            at_least=True,
        ),
        Bar(text="forward+backward of a 20-chain, n=8, to built-in", limit=0.7, found=chain.ratio(OURS, BUILTIN)),
        Bar(text="forward+backward of one op, n=8, to built-in", limit=0.7, found=single.ratio(OURS, BUILTIN)),
        Bar(text="call, two shapes in turn, to built-in", limit=0.35, found=alternating.ratio(OURS, BUILTIN)),
        Bar(text="call, 8 x 8 transposed, to built-in", limit=0.6, found=transposed.ratio(OURS, BUILTIN)),
    ]
    return section


def _contender(peer: Peer, n: int, mode: str) -> Contender:
    x = torch.randn(n, requires_grad=mode != "no grad")
    if "backward" not in mode:
        return Contender(name=peer.name, statement=peer.call.format(x="x"), names=peer.names(x=x))
    length = CHAIN if "chain" in mode else 1
    y = "x"
    for _ in range(length):
        y = peer.call.format(x=y)
    return Contender(
        name=peer.name,
        statement=BACKWARD.format(y=y),
        names=peer.names(x=x, g=torch.ones(n)),
        per=length,
    )


def _by_layout(peer: Peer, shapes: list[tuple[int, ...]], strided: bool) -> Contender:
    names = {f"x{i}": torch.randn(shape).t() if strided else torch.randn(shape) for i, shape in enumerate(shapes)}
    return Contender(
        name=peer.name,
        statement="; ".join(peer.call.format(x=name) for name in names),
        names=peer.names(**names),
        per=len(shapes),
    )
