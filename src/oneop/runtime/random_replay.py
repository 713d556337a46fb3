"""A random functor's call as text and tensors, run again with given numbers, and differentiated. See random_calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from oneop.errors import OpNotImplementedError
from oneop.runtime.core import core, loaded_libraries
from oneop.runtime.functions import find_function


def encode_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], num_outputs: int
) -> tuple[str, list[Tensor]]:
    """Return the call without its tensors, as text, and the tensors.

    The text has all that decides what the call does, the library's content too: compilers key their caches by it.
    """
    tensors: list[Tensor] = []
    call = {
        "function": function.__name__,
        "library": loaded_libraries.get(function.library, ("",))[0],
        "args": [_encode(arg, tensors) for arg in args],
        "kwargs": {name: _encode(arg, tensors) for name, arg in kwargs.items()},
        "outputs": num_outputs,
        "inputs": len(tensors),
        "autocast": _autocast_state(),
    }
    return json.dumps(call, sort_keys=True), tensors


def refuse(function: Any, what: str) -> NoReturn:
    """Raise: this function can be called directly only."""
    raise OpNotImplementedError(
        f"function {function.__name__} draws random numbers and {what}: "
        "traced (torch.compile, export, a job) or under vmap it would not be what it is when called directly"
    )


def outputs_of(function: Any, first: Any) -> list[Tensor]:
    """Return the tensors that a function returned; refuses what is more than tensors."""
    outputs = [first] if isinstance(first, Tensor) else first
    if not isinstance(outputs, (list, tuple)) or not all(isinstance(output, Tensor) for output in outputs):
        refuse(function, f"returns a {type(first).__name__} with something else than tensors in it")
    return list(outputs)


def _encode(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (list, tuple)):
        return [_encode(item, tensors) for item in value]
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


def replay(numbers: Sequence[int], tensors: Sequence[Tensor], text: str) -> list[Tensor]:
    """Run the function with these numbers in place of a generator's."""
    call = json.loads(text)
    function = find_function(call["function"])
    versions = [_version(tensor) for tensor in tensors]
    args = tuple(_decode(arg, tensors) for arg in call["args"])
    kwargs = {name: _decode(arg, tensors) for name, arg in call["kwargs"].items()}
    with _Autocast(call["autocast"]):
        returned, *_ = core().replay_function(function, [number % 2**64 for number in numbers], args, kwargs)
    outputs = outputs_of(function, returned)
    if versions != [_version(tensor) for tensor in tensors]:
        refuse(function, "changes one of its arguments")
    if len(outputs) != call["outputs"]:
        refuse(function, f"returned {call['outputs']} tensors when it was traced, now {len(outputs)}")
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
            part.__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        for part in reversed(self._parts):
            part.__exit__(*error)


def run(numbers: Sequence[int], tensors: Sequence[Tensor], text: str, order: int, create_graph: bool) -> list[Tensor]:
    """Return the function's results at order 0; at order n + 1 the gradients of order n, for all inputs of that."""
    if order == 0:
        return replay(numbers, tensors, text)
    count, _ = sizes_of(text, order - 1)
    inputs, grads = tensors[:count], tensors[count:]
    with torch.enable_grad():
        if not create_graph:
            inputs = [tensor.detach().requires_grad_(is_differentiable(tensor)) for tensor in inputs]
        outputs = run(numbers, inputs, text, order - 1, True)
        asked = [(output, grad) for output, grad in zip(outputs, grads, strict=True) if output.requires_grad]
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        derivatives: Sequence[Tensor | None] = [None] * len(wanted)
        if asked and wanted:
            derivatives = torch.autograd.grad(
                [output for output, _ in asked],
                wanted,
                [grad for _, grad in asked],
                create_graph=create_graph,
                allow_unused=True,
            )
    by_input = iter(derivatives)
    made = [next(by_input) if tensor.requires_grad else None for tensor in inputs]
    return [
        torch.zeros_like(tensor, memory_format=torch.contiguous_format) if grad is None else grad.contiguous()
        for tensor, grad in zip(inputs, made, strict=True)
    ]


def sizes_of(text: str, order: int) -> tuple[int, int]:
    """Return how many tensors the function takes at this order, and returns."""
    call = json.loads(text)
    inputs, outputs = call["inputs"], call["outputs"]
    for _ in range(order):
        inputs, outputs = inputs + outputs, inputs
    return inputs, outputs


def is_differentiable(tensor: Tensor) -> bool:
    """Tell whether a tensor of this type can have a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()
