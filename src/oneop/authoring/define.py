"""`define`, and the methods of ops: `register_kernel`, `register_grad` and their kin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

import torch

from oneop.authoring import book, grad
from oneop.authoring.annotations import has_body, schema_of_function
from oneop.authoring.binding import Source, source_of, source_of_caller
from oneop.authoring.kernels import inline
from oneop.authoring.kernels import register as kernels
from oneop.authoring.keys import cache_keys
from oneop.authoring.parse_schema import parse_schema
from oneop.authoring.rules import (
    batching,
    cuda_graphs,
    default_device,
    dynamic,
    effects,
    flop_formulas,
    flops,
    independence,
    infer,
    sbp,
    vmap_rules,
)
from oneop.authoring.rules.sbp import Written as _Written
from oneop.errors import DuplicateOpError, RegistrationError
from oneop.runtime.core import after_defining, after_loading, core, find_op, tell_defined
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop._core import Op

F = TypeVar("F", bound=Callable[..., Any])


class _Options(TypedDict, total=False):
    """The arguments of `define` beside the schema, for type checkers."""

    infer: str | None
    sbp: str | Sequence[_Written] | None
    flops: Callable[..., float] | None
    differentiable: bool
    any_strides: bool
    cpu_only: bool
    random: bool
    side_effect: bool
    asks_part: bool
    size_attrs: Mapping[str, str] | None
    dynamic: Mapping[str, int | Sequence[int]] | None
    mutates: Collection[str]
    doc: str


@overload
def define(schema: str | Callable[..., Any], **options: Unpack[_Options]) -> Op: ...


@overload
def define(schema: None = None, **options: Unpack[_Options]) -> Callable[[Callable[..., Any]], Op]: ...


# long: an argument a line, in its signature, its docstring and its call.
@untraced
def define(
    schema: str | Callable[..., Any] | None = None,
    *,
    infer: str | None = None,
    sbp: str | Sequence[_Written] | None = None,
    flops: Callable[..., float] | None = None,
    differentiable: bool = True,
    any_strides: bool = False,
    cpu_only: bool = False,
    random: bool = False,
    side_effect: bool = False,
    asks_part: bool = False,
    size_attrs: Mapping[str, str] | None = None,
    dynamic: Mapping[str, int | Sequence[int]] | None = None,
    mutates: Collection[str] = (),
    doc: str = "",
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Define an op and return it; as `@oneop.define` or `@oneop.define(infer=...)` from an annotated function.

    Args:
        schema: as torch writes them, `leaky_relu(Tensor x, *, float alpha=0.01) -> Tensor y`: inputs (`Tensor`,
            `Tensor?`, `Tensor[]`, `Tensor[2]`, `Tensor(a!)` for one that is changed in place), attributes (`int`,
            `float[]`, `str?`; those after a star are given by name only), outputs. Or a function with annotations,
            `def scale(x: Tensor, k: int = 2) -> Tensor`; its body, if it has one, is the op's kernel of language torch.
        infer: what the outputs are: "same_shape" (that of the inputs), "elementwise", "broadcast", "reduce", or axes
            such as "b k, k n -> b n". All but the first also say that parts of the inputs give parts of the outputs;
            brackets mark axes along which that is not so: "a [b] -> a [b]". Otherwise write a function:
            `@op.register_infer`.
        sbp: signatures such as "S(0), B -> S(0)", or axes as in `infer`, where `infer` does not say them already.
            Otherwise write a function: `@op.register_sbp`.
        flops: a function that counts the arithmetic operations of a call, `lambda x, w: 2 * x.numel() * w.shape[1]`. It
            takes an `oneop.TensorSpec` for each input, by name those attributes it wants, and `out` for the outputs.
        differentiable: False for an op that has no gradient, and whose results need none.
        any_strides: kernels take inputs as they are; otherwise these arrive contiguous.
        cpu_only: calls on other devices are refused.
        random: kernels draw from torch's generator of the device, or two calls with the same arguments differ for
            another reason. Compilers draw again at each call; vmap follows its `randomness`; on many devices each
            shard draws its own numbers.
        side_effect: calls do something beside giving outputs, so compilers keep them all, in order. Ops without
            outputs are such anyway.
        asks_part: kernels ask `oneop.sharding.part()` which part of the tensors they have.
        size_attrs: attributes that hold sizes, {"rows": "y[0]"} for the size of an axis of a tensor, {"shape": "y"}
            for its shape: on many devices each gets those of its part. Names in an axes line need not be repeated.
        dynamic: outputs whose size along an axis, or several, depends on data: {"y": 0}. What is inferred is the
            largest size, and kernels return what there is. torch.compile gives such a size a symbol.
        mutates: with a function, the inputs that it changes in place. A schema says it by `Tensor(a!)`.
        doc: the docstring; by default that of the function.

    Raises:
        RegistrationError: the schema cannot be read.
        DuplicateOpError: an op of this name is defined elsewhere. The same file may define an op again with the same
            schema, a notebook with any.
    """
    source = source_of_caller(1)

    def define_text(text: str, doc: str = doc) -> Op:
        return define_at(
            source,
            text,
            infer=infer,
            sbp=sbp,
            flops=flops,
            differentiable=differentiable,
            any_strides=any_strides,
            cpu_only=cpu_only,
            random=random,
            side_effect=side_effect,
            asks_part=asks_part,
            size_attrs=size_attrs,
            dynamic=dynamic,
            doc=doc,
        )

    @untraced
    def define_function(function: Callable[..., Any]) -> Op:
        op = define_text(schema_of_function(function, mutates, source), doc or inspect.getdoc(function) or "")
        if has_body(function):
            kernels.register(
                op.__name__,
                function,
                device=None,
                dtypes=None,
                priority=0,
                when=None,
                language="torch",
                caller=source,
            )
        return op

    if schema is None:
        return define_function
    if inspect.isfunction(schema):
        return define_function(schema)
    if mutates:
        raise RegistrationError(
            f'schema "{schema}": mutates is for annotated functions; write Tensor(a!) for an input that is changed\n'
            f"  at {source}"
        )
    return define_text(schema)  # type: ignore[arg-type]  # anything else is refused with its text


def define_at(
    source: Source,
    schema: str,
    *,
    infer: str | None,
    sbp: str | Sequence[_Written] | None,
    flops: Callable[..., float] | None = None,
    differentiable: bool,
    any_strides: bool,
    cpu_only: bool,
    random: bool = False,
    side_effect: bool = False,
    asks_part: bool = False,
    size_attrs: Mapping[str, str] | None = None,
    dynamic: Mapping[str, int | Sequence[int]] | None = None,
    doc: str,
) -> Op:
    """Define an op from a given place."""
    parsed = parse_schema(schema)
    page = book.page_of(parsed.name, source.library)
    _check_redefinition(page, source, parsed.text)
    flags = (
        (0 if differentiable else book.NO_GRAD)
        | (book.ANY_STRIDES if any_strides else 0)
        | (book.CPU_ONLY if cpu_only else 0)
        | (book.RANDOM if random else 0)
        | (book.SIDE_EFFECT if side_effect else 0)
    )
    sizes = _sbp.read_size_attrs(parsed, size_attrs or {}, source)
    axes = _dynamic.read_axes(parsed, dynamic or {}, sbp, source)
    op = book.OpPage(
        schema=parsed, source=source, flags=flags, asks_part=asks_part, size_attrs=sizes, doc=doc, dynamic=axes
    )
    if infer is not None:
        rule, signatures = _infer.from_text(parsed, infer, source)
        _dynamic.check_rank(parsed, axes, _infer.ranks_of(parsed, infer), source)
        signatures = None if axes else signatures
        op = replace(op, infer=rule, sbp=signatures, sbp_is_implied=signatures is not None)
    elif not parsed.outputs:  # there is nothing to infer and nothing to differentiate
        op = replace(op, infer=_infer.no_outputs(source), flags=flags | book.NO_GRAD)
    if sbp is not None:
        op = replace(
            op, sbp_is_implied=False, sbp=_sbp.rule_of_written(parsed, [sbp] if isinstance(sbp, str) else sbp, source)
        )
    if flops is not None:
        op = replace(op, flops=_flops.from_function(parsed, flops, source))
    book.publish(book.Page(name=parsed.name, library=source.library, op=op))
    vmap_rules.forget_rule(parsed.name)
    return _refresh(parsed.name)


_infer, _sbp, _flops, _dynamic = infer, sbp, flops, dynamic  # `define` has parameters of these names


def _check_redefinition(page: book.Page, source: Source, text: str) -> None:
    old = page.op
    if old is None or source.library == "python:interactive" or old.schema.text == text:
        return
    if (old.source.file, old.source.line) != (source.file, source.line):
        raise DuplicateOpError(
            f'op "{page.name}" is defined twice with different schemas\n'
            f"  first:  {old.source}  {old.schema.text}\n  second: {source}  {text}\n"
            f"  op names are global: rename one of them"
        )


def _refresh(name: str) -> Op:
    """Give the callable its docstring, signature and types."""
    op: Any = find_op(name)
    page = book.definition_of(name)
    assert page is not None
    place = f"{page.schema.text}\n\nDefined at {page.source}."
    op.__doc__ = f"{page.doc}\n\n{place}" if page.doc else place
    from oneop.authoring.signature import signature_of

    op.__signature__ = signature_of(page.schema)
    op.__annotations__ = {p.name: p.annotation for p in op.__signature__.parameters.values()}
    return op  # type: ignore[no-any-return]


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


def _attach(module: Any) -> None:
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
after_loading(_attach)
after_defining(independence.forget_proofs)
after_defining(batching.attach)
after_defining(effects.declare)
after_defining(cuda_graphs.declare)
after_defining(dynamic.declare)
after_defining(default_device.declare)
after_defining(flop_formulas.declare)
cache_keys.install()
