"""Figures in words."""

from dataclasses import replace

import pytest

from oneop.benchmark import BenchResult, verdict
from oneop.benchmark.result import Row
from oneop.cli.bench import lines_of


def result_of(op, reference=None, copy=1e-6, *, call=1e-9, spread=0.0, matches=None, elements=10_000):
    """Return figures of one size, in seconds."""
    times = {"op": op, "reference": reference, "numpy some_long_name_of_a_file.py:123": op, "copy": copy}
    rows = tuple(
        Row(
            direction="forward",
            what=what,
            elements=elements,
            nbytes=80,
            seconds=seconds,
            minimum=seconds,
            spread=spread * seconds,
            matches=matches if what == "op" else None,
        )
        for what, seconds in times.items()
        if seconds is not None
    )
    machine = {"threads": 1}
    calls = {} if call is None else {"forward": call}
    return BenchResult(
        op="some", device="cpu", dtype="float32", call="x", rows=rows, call_seconds=calls, machine=machine
    )


@pytest.mark.parametrize(
    "result, text",
    [
        (result_of(21e-6, 10e-6), "forward: 2.1x slower than the reference at 10,000 elements; compute-bound"),
        (result_of(1e-6, 15e-6), "forward: 15x faster than the reference at 10,000 elements; memory-bound"),
        (result_of(1e-6, 1.04e-6), "forward: as fast as the reference at 10,000 elements; memory-bound"),
        (result_of(1e-6, 2e-6, call=0.9e-6), "forward: 2.0x faster than the reference at 10,000 elements; call-bound"),
        (result_of(1e-5, 2e-5, call=None), "forward: 2.0x faster than the reference at 10,000 elements"),
        (result_of(1e-5), "forward: 10 us at 10,000 elements, with no reference to compare with; compute-bound"),
        (
            result_of(1e-5, 1.2e-5, spread=0.2),
            "forward: 1.2x faster than the reference at 10,000 elements; compute-bound",
        ),
        (result_of(1e-5, 3e-5, spread=0.4, elements=1), "forward: 3.0x faster than the reference at 1 element"),
        (result_of(1e-5, 1e-5, matches=False), "forward: the result differs from the reference at 10,000 elements"),
    ],
)
def test_sentences(result, text):
    [sentence] = verdict(result)
    assert sentence.startswith(text)
    assert sentence.endswith("(noisy)") == result.rows[0].is_noisy


def test_least_times_are_compared():
    result = result_of(2e-6, 1e-6)
    rows = tuple(replace(row, seconds=row.seconds * (9 if row.what == "op" else 1)) for row in result.rows)
    assert verdict(replace(result, rows=rows))[0].startswith("forward: 2.0x slower than the reference")


def test_lines_fit_a_terminal_and_mark_what_is_noisy():
    lines = lines_of(result_of(1.23e-6, 4.56e-6, spread=0.4, matches=False, elements=100_000_000))
    assert max(map(len, lines)) <= 80
    assert lines[2] == "  forward, 100,000,000 elements"
    assert "±20 % !" in lines[3] and lines[3].endswith("✗")
    assert "    ...name_of_a_file.py:123" in lines[5]
    assert "  ! the quartiles are more than 30 % apart: the machine was busy, measure again" in lines
    assert "!" not in "".join(lines_of(result_of(1e-6, spread=0.29)))
