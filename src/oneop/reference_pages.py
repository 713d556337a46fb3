"""Texts made from the registry: type stubs of ops, and a reference page for each."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from oneop.model.attributes import BY_NAME
from oneop.model.stub_package import OTHERS
from oneop.registry import ArgDef, AttrDef, OpDef

HEAD = "# Made by `oneop gen`; do not edit.\n"


def stubs(ops: Sequence[OpDef]) -> str:
    """Return the text of a `.pyi` with a function for each op."""
    lines = [HEAD, "from collections.abc import Sequence", "from typing import Any", ""]
    lines += ["import torch", "from torch import Tensor", ""]
    for op in ops:
        parameters = [_input(arg, all(later.is_optional for later in op.inputs[i:])) for i, arg in enumerate(op.inputs)]
        parameters += [_attribute(attr) for attr in op.attrs if attr.is_positional]
        by_name = [_attribute(attr) for attr in op.attrs if not attr.is_positional]
        parameters += ["*", *by_name] if by_name else []
        lines.append(f"def {_safe(op.name)}({', '.join(parameters)}) -> {_result(op)}:")
        lines += [f'    """{op.schema}"""', ""]
    return "\n".join([*lines, *OTHERS])


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _input(arg: ArgDef, may_be_left_out: bool) -> str:
    is_list = arg.count != 1 or arg.count_is_minimum
    kind = (
        "Sequence[Tensor | None]"
        if arg.has_gaps
        else "Sequence[Tensor]"
        if is_list
        else "Tensor | None"
        if arg.is_optional
        else "Tensor"
    )
    return f"{_safe(arg.name)}: {kind}{' = None' if may_be_left_out else ''}"


def _attribute(attr: AttrDef) -> str:
    kind = BY_NAME[attr.type].stub
    if attr.list_size and kind in ("Sequence[int]", "Sequence[float]"):  # one number stands for all
        kind += " | " + kind.removeprefix("Sequence[").removesuffix("]")
    kind += " | None" * attr.is_optional
    return f"{_safe(attr.name)}: {kind}{' = ...' if attr.has_default else ''}"


def _result(op: OpDef) -> str:
    if not op.outputs:
        return "None"
    first = op.outputs[0]
    is_single = len(op.outputs) == 1 and first.count == 1 and not first.count_is_minimum and not first.is_optional
    return "Tensor" if is_single else "tuple[Tensor, ...]"


def page(op: OpDef, *, relative_to: str = "") -> str:
    """Return the reference page of an op, in Markdown; places are shown relative to a folder."""

    def place(source: object) -> str:
        return str(source).removeprefix(relative_to).lstrip("/")

    lines = [f"<!-- Made by `oneop gen`; do not edit. -->\n# {op.name}", "", f"    {op.schema}", ""]
    lines += [f"Defined at `{place(op.source)}`.", ""]
    lines += ["| argument | |", "|---|---|"]
    lines += [f"| `{arg.name}` | input{_details(arg)} |" for arg in op.inputs]
    lines += [
        f"| `{attr.name}` | {attr.type_text}{f', default {attr.default}' if attr.has_default else ''} |"
        for attr in op.attrs
    ]
    lines += [f"| `{arg.name}` | output{_details(arg)} |" for arg in op.outputs]
    lines += ["", "| device | dtype | language | registered at |", "|---|---|---|---|"]
    lines += [
        f"| {kernel.device} | {kernel.dtype} | {kernel.language} | `{place(kernel.source)}` |" for kernel in op.kernels
    ]
    gradient = place(op.grad.source) if op.grad else "declared as not differentiable" if op.no_grad else "none"
    lines += [
        "",
        f"Gradient: {f'`{gradient}`' if op.grad else gradient}. SBP: {'declared' if op.has_sbp else 'broadcast only'}."
        + (" Flops: declared." if op.has_flops else ""),
        "",
    ]
    return "\n".join(lines)


def _details(arg: ArgDef) -> str:
    notes = str(arg).removeprefix(arg.name).strip()
    return f", {notes.strip('()')}" if notes else ""
