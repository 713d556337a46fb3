"""The schema of an op that another language defined, so that Python can add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneop.authoring.schema import Arg, Attr, Schema
from oneop.model.attributes import BY_NAME

if TYPE_CHECKING:
    from oneop import _core


def schema_from_info(info: _core.OpInfo) -> Schema:
    """Return what the core knows of an op as a schema."""

    def arg(of: _core.ArgInfo) -> Arg:
        return Arg(
            name=of["name"],
            count=of["count"],
            count_is_minimum=of["count_is_minimum"],
            is_optional=of["is_optional"],
            is_mutable=of["is_mutable"],
            has_gaps=of["has_gaps"],
        )

    return Schema(
        text=info["schema"].removeprefix("oneop::"),
        name=info["name"],
        inputs=tuple(arg(of) for of in info["inputs"]),
        attrs=tuple(
            Attr(
                name=attr["name"],
                type=BY_NAME[attr["type"]].schema,
                is_optional=attr["is_optional"],
                is_positional=attr["is_positional"],
                has_default=attr["has_default"],
                list_size=attr["list_size"],
            )
            for attr in info["attrs"]
        ),
        outputs=tuple(arg(of) for of in info["outputs"]),
    )
