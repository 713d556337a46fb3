"""The harness takes no part of what it measures: a clock that only the measured functions advance says so."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import oneop
from oneop.benchmark import bench, timing
from oneop.benchmark.timing import LEAST_TURNS, PATIENCE, TURN_SECONDS, Contender, measure
from oneop.registry import isolated
from quick_python import command


class Clock:
    """A clock that stands still unless it is told to go on. It counts how often it was looked at."""

    def __init__(self):
        self.now, self.looks = 0.0, 0

    def __call__(self):
        self.looks += 1
        return self.now

    def takes(self, seconds):
        """Return a function that takes so long, in turn if there are several times, and that counts its calls."""
        times = seconds if isinstance(seconds, list) else [seconds]

        def function():
            self.now += times[function.calls % len(times)]
            function.calls += 1

        function.calls = 0
        return function


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing, "clock", clock)
    return clock


def test_a_function_has_the_time_that_it_takes(clock):
    quick, slow = clock.takes(2.0**-20), clock.takes(2.0**-6)
    timings = measure({"quick": quick, "slow": slow}, seconds=0.5)
    for name, seconds in (("quick", 2.0**-20), ("slow", 2.0**-6)):
        assert (timings[name].minimum, timings[name].median, timings[name].spread) == (seconds, seconds, 0.0)
    assert timings["quick"].turns == timings["slow"].turns >= LEAST_TURNS
    assert slow.calls == timings["slow"].turns + 2  # one call warms up, one calibrates, one is a turn
    assert quick.calls / timings["quick"].turns > TURN_SECONDS / 2.0**-20


def test_least_median_and_quartiles(clock):
    timing_of = measure({"uneven": clock.takes([0.5, 0.25, 1.0, 0.25])}, seconds=8)["uneven"]
    assert (timing_of.minimum, timing_of.median) == (0.25, 0.375)
    assert timing_of.spread > 0.3 * timing_of.median


def test_a_busy_machine_is_measured_longer(clock):
    quiet, busy = clock.takes(0.25), clock.takes([0.25, 0.25, 1.0, 1.0])
    assert measure({"quiet": quiet}, seconds=8)["quiet"].turns == 32
    timing_of = measure({"busy": busy}, seconds=8)["busy"]
    assert timing_of.minimum == 0.25 and abs(timing_of.turns - PATIENCE * 8 / 0.625) < 3


def test_an_interruption_does_not_end_the_calibration(clock):
    function = clock.takes([*[2.0**-20] * 6, 1.0, *[2.0**-20] * 3000])  # the third turn takes a second
    undisturbed = timing._calls_of_a_turn(Contender(calls=(clock.takes(2.0**-20),)), None)
    assert timing._calls_of_a_turn(Contender(calls=(function,)), None) == undisturbed == 1024


def test_turns_are_interleaved(clock):
    order = []
    functions = {name: lambda name=name: (order.append(name), clock.takes(1.0)()) for name in "abc"}
    measure(functions, seconds=20)
    turns = order[3 * 2 :]  # after warm-up and calibration
    rounds = [turns[i : i + 3] for i in range(0, len(turns), 3)]
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert len({tuple(names) for names in rounds}) > 1


def test_the_wait_for_a_device_counts(clock):
    timing_of = measure({"launch": clock.takes(0.0)}, seconds=1, synchronize=clock.takes(1.0))["launch"]
    assert timing_of.median == 1.0


def test_a_function_that_takes_no_time_ends(clock, monkeypatch):
    monkeypatch.setattr(timing, "MOST_CALLS", 8)
    function = clock.takes(0.0)
    with pytest.raises(StopIteration):
        stop = iter(range(100))
        measure({"idle": lambda: (function(), next(stop))}, seconds=1)
    assert function.calls > 8


def test_an_op_is_as_fast_as_itself_and_nothing_else_runs_in_a_turn(clock, monkeypatch):
    """Kernel and reference take one tick each, so each call has to; Python functions that run in a turn are listed."""
    monkeypatch.setattr(timing, "MOST_CALLS", 4)  # the copy never takes any time
    tick = 2.0**-8
    seen = set()

    def look(frame, event, argument):
        if event == "call" and clock.looks and frame.f_code is not Clock.__call__.__code__:
            turn = next((f for f in _callers(frame) if f.f_code is timing._turn.__code__), None)
            if turn is not None and "started" in turn.f_locals and "took" not in turn.f_locals:
                seen.add(frame.f_code.co_name)

    with isolated():
        schema = "bench_tick(Tensor x, *, float scale=2.0) -> Tensor y"
        op = oneop.define(schema, infer="elementwise", differentiable=False)

        @op.register_kernel("cpu", dtypes=torch.float32)
        def kernel(x, scale):
            clock.now += tick
            return x * scale

        def reference(x, scale=2.0):
            clock.now += tick
            return x * scale

        sys.setprofile(look)
        try:
            result = bench(op, reference=reference, sizes=(1000,), seconds=0.1)
        finally:
            sys.setprofile(None)
    for what in ("op", "reference"):
        row = result.find("forward", what, 1000)
        assert (row.minimum, row.seconds, row.spread) == (tick, tick, 0.0)
    assert result.ratio(result.find("forward", "op", 1000), "reference") == 1.0
    assert seen == {"kernel", "reference"}


def _callers(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def test_sections_of_the_benchmarks_tell_what_they_do():
    program = """
from benchmarks._report import Section, Table
from benchmarks._timing import take_turns
section = Section(name="calls", title="one thread")
section.tables.append(Table(title="n = 8", timings=list(take_turns({"op": lambda: 1.0}, rounds=2).values()), base="op"))
"""
    root = Path(__file__).parents[2]
    result = subprocess.run([*command(), "-c", program], cwd=root, capture_output=True, text=True, check=True)
    expected = ["calls: one thread ...", "  round 1 of 2: op", "  round 2 of 2: op", "  measured: n = 8"]
    assert (result.stdout, result.stderr.splitlines()) == ("", expected)
