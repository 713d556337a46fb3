"""Random functors while torch traces or batches: the call becomes an op of (numbers, arguments).

A functor that draws `generator->random64()` sees a number in C++, and what it does with it no tracer can follow. So
while its call is recorded (torch.compile, export, make_fx, a job) or batched (vmap), two ops stand for it:

- `random64` draws from the generator: anew at each run, seeded by `torch.manual_seed`, replayed by activation
  checkpointing, and following vmap's `randomness`;
- `call` runs the functor with these numbers in place of the generator's. It is a function of its arguments, so
  compilers may move and repeat it. Its gradient runs the functor again, with the same numbers.

The invariant: with the same state of the generator, both give what the eager call gives.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey, _functorch

from oneop._runtime import core, loaded_libraries
from oneop.errors import OpNotImplementedError

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


def call_as_op(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    first: Any,
    count: int,
    generator: torch.Generator | None,
    from_several: bool,
) -> Any:
    """Call a function that has drawn `count` numbers while traced. `first` is what that run returned."""
    if from_several:
        _refuse(function, "draws from more than one random generator")
    outputs = _outputs_of(function, first)
    tensors: list[Tensor] = []
    call = {
        "function": function.__name__,
        "library": loaded_libraries.get(function.library, ("",))[0],
        "args": [_encode(function, arg, tensors) for arg in args],
        "kwargs": {name: _encode(function, arg, tensors) for name, arg in kwargs.items()},
        "outputs": len(outputs),
        "inputs": len(tensors),
        "autocast": _autocast_state(),
    }
    for output in outputs:
        if any(output is tensor for tensor in tensors):
            _refuse(function, "returns one of its arguments")
    draws = torch.ops.oneop_functions.random64(count, generator=generator, device=torch.device("cpu"))
    results = _call(draws, tensors, json.dumps(call, sort_keys=True), 0)
    if isinstance(first, Tensor):
        return results[0]
    return type(first)(*results) if hasattr(first, "_fields") else tuple(results)


def _refuse(function: Any, what: str) -> None:
    raise OpNotImplementedError(
        f"function {function.__name__} draws random numbers and {what}: "
        "traced (torch.compile, export, a job) or under vmap it would not be what it is when called directly"
    )


def _outputs_of(function: Any, first: Any) -> list[Tensor]:
    outputs = [first] if isinstance(first, Tensor) else first
    if not isinstance(outputs, (list, tuple)) or not all(isinstance(output, Tensor) for output in outputs):
        _refuse(function, f"returns a {type(first).__name__} with something else than tensors in it")
    return list(outputs)


# --- arguments as text ---


def _encode(function: Any, value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        return [_encode(function, item, tensors) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, torch.Generator):
        return {"generator": True}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, (torch.layout, torch.memory_format)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, (complex, torch.SymInt, torch.SymFloat)) or not hasattr(value, "__index__"):
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        return int(value) if isinstance(value, torch.SymInt) else float(value)
    return int(value)


def _decode(value: Any, tensors: Sequence[Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "tensor":
        return tensors[held]
    if kind == "generator":
        return torch.Generator()  # never asked: the numbers are given
    if kind == "dtype" or kind == "torch":
        return getattr(torch, held)
    if kind == "bytes":
        return bytes.fromhex(held)
    return torch.device(held) if kind == "device" else complex(*held)


def _autocast_state() -> dict[str, str]:
    devices = [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]
    return {device: str(torch.get_autocast_dtype(device)).removeprefix("torch.") for device in devices}


# --- running ---


def _replay(numbers: Sequence[int], tensors: Sequence[Tensor], text: str) -> list[Tensor]:
    from oneop._functions import find_function

    call = json.loads(text)
    function = find_function(call["function"])
    versions = [_version(tensor) for tensor in tensors]
    args = tuple(_decode(arg, tensors) for arg in call["args"])
    kwargs = {name: _decode(arg, tensors) for name, arg in call["kwargs"].items()}
    with _Autocast(call["autocast"]):
        returned = core().replay_function(function, [number % 2**64 for number in numbers], args, kwargs)
    outputs = _outputs_of(function, returned)
    if versions != [_version(tensor) for tensor in tensors]:
        _refuse(function, "changes one of its arguments")
    if len(outputs) != call["outputs"]:
        _refuse(function, f"returned {call['outputs']} tensors when it was traced, now {len(outputs)}")
    return outputs


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


class _Autocast:
    """Autocast as it was when the call was traced."""

    def __init__(self, state: dict[str, str]) -> None:
        self._parts = [
            torch.autocast(device, enabled=device in state, dtype=getattr(torch, state[device]))
            if device in state
            else torch.autocast(device, enabled=False)
            for device in ("cpu", "cuda")
            if device in state or torch.is_autocast_enabled(device)
        ]

    def __enter__(self) -> None:
        for part in self._parts:
            part.__enter__()

    def __exit__(self, *error: Any) -> None:
        for part in reversed(self._parts):
            part.__exit__(*error)


def _run(numbers: Sequence[int], tensors: Sequence[Tensor], text: str, order: int, create_graph: bool) -> list[Tensor]:
    """The function itself at order 0; at order n + 1 the gradients of its order n, for all inputs of that."""
    if order == 0:
        return _replay(numbers, tensors, text)
    count, _ = _sizes(text, order - 1)
    inputs, grads = tensors[:count], tensors[count:]
    with torch.enable_grad():
        if not create_graph:
            inputs = [tensor.detach().requires_grad_(_is_differentiable(tensor)) for tensor in inputs]
        outputs = _run(numbers, inputs, text, order - 1, True)
        asked = [(output, grad) for output, grad in zip(outputs, grads, strict=True) if output.requires_grad]
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        found: Sequence[Tensor | None] = [None] * len(wanted)
        if asked and wanted:
            found = torch.autograd.grad(
                [output for output, _ in asked],
                wanted,
                [grad for _, grad in asked],
                create_graph=create_graph,
                allow_unused=True,
            )
    by_input = iter(found)
    made = [next(by_input) if tensor.requires_grad else None for tensor in inputs]
    return [
        torch.zeros_like(tensor, memory_format=torch.contiguous_format) if grad is None else grad.contiguous()
        for tensor, grad in zip(inputs, made, strict=True)
    ]


def _sizes(text: str, order: int) -> tuple[int, int]:
    """How many tensors the function takes at this order, and returns."""
    call = json.loads(text)
    inputs, outputs = call["inputs"], call["outputs"]
    for _ in range(order):
        inputs, outputs = inputs + outputs, inputs
    return inputs, outputs


def _is_differentiable(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


# --- the ops ---


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
        ctx.mark_non_differentiable(*(tensor for tensor in output if not _is_differentiable(tensor)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        draws, *tensors = ctx.saved_tensors
        found = _call(draws, [*tensors, *grads], ctx.text, ctx.order + 1)
        return (
            None,
            None,
            None,
            *(grad if _is_differentiable(tensor) else None for grad, tensor in zip(found, tensors, strict=True)),
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], text: str, order: int, draws: Tensor, *tensors: Tensor) -> Any:
        outputs, dims = _call_each(info, (in_dims[2], in_dims[3:]), draws, list(tensors), text, order)
        return tuple(outputs), tuple(dims)


def _call(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if torch._C._are_functorch_transforms_active():
        return list(_Differentiated.apply(text, order, draws, *tensors))
    return list(torch.ops.oneop_functions.call(draws, tensors, text, order))


def _call_autograd(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return list(_Differentiated.apply(text, order, draws, *tensors))
    with torch._C._AutoDispatchBelowAutograd():
        return list(torch.ops.oneop_functions.call(draws, tensors, text, order))


def _call_kernel(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in _AUTOGRAD_KEYS:
        excluded = excluded.remove(key)
    # The functor's own ops are differentiated below, although this op runs where nothing is.
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        return _run(draws.tolist(), tensors, text, order, False)


def _call_fake(draws: Tensor, tensors: list[Tensor], text: str, order: int) -> list[Tensor]:
    if order == 0:
        return _replay(_ANY_NUMBERS, tensors, text)
    count, _ = _sizes(text, order - 1)
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
    return torch.empty(count, dtype=torch.int64, device=place).random_(_INT64_MIN, None, generator=generator).cpu()


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
        draws = torch.ops.oneop_functions.random64(count * size, generator=generator, device=device)
        if mode == _functorch.RandomnessType.Same:
            return draws
        return _functorch._add_batch_dim(draws.reshape(size, count), 0, level)  # type: ignore[no-any-return]


def _define() -> torch.library.Library:
    library = torch.library.Library(NAMESPACE, "FRAGMENT")
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


def _keep_apart() -> None:
    """Have AOTAutograd keep two equal calls of random64 apart: it merges all but the ops of this list, tags or not."""
    from torch._functorch import compile_utils

    compile_utils.rand_ops.append(torch.ops.oneop_functions.random64)


_library = _define()
_keep_apart()
