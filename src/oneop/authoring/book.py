"""What has been registered for ops so far, and handing it to the core.

The core replaces what a library says about an op as a whole, and all of one file is one library. So for each op and
file there is a page that keeps everything said, and a registration hands over the page with one thing more on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from oneop.authoring.binding import Source
from oneop.authoring.rules import flops as counting
from oneop.authoring.rules import infer as inference
from oneop.authoring.rules.sbp_entries import SbpRule, Signature
from oneop.authoring.schema import Arg, Schema
from oneop.authoring.spec import TensorSpec, watched
from oneop.errors import OpNotFoundError
from oneop.model.attributes import BY_SCHEMA
from oneop.runtime.core import core, tell_defined

NO_GRAD, CPU_ONLY, ANY_STRIDES, RANDOM, SIDE_EFFECT = 1, 2, 4, 8, 16  # the plugin ABI's flags of an op


@dataclass(frozen=True, kw_only=True)
class OpPage:
    """The definition of an op."""

    schema: Schema
    source: Source
    flags: int = 0
    asks_part: bool = False  # kernels ask oneop.sharding.part() where they run
    size_attrs: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)  # attribute: (argument, axis)
    doc: str = ""
    infer: inference.InferRule | None = None
    check: inference.InferRule | None = None
    sbp: SbpRule | None = None
    sbp_is_implied: bool = False  # it follows from inference, and nobody declared it
    flops: counting.FlopsRule | None = None
    dynamic: Mapping[str, int] = field(default_factory=dict)  # output: bit i for an axis i whose size depends on data

    @property
    def random(self) -> bool:
        """Whether two calls with the same arguments may differ."""
        return bool(self.flags & RANDOM)


@dataclass(frozen=True, kw_only=True)
class KernelPage:
    """A kernel. `fields` are what the core's reader of its form asks for; see csrc/python/kernels/python_op.h."""

    source: Source
    language: str
    form: str
    devices: tuple[str | None, ...]
    dtypes: tuple[dict[str, Any], ...]  # one kernel in the core for each: {argument: dtype}
    priority: int
    when: Callable[..., Any] | None
    when_text: str
    fields: dict[str, Any]
    flags: int = 0  # ONEOP_KERNEL_... in oneop/abi.h

    @property
    def place(self) -> tuple[object, ...]:
        """What a kernel is for: another one for the same is meant to replace it."""
        return (self.devices, self.dtypes, self.priority, self.when_text)


@dataclass(frozen=True, kw_only=True)
class RulePage:
    """A gradient or a forward-mode rule."""

    source: Source
    fields: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that one library says about one op."""

    name: str
    library: str
    op: OpPage | None = None
    kernels: tuple[KernelPage, ...] = ()
    grad: RulePage | None = None
    forward: RulePage | None = None


_pages: dict[tuple[str, str], Page] = {}
_DEVICES = {None: 0, "cpu": 1, "cuda": 2}


def page_of(name: str, library: str) -> Page:
    """Return the page, without what the core does not know any more (tests put its registries back)."""
    page = _pages.get((name, library), Page(name=name, library=library))
    try:
        info = core().op_info(name)
    except OpNotFoundError:
        return Page(name=name, library=library)
    if info["name"] != name:  # an op of a package, which has the short name too
        return Page(name=name, library=library)
    alive = {(k["source"]["library"], k["source"]["file"], k["source"]["line"]) for k in info["kernels"]}
    return replace(
        page,
        op=page.op if info["source"]["library"] == library else None,
        kernels=tuple(k for k in page.kernels if (library, k.source.file, k.source.line) in alive),
        grad=page.grad if info["grad"] and info["grad"]["library"] == library else None,
        forward=page.forward if info["forward"] and info["forward"]["library"] == library else None,
    )


def pages_of(name: str) -> list[Page]:
    """Return what each library in Python says about an op."""
    return [page_of(name, library) for known, library in [*_pages] if known == name]


def definition_of(name: str) -> OpPage | None:
    """Return the definition of an op if it is Python's."""
    library = core().op_info(name)["source"]["library"]
    return page_of(name, library).op


def is_composition(kernel: KernelPage) -> bool:
    """Tell whether torch may trace through a kernel, so that compiled programs contain its code."""
    return kernel.form == "torch"


def attrs_of_call(name: str, overload: Any, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all attributes of a call that torch makes, as kernels get them and by the author's names.

    torch leaves out what equals a default, and has values of its own for some types. Symbolic numbers stay such.
    """
    defaults = {a.name: a.default_value for a in overload._schema.arguments if a.has_default_value()}
    values = defaults | dict(attrs)
    symbols = {key: value for key, value in values.items() if isinstance(value, (torch.SymInt, torch.SymFloat))}
    return core().kernel_attrs(name, values | dict.fromkeys(symbols, 0)) | symbols  # type: ignore[no-any-return]


def schema_of(name: str) -> Schema:
    """Return the schema of any op, C++'s too."""
    page = definition_of(name)
    if page is not None:
        return page.schema
    from oneop.authoring.foreign import schema_from_info

    return schema_from_info(core().op_info(name))


def publish(page: Page) -> None:
    """Hand a page to the core. If it refuses, everything stays as it was."""
    core().register_python(
        {
            "library": page.library,
            "op": None if page.op is None else _describe_op(page.op),
            "kernels": [entry for kernel in page.kernels for entry in _describe_kernel(page.name, kernel)],
            "grad": None if page.grad is None else _describe_rule(page.name, page.grad),
            "forward": None if page.forward is None else _describe_rule(page.name, page.forward),
        }
    )
    _pages[page.name, page.library] = page
    tell_defined([page.name])


def add_kernel(name: str, kernel: KernelPage) -> None:
    """Register a kernel. One for the same place from the same file replaces the earlier one."""
    page = page_of(name, kernel.source.library)
    kept = tuple(k for k in page.kernels if k.place != kernel.place)
    publish(replace(page, kernels=(*kept, kernel)))


def _describe_op(op: OpPage) -> dict[str, Any]:
    return {
        "name": op.schema.name,
        "file": op.source.file,
        "line": op.source.line,
        "flags": op.flags,
        "inputs": [_describe_arg(arg) for arg in op.schema.inputs],
        "outputs": [_describe_arg(arg, op.dynamic.get(arg.name, 0)) for arg in op.schema.outputs],
        "attrs": [
            {
                "name": attr.name,
                "type": BY_SCHEMA[attr.type].code,
                "is_optional": attr.is_optional,
                "is_positional": attr.is_positional,
                "has_default": attr.has_default,
                "default": attr.default,
                "list_size": attr.list_size,
            }
            for attr in op.schema.attrs
        ],
        "infer": inference.entry(op.schema, op.infer, op.check) if op.infer else None,
        "sbp": _sbp_entry(op.sbp) if op.sbp else None,
        "flops": counting.entry(op.schema, op.flops) if op.flops else None,
    }


def _describe_arg(arg: Arg, dynamic_axes: int = 0) -> dict[str, Any]:
    return {
        "name": arg.name,
        "count": arg.count,
        "count_is_minimum": arg.count_is_minimum,
        "is_optional": arg.is_optional,
        "is_mutable": arg.is_mutable,
        "has_gaps": arg.has_gaps,
        "requires_grad": True,
        "dynamic_axes": dynamic_axes,
    }


def _describe_kernel(name: str, kernel: KernelPage) -> list[dict[str, Any]]:
    return [
        {
            "op": name,
            "file": kernel.source.file,
            "line": kernel.source.line,
            "language": kernel.language,
            "form": kernel.form,
            "device": _DEVICES[device],
            "dtypes": list(dtypes.items()),
            "priority": kernel.priority,
            "flags": kernel.flags,
            "when": kernel.when,
            "when_text": kernel.when_text,
            **kernel.fields,
        }
        for device in kernel.devices
        for dtypes in kernel.dtypes
    ]


def _describe_rule(name: str, rule: RulePage) -> dict[str, Any]:
    return {"op": name, "file": rule.source.file, "line": rule.source.line, **rule.fields}


def _sbp_entry(rule: SbpRule) -> Callable[..., list[Signature]]:
    def specs(raw: Any) -> list[list[TensorSpec]]:
        return [[TensorSpec(shape, dtype) for shape, dtype in tensors] for tensors in raw]

    return lambda inputs, outputs, attrs: rule(specs(inputs), specs(outputs), watched(attrs))
