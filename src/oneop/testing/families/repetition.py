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
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.sizes import large_shapes
from oneop.testing.report import Outcome

THREADS, ROUNDS, ELEMENTS = 4, 4, 300_000
#: Threads that share one core meet inside a kernel only where the system takes the core away from one of them, every
#: few milliseconds or because another one wakes up. So each thread calls again and again until the process has used so
#: many seconds of processor time, pauses for a short time between some calls, and never waits for another thread.
SECONDS, PAUSES = 0.6, (0.0, 0.0001, 0.0003)


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
    with several_threads():
        more = context.run("determinism", _large_cases(context), holds)
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
    for _ in range(2):
        assert_same(first, run(case), "the same call gives another result when repeated", context.output_names())


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
    case.run(tensors)
    for tensor, other in zip(tensors, others, strict=True):
        tensor.copy_(other)
    what = "tensors whose values were changed in place give another result than new ones with these values"
    assert_same(case.run(others), case.run(tensors), what, context.output_names())
    for tensor in tensors:  # the same sum, first and last value, in another order
        flat = tensor.reshape(-1)
        if len(flat) > 3 and tensor.is_contiguous():
            flat[1:3] = flat[1:3].flip(0)
    assert_same(case.run([t.clone() for t in tensors]), case.run(tensors), what, context.output_names())


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
