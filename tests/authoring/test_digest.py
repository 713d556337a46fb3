"""Digests: equal for what behaves alike, in every process; different after any edit; refused where nobody can tell."""

import array
import collections
import contextlib
import decimal
import enum
import functools
import io
import math
import os
import random
import runpy
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oneop.authoring.keys.digest import Undigestible, digest_of

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.complex_numbers(allow_nan=False),
        st.text(max_size=5),
        st.binary(max_size=5),
        st.sampled_from([torch.float32, torch.int8, torch.device("cpu"), ...]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=8,
)


def shown(value):
    """A text that is equal exactly for equal values: 1, 1.0 and True are told apart."""
    return f"{type(value).__name__}:{value!r}" if not isinstance(value, (list, tuple)) else [*map(shown, value)]


def closing_over(value):
    return lambda x: (x, value)


@given(VALUES, VALUES)
@settings(max_examples=300, deadline=None)
def test_values_that_differ_have_digests_that_differ(one, other):
    if isinstance(one, frozenset) or isinstance(other, frozenset):
        same = one == other
    else:
        same = repr(one) == repr(other) and shown(one) == shown(other)
    assert (digest_of(one) == digest_of(other)) == same
    assert (digest_of(closing_over(one)) == digest_of(closing_over(other))) == same


@dataclass
class Settings:
    scale: float
    names: list


class Mode(enum.Enum):
    A = 1
    B = 2


def functions():
    """Pairs of functions that an edit tells apart."""
    array, tensor = np.arange(3.0), torch.arange(3.0)

    def default(x, k=1):
        return x * k

    def other_default(x, k=2):
        return x * k

    other_default.__qualname__ = default.__qualname__
    yield default, other_default
    for one, other in [
        (array, array + 1),
        (tensor, tensor + 1),
        (tensor, tensor.double()),
        (Settings(1.0, ["a"]), Settings(2.0, ["a"])),
        (Settings(1.0, ["a"]), Settings(1.0, ["b"])),
        (Mode.A, Mode.B),
        (functools.partial(math.pow, 2), functools.partial(math.pow, 3)),
        (math.sin, math.cos),
        (np.sin, np.cos),
        (torch.sin, torch.cos),
        (torch.ops.aten.sin, torch.ops.aten.cos),
        ({1: [2]}, {1: [3]}),
        (-0.0, 0.0),
        (1, True),
    ]:
        yield closing_over(one), closing_over(other)
    first = torch.nn.Linear(2, 2)
    second = torch.nn.Linear(2, 2)
    yield closing_over(first), closing_over(second)


@pytest.mark.parametrize("pair", list(functions()), ids=lambda pair: "pair")
def test_edits_are_seen(pair):
    one, other = pair
    assert digest_of(one) == digest_of(one)
    assert digest_of(one) != digest_of(other)


CODE = """
{imports}
SCALE = {scale}
class Tool:
    def helper(self, x):
        return x + {inner}
tool = Tool()
def deeper(x): return tool.helper(x)
def kernel(x, k={default}):
    def inside(y): return y * SCALE + {constant}
    return inside(deeper(x)) * k
"""


def kernel_of(**changes):
    scope = {"__name__": "edited"}
    exec(CODE.format(**{"imports": "", "scale": 2, "inner": 1, "default": 3, "constant": 4, **changes}), scope)
    return scope["kernel"]


@pytest.mark.parametrize("change", [{"scale": 5}, {"inner": 5}, {"default": 5}, {"constant": 5}])
def test_edits_anywhere_below(change):
    assert digest_of(kernel_of()) == digest_of(kernel_of())
    assert digest_of(kernel_of(**change)) != digest_of(kernel_of())


def test_a_place_in_a_file_is_no_edit():
    assert digest_of(kernel_of(imports="\n\n# moved\n")) == digest_of(kernel_of())


def test_modules_of_the_author_are_looked_into(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for factor in (2, 3):
        (tmp_path / f"own{factor}.py").write_text(f"def scale(x):\n    return x * {factor}\n")
        scope = {"__name__": "edited"}
        exec(f"import own{factor} as own\ndef kernel(x): return own.scale(x)", scope)
        digests.append(digest_of(scope["kernel"]))
    assert digests[0] != digests[1]


class Numbers(array.array):
    """State that C keeps, in a class with a `__dict__`."""


class Draws(random.Random):
    """Likewise."""


FILE = open(os.devnull)  # noqa: PTH123


@pytest.mark.parametrize(
    "value",
    [
        *(threading.Lock(), object(), iter([1]), torch.Generator(), torch.empty(2, device="meta"), memoryview(b"ab")),
        *(io.StringIO("text"), FILE, io.BytesIO(b"ab"), Numbers("i", [1]), Draws(3), random.Random(3)),
        *(collections.deque([1]), array.array("i", [1]), ValueError("text"), decimal.Decimal(1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_told_is_refused(value):
    with pytest.raises(Undigestible):
        digest_of(closing_over(value))
    with pytest.raises(Undigestible):
        digest_of(closing_over([{"deep": (value,)}]))


def test_cycles_end():
    items: list = [1]
    items.append(items)

    def again(n):
        return again(n - 1) if n else items

    assert digest_of(again) == digest_of(again)


def test_the_same_in_every_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np, torch, functools
            from oneop.authoring.keys.digest import digest_of
            TABLE = {"b": (1, 2), "a": {3, 1, 2}, "c": frozenset("xyz")}
            class Own:
                scale = 3
                def __init__(self): self.value = [1.5, np.float32(2)]
                def __call__(self, x): return np.sin(x) * self.value[0] + len(TABLE)
            own = Own()
            def kernel(x, k=functools.partial(torch.add, alpha=2)):
                return k(own(x), own(x)) if x.ndim in {1, 2, 3} else torch.relu(x)
            print(digest_of(kernel))
            """
        )
    )
    with contextlib.redirect_stdout(io.StringIO()) as here:
        runpy.run_path(str(script), run_name="__main__")
    # With another order of sets, and of dictionaries of sets.
    environment = {**os.environ, "PYTHONHASHSEED": str(hash("seed") % 2**32)}
    there = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment)
    assert here.getvalue() == there.stdout and len(there.stdout) > 9
