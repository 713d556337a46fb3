"""The page of a card, and the index of several. No script or style from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from oneop.benchmark.plot import svg
from oneop.benchmark.result import BACKWARD, FORWARD, HEADER
from oneop.benchmark.verdict import verdict
from oneop.card.backward import BackwardNode
from oneop.card.facts import CardFacts
from oneop.testing.report import failure_lines

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: light-dark(#26702b, #6cc070);
  --ink: light-dark(#5c5c5c, #a8a8a8);
  --bad: light-dark(#b3261e, #ff8a80); --soft: light-dark(#7d5700, #e0b050); --op: light-dark(#1f66b8, #6ea8f0); }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; }
code, pre, td { font: 12.5px/1.5 ui-monospace, monospace; }
pre { white-space: pre-wrap; padding: .6rem; border: 1px solid var(--line); }
.wide { overflow-x: auto; } :focus-visible { outline: 2px solid var(--op); }
table { border-collapse: collapse; overflow-wrap: normal; } .speed td { white-space: nowrap; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .7rem .25rem 0; text-align: left; vertical-align: top; }
svg { display: block; } .roofline { max-width: 100%; height: auto; } .soft { color: var(--ink); }
.passed { color: var(--good); } .failed { color: var(--bad); font-weight: bold; } .missing { color: var(--soft); }
.skipped { color: var(--ink); }
"""


def render(card: CardFacts) -> str:
    """Return the page of one op."""
    op = card.op
    parts = [
        *_head(f"{op.name}: op card"),
        f"<h1>{_text(op.name)}</h1>",
        f'<p class="soft">{_text(op.source)}</p>',
        f"<p>{_text(card.doc)}</p>" if card.doc else "",
        _section("schema", "Schema", [f"<pre>{_text(op.schema)}</pre>", *_arguments(card)]),
        _section("attributes", "Attributes", _attributes(card)),
        _section("kernels", "Kernels", _kernels(card)),
        _section("gradient", "Gradient", _gradient(card)),
        _section("sbp", "SBP signatures", _signatures(card)),
        _section("checks", "Checks", _checks(card)),
        _section("speed", "Speed", _speed(card)),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part)


def render_index(cards: Sequence[tuple[str, CardFacts]]) -> str:
    """Return a page that leads to cards: file name and facts of each."""
    rows = []
    for file, card in cards:
        state = "not checked" if card.report is None else "passed" if card.report.ok else "failed"
        link = f'<a href="{_text(file)}">{_text(card.op.name)}</a>'
        kernels = ", ".join(dict.fromkeys(f"{kernel.device} {kernel.dtype}" for kernel in card.kernels))
        rows.append([link, f'<span class="{state}">{state}</span>', _text(kernels), _text(card.op.source)])
    table = _table("ops", ["op", "check", "kernels", "defined at"], rows, raw=True)
    return "\n".join([*_head("Op cards"), "<h1>Op cards</h1>", *table, "</body></html>"])


def _head(title: str) -> list[str]:
    return [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
    ]


def _text(value: object) -> str:
    return html.escape(str(value))


def _section(name: str, title: str, lines: Iterator[str] | Sequence[str]) -> str:
    return "\n".join([f'<section id="{name}"><h2>{title}</h2>', *lines, "</section>"])


def _table(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, raw: bool = False) -> Iterator[str]:
    """Yield a table; where it is wider than the screen it scrolls, by the keyboard too."""
    kind = f' class="{name}"' if name == "speed" else ""
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table{kind}><thead><tr>'
    yield "".join(f'<th scope="col">{_text(cell)}</th>' for cell in header) + "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell if raw else _text(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def _arguments(card: CardFacts) -> Iterator[str]:
    rows = [["input", str(arg)] for arg in card.op.inputs] + [["output", str(arg)] for arg in card.op.outputs]
    flags = [("not differentiable", card.op.no_grad), ("CPU only", card.op.cpu_only)]
    flags += [("kernels take any strides", card.op.non_contiguous), ("counts its operations", card.op.has_flops)]
    rows += [["trait", text] for text, holds in flags if holds]
    yield from _table("arguments", ["", "name"], rows)


def _attributes(card: CardFacts) -> Iterator[str]:
    if not card.op.attrs:
        yield "<p>none</p>"
        return
    rows = [
        [attr.name, attr.type_text, attr.default if attr.has_default else "must be given"] for attr in card.op.attrs
    ]
    yield from _table("attributes", ["name", "type", "default"], rows)


def _kernels(card: CardFacts) -> Iterator[str]:
    if not card.kernels:
        yield "<p>none</p>"
        return
    rows = [
        [
            kernel.device,
            kernel.dtype,
            kernel.language,
            str(kernel.priority),
            kernel.conditions,
            kernel.place,
            kernel.line,
        ]
        for kernel in card.kernels
    ]
    header = ["device", "dtype", "language", "priority", "if", "registered at", "source line"]
    yield from _table("kernels", header, rows)


def _gradient(card: CardFacts) -> Iterator[str]:
    op = card.op
    if op.grad is not None:
        yield f"<p>registered at <code>{_text(op.grad.source)}</code></p>"
    elif op.no_grad:
        yield "<p>declared as not differentiable</p>"
    elif not card.backward:
        yield '<p class="missing">none is registered</p>'
    if card.backward:
        yield from _graph(card.backward)
    elif "backward" in card.notes:
        yield f'<p class="soft">{_text(card.notes["backward"])}</p>'


def _graph(nodes: Sequence[BackwardNode]) -> Iterator[str]:
    """Draw the nodes from left to right, each right of all it reads."""
    column: dict[str, int] = {}
    rows: dict[int, int] = {}
    place: dict[str, tuple[int, int]] = {}
    for node in nodes:
        column[node.name] = max((column[source] + 1 for source in node.reads if source in column), default=0)
        row = rows.get(column[node.name], 0)
        rows[column[node.name]] = row + 1
        place[node.name] = (20 + 190 * column[node.name], 14 + 46 * row)
    width, height = 40 + 190 * (max(column.values()) + 1), 30 + 46 * max(rows.values())
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    yield '<div class="wide" tabindex="0" role="region" aria-label="graph of the gradient">'
    yield f'<svg class="backward" {size} role="img" font-size="12">'
    yield "<title>The ops that compute the gradient: what each reads is left of it</title>"
    for node in nodes:
        x, y = place[node.name]
        for source in node.reads:
            if source in place:
                a, b = place[source]
                yield (
                    f'<path class="edge" d="M{a + 150} {b + 15} C{a + 170} {b + 15} {x - 20} {y + 15} {x} {y + 15}" '
                    f'fill="none" stroke="var(--ink)"/>'
                )
    for node in nodes:
        x, y = place[node.name]
        kind = "var(--good)" if node.is_result else "var(--ink)" if not node.reads else "var(--op)"
        box = f'x="{x}" y="{y}" width="150" height="30" rx="5"'
        yield f'<g class="node"><rect {box} fill="Canvas" stroke="{kind}" stroke-width="1.5"/>'
        text = _text(node.text[:22])
        yield f'<text x="{x + 75}" y="{y + 19}" text-anchor="middle" fill="currentColor">{text}</text></g>'
    yield "</svg></div>"
    keys = {"--ink": "given", "--op": "computed", "--good": "a gradient of an input"}
    marks = (f'<span style="color:var({color})">&#9632;</span> {text}' for color, text in keys.items())
    yield f'<p class="soft">{" &nbsp; ".join(marks)}</p>'


def _signatures(card: CardFacts) -> Iterator[str]:
    if not card.signatures:
        yield f"<p>{'declared; not checked here' if card.op.has_sbp else 'broadcast only'}</p>"
        return
    header = list(card.signatures[0])
    yield from _table("signatures", header, [[row.get(name, "") for name in header] for row in card.signatures])


def _checks(card: CardFacts) -> Iterator[str]:
    if card.report is None:
        yield "<p>not checked</p>"
        return
    rows = [
        [
            f'<span class="{outcome.status}">{outcome.status}</span>',
            _text(outcome.family),
            str(outcome.cases or ""),
            _text(outcome.note),
        ]
        for outcome in card.report.outcomes
    ]
    yield from _table("checks", ["", "family", "calls", "note"], rows, raw=True)
    for outcome in card.report.failures:
        yield f"<pre>{_text(chr(10).join(failure_lines(card.op.name, outcome)))}</pre>"


def _speed(card: CardFacts) -> Iterator[str]:
    if card.bench is None:
        yield f"<p>{_text(card.notes.get('bench', 'not measured'))}</p>"
        return
    machine = card.bench.machine
    threads = f"{machine['threads']} thread{'s' if machine['threads'] != 1 else ''}"
    about = f"{machine['processor']}, torch {machine['torch']}, {threads}"
    yield f'<p class="soft">{_text(about)}</p>'
    for direction in (FORWARD, BACKWARD):
        if any(row.direction == direction for row in card.bench.rows):
            yield f"<h3>{direction}</h3>"
            yield svg(card.bench, direction)
    yield from _table("speed", HEADER, card.bench.table())
    yield "<ul>"
    yield from (f"<li>{_text(sentence)}</li>" for sentence in verdict(card.bench))
    yield "</ul>"
