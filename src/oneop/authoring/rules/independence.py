"""What inference implies beside shapes, and its proof.

`infer="elementwise"` and a line of axes say what the outputs look like, and imply that parts of the inputs give parts
of the outputs: a rule for vmap, and SBP signatures. For an op that mixes along an axis (a softmax, a sum of prefixes)
the shapes are right and that is not. So what is only implied is proved before it is used for the first time: the op
runs on small random inputs, and once on some thousand elements, whole and in parts, and both must agree. If they do
not, the call is refused. What an author declares (`sbp=`, `register_sbp`, `register_vmap`) is used as it is;
`oneop check` proves that.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from oneop.authoring import book
from oneop.authoring.keys.captures import used_by_kernels
from oneop.errors import OneopError, SbpError
from oneop.runtime.core import core
from oneop.sbp import BROADCAST, SPLIT, Sbp

_MOST_ELEMENTS = 1 << 16
#: Seconds after which no larger inputs are tried, of the thread's own processor time: a busy machine proves no less.
_LONG_PROOF = 2.0
_MOST_PROOFS = 256  # of one op; attributes that differ at every call would be proved forever

#: What was proved (True) or could not be tried (False), for each op; dropped when it changes.
_answers: dict[str, dict[object, bool]] = {}


def forget_proofs(names: Iterable[str]) -> None:
    """Drop what is known of ops that changed."""
    for name in names:
        _answers.pop(name, None)


def _definition(name: str) -> book.OpPage | None:
    library = core().op_info(name)["source"]["library"]
    return book.definition_of(name) if library.startswith("python:") else None


def is_implied(name: str) -> bool:
    """Tell whether an op's signatures only follow from its inference: nobody declared them."""
    page = _definition(name)
    return page is not None and page.sbp_is_implied


def is_elementwise(name: str) -> bool:
    """Tell whether inference implies that elements do not depend on each other."""
    page = _definition(name)
    return page is not None and page.sbp_is_implied and page.infer is not None and page.infer.kind == "elementwise"


def prove_batch(
    name: str,
    op: Callable[..., Any],
    at_once: Callable[[Sequence[Any], int], Any],
    each: Callable[..., Any],
    fronts: Sequence[Any],
    attrs: Mapping[str, Any],
    what: str,
) -> bool:
    """Prove that running a batch at once gives what running each example gives, once for each kind of call.

    False where it could not be tried: then nothing may be concluded. Raises `SbpError` where it does not hold.
    """
    leaves, form = pytree.tree_flatten(list(fronts))
    tensors = [value for value in leaves if isinstance(value, torch.Tensor)]
    key = (what, tuple((value.dtype, value.ndim, value.device) for value in tensors), repr(sorted(attrs.items())))

    def holds(shapes: Sequence[Sequence[int]], sample: Sample) -> bool | None:
        was_tried = False
        for size in (2, 3):
            values = [_random((size, *shape), t, sample, size) for shape, t in zip(shapes, tensors, strict=True)]
            batch = pytree.tree_unflatten(_in_place_of_tensors(leaves, values), form)
            expected = _attempt(each, op, batch, size, dict(attrs))
            if expected is None:
                continue
            answer = _attempt(at_once, batch, size)
            if answer is None:
                return None
            if not _agree(answer, expected, sample):
                return False
            was_tried = True
        return was_tried or None

    return _answer(name, key, [tuple(value.shape[1:]) for value in tensors], holds, what, "under vmap")


def prove_implied(
    name: str,
    inputs: Sequence[Sequence[tuple[Sequence[int], torch.dtype]]],
    attrs: Mapping[str, Any],
    signature: Sequence[Sbp],
    *,
    device: torch.device | str = "cpu",
) -> bool:
    """Prove a signature that an op's inference implies, once for each kind of call; True at once for declared ones.

    `inputs` has shape and dtype of each tensor of each input argument, and `signature` an entry for each tensor, inputs
    first. The op runs on small random inputs, whole and on 2 and 3 parts. False where it could not be tried: then
    nothing may be concluded, and the signature must not be used. Raises `SbpError` where it does not hold.
    """
    if not is_implied(name) or all(sbp.kind == BROADCAST for sbp in signature):
        return True
    flat = [(tuple(shape), dtype) for tensors in inputs for shape, dtype in tensors]
    examples = [torch.empty((), dtype=dtype, device=device) for _, dtype in flat]
    op = getattr(torch.ops.oneop, name).default
    info = core().op_info(name)
    entries = signature[: len(flat)], signature[len(flat) :]
    what = f"it splits as {', '.join(map(str, signature))} (inputs, then outputs)"
    key = (what, tuple((dtype, len(shape)) for shape, dtype in flat), str(device), repr(sorted(attrs.items())))

    def call(tensors: Sequence[torch.Tensor]) -> Any:
        rest = iter(tensors)
        grouped: list[Any] = []
        for arg, own in zip(info["inputs"], inputs, strict=True):
            taken = [next(rest) for _ in own]
            is_list = arg["count"] != 1 or arg["count_is_minimum"]
            grouped.append(taken if is_list else taken[0] if taken else None)
        results = op(*grouped, **attrs)
        return [results] if isinstance(results, torch.Tensor) else list(results)

    def holds(shapes: Sequence[Sequence[int]], sample: Sample) -> bool | None:
        whole = [_random(shape, t, sample, 1) for shape, t in zip(shapes, examples, strict=True)]
        expected = _attempt(call, whole)
        if expected is None:
            return None
        for count in (2, 3):
            parts = [
                tensor.tensor_split(count, sbp.axis) if sbp.kind == SPLIT else [tensor] * count
                for tensor, sbp in zip(whole, entries[0], strict=True)
            ]
            results = [_attempt(call, [part[rank] for part in parts]) for rank in range(count)]
            if any(result is None for result in results):
                return None
            for i, sbp in enumerate(entries[1]):
                if not _agree(_joined([result[i] for result in results], sbp), expected[i], sample):
                    return False
        return True

    return _answer(name, key, [shape for shape, _ in flat], holds, what, "on DTensors")


def _joined(pieces: Sequence[torch.Tensor], sbp: Sbp) -> torch.Tensor:
    """Return the whole tensor of which the ranks have these pieces."""
    if sbp.kind == SPLIT:
        return torch.cat(list(pieces), sbp.axis)
    if sbp.kind == BROADCAST:
        return pieces[0]
    return torch.stack(list(pieces)).sum(0).to(pieces[0].dtype)


def _answer(
    name: str,
    key: object,
    shapes: Sequence[Sequence[int]],
    holds: Callable[[Sequence[Sequence[int]], Sample], bool | None],
    what: str,
    where: str,
) -> bool:
    used_by_kernels.start()
    key = key, used_by_kernels.generation
    known = _answers.setdefault(name, {})
    if key not in known:
        if len(known) >= _MOST_PROOFS:
            return all(known.values())
        known[key] = _prove(name, shapes, holds, what, where)
    return known[key]


def _prove(
    name: str,
    shapes: Sequence[Sequence[int]],
    holds: Callable[[Sequence[Sequence[int]], Sample], bool | None],
    what: str,
    where: str,
) -> bool:
    def prove() -> bool:
        tried = False
        start = time.thread_time()
        for some in _sizes(shapes):
            for sample in SAMPLES:
                answer = holds(some, sample)
                tried |= answer is True
                if answer is False:
                    raise _refusal(name, what, where, some)
        if tried and time.thread_time() - start < _LONG_PROOF:  # some thousand elements take no longer than that
            for some in _large_sizes(shapes):
                if holds(some, LARGE) is False:
                    raise _refusal(name, what, where, some)
        return tried

    return _plainly(prove)


def _refusal(name: str, what: str, where: str, shapes: Sequence[Sequence[int]]) -> SbpError:
    page = _definition(name)
    assert page is not None and page.infer is not None
    return SbpError(
        f'op "{name}": infer="{page.infer.kind}" implies that {what}, and that does not hold\n'
        f"  found {where}: parts of random inputs of shapes {', '.join(str(list(s)) for s in shapes)} "
        "do not give parts of the outputs\n"
        '  if only the shape is meant: infer="same_shape", or brackets around axes that are mixed: "a [b] -> a [b]"\n'
        "  if the op draws numbers: define(..., random=True)\n"
        f"  at {page.source}"
    )


def _sizes(shapes: Sequence[Sequence[int]]) -> Iterator[list[tuple[int, ...]]]:
    """Give the call's own shapes, if small, and such with other sizes, equal where these are equal."""
    plain = [tuple(_number(size) for size in shape) for shape in shapes]
    if sum(math.prod(shape) for shape in plain) <= _MOST_ELEMENTS:
        yield plain
    distinct = sorted({size for shape in plain for size in shape if size > 1})
    for start in (3, 5):
        smaller = {size: start + i for i, size in enumerate(distinct)}
        yield [tuple(smaller.get(size, size) for size in shape) for shape in plain]


#: Lengths of an axis in larger proofs; the first is taken with which there are few enough elements.
_LONG = (4099, 1031, 251, 61, 19)
_MOST_LARGE = 1 << 13


def _large_sizes(shapes: Sequence[Sequence[int]]) -> Iterator[list[tuple[int, ...]]]:
    """Give shapes of some thousand elements: each size in turn is long and the others are short.

    A kernel may mix elements from some size on: it works in blocks, or has another way for large inputs. Sizes are
    equal where these are equal, but for tensors of one shape: their axes have nothing to do with each other.
    """
    plain = [tuple(_number(size) for size in shape) for shape in shapes]
    if plain and all(shape == plain[0] for shape in plain):
        plain = [tuple(2 + axis if size > 1 else size for axis, size in enumerate(shape)) for shape in plain]
    distinct = sorted({size for shape in plain for size in shape if size > 1}, reverse=True)
    for chosen in distinct[-3:]:
        for length in _LONG:
            sizes = {size: 3 + i for i, size in enumerate(distinct)} | {chosen: length}
            enlarged = [tuple(sizes.get(size, size) for size in shape) for shape in plain]
            if sum(math.prod(shape) for shape in enlarged) <= _MOST_LARGE:
                yield enlarged
                break


def _number(size: Any) -> int:
    """Return a size as a number without guarding on it: any will do for a proof."""
    if isinstance(size, int):
        return size
    return size.node.hint if isinstance(size.node.hint, int) else 4


@dataclass(frozen=True)
class Sample:
    """Values of inputs: ordinary ones, and special ones in all places, in one corner, or in all but one corner.

    An op that looks at all its elements (`x.any()`, a maximum, a test for nan) treats a part that is special all over,
    or not at all, differently from a whole that is so in places. Corners lie so that each way to cut a tensor makes
    such parts.
    """

    special: str = "none"
    where: str = "nowhere"

    def mask(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Return which elements are special."""
        if not shape or self.where in ("nowhere", "everywhere"):
            return torch.full(shape, self.where == "everywhere")
        first = [torch.arange(size) < (size + 1) // 2 for size in shape]
        grids = torch.meshgrid(*first, indexing="ij")
        mask = grids[0]
        for grid in grids[1:]:
            mask = (mask & grid) if self.where == "in a corner" else (mask | grid)
        return mask


SAMPLES = (
    Sample(),
    Sample("positive", "everywhere"),
    *(
        Sample(special, where)
        for special in ("positive", "zero", "large", "nan")
        for where in ("in a corner", "around a corner")
    ),
)


#: For larger proofs: numbers of which long sums are exact in any order, and one that is larger than all others.
LARGE = Sample("exact", "everywhere")


def _exact(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    most, step = (1, 1.0) if dtype.itemsize <= 2 else (36, 0.25)
    return _with_one(torch.randint(-most, most + 1, shape, generator=generator) * step, 2 * most * step)


def _with_one(values: torch.Tensor, extreme: float) -> torch.Tensor:
    """Put a value into one place: an extreme that most parts do not have."""
    if values.numel():
        values.view(-1)[values.numel() // 3] = extreme
    return values


def _random(shape: Sequence[int], like: torch.Tensor, sample: Sample, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1234 + seed + len(shape))
    shape, dtype = tuple(shape), like.dtype
    mask = sample.mask(shape)
    if dtype == torch.bool:
        ordinary = torch.rand(shape, generator=generator) > 0.5
        values = {"none": ordinary, "zero": ~mask}.get(sample.special, mask)
    elif dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        values = torch.randn(shape, dtype=wide, generator=generator) * 2
        large = 200.0 if dtype.itemsize <= 2 else 1e4  # half precision must hold sums of them
        special = {
            "positive": values.abs() + 0.25,
            "zero": torch.zeros_like(values),
            "large": (values.abs() + 1) * large,
            "nan": torch.full_like(values, float("nan")),
            "exact": _exact(shape, dtype, generator),
        }.get(sample.special, values)
        values = torch.where(mask, special.to(wide), values)
    else:
        low = 0 if dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else -9
        values = torch.randint(low, 10, shape, generator=generator)
        # Integers may be indices: none is larger than those that are tried anyway.
        special = {
            "positive": values.abs(),
            "zero": torch.zeros_like(values),
            "exact": _with_one(values.clamp(max=8), 9),
        }.get(sample.special, values)
        values = torch.where(mask, special, values)
    return values.to(dtype).to(like.device)


def _in_place_of_tensors(leaves: Sequence[Any], values: Sequence[torch.Tensor]) -> list[Any]:
    rest = iter(values)
    return [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _attempt(act: Callable[..., Any], *args: Any) -> Any:
    """Return the result; None where the op refuses such inputs."""
    try:
        return act(*args)
    except (OneopError, RuntimeError, TypeError, ValueError, IndexError, ArithmeticError):
        return None


def _agree(answer: Any, expected: Any, sample: Sample) -> bool:
    got, wanted = pytree.tree_leaves(answer), pytree.tree_leaves(expected)
    return len(got) == len(wanted) and all(_close(a, b, sample == LARGE) for a, b in zip(got, wanted, strict=True))


def _close(answer: torch.Tensor, expected: torch.Tensor, is_large: bool) -> bool:
    """Compare. What cancels in a sum may leave its rounding: in a large proof, and always in half precision."""
    if answer.shape != expected.shape or answer.dtype != expected.dtype:
        return False
    if not (answer.is_floating_point() or answer.is_complex()):
        return torch.equal(answer, expected)
    bound = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float32: 1e-4, torch.complex64: 1e-4}
    rtol = bound.get(answer.dtype, 5e-2)
    wide = torch.complex128 if answer.is_complex() else torch.float64
    whole = expected.to(wide)
    finite = whole[whole.isfinite()]
    most = float(finite.abs().max()) if finite.numel() else 0.0
    share = rtol if is_large else 4 * torch.finfo(answer.dtype).eps if answer.dtype not in bound else 0.0
    atol = max(rtol / 10, share * most)
    return torch.allclose(answer.to(wide), whole, rtol=rtol, atol=atol, equal_nan=True)


def _plainly(act: Callable[[], bool]) -> bool:
    """Run as if nobody traced, differentiated or batched, and leave torch's generators as they are.

    All of that is state of the thread, so another thread has none of it.
    """
    answers: list[bool] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            # numpy's warnings would be about values that the caller never gave.
            with torch.no_grad(), torch.random.fork_rng(devices=[]), np.errstate(all="ignore"):
                answers.append(act())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="oneop proof")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return answers[0]
