"""What torch.compile sees of a call: the torch op behind it.

Invariant: a traced call gives what the same call gives when it is not traced, or raises what that raises.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from oneop.model.attributes import BY_NAME
from oneop.runtime.dtype_numbers import DTYPE_CODES
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop import _core

trace_hooks: list[Callable[[], None]] = []  # called when torch.compile traces a call of an op


def note_trace() -> int:
    """Tell the hooks. torch.compile runs this while it traces, and takes the result for a constant."""
    for hook in trace_hooks:
        hook()
    return 0


note_trace._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compiler.assume_constant_result


def traced_call(op: _core.Op, /, *inputs: Any, **arguments: Any) -> Any:
    """What torch.compile sees of a call: the torch op behind it, with names and lists as torch wants them."""
    plan: TraceNames = op._trace_names  # type: ignore[attr-defined]
    count = len(plan.lists)
    if len(inputs) > count + len(plan.positional):
        return _call_as_it_is(op, *inputs, **arguments)  # which says what the op takes
    positional = list(inputs[:count]) + [None] * (count - len(inputs))
    by_name = dict(zip(plan.positional, inputs[count:]))  # noqa: B905  # torch.compile cannot trace strict=
    if any([name in arguments for name in by_name]):
        return _call_as_it_is(op, *inputs, **arguments)
    attrs: dict[str, Any] = {}
    for name, value in {**by_name, **arguments}.items():
        if name in plan.positions:
            if plan.positions[name] < len(inputs):
                return _call_as_it_is(op, *inputs, **arguments)  # which says that it is given twice
            positional[plan.positions[name]] = value
        else:
            if name in plan.kinds:
                if value is None and name in plan.optional:
                    attrs[plan.attrs.get(name, name)] = None
                    continue
                size = plan.sizes.get(name, 0)
                if size and int in plan.kinds[name][0] and _is_plain(value, plan.kinds[name][0], 0):
                    value = [value] * size  # one number for all
                if not _is_plain(value, *plan.kinds[name]) or (size and len(value) != size):
                    return _call_as_it_is(op, *inputs, **arguments)
                if type(value) is complex and not _is_finite(value):
                    return _call_as_it_is(op, *inputs, **arguments)
            elif name not in plan.others:
                return _call_as_it_is(op, *inputs, **arguments)  # which says what the op takes
            if name in plan.dtype_lists:
                value = [DTYPE_CODES[dtype] for dtype in value]
            elif name in plan.bytes:
                value = text_of_bytes(value)
            attrs[plan.attrs.get(name, name)] = value
    for i, presence in plan.gaps.items():
        value = positional[i]
        if isinstance(value, (list, tuple)) and presence not in attrs and any([item is None for item in value]):
            attrs[presence] = [item is not None for item in value]
            positional[i] = [item for item in value if item is not None]
    for i, is_list in enumerate(plan.lists):
        value = positional[i]
        if is_list and value is None:
            positional[i] = []
        elif is_list and not isinstance(value, (list, tuple)):
            positional[i] = [value]
        elif not is_list and isinstance(value, (list, tuple)):
            positional[i] = value[0] if value else None
    results = op.overload(*positional, **attrs)
    note_trace()  # after the call, which has torch look at all of its tensors
    if plan.returns_nothing:
        return ()  # as a call that is not traced; torch's own value is None
    return tuple(results) if plan.returns_list else results


def text_of_bytes(value: bytes | str) -> str:
    """Return bytes as the text that stands for them in a schema; see text_of_bytes in csrc/engine/ops/bytes_text.h."""
    data = value.encode() if isinstance(value, str) else value
    text = data.decode("utf-8", "surrogateescape")
    return "".join(
        chr(ord(char) - 0xDC00 + 0xF700)
        if "\udc80" <= char <= "\udcff"
        else "".join(chr(0xF700 + byte) for byte in char.encode())
        if "\uf700" <= char <= "\uf7ff"
        else char
        for char in text
    )


# Dynamo calls it while it traces: what torch.compiler.assume_constant_result sets, without importing dynamo.
text_of_bytes._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _is_finite(value: complex) -> bool:
    """Tell whether Python reads the text of a number, which stands in compiled code: infj and nanj are no numbers."""
    return cmath.isfinite(value)


_is_finite._dynamo_marked_constant = True  # type: ignore[attr-defined]


def name_infinite_parts() -> None:
    """Let the code of a graph, which has numbers as Python shows them, say infj and nanj: export writes such code."""
    register = getattr(torch.fx.graph, "_register_custom_builtin", None)
    if register is not None:
        for name in ("infj", "nanj"):
            register(name, f'{name} = complex("{name}")', complex(name))


name_infinite_parts()


class TraceNames:
    """How the arguments of one op are called, by its author and in its schema."""

    def __init__(self, info: _core.OpInfo, schema: torch.FunctionSchema, returns_list: bool) -> None:
        """Read the names off the definition and the schema."""
        names = [argument.name for argument in schema.arguments]
        count = len(info["inputs"])
        self.lists = [arg["count"] != 1 or arg["count_is_minimum"] for arg in info["inputs"]]
        self.positions = {name: i for i, name in enumerate(names[:count])}
        self.positions.update({arg["name"]: i for i, arg in enumerate(info["inputs"])})
        self.attrs = dict(zip((attr["name"] for attr in info["attrs"]), names[count:], strict=False))
        #: Inputs that are lists with None in them: the attribute that says where.
        self.gaps = {i: f"{arg['name']}_given" for i, arg in enumerate(info["inputs"]) if arg["has_gaps"]}
        self.dtype_lists = {attr["name"] for attr in info["attrs"] if attr["type"] == "list of dtype"}
        self.bytes = {attr["name"] for attr in info["attrs"] if attr["type"] == "bytes"}
        self.positional = [attr["name"] for attr in info["attrs"] if attr["is_positional"]]
        self.optional = {attr["name"] for attr in info["attrs"] if attr["is_optional"]}
        self.optional.update({self.attrs[name] for name in self.optional if name in self.attrs})
        self.sizes = {attr["name"]: attr["list_size"] for attr in info["attrs"] if attr["list_size"]}
        self.sizes.update({self.attrs[name]: size for name, size in self.sizes.items() if name in self.attrs})
        self.returns_list = returns_list
        self.returns_nothing = not info["outputs"]
        self.kinds = {attr["name"]: _PLAIN[BY_NAME[attr["type"]].annotation] for attr in info["attrs"]}
        self.kinds.update({self.attrs[name]: kind for name, kind in self.kinds.items() if name in self.attrs})
        self.others = {name for name in names[count:] if name not in self.kinds}  # what every schema has: output counts


#: What the types of attributes are for Python, and how deep in lists. Values of other types, a numpy number say, are
#: for the call itself to convert or refuse: torch's tracer and schemas do that in other ways.
_PLAIN: dict[str, tuple[tuple[type, ...], int]] = {
    "int": ((int,), 0),
    "bool": ((bool,), 0),
    "float": ((float, int), 0),
    "str": ((str,), 0),
    "complex": ((complex, float, int), 0),
    "bytes": ((bytes,), 0),
    "torch.dtype": ((torch.dtype,), 0),
    "tuple[int, ...]": ((int,), 1),
    "list[int]": ((int,), 1),
    "list[float]": ((float, int), 1),
    "list[str]": ((str,), 1),
    "list[bool]": ((bool,), 1),
    "int | float | complex": ((int, float, bool, complex), 0),
    "list[torch.dtype]": ((torch.dtype,), 1),
    "list[tuple[int, ...]]": ((int,), 2),
}


def _is_plain(value: object, types: tuple[type, ...], depth: int) -> bool:
    if depth == 0:
        return type(value) in types
    if type(value) not in (list, tuple, torch.Size):
        return False
    return all([_is_plain(item, types, depth - 1) for item in value])  # type: ignore[attr-defined]


@untraced
def _call_as_it_is(op: _core.Op, /, *inputs: Any, **arguments: Any) -> Any:
    """Call an op outside of the trace: it converts its attributes, or refuses them, as calls that are not traced do."""
    return op(*inputs, **arguments)


_call_as_it_is._torchdynamo_disable_msg = (  # type: ignore[attr-defined]
    "an attribute of the op is not plain: give it Python's own numbers, strings and lists, as in int(n) or list(sizes)"
    ", and complex numbers that are finite"
)
