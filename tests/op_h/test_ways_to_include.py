"""However a source includes the SDK, whose functions may be compiled apart (build/test_sdk_functions.py), it works."""

import pytest
import torch

import oneop

OP = """
OP("NAME(Tensor x, *, int k=2) -> Tensor y").elementwise<float, double>([](auto x, auto k) { return k * x; })
    .gradient("dx = NAME(dy, k=k)");
"""
INCLUDES = {
    "direct": '#include "oneop/op.h"\n',
    "through": '#include "mine.h"\n',
    "oneflow": '#include "oneflow/core/framework/framework.h"\n#include "mine.h"\n',
}


@pytest.mark.usefixtures("unoptimized")
@pytest.mark.parametrize(
    ("ways", "defines"),
    [
        (["through"], {}),
        (["through", "direct"], {}),
        (["oneflow"], {}),
        pytest.param(["direct"], {}, marks=pytest.mark.slow),
        pytest.param(["direct"], {"ONEOP_PORT": 2022}, marks=pytest.mark.slow),
    ],
)
def test_ways(tmp_path, ways, defines):
    (tmp_path / "mine.h").write_text('#pragma once\n#include "oneop/op.h"\n')
    library = "_".join(["way", *ways, *map(str, defines.values())])
    for way in ways:
        (tmp_path / f"{way}.cpp").write_text(INCLUDES[way] + OP.replace("NAME", f"{library}_{way}"))
    ops = oneop.load(library, [tmp_path / f"{way}.cpp" for way in ways], defines=defines)
    x = torch.randn(5, requires_grad=True)
    for way in ways:
        y = getattr(ops, f"{library}_{way}")(x, k=3)
        assert torch.equal(y, 3 * x)
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full((5,), 3.0))
