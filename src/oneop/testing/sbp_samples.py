"""Calls with which signatures are tried: other magnitudes, signs, orders, dtypes and attributes than the one given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from oneop.runtime.core import core
from oneop.testing.domain.source_values import constants_in_code
from oneop.testing.sbp_shards import RAISED, Call, Sample

#: What float inputs are multiplied by: thresholds and constants in an op show at one magnitude and not at another.
MAGNITUDES = (1.0, 1e-3, 1e4, 1e-7, 1e8)
_MOST_VALUES = 8


#: What integers are multiplied by, where they may be: in this order, until the op refuses or outputs grow.
INTEGER_MAGNITUDES = (100.0, 1e4, 1e5, 1e8)


def samples_of(call: Call, rtol: float | None) -> list[Sample]:
    """Return runs on the whole inputs; those that the op refuses are left out. The first is on the inputs as given."""
    ways: list[tuple[torch.dtype | None, float, int, bool]] = [(None, 1.0, 1, False), (None, 1.0, -1, False)]
    takes_integers = _takes_any_integers(call)
    if not takes_integers:
        ways += [(None, magnitude, 1, False) for magnitude in MAGNITUDES[1:]]
    ways.append((None, 1.0, 1, True))
    if any(t.dtype in (torch.float32, torch.float16, torch.bfloat16) for t in call.tensors):
        ways += [(torch.float64, magnitude, 1, False) for magnitude in MAGNITUDES[:3]]
    drawn = [_sample(call, dtype, magnitude, sign, is_shuffled, rtol) for dtype, magnitude, sign, is_shuffled in ways]
    for magnitude in INTEGER_MAGNITUDES if takes_integers else ():
        sample = _sample(call, None, magnitude, 1, False, rtol)
        if sample is None or (drawn[0] is not None and _elements(sample) > _elements(drawn[0])):
            break  # a count of each value, say: with larger ones it would fill the memory
        drawn.append(sample)
    return [sample for sample in drawn if sample is not None]


def _elements(sample: Sample) -> int:
    return sum(output.numel() for output in sample.outputs)


def _takes_any_integers(call: Call) -> bool:
    """Tell whether integers may be made larger.

    They may be no indices into a float tensor, nor given to a kernel that would read beyond its memory.
    """
    is_exact = all(not (t.is_floating_point() or t.is_complex() or t.dtype == torch.bool) for t in call.tensors)
    return is_exact and bool(call.tensors) and _is_interpreted(call)


def _factor(tensor: torch.Tensor, magnitude: int) -> int:
    """Return the magnitude, or less where the dtype could not hold sums of the results."""
    largest = int(tensor.abs().max()) if tensor.numel() else 1
    return max(1, min(magnitude, torch.iinfo(tensor.dtype).max // (8 * max(1, largest))))


def _sample(
    call: Call, dtype: torch.dtype | None, magnitude: float, sign: int, is_shuffled: bool, rtol: float | None
) -> Sample | None:
    inputs = []
    for number, tensor in enumerate(call.tensors):
        own = tensor.detach()
        if own.is_floating_point() or own.is_complex():
            if dtype is not None and own.is_floating_point():
                own = own.to(dtype)
            own = own * (magnitude * sign)
        elif magnitude > 1 and _takes_any_integers(call):
            own = own * _factor(own, int(magnitude))
        if is_shuffled and own.ndim:
            order = torch.randperm(own.shape[0], generator=torch.Generator().manual_seed(number))
            own = own[order]
        inputs.append(own.contiguous())
    try:
        outputs = call.run(inputs)
    except RAISED:
        return None
    is_finite = all(not t.is_floating_point() or bool(torch.isfinite(t).any()) for t in outputs if t.numel())
    if not is_finite and magnitude != 1.0:
        return None  # it overflows as a whole, and says nothing
    notes = [
        f"inputs times {magnitude:g}" if magnitude != 1.0 else "",
        "negated inputs" if sign < 0 else "",
        "inputs in another order" if is_shuffled else "",
        "in float64" if dtype is not None else "",
    ]
    note = "".join(f", {text}" for text in notes if text)
    return Sample(call=call, inputs=inputs, outputs=outputs, rtol=rtol, note=note, is_magnified=magnitude > 1.0)


def calls_with_other_attrs(call: Call, choices: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Call, str, bool]]:
    """Yield the call itself, then with each other value of a str, bool or int attribute that the op takes.

    With each a note, and whether the value was guessed: nobody said that the op is called with it.
    """
    yield call, "", False
    for attr in call.op.attrs:
        usual = call.attrs.get(attr.name, _default_of(attr))
        is_guessed = attr.name not in choices and attr.type in _INTEGERS
        if attr.name in choices:
            values = list(choices[attr.name])
        elif attr.type == "bool":
            values = [False, True]
        elif attr.type == "string":
            values = [word for word in constants_in_code(call.op.name) if isinstance(word, str)]
        elif is_guessed:
            values = _integers(call, usual)
        elif attr.is_optional:
            values = []
        else:
            continue
        values += [None] * attr.is_optional
        tried = 0
        for value in values:
            if value == usual or tried == _MOST_VALUES:
                continue
            other = Call(op=call.op, overload=call.overload, groups=call.groups, attrs={**call.attrs, attr.name: value})
            try:
                other.run(other.tensors)
            except RAISED:
                continue  # no value of this attribute
            tried += 1
            yield other, f"with {attr.name}={value!r}", is_guessed


_INTEGERS = ("int32", "int64")


def _integers(call: Call, usual: Any) -> list[int]:
    """Return values of an int attribute to try: axes, counts, and what the op's Python code compares with.

    A kernel that is compiled may read beyond its memory, or divide by zero, where inference lets a value through. So it
    gets only values below the given one.
    """
    if not _is_interpreted(call):
        return list(range(1, usual)) if isinstance(usual, int) else []
    compared = [
        constant
        for constant in constants_in_code(call.op.name)
        if isinstance(constant, int) and abs(constant) <= _LARGEST
    ]
    near = [usual + 1] if isinstance(usual, int) else []
    values = [0, 1, -1, 2, *(value for constant in compared for value in (constant, constant + 1)), 3, *near]
    return list(dict.fromkeys(values))


_LARGEST = 4096


def _is_interpreted(call: Call) -> bool:
    return {kernel["language"] for kernel in core().op_info(call.op.name)["kernels"]} <= {"numpy", "torch"}


def _default_of(attr: Any) -> Any:
    if not attr.has_default:
        return getattr(attr, "default", None)
    if attr.is_optional and attr.default == "None":
        return None
    if attr.type in _INTEGERS:
        return int(attr.default)
    return str(attr.default).strip("\"'") if attr.type == "string" else attr.default
