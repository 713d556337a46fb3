"""`define`: an op from its schema, or from an annotated function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from oneop.authoring import book, methods
from oneop.authoring.annotations import has_body, schema_of_function
from oneop.authoring.binding import Source, source_of_caller
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
from oneop.runtime.core import after_defining, after_loading, find_op
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop._core import Op


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


after_loading(methods.attach)
after_defining(independence.forget_proofs)
after_defining(batching.attach)
after_defining(effects.declare)
after_defining(cuda_graphs.declare)
after_defining(dynamic.declare)
after_defining(default_device.declare)
after_defining(flop_formulas.declare)
cache_keys.install()
