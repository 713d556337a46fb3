"""Symbolic sizes: an op's inference ties together, or fixes, only the sizes that it compares."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oneop

SOURCE = """
#include <algorithm>

#include "oneop/op.h"
using namespace oneop;
OP("sy_add(Tensor x, Tensor y) -> Tensor z").elementwise<float>([](auto x, auto y) { return x + y; }).no_grad();
// Sizes of one class have to be equal.
OP("sy_classes(Tensor a, Tensor b, Tensor c, Tensor d, *, int[] classes) -> Tensor z")
    .infer([](Infer& ctx) {
      const char* names[] = {"a", "b", "c", "d"};
      const auto classes = ctx.attr<std::vector<int64_t>>("classes");
      for (size_t i = 0; i < 4; ++i) {
        for (size_t k = 0; k < i; ++k) {
          ctx.check(classes[i] != classes[k] || ctx.size(names[i], 0) == ctx.size(names[k], 0), "sizes differ");
        }
      }
      ctx.set_like("z", "d");
    })
    .kernel<float(float, float, float, float)>([](auto, auto, auto, auto d, auto z, Attrs, Call&) {
      std::copy_n(d.data(), d.numel(), z.data());
    })
    .no_grad();
// Of the outputs one has a size that a symbol says, and two have not.
OP("sy_window(Tensor x, Tensor w) -> (Tensor y, Tensor z, Tensor both)")
    .infer([](Infer& ctx) {
      const auto n = ctx.size("x", 0), k = ctx.size("w", 0);
      ctx.set("y", {n});
      ctx.set("z", {n - k + 1});
      ctx.set("both", {n + k});
    })
    .kernel<float>([](auto x, auto w, auto y, auto z, auto both) {
      std::copy_n(x.data(), x.numel(), y.data());
      std::copy_n(x.data(), z.numel(), z.data());
      std::copy_n(w.data(), w.numel(), std::copy_n(x.data(), x.numel(), both.data()));
    })
    .no_grad();
// Columns come out halved: no symbol says that.
OP("sy_half(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {ctx.size("x", 0), ctx.size("x", 1) / 2}); })
    .kernel<float>([](auto x, auto y, Attrs, Call&) {
      const int64_t n = y.size(1);
      for (int64_t i = 0; i < y.numel(); ++i) { y[i] = x[i / n * x.size(1) + i % n]; }
    })
    .no_grad();
"""


@pytest.fixture(scope="module")
def ops():
    return oneop.load_inline("symbols_ops", SOURCE)


def programs_of(function, calls):
    """How many programs torch.compile makes for these calls, whose sizes are all dynamic."""
    torch._dynamo.reset()
    programs = []

    def backend(graph, _):
        programs.append(graph)
        return graph.forward

    compiled = torch.compile(function, backend=backend, dynamic=True, fullgraph=True)
    for call in calls:
        torch.testing.assert_close(compiled(*call), function(*call))
    return len(programs)


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(classes=st.lists(st.integers(0, 2), min_size=4, max_size=4), sizes=st.permutations([2, 3, 5]))
@example(classes=[0, 0, 1, 1], sizes=[2, 3, 5])
@example(classes=[0, 1, 0, 1], sizes=[2, 3, 5])
def test_only_sizes_that_are_compared_are_tied(ops, classes, sizes):
    first = tuple(torch.ones(7, 1) for _ in classes)  # all sizes are equal while the program is made
    second = tuple(torch.randn(sizes[kind], 1) for kind in classes)
    dims = ({0: torch.export.Dim.DYNAMIC},) * 4
    program = torch.export.export(Calls(ops.sy_classes, classes), first, dynamic_shapes=(dims,)).module()
    torch.testing.assert_close(program(*second), second[3])


class Calls(torch.nn.Module):
    def __init__(self, op, classes):
        super().__init__()
        self.op, self.classes = op, classes

    def forward(self, *tensors):
        return self.op(*tensors, classes=self.classes)


def test_sizes_that_have_to_be_equal_are_asserted(ops):
    dynamic = {0: torch.export.Dim.DYNAMIC}
    program = torch.export.export(
        Calls(ops.sy_classes, [0, 0, 1, 2]),
        tuple(torch.ones(7, 1) for _ in range(4)),
        dynamic_shapes=((dynamic,) * 4,),
    ).module()
    with pytest.raises((AssertionError, RuntimeError)):
        program(torch.ones(3, 1), torch.ones(4, 1), torch.ones(5, 1), torch.ones(6, 1))


def test_a_size_that_is_computed_with_fixes_only_itself(ops):
    calls = [(torch.randn(rows, 6),) for rows in (2, 3, 5, 9)]
    assert programs_of(ops.sy_half, calls) == 1
    assert programs_of(ops.sy_half, [*calls, (torch.randn(4, 8),)]) == 2


def test_sums_of_sizes_are_compared_with_sizes(ops):
    def function(a, b, c):
        return ops.sy_add(torch.cat([a, b]), c)

    calls = [tuple(torch.randn(n) for n in (i, i + 1, 2 * i + 1)) for i in range(2, 7)]
    assert programs_of(function, calls) == 1


def test_a_parameter_of_a_fixed_size_fixes_the_columns_alone(ops):
    weight = torch.randn(4, 4)

    def function(x, y):
        return ops.sy_add(torch.cat([x, y], 1) @ weight.repeat(2, 1), x)

    calls = [(torch.randn(rows, 4), torch.randn(rows, 4)) for rows in (2, 3, 5)]
    assert programs_of(function, calls) == 1


def test_sizes_from_data_are_tied(ops):
    def function(x, mask, other):
        return ops.sy_add(x[mask], other[mask])

    masks = [torch.tensor(bits, dtype=torch.bool) for bits in ([1, 0, 1, 1], [0, 0, 1, 0])]
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert programs_of(function, [(torch.randn(4), mask, torch.randn(4)) for mask in masks]) == 1


def test_inference_that_refuses_says_so(ops):
    with pytest.raises(Exception, match="sizes differ"):
        programs_of(
            lambda *tensors: ops.sy_classes(*tensors, classes=[0, 0, 1, 2]),
            [tuple(torch.ones(size, 1) for size in (3, 4, 5, 6))],
        )


@settings(max_examples=4, deadline=None)
@example(sizes=[(5, 3), (7, 2), (3, 3), (4, 4)])
@given(sizes=st.lists(st.tuples(st.integers(2, 6), st.integers(2, 6)), min_size=2, max_size=5))
def test_sizes_that_no_symbol_says_are_right_in_any_order(ops, sizes):
    """Also where two sizes are equal in one call: then a guess holds that fails as soon as they are told apart."""

    def window(x, w):
        return ops.sy_window(x, w)

    torch._dynamo.reset()
    compiled = torch.compile(window, backend="aot_eager", dynamic=True, fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=64):
        for n, k in sizes:
            call = torch.randn(max(n, k)), torch.randn(k)
            results, expected = compiled(*call), window(*call)
            assert len(results) == 3
            for result, other in zip(results, expected, strict=True):
                torch.testing.assert_close(result, other)
