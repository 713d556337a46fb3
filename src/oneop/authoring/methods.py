"""The methods of ops: `register_kernel`, `register_grad` and their kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from oneop.authoring import book, grad
from oneop.authoring.binding import Source, source_of, source_of_caller
from oneop.authoring.kernels import inline
from oneop.authoring.kernels import register as kernels
from oneop.authoring.rules import dynamic, flop_formulas, infer, sbp, vmap_rules
from oneop.errors import RegistrationError
from oneop.runtime.core import core, tell_defined
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop._core import Op

F = TypeVar("F", bound=Callable[..., Any])


def _own_page(op: Op, what: str, source: Source) -> tuple[book.Page, book.OpPage]:
    name = _name(op)
    info = core().op_info(name)
    page = book.page_of(name, info["source"]["library"])
    if page.op is None:
        raise RegistrationError(
            f'op "{name}" is defined in C++ ({info["source"]["file"]}:{info["source"]["line"]}), '
            f"which says its {what} too\n  at {source}"
        )
    return page, page.op


def _name(op: Op) -> str:
    return str(op.__name__)


@untraced
def register_kernel(
    op: Op,
    device: kernels.Devices = None,
    *,
    dtypes: kernels.Dtypes = None,
    priority: int = 0,
    when: Callable[..., Any] | None = None,
    language: str = "numpy",
    deterministic: bool | None = None,
    batch_invariant: bool = False,
) -> Any:
    """Register the decorated function as a kernel; `@op.register_kernel` alone registers one in numpy for the CPU.

    It takes the inputs by position, and by name those attributes it wants. One that takes `out` writes into the given
    array (or tuple of arrays) and returns None; otherwise its results are checked and copied.

    Args:
        op: the op.
        device: "cpu" or "cuda"; by default cpu, and any for the languages torch and triton.
        dtypes: of the first input, or {argument: dtype or dtypes}; by default any.
        priority: among kernels that take a call, the one with the highest runs.
        when: a further condition: a function of the inputs' specs and of attributes.
        language: "numpy", "torch", "numba", "triton" or "tvm-ffi".
        deterministic: whether the same call gives the same bits each time; None says nothing. See `oneop.require`.
        batch_invariant: the bits of a row depend neither on the other rows of the batch nor on their number.
    """
    caller = source_of_caller(1)
    is_alone = callable(device)  # then it is the function itself

    @untraced
    def register(function: F) -> F:
        kernels.register(
            _name(op),
            function,
            device=None if is_alone else device,
            dtypes=dtypes,
            priority=priority,
            when=when,
            language=language,
            deterministic=deterministic,
            batch_invariant=batch_invariant,
            caller=caller,
        )
        return function

    return register(device) if is_alone else register  # type: ignore[type-var]


@untraced
def register_source(
    op: Op,
    device: str,
    text: str,
    *,
    dtypes: torch.dtype | Sequence[torch.dtype] = torch.float32,
    priority: int = 0,
    header: str = "",
    deterministic: bool | None = None,
    batch_invariant: bool = False,
) -> None:
    """Register a kernel from C++ (or, for "cuda", CUDA) text, which is built and loaded at once.

    `text` is the body of the kernel. In it inputs and outputs are pointers to T by their names, `n` is the number of
    elements of the first output, attributes are values, and `ctx` is the SDK's context for the rest; in CUDA `stream`
    is where to launch. `header` comes before the kernel: includes, helpers, `__global__` functions. What is declared is
    as for `register_kernel`.
    """
    source = source_of_caller(1)
    inline.register_text(
        book.schema_of(_name(op)),
        text,
        device=device,
        dtypes=[dtypes] if isinstance(dtypes, torch.dtype) else dtypes,
        priority=priority,
        header=header,
        flags=kernels.declared_flags(_name(op), deterministic, batch_invariant, source),
        source=source,
    )


@untraced
def register_infer(op: Op, function: F) -> F:
    """Register how outputs follow from inputs: a function of specs and attributes that returns shapes or specs."""
    source = source_of(function, source_of_caller(1))
    page, own = _own_page(op, "inference", source)
    rule = infer.from_function(own.schema, function, source)
    book.publish(replace(page, op=replace(own, infer=rule)))
    return function


@untraced
def register_check(op: Op, function: F) -> F:
    """Register a check of specs and attributes: it raises, or returns False or what is wrong, to refuse a call."""
    source = source_of(function, source_of_caller(1))
    page, own = _own_page(op, "check", source)
    rule = infer.from_function(own.schema, function, source)
    book.publish(replace(page, op=replace(own, check=rule)))
    return function


@untraced
def register_sbp(op: Op, *signatures: Any) -> Any:
    """Register how the op may be split over devices, in place of what was said before.

    Signatures are texts, `op.register_sbp("S(0), B -> S(0)", "B, S(0) -> P")`; axes, `"b k, k n -> b n"`; mappings,
    `{"x": oneop.sbp.split(0), ...}`; or lists with an entry for each argument. Or it is a function, for those that
    depend on the call: `def sbp(ctx)` with `ctx.new_builder().split("x", 0).broadcast("w").split("y", 0).build()`.
    The signature in which everything is broadcast always holds and need not be said.
    """
    caller = source_of_caller(1)
    is_function = len(signatures) == 1 and callable(signatures[0])
    source = source_of(signatures[0], caller) if is_function else caller
    page, own = _own_page(op, "SBP", source)
    if own.dynamic:
        raise dynamic.cannot_split(own.schema.name, source)
    rule = (
        sbp.rule_of_function(own.schema, signatures[0], source)
        if is_function
        else sbp.rule_of_written(own.schema, signatures, source)
    )
    book.publish(replace(page, op=replace(own, sbp=rule, sbp_is_implied=False)))
    return signatures[0] if is_function else None


@untraced
def register_size_attrs(op: Op, /, **sizes: str) -> None:
    """Declare attributes that hold sizes: `rows="y[0]"` for the size of an axis of a tensor, `shape="y"` for its shape.

    On many devices each part is given its own. What is not declared is the same everywhere, whatever its value.
    """
    source = source_of_caller(1)
    page, own = _own_page(op, "size attributes", source)
    read = sbp.read_size_attrs(own.schema, sizes, source)
    book.publish(replace(page, op=replace(own, size_attrs=read)))


@untraced
def register_grad(op: Op, function: F | None = None, *, saves: Iterable[str] | None = None) -> Any:
    """Register the gradient: `def grad(ctx, dy): return dx`, with one gradient for each output and each input.

    `ctx` has inputs, outputs and attributes by name. Those tensors are kept for it that its code mentions, or that
    `saves` names. It may call torch's ops and oneop's; differentiable ones make higher orders work.
    """
    caller = source_of_caller(1)

    @untraced
    def register(function: F) -> F:
        name = _name(op)
        source = source_of(function, caller)
        schema = book.schema_of(name)
        fields = grad.grad_fields(schema, function, saves, source)
        page = book.page_of(name, source.library)
        book.publish(replace(page, grad=book.RulePage(source=source, fields=fields)))
        return function

    return register if function is None else register(function)


@untraced
def register_jvp(op: Op, function: F) -> F:
    """Register the forward-mode rule: `def jvp(ctx, dx): return dy`, with one tangent for each input and output."""
    name = _name(op)
    source = source_of(function, source_of_caller(1))
    fields = grad.forward_fields(book.schema_of(name), function, source)
    page = book.page_of(name, source.library)
    book.publish(replace(page, forward=book.RulePage(source=source, fields=fields)))
    return function


@untraced
def register_vmap(op: Op, function: F) -> F:
    """Register how it runs on batches: `def rule(info, in_dims, x, **attrs): return y, out_dim`, as torch has it."""
    source_of(function, source_of_caller(1))  # refuses what cannot be called
    vmap_rules.set_rule(_name(op), function)
    tell_defined([_name(op)])
    return function


def attach(module: Any) -> None:
    """Give the type of ops its methods."""
    for method in METHODS:
        setattr(module.Op, method.__name__, method)


METHODS = [
    register_kernel,
    register_source,
    register_infer,
    register_check,
    register_sbp,
    register_size_attrs,
    register_grad,
    register_jvp,
    register_vmap,
    flop_formulas.flops,
]
