"""`.flops`: counts of forward and backward ops of `oneop/op.h`."""

import subprocess

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import oneop
from oneop.errors import OpValueError

SOURCE = """
#include "oneop/op.h"
using oneop::Infer;
OP("ofl_square(Tensor x, *, float by=1.0) -> Tensor y")
    .elementwise<float>([](auto x, auto by) { return by * x * x; })
    .flops([](Infer& ctx) { return 2.0 * ctx.size("x", 0) * ctx.size("y", -1); })
    .gradient("dx = ofl_square_grad(x, dy, by=by)");
OP("ofl_square_grad(Tensor x, Tensor dy, *, float by) -> Tensor dx")
    .elementwise<float>([](auto x, auto dy, auto by) { return 2 * by * x * dy; })
    .flops([](const Infer& ctx) { return 3 * ctx.shape("dx").elem_cnt(); })
    .no_grad();
OP("ofl_list(Tensor[] xs, Tensor? bias, *, int k=1) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set_like("y", "xs"); })
    .flops([](Infer& ctx) {
      ctx.check(ctx.attr<int64_t>("k") > 0, "k must be positive");
      return ctx.count("xs") + (ctx.has("bias") ? 10 : 0) + ctx.shape("xs", 1).At(0);
    })
    .no_grad();
OP("ofl_silent(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x; }).no_grad();
"""


@pytest.fixture(scope="module")
def library():
    return oneop.load_inline("op_h_flops", SOURCE)


def test_forward_and_backward(library):
    assert library.ofl_square.flops((2, 3)) == 12 and library.ofl_square_grad.flops((2, 3), (2, 3), by=1.0) == 18
    x = torch.rand(2, 3, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        library.ofl_square(x).sum().backward()
    counts = counter.get_flop_counts()["Global"]
    assert counts == {torch.ops.oneop.ofl_square: 12, torch.ops.oneop.ofl_square_grad: 18}


def test_all_that_the_function_can_ask(library):
    assert library.ofl_list.flops([(2,), (5,)], None) == 7 and library.ofl_list.flops([(2,), (5,)], (1,)) == 17
    with pytest.raises(OpValueError, match='op "ofl_list", count of operations: k must be positive'):
        library.ofl_list.flops([(2,), (5,)], None, k=0)
    with pytest.raises(OpValueError, match="there is no axis 0 in"):
        library.ofl_square.flops(())


def test_a_library_without_counts_has_no_code_for_them(tmp_path):
    text = (
        '#include "oneop/op.h"\nOP("ofl_plain(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x; });\n'
    )
    plain = oneop.build("op_h_plain", _written(tmp_path, text))
    symbols = subprocess.run(["nm", "--demangle", str(plain)], capture_output=True, text=True, check=True).stdout
    assert "InferOutputs" in symbols and "CountOperations" not in symbols


def _written(folder, text):
    (folder / "plain.cpp").write_text(text)
    return [folder / "plain.cpp"]
