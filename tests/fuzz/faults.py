"""Faults planted in the runtime. Each is a context in which some part of oneop is wrong; the fuzzer must notice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

import oneop.authoring.define  # noqa: F401, its hooks are left out below
from oneop.authoring import grad
from oneop.authoring.kernels import compose
from oneop.authoring.keys import cache_keys
from oneop.authoring.rules import batching, effects, independence
from oneop.jobs.planning import passes
from oneop.runtime import core as _runtime
from oneop.runtime import traced_calls


def _patched(target: Any, name: str, value: Any) -> Any:
    return mock.patch.object(target, name, value)


@contextlib.contextmanager
def _without_hook(hook: Any) -> Iterator[None]:
    """Leave out a hook of definitions. In place: modules that are imported meanwhile add hooks that stay."""
    place = _runtime._defined_hooks.index(hook)
    _runtime._defined_hooks.remove(hook)
    try:
        yield
    finally:
        _runtime._defined_hooks.insert(place, hook)


@contextlib.contextmanager
def shared_outputs() -> Iterator[None]:
    """A composition's result is handed out as it is: the copy is dropped."""
    with _patched(compose, "_fresh", lambda args, results: results):
        yield


@contextlib.contextmanager
def unproved_rules() -> Iterator[None]:
    """What inference implies is used without a proof: a guard is skipped."""
    with _patched(independence, "prove_batch", lambda *args: True):
        yield


@contextlib.contextmanager
def stale_code() -> Iterator[None]:
    """Compiled code is kept when an op changes."""
    with _without_hook(cache_keys.change_revisions):
        yield


@contextlib.contextmanager
def first_example_for_all() -> Iterator[None]:
    """A loop over a batch runs the first example each time."""
    original = batching.run_each

    def wrong(op: Any, fronts: Any, size: int, attrs: Any, **options: Any) -> Any:
        same = batching._mapped(fronts, None, lambda value, _: value[:1].expand(value.shape))
        return original(op, same, size, attrs, **options)

    with _patched(batching, "run_each", wrong):
        yield


@contextlib.contextmanager
def batch_axis_ignored() -> Iterator[None]:
    """The batch is taken to be the first axis, whatever in_dims says."""

    def wrong(value: torch.Tensor, dim: int | None, size: int) -> torch.Tensor:
        moved = value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        return moved if dim in (None, 0) else moved.flip(0)

    with _patched(batching, "_to_front", wrong):
        yield


@contextlib.contextmanager
def shared_seed() -> Iterator[None]:
    """All examples of a batch draw the same numbers, also where different ones are asked for."""
    original = batching.run_each

    def wrong(op: Any, fronts: Any, size: int, attrs: Any, *, replays: bool = False) -> Any:
        return original(op, fronts, size, attrs, replays="fz_" in str(op))

    with _patched(batching, "run_each", wrong):
        yield


@contextlib.contextmanager
def dropped_effects() -> Iterator[None]:
    """Ops without outputs are not declared to torch, so compilers drop them."""
    # The names are declared by earlier programs: take that back.
    effects.declare([name for name in list(effects._declared) if name in _runtime.core().op_names()])
    from torch._higher_order_ops.effects import _register_effectful_op

    for name in list(effects._declared):
        _register_effectful_op(f"oneop::{name}", None)
    effects._declared.clear()
    with _without_hook(effects.declare):
        yield


@contextlib.contextmanager
def attributes_lost() -> Iterator[None]:
    """Compiled calls use the defaults of attributes that have one."""
    original = traced_calls.traced_call

    def wrong(op: Any, /, *inputs: Any, **arguments: Any) -> Any:
        info = _runtime.core().op_info(op.__name__)
        optional = {attr["name"] for attr in info["attrs"] if attr["has_default"]}
        return original(op, *inputs, **{k: v for k, v in arguments.items() if k not in optional})

    _runtime.core().set_traced_call(wrong)
    try:
        yield
    finally:
        _runtime.core().set_traced_call(original)


@contextlib.contextmanager
def wrong_gradient() -> Iterator[None]:
    """Gradients of the second and later inputs are those of the first."""
    original = grad._flatten

    def wrong(schema: Any, source: Any, result: Any, counts: Any, flags: Any) -> Any:
        flat = original(schema, source, result, counts, flags)
        return [flat[0] if one is not None and flat[0] is not None else one for one in flat]

    with _patched(grad, "_flatten", wrong):
        yield


@contextlib.contextmanager
def lists_cut() -> Iterator[None]:
    """A composition that is traced gets no list beyond its first tensor."""
    original = compose._compose

    def wrong(name: str, overload: Any, args: Any, attrs: Any) -> Any:
        cut = [list(arg)[:1] if isinstance(arg, (list, tuple)) else arg for arg in args]
        return original(name, overload, cut, attrs)

    with _patched(compose, "_compose", wrong):
        yield


@contextlib.contextmanager
def calls_merged_in_jobs() -> Iterator[None]:
    """A job takes two calls of one op for the same, whatever their arguments are."""
    original = passes.simplify

    def wrong(graph: Any) -> None:
        original(graph)
        seen: dict[Any, Any] = {}
        for node in list(graph.graph.nodes):
            if node.op == "call_function" and str(node.target).startswith(("oneop.fz_", "oneop.fzc_")):
                first = seen.setdefault(node.target, node)
                if first is not node:
                    node.replace_all_uses_with(first)
        graph.recompile()

    from oneop.jobs import job

    with _patched(job, "simplify", wrong):
        yield


#: The fault, the route by which it can be seen, the features that a program needs to show it, and a seed that did.
FAULTS: dict[str, tuple[Callable[[], Any], str, frozenset[str], int]] = {
    "shared outputs": (shared_outputs, "compile", frozenset({"returns its input", "torch"}), 3003),
    "unproved rules": (unproved_rules, "vmap", frozenset({"false claim"}), 3077),
    "stale code": (stale_code, "redefined", frozenset(), 3000),
    "first example for all": (first_example_for_all, "vmap", frozenset(), 3000),
    "batch axis ignored": (batch_axis_ignored, "vmap", frozenset(), 3002),
    "shared seed": (shared_seed, "vmap randomness", frozenset({"random"}), 3011),
    "dropped effects": (dropped_effects, "compile", frozenset({"effect"}), 3005),
    "attributes lost": (attributes_lost, "compile", frozenset(), 3000),
    "wrong gradient": (wrong_gradient, "formula", frozenset(), 3000),
    "lists cut": (lists_cut, "compile", frozenset({"list", "torch"}), 3012),
    "calls merged in jobs": (calls_merged_in_jobs, "job", frozenset(), 3011),
}
