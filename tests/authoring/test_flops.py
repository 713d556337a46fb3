"""Counts of operations: `oneop.define(flops=...)`, `op.flops(...)`, and what torch's own counter makes of them."""

import subprocess
import sys

import pytest
import torch
from torch.utils import flop_counter
from torch.utils.flop_counter import FlopCounterMode

import oneop
from oneop.errors import ArgumentError, CheckError, OpNotImplementedError, OpValueError, RegistrationError
from oneop.registry import isolated
from quick_python import command

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compiler


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def product_op(name="fl_mm", **options):
    """A product with a kernel in numpy, and gradients by the op itself."""
    op = oneop.define(
        f"{name}(Tensor x, Tensor w) -> Tensor y",
        infer="a k, k b -> a b",
        flops=lambda x, w: 2 * x.numel() * w.shape[1],
        **options,
    )
    op.register_kernel("cpu")(lambda x, w: x @ w)
    op.register_grad(lambda ctx, dy: (op(dy, ctx.w.T), op(ctx.x.T, dy)))
    return op


def simple(flops, schema="fl_simple(Tensor x, *, int k=3) -> Tensor y"):
    return oneop.define(schema, infer="elementwise", flops=flops)


def count(function, *args):
    with FlopCounterMode(display=False) as counter:
        function(*args)
    return counter.get_total_flops()


def test_asked_without_a_call():
    op = product_op()
    assert op.flops((3, 4), (4, 5)) == 120
    assert oneop.ops.fl_mm.flops(torch.empty(3, 4), oneop.TensorSpec((4, 5), torch.float32)) == 120
    assert oneop.get_op("fl_mm").has_flops and "flops    declared" in str(oneop.get_op("fl_mm"))


def test_arguments_are_those_of_inference():
    seen = []

    def flops(x, others, bias, *, k, out):
        seen.append((x, others, bias, k, out))
        return k

    schema = "fl_args(Tensor x, Tensor[] others, Tensor? bias, *, int k=3, float a=1.0) -> (Tensor y, Tensor z)"
    op = oneop.define(schema, flops=flops)
    op.register_infer(lambda x, others, bias: (x, oneop.TensorSpec((1,), torch.int64)))
    spec = oneop.TensorSpec((2, 3), torch.float32)
    assert op.flops((2, 3), [(2, 3), (2, 3)], None, k=5, a=2.0) == 5
    assert seen == [(spec, [spec, spec], None, 5, (spec, oneop.TensorSpec((1,), torch.int64)))]
    assert simple(lambda x, *, out: out.numel() * x.ndim).flops((2, 3)) == 12


@pytest.mark.parametrize("number", [7, 7.0, 6.6, torch.tensor(7.0).numpy()[()]])
def test_any_number_will_do(number):
    assert simple(lambda x: number).flops((2,)) == 7


@pytest.mark.parametrize("number", ["7", None, True, 1j])
def test_what_is_no_number(number):
    with pytest.raises(CheckError) as caught:
        simple(lambda x: number).flops((2,))
    text = str(caught.value)
    assert 'op "fl_simple": its flops function gave' in text and "expected a number" in text and __file__ in text


@pytest.mark.parametrize("number, shown", [(-1, "-1"), (float("nan"), "nan"), (float("inf"), "inf"), (10**400, "inf")])
def test_what_cannot_be_a_count(number, shown):
    with pytest.raises(CheckError) as caught:
        simple(lambda x: number).flops((2,))
    text = str(caught.value)
    assert f"count of operations: expected a finite number that is not negative, found {shown}\n" in text
    assert f"defined at {__file__}" in text


def test_what_the_function_raises():
    def flops(x):
        raise ValueError("no sizes")

    with pytest.raises(OpValueError, match='op "fl_simple", count of operations: ValueError: no sizes'):
        simple(flops).flops((2,))


def test_refusals():
    with pytest.raises(RegistrationError, match=r"flops\(\): expected 1 inputs, found 0 parameters"):
        simple(lambda: 1)
    with pytest.raises(
        RegistrationError, match='op "fl_simple": flops is a function of shapes that counts, found int 3'
    ):
        simple(3)
    with pytest.raises(OpNotImplementedError, match="does not say how many operations a call takes: add flops=fn"):
        oneop.define("fl_silent(Tensor x) -> Tensor y", infer="elementwise").flops((2,))
    with pytest.raises(ArgumentError, match='op "fl_simple" has no attribute "kk", did you mean "k"'):
        simple(lambda x, k: k).flops((2,), kk=1)


def test_torch_counts_forward_and_backward():
    op = product_op()
    x, w = torch.rand(3, 4, requires_grad=True), torch.rand(4, 5, requires_grad=True)
    assert count(op, x, w) == count(torch.ops.oneop.fl_mm, x, w) == 120
    assert count(lambda: op(x, w).sum().backward()) == 360 == count(lambda: (x @ w).sum().backward())
    with FlopCounterMode(display=False) as counter:
        op(x, w)
        x @ w
    by_op = counter.get_flop_counts()["Global"]
    assert by_op == {torch.ops.oneop.fl_mm: 120, torch.ops.aten.mm: 120}


def test_a_compiled_function_runs_as_it_is_while_a_mode_looks():
    op = product_op()
    x, w = torch.rand(3, 4, requires_grad=True), torch.rand(4, 5, requires_grad=True)
    compiled = torch.compile(lambda x, w: op(x, w).sum(), backend="aot_eager")
    assert count(lambda: compiled(x, w).backward()) == 360
    compiled(x, w).backward()
    assert count(lambda: compiled(x, w).backward()) == 360


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graphs_are_counted(dynamic):
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.fx_utils import count_flops_fx

    counts = []

    def compiler(graph, inputs):
        counts.append(sum(count_flops_fx(node) or 0 for node in graph.graph.nodes if node.op == "call_function"))
        return graph

    op = product_op()
    x, w = torch.rand(3, 4, requires_grad=True), torch.rand(4, 5, requires_grad=True)
    backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)
    torch.compile(lambda x, w: op(x, w).sum(), backend=backend, fullgraph=True, dynamic=dynamic)(x, w).backward()
    assert counts == [120, 240]


def test_fake_tensors_and_symbolic_sizes():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    op = product_op()
    with FakeTensorMode():
        assert count(op, torch.empty(3, 4), torch.empty(4, 5)) == 120
    with FlopCounterMode(display=False) as counter:
        graph = make_fx(lambda x, w: op(x, w), tracing_mode="symbolic")(torch.rand(3, 4), torch.rand(4, 5))
    assert counter.get_total_flops() == 120
    assert graph(torch.rand(7, 4), torch.rand(4, 2)).shape == (7, 2)  # counting ties the program to no size


def test_sizes_that_depend_on_data_count_nothing():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    op = simple(lambda x: x.numel())
    with FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True)):
        x = torch.empty(5).nonzero().float()
        assert count(op, x) == 0


def test_a_composition_is_not_counted_twice():
    op = oneop.define("fl_comp(Tensor x, Tensor w) -> Tensor y", infer="a k, k b -> a b", flops=lambda x, w: 7)
    op.register_kernel(language="torch")(lambda x, w: x @ w)
    x, w = torch.rand(3, 4), torch.rand(4, 5)
    assert count(op, x, w) == 7
    assert count(op, x.requires_grad_(), w) == 120  # torch records, and counts, what it is made of


def test_attributes_reach_the_formula():
    op = oneop.define("fl_attr(Tensor x, int k=3, *, int[] sizes=[1, 2]) -> Tensor y", infer="elementwise",
                      flops=lambda x, k, sizes: x.numel() * k + sum(sizes))  # fmt: skip
    op.register_kernel("cpu")(lambda x: x)
    x = torch.rand(2)
    assert count(op, x) == 9 and count(op, x, 5) == 13 and count(lambda: op(x, k=5, sizes=[10])) == 20
    assert count(lambda: torch.ops.oneop.fl_attr(x, k=5, sizes=[10])) == 20


def test_open_outputs_reach_the_formula():
    op = oneop.define("fl_open(Tensor x) -> Tensor[] ys", flops=lambda x, out: len(out))
    op.register_infer(lambda x: [x.shape] * 3)
    op.register_kernel("cpu")(lambda x: [x] * 3)
    assert count(lambda: op(torch.rand(2), output_counts=[3])) == 3
    assert op.flops((2,), output_counts=[3]) == 3


def test_formulas_follow_definitions():
    registry = flop_counter.flop_registry
    before = set(registry)
    x = torch.rand(2)
    with isolated():
        op = simple(lambda x: 1)
        op.register_kernel("cpu")(lambda x: x)
        assert count(op, x) == 1
        with isolated():
            simple(lambda x: 2).register_kernel("cpu")(lambda x: x)
            assert count(oneop.ops.fl_simple, x) == 2
        assert count(oneop.ops.fl_simple, x) == 1
        oneop.define("fl_simple(Tensor x, *, int k=3) -> Tensor y", infer="elementwise")
        assert set(registry) == before
    assert set(registry) == before


def test_a_declared_count_replaces_a_programs_own_formula():
    op = simple(None)
    op.register_kernel("cpu")(lambda x: x)
    flop_counter.register_flop_formula(torch.ops.oneop.fl_simple)(lambda x, out_shape, **attrs: 8)
    assert count(op, torch.rand(2)) == 8
    simple(lambda x: 9).register_kernel("cpu")(lambda x: x)
    assert count(oneop.ops.fl_simple, torch.rand(2)) == 9


def test_another_schema_has_a_formula_too():
    scope = {"oneop": oneop}  # a session: what is said again replaces what was said before
    define = "op = oneop.define('fl_other({}) -> Tensor z', infer='elementwise', flops=lambda *specs: len(specs))\n"
    define += "op.register_kernel('cpu')(lambda *arrays: arrays[0])"
    exec(define.format("Tensor x"), scope)
    x = torch.rand(2)
    assert count(scope["op"], x) == 1
    exec(define.format("Tensor x, Tensor y"), scope)
    assert count(scope["op"], x, x) == 2
    assert sum("fl_other" in str(packet) for packet in flop_counter.flop_registry) == 1


# Among the quick tests torch itself, which is a fork's already, is not imported again.
@pytest.mark.parametrize("is_fork", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_torchs_module_is_not_imported_for_it(is_fork):
    program = """
import sys
sys.modules.pop("torch.utils.flop_counter", None)
import torch, oneop
op = oneop.define("fl_late(Tensor x) -> Tensor y", infer="elementwise", flops=lambda x: 4)
op.register_kernel("cpu")(lambda x: x)
gone = oneop.define("fl_gone(Tensor x) -> Tensor y", infer="elementwise", flops=lambda x: 4)
oneop.define("fl_gone(Tensor x) -> Tensor y", infer="elementwise")
assert "torch.utils.flop_counter" not in sys.modules
from torch.utils.flop_counter import FlopCounterMode, flop_registry
with FlopCounterMode(display=False) as counter:
    op(torch.rand(2))
assert counter.get_total_flops() == 4
assert torch.ops.oneop.fl_gone not in flop_registry
"""
    subprocess.run([*(command() if is_fork else [sys.executable]), "-c", program], check=True)


def test_a_missing_input_beside_an_optional_one():
    with isolated():
        op = oneop.define("fl_optional(Tensor x, Tensor w, Tensor? b) -> Tensor y", flops=lambda x, w, b: 1)
        op.register_infer(lambda x, w, b: x.like())
        assert op.flops((3, 4), (4, 5)) == 1
        with pytest.raises(ArgumentError, match='op "fl_optional": expected inputs x, w, b, found 1 of them'):
            op.flops((3, 4))
