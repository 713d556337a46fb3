"""torch.compile, export, opcheck, fake tensors: one inference serves them all."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck
from torch.testing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's own


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def net(ops):
    def f(x, w):
        return ops.t_relu(ops.t_multiply(x, w), alpha=0.25).sum(-1)

    return f


def check_against_eager(f, compiled, *inputs):
    a = [x.clone().requires_grad_() for x in inputs]
    b = [x.clone().requires_grad_() for x in inputs]
    want, got = f(*a), compiled(*b)
    assert_close(got, want)
    want.sum().backward()
    got.sum().backward()
    assert_close([x.grad for x in b], [x.grad for x in a])


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_forward_and_backward(ops, backend):
    f = net(ops)
    check_against_eager(f, torch.compile(f, fullgraph=True, backend=backend), torch.randn(3, 4), torch.randn(3, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda ops, x: ops.t_multiply(x, x),
        lambda ops, x: ops.t_multiply(x, by=x),
        lambda ops, x: ops.t_multiply(by=x, **{"in": x}),
        lambda ops, x: ops.t_multiply(by=x, in_=x),
        lambda ops, x: ops.t_multiply([x], (x,)),
        lambda ops, x: ops.t_add_n([x, x, x]),
        lambda ops, x: ops.t_add_n(in_=(x, x)),
        lambda ops, x: ops.t_affine(x.detach(), None, x.detach()),
        lambda ops, x: ops.t_affine(x.detach(), bias=x.detach()),
        lambda ops, x: ops.t_parts(x)[1],
        lambda ops, x: ops.t_multiples(x, output_counts=[2, 1])[2],
        lambda ops, x: sum(ops.t_multiples(x)),
        lambda ops, x: ops.t_range(shape=(3,), step=0.5) * x,
        lambda ops, x: ops.t_columns(x.detach().expand(2, 3).t()),
        lambda ops, x: ops.t_relu(x, alpha=1),
        lambda ops, x: ops.t_attrs(x.detach(), dtype=torch.int8, dtypes=[torch.int64, torch.bfloat16], s="new"),
    ],
)
def test_every_way_to_call(ops, call):
    x = torch.randn(3)
    compiled = torch.compile(lambda t: call(ops, t), fullgraph=True, backend="aot_eager")
    want = call(ops, x)
    assert_close(compiled(x), want)
    if want.requires_grad:
        check_against_eager(lambda t: call(ops, t), compiled, x)


def test_results_keep_their_type(ops):
    compiled = torch.compile(lambda t: ops.t_multiples(t), fullgraph=True, backend="eager")
    assert type(compiled(torch.ones(2))) is tuple


def test_one_compilation_serves_all_shapes(ops):
    counter = CompileCounterWithBackend("aot_eager")
    f = net(ops)
    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend=counter)
    for rows, columns in ((3, 4), (5, 4), (7, 9), (2, 30)):
        check_against_eager(f, compiled, torch.randn(rows, columns), torch.randn(rows, columns))
    assert counter.frame_count == 1


def test_one_compilation_by_inductor_too(ops):
    f = net(ops)
    compiled = torch.compile(f, fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for n in (4, 6, 9):
            check_against_eager(f, compiled, torch.randn(3, n), torch.randn(3, n))


def test_sizes_that_inference_computes_are_guarded(ops, inline):
    library = inline("""
        Maybe<void> Twice(InferContext* ctx) {
          *ctx->OutputShape("y", 0) = Shape({ctx->InputShape("x", 0).At(0) * 2, 3});
          return Maybe<void>::Ok();
        }
        REGISTER_USER_OP("i_twice").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Twice);
        KERNEL(Fill, { for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[0]; } })
        REGISTER_FOR("i_twice", Fill, float, "x")
    """)
    counter = CompileCounter()
    compiled = torch.compile(lambda x: library.i_twice(x) + 1, fullgraph=True, dynamic=True, backend=counter)
    for n in (2, 3, 5, 3, 2):
        assert_close(compiled(torch.ones(n)), torch.full((2 * n, 3), 2.0))
    assert counter.frame_count == 3


def test_constant_output_sizes_need_no_guard(ops):
    counter = CompileCounter()
    compiled = torch.compile(
        lambda x: ops.t_sum(x) + ops.t_counting(x)[1], fullgraph=True, dynamic=True, backend=counter
    )
    for n in (2, 3, 5):
        assert compiled(torch.ones(n)) == 2 * n
    assert counter.frame_count == 1


def test_a_gradient_that_reads_shapes_is_right_for_each(ops):
    compiled = torch.compile(ops.t_by_shape, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (3, 5, 4):
        x = torch.ones(n, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.tolist() == [n] * n


def test_in_place_ops_compile(ops):
    @torch.compile(fullgraph=True, backend="inductor")
    def f(x, total):
        return ops.t_accumulate(x, total) + total

    total = torch.zeros(3)
    assert f(torch.ones(3), total).tolist() == [3, 3, 3] and total.tolist() == [1, 1, 1]


def test_kernel_errors_leave_compiled_code_as_they_are(ops):
    compiled = torch.compile(lambda x: ops.t_failing(x, where="check"), fullgraph=True)
    with pytest.raises(RuntimeError, match="told to fail"):
        compiled(torch.ones(3))


def test_missing_gradient_while_compiling(ops):
    compiled = torch.compile(lambda x: ops.t_copy(x) * 2, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match='op "t_copy" has no gradient'):
        compiled(torch.ones(3, requires_grad=True))


def test_compiled_autograd(ops):
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4)
    net(ops)(x, w).sum().backward()
    want, x.grad = x.grad, None
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)):
        for _ in range(2):
            net(ops)(x, w).sum().backward()
    assert_close(x.grad, 2 * want)


def test_compiled_autograd_with_unused_outputs(ops):
    x = torch.randn(3, requires_grad=True)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        ops.t_multiples(x, output_counts=[2, 1])[1].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


class Model(torch.nn.Module):
    def __init__(self, ops):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))
        self.relu, self.multiply = ops.t_relu, ops.t_multiply

    def forward(self, x):
        return self.relu(self.multiply(x, self.weight.expand_as(x)), alpha=0.1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_export(ops, dynamic):
    model, x = Model(ops), torch.randn(3, 4)
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=64)}} if dynamic else None
    program = torch.export.export(model, (x,), dynamic_shapes=shapes)
    assert "oneop.t_relu.default" in program.graph_module.code
    assert_close(program.module()(x), model(x))
    if dynamic:
        y = torch.randn(7, 4)
        assert_close(program.module()(y), model(y))


def test_export_survives_a_file(ops, tmp_path):
    model, x = Model(ops), torch.randn(3, 4)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    assert_close(torch.export.load(tmp_path / "model.pt2").module()(x), model(x))


def samples(ops):
    x = torch.randn(2, 3)
    r = torch.randn(2, 3, requires_grad=True)
    return {
        "t_relu": [((r,), {}), ((x.t(),), {"alpha": 0.1}), ((torch.empty(0),), {})],
        "t_relu_grad": [((r, x), {})],
        "t_multiply": [((r, x), {}), ((r, r), {})],
        "t_square": [((torch.rand(3, requires_grad=True),), {})],
        "t_add_n": [(([r, x, x],), {})],
        "t_affine": [((x, None, x), {}), ((x,), {})],
        "t_parts": [((x,), {})],
        "t_multiples": [((r,), {"output_counts": [2, 1]}), ((x,), {})],
        "t_attrs": [((x,), {}), ((x,), {"dtype": torch.int8, "shapes": [[1, 2]], "ss": ["q"], "i64s": [1]})],
        "t_range": [((), {"shape": [2, 2]})],
        "t_accumulate": [((x.clone(), torch.zeros(2, 3)), {}), ((r, torch.zeros(2, 3)), {})],
        "t_pick": [((r, x), {})],
        "t_sum": [((x,), {})],
        "t_columns": [((x,), {}), ((x.t(),), {})],
        "t_by_shape": [((r,), {})],
        "t_increment": [((torch.ones(3, dtype=torch.uint8),), {})],
    }


NAMES = sorted(samples(None))


@pytest.mark.parametrize("name", NAMES)
def test_opcheck(ops, name):
    for args, kwargs in samples(ops)[name]:
        opcheck(getattr(torch.ops.oneop, name).default, args, kwargs)


def test_meta_and_fake_tensors(ops):
    x = torch.empty(2, 3, device="meta")
    assert ops.t_relu(x).shape == (2, 3) and ops.t_relu(x).is_meta
    assert ops.t_sum(x).shape == () and ops.t_parts(x)[0].dtype == torch.int64
    with FakeTensorMode():
        fake = torch.empty(2, 3, device="cuda")
        assert ops.t_relu(fake).device.type == "cuda"
        assert ops.t_range(shape=(2,)).shape == (2,)
        assert [t.shape for t in ops.t_multiples(fake, output_counts=[2, 1])] == [(2, 3)] * 3


def test_make_fx(ops):
    graph = make_fx(lambda x: ops.t_relu(x, alpha=0.1) + ops.t_add_n([x, x]))(torch.randn(3))
    targets = [str(node.target) for node in graph.graph.nodes]
    assert "oneop.t_relu.default" in targets and "oneop.t_add_n.default" in targets
    x = torch.randn(3)
    assert_close(graph(x), ops.t_relu(x, alpha=0.1) + 2 * x)
