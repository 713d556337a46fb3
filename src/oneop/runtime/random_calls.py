"""Random functors while torch traces or batches: the call becomes an op of (numbers, arguments).

A functor that draws `generator->random64()` sees a number in C++, and what it does with it no tracer can follow. So
while its call is recorded (torch.compile, export, make_fx, a job) or batched (vmap), two ops stand for it:

- `random64` draws from the generator: new numbers at each run, seeded by `torch.manual_seed`, replayed by activation
  checkpointing, and following vmap's `randomness`;
- `call` runs the functor with these numbers in place of the generator's. It is a function of its arguments, so
  compilers may move and repeat it. Its gradient runs the functor again, with the same numbers.

The invariant: with the same state of the generator, both give what the eager call gives.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey, _functorch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from oneop.authoring.rules.effects import keep_apart
from oneop.runtime.core import core
from oneop.runtime.random_replay import encode_call, is_differentiable, outputs_of, refuse, replay, run, sizes_of

NAMESPACE = "oneop_functions"
_INT64_MIN = -(2**63)
_AUTOGRAD_KEYS = (
    DispatchKey.AutogradFunctionality,
    DispatchKey.AutogradOther,
    DispatchKey.AutogradNestedTensor,
    DispatchKey.ADInplaceOrView,
)
#: Numbers for a run that only shapes come from.
_ANY_NUMBERS = (0x9E3779B97F4A7C15,)


def call_as_op(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that was stopped because it drew random numbers while traced or batched."""
    with disable_proxy_modes_tracing():  # a run for what it draws and returns; nothing of it is recorded
        first, count, generator, from_several = core().replay_function(function, list(_ANY_NUMBERS), args, kwargs)
    if from_several:
        refuse(function, "draws from more than one random generator")
    outputs = outputs_of(function, first)
    text, tensors = encode_call(function, args, kwargs, len(outputs))
    if any(output is tensor for output in outputs for tensor in tensors):
        refuse(function, "returns one of its arguments")
    draws = torch.ops.oneop_functions.random64(count, generator=generator, device=torch.device("cpu"))
    results = _call(draws, tensors, text, 0)
    if isinstance(first, Tensor):
        return results[0]
    return type(first)(*results) if hasattr(first, "_fields") else tuple(results)


class _Differentiated(torch.autograd.Function):
    """`call` for autograd and torch.func; every other route meets the op itself."""

    @staticmethod
    def forward(text: str, order: int, draws: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(torch.ops.oneop_functions.call(draws, list(tensors), text, order))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.text, ctx.order, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(*(tensor for tensor in output if not is_differentiable(tensor)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        draws, *tensors = ctx.saved_tensors
        derivatives = _call(draws, [*tensors, *grads], ctx.text, ctx.order + 1)
        return (
            None,
            None,
            None,
            *(grad if is_differentiable(tensor) else None for grad, tensor in zip(derivatives, tensors, strict=True)),
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], text: str, order: int, draws: Tensor, *tensors: Tensor) -> Any:
        outputs, dims = _call_each(info, (in_dims[2], in_dims[3:]), draws, list(tensors), text, order)
        return tuple(outputs), tuple(dims)


def _call(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if torch._C._are_functorch_transforms_active():
        return list(_Differentiated.apply(text, order, draws, *tensors))  # type: ignore[no-untyped-call]
    return list(torch.ops.oneop_functions.call(draws, tensors, text, order))


def _call_autograd(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return list(_Differentiated.apply(text, order, draws, *tensors))  # type: ignore[no-untyped-call]
    with torch._C._AutoDispatchBelowAutograd():
        return list(torch.ops.oneop_functions.call(draws, tensors, text, order))


def _call_kernel(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in _AUTOGRAD_KEYS:
        excluded = excluded.remove(key)
    # The functor's own ops are differentiated below, although this op runs where nothing is.
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        return run(draws.tolist(), tensors, text, order, False)


def _call_fake(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if order == 0:
        return replay(_ANY_NUMBERS, tensors, text)
    count, _ = sizes_of(text, order - 1)
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in tensors[:count]]


def _call_each(
    info: Any, in_dims: tuple[Any, ...], draws: Tensor, tensors: list[Tensor], text: str, order: int
) -> tuple[list[Tensor], list[int]]:
    """One call for each element of the batch."""

    def pick(tensor: Tensor, dim: int | None, i: int) -> Tensor:
        return tensor if dim is None else tensor.select(dim, i)

    made = [
        _call(
            pick(draws, in_dims[0], i),
            [pick(tensor, dim, i) for tensor, dim in zip(tensors, in_dims[1], strict=True)],
            text,
            order,
        )
        for i in range(info.batch_size)
    ]
    return [torch.stack(outputs) for outputs in zip(*made, strict=True)], [0] * len(made[0])


def _random64(count: int, *, generator: torch.Generator | None = None, device: Any = None) -> Tensor:
    place = generator.device if generator is not None else torch.device("cpu")
    draws = torch.empty(count, dtype=torch.int64, device=place)
    return draws.random_(_INT64_MIN, None, generator=generator).cpu()


def _random64_fake(count: int, *, generator: torch.Generator | None = None, device: Any = None) -> Tensor:
    return torch.empty(count, dtype=torch.int64)


def _random64_vmap(count: int, *, generator: torch.Generator | None = None, device: Any = None) -> Tensor:
    interpreter = _functorch.peek_interpreter_stack()
    layer = _functorch.CVmapInterpreterPtr(interpreter)
    # It points into torch's stack, which moves when an op is called: everything is read before.
    mode, level, batch_size = layer.randomness(), layer.level(), layer.batchSize()
    if mode == _functorch.RandomnessType.Error:
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    size = batch_size if mode == _functorch.RandomnessType.Different else 1
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(DispatchKey.FuncTorchVmapMode)):
        draws: Tensor = torch.ops.oneop_functions.random64(count * size, generator=generator, device=device)
        if mode == _functorch.RandomnessType.Same:
            return draws
        batched: Tensor = _functorch._add_batch_dim(draws.reshape(size, count), 0, level)
        return batched


def _define() -> Any:
    library: Any = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define(
        "random64(int count, *, Generator? generator=None, Device? device=None) -> Tensor",
        tags=(torch.Tag.nondeterministic_seeded,),
    )
    library.define("call(Tensor draws, Tensor[] tensors, str text, int order) -> Tensor[]")
    library.impl("random64", _random64, "CompositeExplicitAutograd")
    library.impl("random64", _random64_vmap, "FuncTorchVmapMode")
    library.impl("call", _call_kernel, "CompositeExplicitAutograd")
    library.impl("call", _call_autograd, "Autograd")
    torch.library.register_fake(f"{NAMESPACE}::random64", _random64_fake, lib=library)
    torch.library.register_fake(f"{NAMESPACE}::call", _call_fake, lib=library)
    torch.library.register_vmap(f"{NAMESPACE}::call", _call_each, lib=library)
    return library


_library = _define()
keep_apart(torch.ops.oneop_functions.random64)
