"""`pin`: a call under one signature, whatever another would cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oneop.errors import ArgumentError, SbpError
from oneop.registry import get_op
from oneop.sbp import parse, placements

if TYPE_CHECKING:
    from oneop._core import Op


def pin(op: Op | str, signature: str | Sequence[str]) -> Callable[..., Any]:
    """Return the op with its signature fixed: `pin(op, "S(0), B -> S(0)")(x, w)`.

    DTensors are redistributed to the placements of the signature's inputs, by calls that torch records, so it works in
    backward and in torch.compile too. A mesh of several dimensions takes a list with a signature for each. Raises
    `SbpError` where the op does not declare the signature, or DTensor cannot bring an input there.
    """
    from oneop.runtime.core import find_op

    name = op if isinstance(op, str) else str(op.__name__)  # type: ignore[attr-defined]
    definition, call = get_op(name), find_op(name)
    texts = [signature] if isinstance(signature, str) else list(signature)
    sides = [_read(name, text, len(definition.inputs), len(definition.outputs)) for text in texts]
    wanted = [placements([side[0][i] for side in sides]) for i in range(len(definition.inputs))]
    made = [placements([side[1][i] for side in sides]) for i in range(len(definition.outputs))]

    def pinned(*args: Any, **attrs: Any) -> Any:
        placed = [
            [_moved(name, one, target) for one in item]
            if isinstance(item, (list, tuple))
            else _moved(name, item, target)
            for item, target in zip(args, wanted, strict=False)
        ]
        results = call(*placed, *args[len(wanted) :], **attrs)
        listed = results if isinstance(results, (list, tuple)) else [results]
        for result, expected in zip(listed, made, strict=False):
            if tuple(result.placements) != expected:
                raise SbpError(
                    f'op "{name}": it does not run under {" | ".join(texts)}\n'
                    f"  expected an output with {expected}, found {tuple(result.placements)}\n"
                    f"  oneop.sbp_signatures shows what it declares; oneop.sharding.explain why one is not possible\n"
                    f"  defined at {definition.source}"
                )
        return results

    return pinned


def _read(name: str, text: str, inputs: int, outputs: int) -> tuple[list[Any], list[Any]]:
    left, arrow, right = text.partition("->")
    sides = [[parse(item) for item in side.split(",") if item.strip()] for side in (left, right)]
    if not arrow or len(sides[0]) != inputs or len(sides[1]) != outputs:
        raise ArgumentError(
            f'pin: op "{name}" has {inputs} inputs and {outputs} outputs; found "{text}"\n'
            "  write S(axis), B or P for each input, ->, and for each output: S(0), B -> S(0)"
        )
    return sides[0], sides[1]


def _moved(name: str, tensor: Any, target: Any) -> Any:
    if tensor is None or tuple(tensor.placements) == target:
        return tensor
    if any(one.is_partial() and one != now for one, now in zip(target, tensor.placements, strict=True)):
        raise SbpError(
            f'pin: op "{name}": DTensor makes no partial sums of a tensor that lies {tuple(tensor.placements)}\n'
            "  make them where the tensor comes from, or pin another signature"
        )
    return tensor.redistribute(placements=target)
