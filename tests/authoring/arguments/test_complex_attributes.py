"""Complex attributes by every route: given as ints that change, and with parts that are not finite."""

import io
import itertools
import math

import numpy as np
import pytest
import torch

import oneop

INF, NAN = math.inf, math.nan


KINDS = ["complex", "Scalar", "complex?"]


@pytest.fixture
def op(request):
    op = oneop.define(
        f"ca_{request.param.strip('?')}(Tensor x, *, {request.param} k) -> Tensor y",
        infer="elementwise",
        differentiable=False,
        side_effect=True,
    )
    op.seen = []
    op.register_kernel("cpu")(lambda x, k: (op.seen.append(k), x)[1])
    return op


class Program(torch.nn.Module):
    def __init__(self, op, k):
        super().__init__()
        self.op, self.k = op, k

    def forward(self, x):
        return self.op(x, k=self.k)


def same(a, b):
    return np.array([a], np.complex128).tobytes() == np.array([b], np.complex128).tobytes() or (a != a and b != b)


CHANGES = [
    (None, (1j, 2, 2.5, 3, INF, NAN, 1 + 2j)),
    (True, (2, 3, 1j)),
    (False, (2.5, 3, NAN)),
    (None, (2.5, -0.5, 2.5)),
]


@pytest.mark.parametrize(
    "op, dynamic, values",
    [
        pytest.param(kind, *change, marks=[pytest.mark.slow] * (kind != "complex" and i != j))
        for i, kind in enumerate(KINDS)
        for j, change in enumerate(CHANGES)
    ],
    indirect=["op"],
)
def test_values_that_change_under_compile(op, dynamic, values):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, k: op(x, k=k), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    with torch._dynamo.config.patch(recompile_limit=64):
        for k in values:
            op.seen.clear()
            compiled(torch.ones(2), k)
            assert same(op.seen[-1], k), (k, op.seen)


# Each number is one of the quick tests for one of the types.
@pytest.mark.parametrize(
    "op, k",
    [
        pytest.param(kind, complex(a, b), marks=[pytest.mark.slow] * ((n // 3 + n + i) % 3 > 0))
        for i, kind in enumerate(KINDS)
        for n, (a, b) in enumerate(itertools.product((0.0, -1.5, INF, -INF, NAN), (INF, -INF, NAN)))
    ],
    indirect=["op"],
)
def test_parts_that_are_not_finite(op, k):
    x = torch.ones(2)
    exported = torch.export.export(Program(op, k), (x,))
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    runs = {
        "export": lambda: exported.module()(x),
        "load": lambda: torch.export.load(file).module()(x),
        "job": lambda: oneop.compile_job(lambda x: op(x, k=k), [x])(x),
        "compile": lambda: torch.compile(lambda x: op(x, k=k), backend="aot_eager")(x),
        "vmap": lambda: torch.vmap(lambda x: op(x, k=k))(torch.ones(1, 2)),
    }
    for route, run in runs.items():
        torch._dynamo.reset()
        op.seen.clear()
        run()
        assert repr(op.seen[-1]) == repr(k), (route, op.seen)
