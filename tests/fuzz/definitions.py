"""Random ops: Python, C++ and functors. Each has its formula in plain torch too, which says what is right.

All take and give float32 tensors of one shape, so that programs may chain them at will.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import oneop
from oneop.authoring.parse_schema import parse_schema

#: What ops with side effects did, in order.
LOG: list[tuple[str, float]] = []
POOL = Path(__file__).parent / "pool"


@dataclass(frozen=True, kw_only=True)
class FuzzOp:
    """An op of a program. `arguments` says how many tensors each argument has: 1, a list's length, or 0 for absent."""

    name: str
    call: Callable[..., Any]
    formula: Callable[..., Any]
    arguments: tuple[str, ...]  # "tensor", "optional", "list", "changed"
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    differentiable: bool = True
    features: frozenset[str] = frozenset()
    redefine: Callable[[], None] | None = None  # as an author who edits the op: the formula has other factors then

    @property
    def is_random(self) -> bool:
        return "random" in self.features


def _flip(value: Any) -> Any:
    return value.flip(-1) if isinstance(value, torch.Tensor) else np.ascontiguousarray(value[..., ::-1])


def _prefix(value: Any) -> Any:
    return value.cumsum(-1)


#: name -> (of numpy arrays or tensors, gradient of tensors, along which axis it mixes)
TERMS: dict[str, tuple[Callable[[Any], Any], Callable[[torch.Tensor, torch.Tensor], torch.Tensor], str]] = {
    "same": (lambda x: x, lambda x, dy: dy, ""),
    "square": (lambda x: x * x * 0.5, lambda x, dy: dy * x, ""),
    "tanh": (
        lambda x: torch.tanh(x) if isinstance(x, torch.Tensor) else np.tanh(x),
        lambda x, dy: dy * (1 - torch.tanh(x) ** 2),
        "",
    ),
    "prefix": (lambda x: _prefix(x) * 0.25, lambda x, dy: _flip(_prefix(_flip(dy))) * 0.25, "last"),
    "flip": (_flip, lambda x, dy: _flip(dy), "last"),
    "rows": (lambda x: x.cumsum(0) * 0.25, lambda x, dy: dy.flip(0).cumsum(0).flip(0) * 0.25, "first"),
}


def number_of(value: Any) -> float:
    """Return one number that depends on all of an attribute."""
    if value is None:
        return 0.7
    if isinstance(value, (str, bytes)):
        return 0.01 * sum(value if isinstance(value, bytes) else value.encode())
    if isinstance(value, torch.dtype):
        return 0.1 * value.itemsize
    if isinstance(value, complex):
        return value.real + 2 * value.imag
    if isinstance(value, (tuple, list)):
        return sum((i + 1) * number_of(item) for i, item in enumerate(value))
    return float(value)


ATTRS: dict[str, Callable[[random.Random], Any]] = {
    "int": lambda r: r.randint(-3, 5),
    "int32": lambda r: r.randint(-3, 5),
    "bool": lambda r: r.random() < 0.5,
    "float": lambda r: round(r.uniform(-1, 1), 3),
    "float32": lambda r: r.randint(-8, 8) / 8,
    "str": lambda r: r.choice(["", "mean", "none", "ü"]),
    "dtype": lambda r: r.choice([torch.float32, torch.int8, torch.float64]),
    "shape": lambda r: tuple(r.randint(0, 4) for _ in range(r.randint(0, 3))),
    "int[]": lambda r: [r.randint(-2, 4) for _ in range(r.randint(0, 3))],
    "int32[]": lambda r: [r.randint(-2, 4) for _ in range(r.randint(0, 3))],
    "float[]": lambda r: [r.randint(-8, 8) / 10 for _ in range(r.randint(0, 3))],
    "float32[]": lambda r: [r.randint(-8, 8) / 8 for _ in range(r.randint(0, 3))],
    "str[]": lambda r: [r.choice(["a", "bc"]) for _ in range(r.randint(0, 2))],
    "dtype[]": lambda r: [r.choice([torch.float16, torch.int64]) for _ in range(r.randint(0, 2))],
    "shape[]": lambda r: [tuple(r.randint(1, 3) for _ in range(2)) for _ in range(r.randint(0, 2))],
    "complex": lambda r: complex(r.randint(-2, 2), r.randint(-2, 2)),
    "bytes": lambda r: r.choice([b"", b"ab", bytes([0, 255])]),
    "bool[]": lambda r: [r.random() < 0.5 for _ in range(r.randint(0, 3))],
    "int[2]": lambda r: [r.randint(-2, 4) for _ in range(2)],
    "float[3]": lambda r: [r.randint(-8, 8) / 10 for _ in range(3)],
    "bool[2]": lambda r: [r.random() < 0.5 for _ in range(2)],
    "Scalar": lambda r: r.choice([2, 2.0, True, -0.5, 0, 0.0, False]),
}


def _default_text(kind: str, value: Any) -> str:
    return repr(value).replace("torch.", "")


class Formula:
    """scale * sum of coefficient * term(input), for each output another multiple of it. Of arrays or of tensors."""

    def __init__(self, chance: random.Random, arguments: Sequence[str], outputs: int, mixes: str) -> None:
        """Make one; `mixes` is the axis along which it mixes, "first" or "last", or empty."""
        allowed = [name for name, (_, _, axis) in TERMS.items() if axis in ("", mixes)]
        self.terms = [chance.choice(allowed) for _ in arguments]
        if mixes and not any(TERMS[term][2] for term in self.terms):
            self.terms[0] = "prefix" if mixes == "last" else "rows"
        self.factors = [chance.randint(1, 8) / 8 for _ in arguments]
        self.outputs = outputs

    def scale(self, attrs: dict[str, Any]) -> float:
        return 1 + 0.125 * float(np.tanh(sum((i + 1) * number_of(v) for i, v in enumerate(attrs.values()))))

    def total(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        found: Any = None
        for value, term, factor in zip(inputs, self.terms, self.factors, strict=True):
            items = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
            for position, item in enumerate(items):
                part = TERMS[term][0](item) * (factor + position * 0.25)
                found = part if found is None else found + part
        return found * self.scale(attrs)

    def results(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        total = self.total(inputs, attrs)
        return tuple(total * (1 + 0.5 * j) + j for j in range(self.outputs))

    def gradients(self, inputs: Sequence[Any], attrs: dict[str, Any], grads: Sequence[torch.Tensor]) -> tuple[Any, ...]:
        scale = self.scale(attrs)
        dy = sum(grad * (1 + 0.5 * j) for j, grad in enumerate(grads)) * scale

        def one(item: torch.Tensor, term: str, factor: float) -> torch.Tensor:
            return TERMS[term][1](item, dy) * factor

        found: list[Any] = []
        for value, term, factor in zip(inputs, self.terms, self.factors, strict=True):
            if isinstance(value, (list, tuple)):
                found.append([one(item, term, factor + i * 0.25) for i, item in enumerate(value)])
            else:
                found.append(None if value is None else one(value, term, factor))
        return tuple(found)


def python_op(name: str, chance: random.Random) -> FuzzOp:
    """Define a random op in Python."""
    language = chance.choice(["numpy", "torch"])
    kind = chance.choices(["plain", "changing", "effect", "random"], [10, 2, 1, 2])[0]
    arguments = ["tensor"]
    arguments += [chance.choice(["tensor", "optional", "list"]) for _ in range(chance.randint(0, 2))]
    if kind in ("changing", "effect"):
        arguments = ["tensor"]
    outputs = chance.choice([1, 1, 1, 2, 3]) if kind == "plain" else 1
    mixes = chance.choices(["", "last", "first"], [6, 2, 2])[0]
    kinds = chance.sample(sorted(ATTRS), chance.randint(0, 3))
    attrs = {f"a{i}": ATTRS[one](chance) for i, one in enumerate(kinds)}
    optional = {n for n in attrs if chance.random() < 0.3}
    kinds = [f"{one}?" if n in optional else one for one, n in zip(kinds, attrs, strict=True)]
    attrs |= {n: None for n in sorted(optional) if chance.random() < 0.5}
    formula = Formula(chance, arguments, outputs, mixes)
    names = [f"x{i}" for i in range(len(arguments))]
    spelled = {"tensor": "Tensor", "optional": "Tensor?", "list": "Tensor[]"}
    parts = [f"{spelled[one]} {n}" for one, n in zip(arguments, names, strict=True)]
    if kind == "changing":
        parts.insert(0, "Tensor(a!) a")
    given = dict(attrs)
    defaulted = {n for n in attrs if chance.random() < 0.5}
    defaults = {n: attrs[n] for n in attrs if n in defaulted}
    for n in [
        n for n in defaults if n in optional and chance.random() < 0.5
    ]:  # another value than the one that is given
        defaults[n] = None if attrs[n] is not None else ATTRS[kinds[list(attrs).index(n)].removesuffix("?")](chance)
    texts = [
        f"{one} {n}={_default_text(one, defaults[n])}" if n in defaults else f"{one} {n}"
        for one, n in zip(kinds, attrs, strict=True)
    ]
    for n in defaults:
        if chance.random() < 0.5 and defaults[n] is attrs[n]:
            given.pop(n)
    after = [" *", *[f" {text}" for text in texts]] if texts else []
    returns = {
        "plain": "(" + ", ".join(f"Tensor y{j}" for j in range(outputs)) + ")" if outputs > 1 else "Tensor y0",
        "changing": chance.choice(["()", "Tensor old"]),
        "effect": "()",
        "random": "(Tensor y0, Tensor noise)",
    }[kind]
    schema = f"{name}({', '.join(parts)}{''.join(',' + text for text in after)}) -> {returns}"
    makers = {"plain": _plain, "changing": _changing, "effect": _effect, "random": _random}
    has_lists = any(one != "tensor" for one in arguments)
    made = makers[kind](name, schema, formula, arguments, language, chance, mixes, has_lists)
    features = {language, kind, *(one for one in arguments if one != "tensor"), *kinds, *made.features}
    features |= {one.removesuffix("?") for one in kinds}
    features |= {"empty optional list"} if any(attrs[n] in ([], ()) for n in optional) else set()
    features |= {"several outputs"} if outputs > 1 else set()
    features |= {"mixes"} if mixes else set()
    return FuzzOp(
        name=name,
        call=made.call,
        formula=functools.partial(made.formula, _all=attrs),
        arguments=("changed", *arguments) if kind == "changing" else tuple(arguments),
        attrs=given,
        outputs=made.outputs,
        differentiable=made.differentiable,
        features=frozenset(features),
        redefine=made.redefine,
    )


@dataclass(kw_only=True)
class _Made:
    call: Any
    formula: Callable[..., Any]
    outputs: int = 1
    differentiable: bool = True
    features: tuple[str, ...] = ()
    redefine: Callable[[], None] | None = None


def _infer(chance: random.Random, arguments: Sequence[str], outputs: int, mixes: str, has_lists: bool) -> str | None:
    if has_lists:
        return chance.choice(["same_shape"] + ([] if mixes else ["elementwise"]))
    if mixes:
        axes = "... [n]" if mixes == "last" else "[n] ..."
        line = ", ".join([axes] * len(arguments)) + " -> " + ", ".join([axes] * outputs)
        return chance.choice(["same_shape", line, "false claim"])
    line = ", ".join(["..."] * len(arguments)) + " -> " + ", ".join(["..."] * outputs)
    return chance.choice(["elementwise", "same_shape", line])


def _plain(
    name: str,
    schema: str,
    formula: Formula,
    arguments: Sequence[str],
    language: str,
    chance: random.Random,
    mixes: str,
    has_lists: bool,
) -> _Made:
    infer = _infer(chance, arguments, formula.outputs, mixes, has_lists)
    is_false = infer == "false claim"
    returns_input = formula.outputs == 1 and not any(one != "tensor" for one in arguments) and chance.random() < 0.1
    has_grad = language == "numpy" or chance.random() < 0.5
    names = [f"x{i}" for i in range(len(arguments))]
    attributes = _attributes(schema)

    def define() -> Any:
        op = oneop.define(schema, infer="elementwise" if is_false else infer)
        own = copy.deepcopy(formula)  # a later edit is a registration, not a change of this object

        def kernel(*inputs: Any, **attrs: Any) -> Any:
            if returns_input:
                return inputs[0]
            found = own.results(inputs, attrs)
            return found[0] if len(found) == 1 else found

        op.register_kernel(**({"language": "torch"} if language == "torch" else {"device": "cpu"}))(kernel)
        if has_grad:

            def grad(ctx: Any, *grads: torch.Tensor) -> Any:
                attrs = {name: getattr(ctx, name) for name in attributes}
                if returns_input:
                    return {names[0]: grads[0]}
                inputs = [getattr(ctx, name) for name in names]
                return dict(zip(names, own.gradients(inputs, attrs, grads), strict=True))

            op.register_grad(grad, saves=names)
        return op

    def redefine() -> None:
        formula.factors = [factor + 0.5 for factor in formula.factors]
        define()

    op = define()

    def plain(*inputs: Any, _all: dict[str, Any], **attrs: Any) -> Any:
        if returns_input:
            return inputs[0] * 1
        found = formula.results(inputs, {**_all, **attrs})
        return found[0] if len(found) == 1 else found

    features = (*(("false claim",) if is_false else ()), *(("returns its input",) if returns_input else ()))
    return _Made(call=op, formula=plain, outputs=formula.outputs, features=features, redefine=redefine)


def _changing(name: str, schema: str, formula: Formula, arguments: Any, language: str, *_: Any) -> _Made:
    returns = not schema.endswith("()")
    op = oneop.define(schema, differentiable=False)
    op.register_infer(lambda *inputs, **attrs: inputs[0].like() if returns else ())

    def kernel(a: Any, *inputs: Any, **attrs: Any) -> Any:
        old = (a.clone() if isinstance(a, torch.Tensor) else a.copy()) if returns else None
        a *= 0.5
        a += formula.results(inputs, attrs)[0]
        return old

    op.register_kernel(**({"language": "torch"} if language == "torch" else {"device": "cpu"}))(kernel)

    @torch.no_grad()
    def plain(a: torch.Tensor, *inputs: Any, _all: dict[str, Any], **attrs: Any) -> Any:
        old = a.clone()
        added = formula.results(inputs, {**_all, **attrs})[0]  # read before the change, also where it is `a` itself
        a.mul_(0.5).add_(added)
        return old if returns else None

    return _Made(call=op, formula=plain, outputs=int(returns), differentiable=False)


def _attributes(schema: str) -> list[str]:
    """Return the names of attributes that formulas use: not those that say which tensors of a list are given."""
    return [attr.name for attr in parse_schema(schema).attrs if attr.name.startswith("a")]


def _effect(name: str, schema: str, formula: Formula, arguments: Any, *_: Any) -> _Made:
    op = oneop.define(schema)

    def kernel(*inputs: Any, **attrs: Any) -> None:
        LOG.append((name, round(float(inputs[0].sum()), 2)))

    op.register_kernel("cpu")(kernel)

    def plain(*inputs: Any, _all: dict[str, Any], **attrs: Any) -> None:
        LOG.append((name, round(float(inputs[0].detach().sum()), 2)))

    return _Made(call=op, formula=plain, outputs=0, differentiable=False)


def _random(name: str, schema: str, formula: Formula, arguments: Sequence[str], language: str, *_: Any) -> _Made:
    op = oneop.define(schema, random=True)
    op.register_infer(lambda *inputs, **attrs: (inputs[0].like(), inputs[0].like()))

    def kernel(*inputs: Any, **attrs: Any) -> Any:
        noise: Any = torch.rand(tuple(inputs[0].shape))
        noise = noise if language == "torch" else noise.numpy()
        return formula.results(inputs, attrs)[0] * noise, noise

    op.register_kernel(**({"language": "torch"} if language == "torch" else {"device": "cpu"}))(kernel)
    names = [f"x{i}" for i in range(len(arguments))]
    attributes = _attributes(schema)

    def grad(ctx: Any, dy: torch.Tensor, _: Any) -> Any:
        attrs = {name: getattr(ctx, name) for name in attributes}
        inputs = [getattr(ctx, name) for name in names]
        return dict(zip(names, formula.gradients(inputs, attrs, [dy * ctx.noise]), strict=True))

    op.register_grad(grad, saves=[*names, "noise"])

    def plain(*inputs: Any, _all: dict[str, Any], **attrs: Any) -> Any:
        noise = torch.rand(tuple(inputs[0].shape))
        return formula.results(inputs, {**_all, **attrs})[0] * noise, noise

    return _Made(call=op, formula=plain, outputs=2)


@functools.cache
def load_pool() -> Any:
    """Load the library, outside of what a program registers."""
    return oneop.load(oneop.build("fuzz_pool", [POOL / "ops.cpp"], functional=[POOL / "api.yaml"]))


def pool_ops(chance: random.Random) -> list[FuzzOp]:
    """Return ops and functors of the library, with random attributes."""
    library = load_pool()
    by, k, reverse = chance.randint(-8, 8) / 8, chance.randint(-2, 2), chance.random() < 0.5

    def affine(x: torch.Tensor, w: torch.Tensor | None = None, *, by: float = 1.5, k: int = 0) -> torch.Tensor:
        return by * (x if w is None else x + w) + k

    def prefix(x: torch.Tensor, *, reverse: bool = False) -> torch.Tensor:
        return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)

    def sums(xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            return sum(xs[1:], xs[0] * 1), xs[0] + xs[-1]

    return [
        FuzzOp(
            name="fzc_affine",
            call=library.fzc_affine,
            formula=affine,
            arguments=("tensor", "optional"),
            attrs={"by": by, "k": k},
            features=frozenset({"c++", "optional"}),
        ),
        FuzzOp(
            name="fzc_prefix",
            call=library.fzc_prefix,
            formula=prefix,
            arguments=("tensor",),
            attrs={"reverse": reverse},
            features=frozenset({"c++", "mixes"}),
        ),
        FuzzOp(
            name="fzc_sums",
            call=library.fzc_sums,
            formula=sums,
            arguments=("list",),
            outputs=2,
            differentiable=False,
            features=frozenset({"c++", "list", "several outputs"}),
        ),
        FuzzOp(
            name="fzf_mix",
            call=oneop._C.fzf_mix,
            formula=lambda x, y, *, by: (by * (x + y)).cumsum(-1),
            arguments=("tensor", "tensor"),
            attrs={"by": by},
            features=frozenset({"functor"}),
        ),
    ]
