"""The same call again, and from several threads at once."""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from oneop.errors import KernelNotFoundError
from oneop.runtime.requirement import require
from oneop.testing.case import Case, Restriction, make_case
from oneop.testing.compare import assert_same, same_bits
from oneop.testing.domain.probe import usual_attrs
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import results_of_kernel
from oneop.testing.families.context import Context, run_and_compare_inputs, skipped, usual_cases
from oneop.testing.families.sizes import large_shapes
from oneop.testing.memory.guards import bytes_of
from oneop.testing.memory.isolation import bytes_in_child
from oneop.testing.report import Outcome

THREADS, ROUNDS, ELEMENTS = 4, 4, 300_000
#: Threads that share one core meet inside a kernel only where the system takes the core away from one of them, every
#: few milliseconds or because another one wakes up. So each thread calls again and again until the process has used so
#: many seconds of processor time, pauses for a short time between some calls, and never waits for another thread.
SECONDS, PAUSES = 0.6, (0.0, 0.0001, 0.0003)
#: How long a large call is repeated, and how often.
RACE_SECONDS, _MOST_ROUNDS = 0.3, 50
#: Of large calls. Sums of "plain" values are exact in any order; those of the others are not.
_FILLS = (("plain", 0), ("full", 1), ("full", 2), ("large", 0))


def determinism(context: Context) -> Outcome:
    """The same call gives the same bits, whatever was called in between.

    A kernel that declares it must do so where it is required. One that declares the opposite is left out.
    """
    kernels = context.subject.op.kernels
    declared = [i for i, kernel in enumerate(kernels) if kernel.deterministic]
    some_are_not = any(kernel.deterministic is False for kernel in kernels)
    if some_are_not and not declared:
        return skipped("determinism", "its kernels are declared nondeterministic")

    def holds(case: Case) -> None:
        repeated = False
        for index in declared:
            with contextlib.suppress(KernelNotFoundError), require(deterministic=True):
                _repeats(context, case, functools.partial(_run_kernel, index=index))
                repeated = True
        if not some_are_not:  # the kernel that runs may be one of them
            _repeats(context, case, lambda case: case.run(case.make()))
            _looks_at_values(context, case)
        elif not repeated:
            raise NotForThis

    outcome = context.explore("determinism", Restriction(), holds)
    if outcome.failure is not None or not outcome.cases:
        return outcome
    if not some_are_not:  # the kernel that runs may be one of them
        past = context.run("determinism", usual_cases(context, (13,)), _has_no_past)
        if past.failure:
            return past
    with several_threads():
        large = [case.like(fill=fill, seed=seed) for case in _large_cases(context) for fill, seed in _FILLS]
        more = context.run("determinism", large, holds)
    return more if more.failure else replace(outcome, cases=outcome.cases + more.cases)


@contextlib.contextmanager
def several_threads() -> Iterator[None]:
    """Let torch use four threads at least: kernels that are split over threads are split."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(before, 4))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _run_kernel(case: Case, index: int) -> list[torch.Tensor]:
    if case.subject.is_random:
        torch.manual_seed(1)
    return results_of_kernel(case, index, case.make())


def _repeats(context: Context, case: Case, run: Callable[[Case], list[torch.Tensor]]) -> None:
    first = [result.clone() for result in run(case)]
    run(case.like(seed=7))
    what = "the same call gives another result when repeated"
    if context.subject.is_random:
        what = "after the same torch.manual_seed the call gives other numbers: draw them from torch's generator"
    # Threads inside a kernel that share one core meet rarely: see SECONDS.
    rounds, until = 0, time.process_time() + (RACE_SECONDS if case.size[0] >= ELEMENTS else 0)
    while rounds < 2 or (rounds < _MOST_ROUNDS and time.process_time() < until):
        rounds += 1
        assert_same(first, run(case), what, context.output_names())


def _large_cases(context: Context) -> list[Case]:
    return [
        make_case(context.domain, choice, shapes, usual_attrs(context.domain))
        for choice in context.domain.choices[:2]
        for shapes in large_shapes(context, choice, ELEMENTS)[:1]
    ]


def _looks_at_values(context: Context, case: Case) -> None:
    """Tensors that get other values in place give other results: a kernel must not know them by their address."""
    if any(arg.is_mutable for arg in context.subject.op.inputs):
        return
    tensors, others = case.make(), case.like(seed=7).make()
    if any(0 in tensor.stride() for tensor in tensors):
        return

    def change(make_other: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        """Change the values of tensors that the op was called on a moment ago, and call it on them again at once."""
        run_and_compare_inputs(case, tensors)
        for tensor, other in zip(tensors, others, strict=True):
            tensor.copy_(make_other(tensor, other))
        results = [result.clone() for result in case.run(tensors)]
        what = "tensors whose values were changed in place give another result than new ones with these values"
        assert_same(case.run([tensor.clone() for tensor in tensors]), results, what, context.output_names())

    change(lambda _, other: other)
    change(lambda tensor, _: inside_turned(tensor))
    change(lambda tensor, other: _with_ends_of(other.roll(1), tensor))


def _has_no_past(case: Case) -> None:
    """A call gives the same bits after one that a cache by sums or extremes would take for the same call."""
    if case.device != "cpu":
        raise NotForThis  # a process that uses CUDA cannot be forked
    first = case.like(seed=23)  # nobody has called the op on these values

    def run(tensors: list[torch.Tensor]) -> bytes:
        return b"".join(bytes_of(result).numpy().tobytes() for result in case.run(tensors))

    def run_after() -> bytes:
        case.run([inside_turned(tensor) for tensor in first.make()])
        return run(first.make())

    alone = bytes_in_child(lambda: run(first.make()))
    if alone is None or bytes_in_child(lambda: run(first.make())) != alone:
        raise NotForThis
    after = bytes_in_child(run_after)
    if after is not None and after != alone:
        raise Broken(
            "the call gives another result after a call on the same values in another order; "
            "a kernel takes the two for one"
        )


def inside_turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same values in another order: sums, extremes, and the first and last value stay."""
    flat = tensor.flatten().clone()
    flat[1:-1] = flat[1:-1].flip(0)
    return flat.view(tensor.shape)


def _with_ends_of(values: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    flat = values.flatten().clone()
    if len(flat):
        flat[0], flat[-1] = ends.flatten()[0], ends.flatten()[-1]
    return flat.view(values.shape)


def threads(context: Context) -> Outcome:
    """Calls from several threads at once give what they give one after the other."""
    cases = _large_cases(context)
    if not cases:
        return skipped("threads", "no call that it applies to")
    return context.run("threads", cases, lambda case: _holds(context, case))


def _holds(context: Context, case: Case) -> None:
    variants = [case.like(seed=seed) for seed in range(THREADS)]
    inputs = [variant.make() for variant in variants]
    expected = [[r.clone() for r in variant.run(variant.make())] for variant in variants]
    for variant, results in zip(variants, expected, strict=True):
        if not all(same_bits(a, b) for a, b in zip(results, variant.run(variant.make()), strict=True)):
            raise NotForThis  # it does not give the same twice, threads or not
    start = threading.Barrier(THREADS)
    has_mutable = any(arg.is_mutable for arg in context.subject.op.inputs)

    wrong: list[str] = []

    def work(number: int) -> None:
        pauses = random.Random(number)
        start.wait()
        rounds, until = 0, time.process_time() + SECONDS
        while not wrong and (rounds < ROUNDS or time.process_time() < until):
            rounds += 1
            time.sleep(pauses.choice(PAUSES))
            tensors = variants[number].make() if has_mutable else inputs[number]
            results = variants[number].run(tensors)
            for name, result, other in zip(context.output_names(), expected[number], results, strict=False):
                if not same_bits(result, other):
                    wrong.append(name)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)
    if wrong:
        raise Broken(
            f"{THREADS} threads that call it at once get wrong results in {wrong[0]}; a kernel keeps something "
            f"between calls that they share",
            "from concurrent.futures import ThreadPoolExecutor",
            "expected = {call}",
            "with ThreadPoolExecutor(4) as pool:",
            "    results = list(pool.map(lambda _: {call}, range(100)))",
            "print(all(torch.equal(expected, result) for result in results))",
        )
