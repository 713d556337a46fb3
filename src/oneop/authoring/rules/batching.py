"""How ops run under `torch.vmap`: the author's rule, a rule that follows from what is known, or a loop.

The result is that of a loop over the batch, always. In this order an op runs

1. by `register_vmap`, in torch's form;
2. once for the whole batch, where a signature splits every tensor, or inference says that the elements do not depend
   on each other. What inference implies is proved first (independence.py);
3. once for each example: any op, with lists, in-place changes, or no outputs at all.

A random op follows the `randomness` of the vmap around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from oneop.authoring.book import attrs_of_call
from oneop.authoring.rules import independence
from oneop.authoring.rules.vmap_rules import written_rule
from oneop.errors import OpNotImplementedError, OpRuntimeError
from oneop.runtime.core import core
from oneop.sbp import SPLIT, Sbp

#: torch asks through one function for each name, forever.
_attached: set[str] = set()
_random_attached: set[str] = set()


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library("oneop", "IMPL")  # type: ignore[no-untyped-call]


def has_rule(name: str) -> bool:
    """Tell whether an op may run once for a whole batch; others run once for each example."""
    info = core().op_info(name)
    written = written_rule(name) is not None
    if written or info["side_effect"]:  # an effect happens once for each example, and is not tried out
        return written
    return info["has_sbp"] or independence.is_elementwise(name)


def attach(names: Iterable[str]) -> None:
    """Let torch ask us how these ops run on batches."""
    for name in names:
        if name not in _attached:
            _attached.add(name)
            _library().impl(  # type: ignore[no-untyped-call]
                name, functools.partial(_run_batched, name), "FuncTorchBatched", with_keyset=True
            )
        # torch comes to this key for every call inside vmap, also where nothing is batched.
        if name not in _random_attached and core().op_info(name)["random"]:
            _random_attached.add(name)
            _library().impl(  # type: ignore[no-untyped-call]
                name, functools.partial(_run_random, name), "FuncTorchVmapMode", with_keyset=True
            )


def _overload(name: str) -> Any:
    return getattr(torch.ops.oneop, name).default


def _run_batched(name: str, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
    from torch._functorch.autograd_function import custom_function_call_vmap_helper
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    interpreter: Any = retrieve_current_functorch_interpreter()

    def rule(info: Any, in_dims: Any, /, *inputs: Any) -> Any:
        return _rule(name, info, in_dims, *inputs, **kwargs)

    # torch's function has parameters of its own, op and interpreter: the attributes are bound, not passed.
    return custom_function_call_vmap_helper(interpreter, rule, functools.partial(_overload(name), **kwargs), *args)


def _rule(name: str, info: Any, in_dims: Any, /, *inputs: Any, **attrs: Any) -> Any:
    """Run one batch: all tensors are of the level below, and those with a dim have the batch there."""
    if (written := written_rule(name)) is not None:
        return written(info, in_dims, *inputs, **attrs)
    size: int = info.batch_size
    op = _overload(name)
    definition = core().op_info(name)
    _refuse_dynamic(name, definition)
    _refuse_changing_shared(name, definition, in_dims, inputs)
    is_mutable = any(arg["is_mutable"] for arg in definition["inputs"])
    outputs = None
    fronts = _mapped(inputs, in_dims, lambda value, dim: _to_front(value, dim, size))
    # An effect happens once for each example, and is not tried out.
    is_pure = not (is_mutable or definition["random"] or definition["side_effect"])
    if size > 0 and is_pure and definition["outputs"]:
        outputs = _run_at_once(name, op, fronts, size, attrs)
    if outputs is None:
        outputs = run_each(op, fronts, size, attrs)
    return outputs, pytree.tree_map(lambda value: None if value is None else 0, outputs)


def _run_at_once(name: str, op: Callable[..., Any], fronts: list[Any], size: int, attrs: dict[str, Any]) -> Any:
    """Run once for the whole batch; None where no rule says how."""
    run: Callable[[Sequence[Any], int], Any]
    if independence.is_elementwise(name):

        def run(values: Sequence[Any], size: int) -> Any:
            return op(*values, **attrs)  # a batch is one axis more

        what = "each element of the outputs depends on the same element of the inputs alone"
    else:
        examples = _mapped(fronts, None, lambda value, _: value[0])
        signature = _splits(name, examples, attrs)
        if signature is None:
            return None

        def run(values: Sequence[Any], size: int) -> Any:
            return _run_joined(op, values, signature, size, attrs)

        what = f"it splits as {', '.join(map(str, signature))} (inputs, then outputs)"
    if independence.is_implied(name) and not independence.prove_batch(name, op, run, run_each, fronts, attrs, what):
        return None
    return run(fronts, size)


def _refuse_dynamic(name: str, definition: Any) -> None:
    """Examples of different sizes make no batch."""
    for arg in definition["outputs"]:
        if arg["dynamic_axes"]:
            raise OpNotImplementedError(
                f'op "{name}": the size of its output "{arg["name"]}" depends on data, so the results of a vmap '
                f"would have different sizes\n  call it for each example, or write a rule: op.register_vmap"
            )


def _refuse_changing_shared(name: str, definition: Any, in_dims: Any, inputs: Sequence[Any]) -> None:
    """An op cannot write many results into a tensor that all examples share."""
    for arg, dim, value in zip(definition["inputs"], in_dims, inputs, strict=False):
        dims = dim if isinstance(dim, (list, tuple)) else [] if value is None else [dim]
        if arg["is_mutable"] and any(dim is None for dim in dims):
            raise OpRuntimeError(
                f'op "{name}" changes its input "{arg["name"]}" in place, and under this vmap all examples share it\n'
                f"  map over it too (in_dims), or give each example a tensor of its own"
            )


def _run_random(name: str, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Follow vmap's `randomness`: other numbers for each example, the same for all, or no random op at all."""
    from torch._C._functorch import _add_batch_dim, _unwrap_batched
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    interpreter: Any = retrieve_current_functorch_interpreter()
    excluded = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchVmapMode)
    with torch._C._ExcludeDispatchKeyGuard(excluded):
        if not core().op_info(name)["random"]:  # it was, before it was defined again
            return _overload(name)(*args, **kwargs)
        level, size, randomness = interpreter.level(), interpreter.batch_size(), interpreter.randomness()
        if randomness == "error":
            raise OpRuntimeError(
                f'vmap: op "{name}" is random, and vmap is in randomness error mode\n'
                '  say torch.vmap(..., randomness="same") or "different", or call it outside of vmap'
            )
        dims: list[int | None] = []

        def front(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            inner, dim = _unwrap_batched(value, level)
            dims.append(dim)
            return _to_front(inner, dim, size)

        fronts = [pytree.tree_map(front, arg) for arg in args]
        is_batched = any(dim is not None for dim in dims)
        lower = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchBatched)
        with torch._C._ExcludeDispatchKeyGuard(lower):
            if randomness == "same" and not is_batched:
                return _overload(name)(*args, **kwargs)
            replays = randomness == "same"
            outputs = run_each(_overload(name), fronts, size, kwargs, replays=replays)
        return pytree.tree_map(
            lambda value: _add_batch_dim(value, 0, level) if isinstance(value, torch.Tensor) else value, outputs
        )


def _splits(name: str, examples: Sequence[Any], attrs: dict[str, Any]) -> tuple[Sbp, ...] | None:
    """Return the first signature that splits every tensor of a call."""
    from oneop.registry import get_op
    from oneop.signatures import declared_signatures, default_output_counts

    definition = get_op(name)
    if not definition.has_sbp:
        return None
    groups = [[] if item is None else list(item) if isinstance(item, (list, tuple)) else [item] for item in examples]
    groups += [[] for _ in range(len(definition.inputs) - len(groups))]
    specs = [[(tuple(tensor.shape), tensor.dtype) for tensor in tensors] for tensors in groups]
    counts = [int(n) for n in attrs.get("output_counts") or default_output_counts(definition)]
    values = attrs_of_call(name, _overload(name), attrs)
    signatures = declared_signatures(name, specs, counts, values).signatures
    return next((signature for signature in signatures if all(sbp.kind == SPLIT for sbp in signature)), None)


def _run_joined(
    op: Callable[..., Any], fronts: Sequence[Any], signature: Sequence[Sbp], size: int, attrs: dict[str, Any]
) -> Any:
    """Run once with the batch along the split axis; None where the outputs do not come apart again."""
    entries = iter(signature)

    def join(value: torch.Tensor, _: object) -> torch.Tensor:
        axis = next(entries).axis
        return value.movedim(0, axis).flatten(axis, axis + 1)

    joined = _mapped(fronts, None, join)
    results = op(*joined, **attrs)
    parts = []
    for output in [results] if isinstance(results, torch.Tensor) else results:
        axis = next(entries).axis
        if output.shape[axis] % size:
            return None
        parts.append(output.unflatten(axis, (size, output.shape[axis] // size)).movedim(axis, 0))
    return parts[0] if isinstance(results, torch.Tensor) else type(results)(parts)


def run_each(
    op: Callable[..., Any], fronts: Sequence[Any], size: int, attrs: dict[str, Any], *, replays: bool = False
) -> Any:
    """Run once for each example, the batch being the first axis; with `replays` all draw the same numbers."""
    if size == 0:
        return _empty_batch(op, fronts, attrs)
    generators = _generators(fronts) if replays else []
    states = [generator.get_state() for generator in generators]
    results = []
    for i in range(size):
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        # Slices are views, so that an op which changes its argument changes the batch.
        results.append(op(*_mapped(fronts, None, lambda value, _, i=i: value[i]), **attrs))  # type: ignore[misc]
    if results[0] is None:
        return None
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results)
    return type(results[0])(torch.stack(tensors) for tensors in zip(*results, strict=True))


def _empty_batch(op: Callable[..., Any], fronts: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Return the outputs of a batch of none: inference knows their shapes."""
    device = next((value.device for value in pytree.tree_leaves(list(fronts)) if isinstance(value, torch.Tensor)), None)
    examples = _mapped(fronts, None, lambda value, _: torch.empty(value.shape[1:], dtype=value.dtype, device="meta"))
    outputs = op(*examples, **attrs)
    return pytree.tree_map(
        lambda value: (
            value
            if not isinstance(value, torch.Tensor)
            else torch.empty((0, *value.shape), dtype=value.dtype, device=device)
        ),
        outputs,
    )


def _generators(fronts: Sequence[Any]) -> list[torch.Generator]:
    """The generators from which kernels of these tensors may draw. Raises where numbers cannot be replayed."""
    if torch.compiler.is_compiling() or torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
        raise OpNotImplementedError('vmap(randomness="same") of a random op on a batch cannot be compiled')
    devices = {value.device for value in pytree.tree_leaves(list(fronts)) if isinstance(value, torch.Tensor)}
    on_cuda = [torch.cuda.default_generators[device.index or 0] for device in devices if device.type == "cuda"]
    return [torch.default_generator, *on_cuda]


def _to_front(value: torch.Tensor, dim: int | None, size: int) -> torch.Tensor:
    return value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)


def _mapped(values: Sequence[Any], dims: Any, act: Callable[[torch.Tensor, Any], torch.Tensor]) -> list[Any]:
    """Apply `act(tensor, dim)` to each tensor; `dims` has the form of `values`, or is None for all."""

    def apply(value: Any, dim: Any) -> Any:
        if isinstance(value, (list, tuple)):
            each = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
            return [apply(item, item_dim) for item, item_dim in zip(value, each, strict=True)]
        return act(value, dim) if isinstance(value, torch.Tensor) else value

    return [
        apply(value, dim) for value, dim in zip(values, [None] * len(values) if dims is None else dims, strict=True)
    ]
