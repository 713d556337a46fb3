"""The signature that help() and editors show for an op."""

from __future__ import annotations

import keyword
from inspect import Parameter, Signature

import torch

from oneop.authoring.schema import Arg, Schema
from oneop.model.attributes import ATTR_TYPES

#: The types themselves; the table has their names, since it does not import torch.
_ANNOTATIONS = {kind.schema: eval(kind.annotation, {"torch": torch}) for kind in ATTR_TYPES}


def signature_of(schema: Schema) -> Signature:
    """Return the Python signature of a schema."""
    parameters = []
    for i, arg in enumerate(schema.inputs):
        may_be_absent = all(later.is_optional for later in schema.inputs[i:])
        parameters.append(
            Parameter(
                _safe(arg.name),
                Parameter.KEYWORD_ONLY if arg.is_keyword_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=None if may_be_absent else Parameter.empty,
                annotation=_annotation(arg),
            )
        )
    for attr in schema.attrs:
        parameters.append(
            Parameter(
                _safe(attr.name),
                Parameter.POSITIONAL_OR_KEYWORD if attr.is_positional else Parameter.KEYWORD_ONLY,
                default=attr.default if attr.has_default else Parameter.empty,
                annotation=_ANNOTATIONS[attr.type] | None if attr.is_optional else _ANNOTATIONS[attr.type],
            )
        )
    outputs = [_annotation(arg) for arg in schema.outputs]
    returns = None if not outputs else outputs[0] if len(outputs) == 1 else tuple[tuple(outputs)]  # type: ignore[misc]
    return Signature(parameters, return_annotation=returns)


def _annotation(arg: Arg) -> object:
    if arg.has_gaps:
        return list[torch.Tensor | None]
    kind: object = list[torch.Tensor] if arg.is_list else torch.Tensor
    return kind | None if arg.is_optional else kind  # type: ignore[operator]


def _safe(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name
