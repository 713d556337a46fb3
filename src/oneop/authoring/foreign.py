"""The schema of an op that another language defined, so that Python can add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneop.authoring.schema import Arg, Attr, Schema

if TYPE_CHECKING:
    from oneop import _core

_TYPES = {"int64": "int", "double": "float", "float": "float32", "string": "str", "list of int64": "int[]"}
_TYPES |= {"list of int32": "int32[]", "list of float": "float[]", "list of dtype": "dtype[]"}
_TYPES |= {"list of shape": "shape[]", "list of string": "str[]"}


def schema_from_info(info: _core.OpInfo) -> Schema:
    """Return what the core knows of an op as a schema."""

    def arg(of: _core.ArgInfo) -> Arg:
        return Arg(
            name=of["name"],
            count=of["count"],
            count_is_minimum=of["count_is_minimum"],
            is_optional=of["is_optional"],
            is_mutable=of["is_mutable"],
        )

    return Schema(
        text=info["schema"].removeprefix("oneop::"),
        name=info["name"],
        inputs=tuple(arg(of) for of in info["inputs"]),
        attrs=tuple(
            Attr(name=attr["name"], type=_TYPES.get(attr["type"], attr["type"]), has_default=attr["has_default"])
            for attr in info["attrs"]
        ),
        outputs=tuple(arg(of) for of in info["outputs"]),
    )
