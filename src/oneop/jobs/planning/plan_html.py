"""A plan as one page: the graph, memory over time, and the kernel of each step. No script or style from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterator

from torch.fx import Node

from oneop.jobs.planning.plan_text import HEADER, size_text, step_row, summary, tensor_text
from oneop.jobs.planning.planner import Buffer, JobPlan, Step

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --kernel: #3079cc; --torch: #5f8420; --python: #c8524f;
  --cpu: #8c6db4; --ink: #808080; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } :focus-visible { outline: 2px solid var(--kernel); }
table { border-collapse: collapse; font: 12px/1.4 ui-monospace, monospace; }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left; white-space: nowrap; }
svg { display: block; font: 12px ui-monospace, monospace; } #memory { width: 100%; height: 20rem; }
svg text { fill: currentColor; } .axis { stroke: var(--ink); } .edge { fill: none; stroke: var(--ink); opacity: .7; }
.axis, .buffer { vector-effect: non-scaling-stroke; }
.kernel { fill: var(--kernel); } .torch { fill: var(--torch); } .python { fill: var(--python); }
.cpu { fill: var(--cpu); } .copy { fill: var(--ink); } .buffer { stroke: Canvas; stroke-width: .5; opacity: .85; }
.key { display: inline-block; margin-right: 1em; } .key::before { content: ""; display: inline-block; width: .8em;
  height: .8em; margin-right: .3em; background: var(--color); }
figure { margin: 0; max-width: 60rem; }
figure p { display: flex; justify-content: space-between; gap: 1em; margin: .3rem 0; }
"""


#: What is wider than the screen scrolls, by the keyboard too.
_WIDE = '<div class="wide" tabindex="0" role="region" aria-label='


def render_plan(plan: JobPlan, note: str = "") -> str:
    """Return the page; `note` says how the plan is run."""
    title = f"Plan of job {plan.traced.name}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
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
        "ink": "an input, a copy or scratch memory",
    }
    spans = (f'<span class="key" style="--color:var(--{kind})">{text}</span>' for kind, text in names.items())
    return f"<p>{''.join(spans)}</p>"


def _table(plan: JobPlan) -> Iterator[str]:
    yield (
        f'{_WIDE}"steps"><table id="steps"><thead><tr>'
        + "".join(f'<th scope="col">{_text(name)}</th>' for name in HEADER)
        + "</tr></thead><tbody>"
    )
    for number, step in enumerate(plan.steps):
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in step_row(number, step)) + "</tr>"
    yield "</tbody></table></div>"


# --- the graph: steps from top to bottom, an arc for each result that a later step reads ----------------------------


def _graph(plan: JobPlan) -> Iterator[str]:
    row, left = 20, 96
    inputs = [node for node in plan.traced.graph.graph.nodes if node.op == "placeholder" and node.users]
    names = [*(spec.name for spec in plan.traced.inputs), *plan.traced.held_names, "learning rate"]
    all_inputs = [node for node in plan.traced.graph.graph.nodes if node.op == "placeholder"]
    name_of = dict(zip(all_inputs, names, strict=False))
    place = {node: i for i, node in enumerate([*inputs, *(step.node for step in plan.steps)])}
    kinds = {step.node: step for step in plan.steps}
    labels = {node: kinds[node].name if node in kinds else name_of.get(node, str(node)) for node in place}
    width, height = left + 24 + int(7.4 * max(map(len, labels.values()), default=0)), row * (len(place) + 1)
    yield f'{_WIDE}"graph"><svg id="graph" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    yield "<title>Inputs and steps in order; an arc leads from a result to a step that reads it</title>"
    for node, i in place.items():
        for source in dict.fromkeys(_sources(node, place)):
            j = place[source]
            reach = min(left * 4 // 3 - 10, 12 * (i - j))  # a curve goes three quarters of the way
            y0, y1 = row * (j + 1), row * (i + 1)
            yield f'<path class="edge" d="M{left},{y0} C{left - reach},{y0} {left - reach},{y1} {left},{y1}"/>'
    for node, i in place.items():
        step = kinds.get(node)
        y = row * (i + 1)
        kind = step.kind if step else "copy"
        hint = _hint(node, step)
        yield (
            f'<g class="node"><title>{_text(hint)}</title><circle class="{kind}" cx="{left}" cy="{y}" r="5"/>'
            f'<text x="{left + 12}" y="{y + 4}">{_text(labels[node])}</text></g>'
        )
    yield "</svg></div>"


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
    width, height = 900, 320  # stretched to the page, with the words outside
    first = min(buffer.first for buffer in plan.buffers)
    last = max(buffer.last for buffer in plan.buffers) + 1
    scale_x, scale_y = width / max(last - first, 1), height / max(plan.memory.size, 1)
    size, bound = size_text(plan.memory.size), size_text(plan.memory.lower_bound)
    yield f'<figure><p><span class="top">{size} of memory</span><span class="bound">dashed: at least {bound}</span></p>'
    yield f'<svg id="memory" viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img">'
    yield "<title>Buffers: steps to the right, addresses upwards</title>"
    for buffer, (kind, label) in _owners(plan).items():
        x, w = (buffer.first - first) * scale_x, (buffer.last - buffer.first + 1) * scale_x
        h = max(buffer.nbytes * scale_y, 0.5)
        y = height - buffer.offset * scale_y - h
        yield (
            f'<rect class="buffer {kind}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}">'
            f"<title>{_text(label)}\n{size_text(buffer.nbytes)} at +{buffer.offset}</title></rect>"
        )
    level = height - plan.memory.lower_bound * scale_y
    yield f'<line class="axis" stroke-dasharray="4" x1="0" y1="{level:.1f}" x2="{width}" y2="{level:.1f}"/>'
    yield f'<line class="axis" x1="0" y1="{height}" x2="{width}" y2="{height}"/></svg>'
    yield f'<p><span class="first">step {first}</span><span>time, in steps</span><span class="last">end of step '
    yield f"{last - 1}</span></p></figure>"


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
