"""Python views of the three registries: what ops, kernels and gradients there are, and where they come from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneop.runtime.core import core, find_info, loaded_libraries, restore

if TYPE_CHECKING:
    from oneop import _core


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a registration was made."""

    file: str
    line: int
    library: str

    def __str__(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class ArgDef:
    """An input or output of an op."""

    name: str
    count: int
    count_is_minimum: bool
    is_optional: bool
    is_mutable: bool
    requires_grad: bool
    dynamic_axes: int = 0  # of an output, bit i: its size along axis i depends on data
    has_gaps: bool = False  # items of the list may be None

    def takes(self, count: int) -> bool:
        """Tell whether this argument may have so many tensors."""
        if count == 0 and self.is_optional:
            return True
        return count >= self.count if self.count_is_minimum else count == self.count

    def __str__(self) -> str:
        """Return the name with what is special about it."""
        counts = f" x{self.count}{'+' if self.count_is_minimum else ''}"
        special = {
            "items may be None": self.has_gaps,
            "optional": self.is_optional and not self.has_gaps,
            "changed in place": self.is_mutable,
            "its size depends on data": bool(self.dynamic_axes),
        }
        notes = [note for note, holds in special.items() if holds]
        text = self.name + ("" if self.count == 1 and not self.count_is_minimum else counts)
        return f"{text} ({', '.join(notes)})" if notes else text


@dataclass(frozen=True, kw_only=True)
class AttrDef:
    """An attribute of an op; `default` is its value as text."""

    name: str
    type: str
    is_optional: bool  # the value may be None
    is_positional: bool  # a call may give it by position, after the inputs
    has_default: bool
    default: str
    list_size: int = 0  # the length that a list must have; 0: any

    @property
    def type_text(self) -> str:
        """The type as messages and pages show it: `int64 or None`, `list of int64 of length 2`."""
        kind = f"{self.type} of length {self.list_size}" if self.list_size else self.type
        return f"{kind} or None" if self.is_optional else kind

    def __str__(self) -> str:
        """Return `name: type = default`."""
        return f"{self.name}: {self.type_text}" + (f" = {self.default}" if self.has_default else "")


@dataclass(frozen=True, kw_only=True)
class KernelDef:
    """A registered kernel. `devices` and `dtypes` are what its predicate asks for, `others` the rest of it."""

    op: str
    source: Source
    priority: int
    predicate: str
    language: str
    deterministic: bool | None  # None: it does not say
    batch_invariant: bool
    devices: tuple[str, ...]
    dtypes: tuple[tuple[str, int, str], ...]
    others: tuple[str, ...]

    @property
    def device(self) -> str:
        """The device it is for, or `any`."""
        return "/".join(self.devices) or "any"

    @property
    def dtype(self) -> str:
        """The dtype it is for, or `any`."""
        return "/".join(dtype for _, _, dtype in self.dtypes) or "any"


@dataclass(frozen=True, kw_only=True)
class GradDef:
    """A registered gradient. `eager` is where a second one, for eager mode, is; it is only compared with this one."""

    op: str
    source: Source
    eager: Source | None = None


@dataclass(frozen=True, kw_only=True)
class OpDef:
    """Everything registered for one op."""

    name: str
    source: Source
    schema: str
    inputs: tuple[ArgDef, ...]
    outputs: tuple[ArgDef, ...]
    attrs: tuple[AttrDef, ...]
    no_grad: bool
    cpu_only: bool
    random: bool
    side_effect: bool
    non_contiguous: bool
    has_inference: bool
    has_sbp: bool
    has_flops: bool
    kernels: tuple[KernelDef, ...]
    grad: GradDef | None

    @property
    def has_open_outputs(self) -> bool:
        """Whether calls say how many outputs there are, by `output_counts`."""
        return any(arg.is_optional or arg.count_is_minimum for arg in self.outputs)

    def __str__(self) -> str:
        """Return the text that `oneop.show` prints."""
        return "\n".join(_lines_of(self))


def list_ops() -> list[str]:
    """Return the names of all registered ops, sorted."""
    return sorted(core().op_names())


def get_op(name: str) -> OpDef:
    """Return what is registered for an op. Raises `OpNotFoundError`, with the nearest name."""
    return _op_def(find_info(name))


def show(name: str) -> OpDef:
    """Print what is registered for an op (schema, attributes, kernels, gradient, SBP, sources), and return it."""
    op = get_op(name)
    print(op)
    return op


def list_pending() -> list[str]:
    """Return a line for each kernel and gradient whose op is not registered."""
    lines: list[str] = core().pending()
    return lines


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Put the registries back as they were when the block ends. For tests."""
    saved, libraries = core().snapshot(), dict(loaded_libraries)
    try:
        yield
    finally:
        restore(saved, libraries)


def _source(info: _core.SourceInfo) -> Source:
    return Source(**info)


def _op_def(info: _core.OpInfo) -> OpDef:
    return OpDef(
        name=info["name"],
        source=_source(info["source"]),
        schema=info["schema"],
        inputs=tuple(ArgDef(**arg) for arg in info["inputs"]),
        outputs=tuple(ArgDef(**arg) for arg in info["outputs"]),
        attrs=tuple(AttrDef(**attr) for attr in info["attrs"]),
        no_grad=info["no_grad"],
        cpu_only=info["cpu_only"],
        random=info["random"],
        side_effect=info["side_effect"],
        non_contiguous=info["non_contiguous"],
        has_inference=info["has_inference"],
        has_sbp=info["has_sbp"],
        has_flops=info["has_flops"],
        kernels=tuple(_kernel_def(kernel) for kernel in info["kernels"]),
        grad=_grad_def(info),
    )


def _grad_def(info: _core.OpInfo) -> GradDef | None:
    if info["grad"] is None:
        return None
    eager = None if info["eager_grad"] is None else _source(info["eager_grad"])
    return GradDef(op=info["name"], source=_source(info["grad"]), eager=eager)


def _declared(kernel: KernelDef) -> list[str]:
    """Return what a kernel declares about its bits."""
    words = [] if kernel.deterministic is None else ["deterministic" if kernel.deterministic else "nondeterministic"]
    return words + (["batch invariant"] if kernel.batch_invariant else [])


def _kernel_def(info: _core.KernelInfo) -> KernelDef:
    return KernelDef(
        op=info["op"],
        source=_source(info["source"]),
        priority=info["priority"],
        deterministic=info["deterministic"],
        batch_invariant=info["batch_invariant"],
        predicate=info["predicate"],
        language=info["language"],
        devices=tuple(info["devices"]),
        dtypes=tuple(info["dtypes"]),
        others=tuple(info["others"]),
    )


def _lines_of(op: OpDef) -> Iterator[str]:
    yield f"{op.name}  {op.source}"
    yield f"  schema   {op.schema}"
    for title, items in [("inputs", op.inputs), ("outputs", op.outputs), ("attrs", op.attrs)]:
        if items:
            yield f"  {title:8} {', '.join(str(item) for item in items)}"
    flags = [("no gradient", op.no_grad), ("cpu only", op.cpu_only), ("any strides", op.non_contiguous)]
    flags += [("random", op.random), ("side effect", op.side_effect)]
    traits = [text for text, holds in flags if holds]
    if traits:
        yield f"  traits   {', '.join(traits)}"
    yield f"  gradient {op.grad.source if op.grad else 'not differentiable' if op.no_grad else 'none'}"
    if op.grad is not None and op.grad.eager is not None:
        yield f"           {op.grad.eager} (for eager mode; not used)"
    yield f"  sbp      {'declared' if op.has_sbp else 'broadcast only'}"
    if op.has_flops:
        yield "  flops    declared"
    yield from _kernel_table(op.kernels)


def _kernel_table(kernels: Sequence[KernelDef]) -> Iterator[str]:
    if not kernels:
        yield "  kernels  none"
        return
    dtypes = list(dict.fromkeys(kernel.dtype for kernel in kernels))
    width = max(len(dtype) for dtype in dtypes)
    yield "  kernels"
    for device in dict.fromkeys(kernel.device for kernel in kernels):
        for dtype in dtypes:
            for kernel in kernels:
                if (kernel.device, kernel.dtype) != (device, dtype):
                    continue
                notes = [f"priority {kernel.priority}"] if kernel.priority else []
                notes += [f"if {other}" for other in kernel.others]
                notes += _declared(kernel)
                yield f"    {device:5} {dtype:{width}}  {kernel.language:5} {kernel.source}" + "".join(
                    f"  {note}" for note in notes
                )
