"""A plan as one page: the graph, memory over time, and the kernel of each step. No script or style from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterator

from torch.fx import Node

from oneop.jobs.planning.plan_text import HEADER, size_text, step_row, summary, tensor_text
from oneop.jobs.planning.planner import Buffer, JobPlan, Step

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --kernel: #2f7ed8; --torch: #6b8e23; --python: #c0504d;
  --cpu: #8064a2; --ink: #888; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font: 12px/1.4 ui-monospace, monospace; display: block; overflow-x: auto; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left; white-space: nowrap; }
svg { max-width: 100%; height: auto; font: 11px ui-monospace, monospace; }
svg text { fill: currentColor; } .axis { stroke: var(--ink); } .edge { fill: none; stroke: var(--ink); opacity: .55; }
.kernel { fill: var(--kernel); } .torch { fill: var(--torch); } .python { fill: var(--python); }
.cpu { fill: var(--cpu); } .copy { fill: var(--ink); } .buffer { stroke: Canvas; stroke-width: .5; opacity: .85; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
"""


def render_plan(plan: JobPlan, note: str = "") -> str:
    """Return the page; `note` says how the plan is run."""
    title = f"Plan of job {plan.traced.name}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1><p>{_text(summary(plan))}</p>",
        f"<p>{_text(note)}</p>" if note else "",
        _key(),
        "<h2>Graph</h2>",
        *_graph(plan),
        "<h2>Memory over time</h2>",
        *_timeline(plan),
        "<h2>Steps</h2>",
        *_table(plan),
        "</body></html>",
    ]
    return "\n".join(parts)


def _text(value: object) -> str:
    return html.escape(str(value))


def _key() -> str:
    names = {
        "kernel": "a oneop kernel",
        "torch": "a torch op into its buffer",
        "python": "a torch op that allocates",
        "cpu": "a kernel on the CPU in a job on a GPU, with copies",
    }
    spans = (f'<span class="key" style="background:var(--{kind})"></span>{text}' for kind, text in names.items())
    return f"<p>{''.join(spans)}</p>"


def _table(plan: JobPlan) -> Iterator[str]:
    yield (
        '<table id="steps"><thead><tr>' + "".join(f"<th>{_text(name)}</th>" for name in HEADER) + "</tr></thead><tbody>"
    )
    for number, step in enumerate(plan.steps):
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in step_row(number, step)) + "</tr>"
    yield "</tbody></table>"


# --- the graph: steps from top to bottom, an arc for each result that a later step reads ----------------------------


def _graph(plan: JobPlan) -> Iterator[str]:
    row, left, right = 20, 220, 420
    inputs = [node for node in plan.traced.graph.graph.nodes if node.op == "placeholder" and node.users]
    names = [*(spec.name for spec in plan.traced.inputs), *plan.traced.held_names, "learning rate"]
    all_inputs = [node for node in plan.traced.graph.graph.nodes if node.op == "placeholder"]
    name_of = dict(zip(all_inputs, names, strict=False))
    place = {node: i for i, node in enumerate([*inputs, *(step.node for step in plan.steps)])}
    height = row * (len(place) + 1)
    yield f'<svg id="graph" viewBox="0 0 {left + right} {height}" width="{left + right}" height="{height}" role="img">'
    for node, i in place.items():
        for source in dict.fromkeys(_sources(node, place)):
            j = place[source]
            reach = min(left - 20, 12 * (i - j))
            y0, y1 = row * (j + 1), row * (i + 1)
            yield f'<path class="edge" d="M{left},{y0} C{left - reach},{y0} {left - reach},{y1} {left},{y1}"/>'
    kinds = {step.node: step for step in plan.steps}
    for node, i in place.items():
        step = kinds.get(node)
        y = row * (i + 1)
        kind = step.kind if step else "copy"
        label = step.name if step else name_of.get(node, str(node))
        hint = _hint(node, step)
        yield (
            f'<g class="node"><title>{_text(hint)}</title><circle class="{kind}" cx="{left}" cy="{y}" r="5"/>'
            f'<text x="{left + 12}" y="{y + 4}">{_text(label)}</text></g>'
        )
    yield "</svg>"


def _sources(node: Node, place: dict[Node, int]) -> Iterator[Node]:
    """Yield the placed nodes that a node reads, through views and picked results."""
    for argument in node.all_input_nodes:
        if argument in place:
            yield argument
        else:
            yield from _sources(argument, place)


def _hint(node: Node, step: Step | None) -> str:
    if step is None:
        return tensor_text(node.meta["val"])
    lines = [step.name, *(tensor_text(like) for _, like in step.outputs)]
    return "\n".join([*lines, *([f"kernel at {step.kernel}"] if step.kernel else [])])


# --- memory: one rectangle for each buffer, steps to the right, addresses upwards -----------------------------------


def _timeline(plan: JobPlan) -> Iterator[str]:
    if not plan.buffers:
        yield "<p>No buffer is shared: results and inputs have memory of their own.</p>"
        return
    width, height, margin = 900, 320, 60
    first = min(buffer.first for buffer in plan.buffers)
    last = max(buffer.last for buffer in plan.buffers) + 1
    scale_x, scale_y = width / max(last - first, 1), height / max(plan.memory.size, 1)
    yield f'<svg id="memory" viewBox="0 0 {width + margin + 10} {height + 40}" width="{width + margin}" role="img">'
    for buffer, (kind, label) in _owners(plan).items():
        x, w = margin + (buffer.first - first) * scale_x, (buffer.last - buffer.first + 1) * scale_x
        h = max(buffer.nbytes * scale_y, 0.5)
        y = height - buffer.offset * scale_y - h + 10
        yield (
            f'<rect class="buffer {kind}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}">'
            f"<title>{_text(label)}\n{size_text(buffer.nbytes)} at +{buffer.offset}</title></rect>"
        )
    bound = height - plan.memory.lower_bound * scale_y + 10
    right = margin + width
    yield f'<line class="axis" stroke-dasharray="4" x1="{margin}" y1="{bound:.1f}" x2="{right}" y2="{bound:.1f}"/>'
    yield f'<text x="0" y="20">{size_text(plan.memory.size)}</text>'
    yield f'<text x="{right - 150}" y="{bound + 14:.1f}">at least {size_text(plan.memory.lower_bound)}</text>'
    yield f'<line class="axis" x1="{margin}" y1="{height + 10}" x2="{right}" y2="{height + 10}"/>'
    yield f'<text x="{margin}" y="{height + 30}">step {first}</text>'
    yield f'<text x="{right - 60}" y="{height + 30}">{last}</text></svg>'


def _owners(plan: JobPlan) -> dict[Buffer, tuple[str, str]]:
    owners: dict[Buffer, tuple[str, str]] = {}
    for step in plan.steps:
        for buffer, like in step.outputs:
            if buffer.kind == "arena":
                owners.setdefault(buffer, (step.kind, f"{step.name}: {tensor_text(like)}"))
        for buffer in step.copies.values():
            owners[buffer] = ("copy", f"{step.name}: contiguous copy of an input")
        if step.tmp is not None:
            owners[step.tmp] = ("copy", f"{step.name}: scratch")
    return owners
