"""vmap is a loop over the batch, for every kind of op; what inference implies is proved before it is used."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.authoring.rules import independence
from oneop.authoring.rules.independence import prove_implied
from oneop.errors import OpRuntimeError, RegistrationError, SbpError
from oneop.registry import isolated
from oneop.sbp import parse


def looped(call, *batches):
    results = [call(*(batch[i] for batch in batches)) for i in range(len(batches[0]))]
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results)
    return type(results[0])(torch.stack(tensors) for tensors in zip(*results, strict=True))


def numpy_op(schema, kernel, infer="same_shape", **options):
    options.setdefault("differentiable", False)
    op = oneop.define(schema, infer=infer, **options)
    op.register_kernel("cpu")(kernel)
    return op


# --- any op ---


def test_lists_of_inputs_and_outputs():
    op = oneop.define("b_lists(Tensor[] xs, Tensor? w, *, int k=2) -> Tensor[] ys", differentiable=False)
    op.register_infer(lambda xs, w, k: [x.like() for x in xs][:1])
    op.register_kernel("cpu")(lambda xs, w, k: [sum(xs) * k + (0 if w is None else w)])
    x, y, w = torch.randn(3, 4), torch.randn(4), torch.randn(4, 3)
    (found,) = torch.vmap(lambda a: op([a, y], k=3))(x)
    torch.testing.assert_close(found, (x + y) * 3)
    (found,) = torch.vmap(lambda a, b: op([a], b), in_dims=(0, 1))(x, w)
    torch.testing.assert_close(found, x * 2 + w.t())
    (found,) = torch.vmap(torch.vmap(lambda a: op([a])))(torch.ones(2, 3, 4))
    assert found.shape == (2, 3, 4)


def test_ops_that_change_an_argument():
    op = oneop.define("b_add_(Tensor(a!) a, Tensor x, *, float by=1.0) -> ()")

    @op.register_kernel("cpu")
    def kernel(a, x, by):
        a += by * x

    def call(a, x):
        op(a, x, by=2.0)
        return a

    a, x = torch.zeros(3, 4), torch.randn(4, 3)
    torch.testing.assert_close(torch.vmap(call, in_dims=(0, 1))(a, x), 2 * x.t())
    torch.testing.assert_close(a, 2 * x.t())
    op_of_one = torch.zeros(4)
    with pytest.raises(OpRuntimeError, match=r'op "b_add_" changes its input "a" in place, and under this vmap all'):
        torch.vmap(lambda t: op(op_of_one, t), out_dims=None)(x.t())
    assert not op_of_one.any()
    torch.vmap(lambda t: call(t, torch.ones(4)))(a)
    torch.testing.assert_close(a, 2 * x.t() + 2)


def test_ops_that_change_and_return():
    op = oneop.define("b_swap(Tensor(a!) a, Tensor x) -> Tensor old", differentiable=False)
    op.register_infer(lambda a, x: a.like())

    @op.register_kernel("cpu")
    def kernel(a, x):
        old = a.copy()
        a[...] = x
        return old

    a, x = torch.randn(3, 2), torch.randn(3, 2)
    before = a.clone()
    assert torch.equal(torch.vmap(op)(a, x), before) and torch.equal(a, x)


def test_ops_without_outputs():
    seen = []
    op = oneop.define("b_log(Tensor x, *, str tag) -> ()")
    op.register_kernel("cpu")(lambda x, tag: seen.append((tag, x.tolist())))

    def call(x):
        op(x, tag="t")
        return x + 1

    x = torch.arange(4.0).reshape(2, 2)
    assert torch.equal(torch.vmap(call)(x), x + 1)
    assert seen == [("t", [0, 1]), ("t", [2, 3])]


def test_batches_of_none():
    op = numpy_op("b_sort(Tensor x) -> Tensor y", lambda x: np.sort(x, axis=0))
    assert torch.vmap(op)(torch.empty(0, 3)).shape == (0, 3)


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    in_dims=st.lists(st.integers(0, 2) | st.none(), min_size=2, max_size=2),
    batch=st.integers(1, 4),
    seed=st.integers(0, 99),
)
@settings(max_examples=20, deadline=None)
def test_any_layout(sizes, in_dims, batch, seed):
    torch.manual_seed(seed)
    if all(dim is None for dim in in_dims):
        in_dims = [0, None]
    for infer, kernel, reference in (
        ("elementwise", lambda x, y: x * y + 1, lambda x, y: x * y + 1),
        ("same_shape", lambda x, y: np.cumsum(x, 0) - y, lambda x, y: x.cumsum(0) - y),
        ("[a] ..., [a] ... -> [a] ...", lambda x, y: np.cumsum(x, 0) - y, lambda x, y: x.cumsum(0) - y),
    ):
        op = numpy_op(f"b_any_{infer[:4].strip('[] ')}(Tensor x, Tensor y) -> Tensor z", kernel, infer=infer)
        dims = [dim if dim is None else min(dim, len(sizes)) for dim in in_dims]
        values = [
            torch.randn(sizes) if dim is None else torch.randn([*sizes[:dim], batch, *sizes[dim:]]) for dim in dims
        ]
        slices = [
            [value if dim is None else value.select(dim, i) for value, dim in zip(values, dims, strict=True)]
            for i in range(batch)
        ]
        found = torch.vmap(op, in_dims=tuple(dims))(*values)
        torch.testing.assert_close(found, torch.stack([reference(*one) for one in slices]))


def test_under_grad_jacobians_and_compile():
    op = oneop.define("b_cube(Tensor x) -> Tensor y", infer="same_shape")
    op.register_kernel("cpu")(lambda x: x**3)
    op.register_grad(lambda ctx, dy: dy * 3 * ctx.x**2)
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(torch.vmap(torch.func.grad(lambda t: op(t).sum()))(x), 3 * x**2)
    torch.testing.assert_close(torch.func.grad(lambda t: torch.vmap(op)(t).sum())(x), 3 * x**2)
    torch.testing.assert_close(torch.func.jacrev(op)(x[0]), torch.diag(3 * x[0] ** 2))
    torch.testing.assert_close(torch.compile(torch.vmap(op), backend="aot_eager", fullgraph=True)(x), x**3)


# --- what inference implies ---

MIXING = {
    "elementwise": ("elementwise", lambda x: np.cumsum(x, axis=0)),
    "softmax": ("a b -> a b", lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)),
    "cumsum": ("a b -> a b", lambda x: np.cumsum(x, axis=1)),
    "flip": ("... -> ...", lambda x: np.ascontiguousarray(x[::-1])),
}


@pytest.mark.parametrize("name", MIXING)
def test_a_rule_that_does_not_hold_is_refused(name):
    infer, kernel = MIXING[name]
    op = numpy_op(f"b_mix_{name}(Tensor x) -> Tensor y", kernel, infer=infer)
    x = torch.randn(3, 4, 5)
    if name in ("softmax", "cumsum"):  # of axis b; a batch along axis a is right
        torch.testing.assert_close(torch.vmap(op)(x), looped(op, x))
        with pytest.raises(SbpError):
            prove_implied(op.__name__, [[((4, 6), torch.float32)]], {}, [parse("S(1)"), parse("S(1)")])
        assert prove_implied(op.__name__, [[((4, 6), torch.float32)]], {}, [parse("S(0)"), parse("S(0)")])
        return
    with pytest.raises(SbpError) as raised:
        torch.vmap(op)(x)
    text = str(raised.value)
    assert f'op "b_mix_{name}": infer="{infer}" implies that ' in text and "and that does not hold" in text
    assert 'infer="same_shape", or brackets around axes that are mixed: "a [b] -> a [b]"' in text
    assert "test_batching.py" in text and text.count("\n") < 12


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", [(6,), (4, 6), (6, 6), (3, 4, 6), (6, 6, 6)])
def test_a_kernel_that_mixes_from_some_size_on_is_refused(shape, dtype):
    """Another way for many elements, or for a long axis; small inputs say nothing about it."""
    spec, sides = [[(shape, dtype)]], [parse("S(0)"), parse("S(0)")]
    many = oneop.define("b_many(Tensor x) -> Tensor y", infer="elementwise")
    many.register_kernel(language="torch")(lambda x: x - x.amax() if x.numel() > 1000 else x * 2)
    long = oneop.define("b_long(Tensor x) -> Tensor y", infer="elementwise")
    long.register_kernel(language="torch")(lambda x: x.flip(0) if x.shape[0] > 200 else x * 2)
    plain = oneop.define("b_plain(Tensor x) -> Tensor y", infer="elementwise")
    plain.register_kernel(language="torch")(lambda x: x * 2)
    for op in (many, long):
        with pytest.raises(SbpError, match="and that does not hold"):
            prove_implied(op.__name__, spec, {}, sides)
    assert prove_implied("b_plain", spec, {}, sides)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_long_sums_are_no_false_alarm(dtype):
    """Rounding, in whatever order a kernel adds, refutes nothing."""

    def one_by_one(x):
        total = torch.zeros(x.shape[0], dtype=x.dtype)
        for i in range(x.shape[1]):
            total += x[:, i].sin()
        return total

    op = oneop.define("b_slow_sum(Tensor x) -> Tensor y", infer="a b -> a")
    op.register_kernel(language="torch")(one_by_one)
    if dtype.itemsize > 2:
        assert prove_implied("b_slow_sum", [[((4, 6), dtype)]], {}, [parse("S(1)"), parse("P")])
    product = oneop.define("b_product(Tensor a, Tensor b) -> Tensor c", infer="m k, k n -> m n")
    product.register_kernel(language="torch")(lambda a, b: a @ b)
    for sides in ("S(1) S(0) P", "S(0) B S(0)", "B S(1) S(1)"):
        spec = [[((4, 6), dtype)], [((6, 5), dtype)]]
        assert prove_implied("b_product", spec, {}, [parse(side) for side in sides.split()])


def test_sums_and_maxima():
    total = numpy_op("b_total(Tensor x) -> Tensor y", lambda x: x.sum(1), infer="a b -> a")
    largest = numpy_op("b_largest(Tensor x) -> Tensor y", lambda x: x.max(1), infer="a b -> a")
    marked = numpy_op("b_marked(Tensor x) -> Tensor y", lambda x: x.max(1), infer="a [b] -> a")
    spec = [[((4, 6), torch.float32)]]
    assert prove_implied("b_total", spec, {}, [parse("S(1)"), parse("P")])
    with pytest.raises(SbpError, match='infer="a b -> a" implies that it splits as'):
        prove_implied("b_largest", spec, {}, [parse("S(1)"), parse("P")])
    assert [s["x"] for s in oneop.sbp_signatures("b_marked", [(4, 6)])] == [["S(0)"], ["B"]]
    x = torch.randn(3, 4, 6)
    for op in (total, largest, marked):
        torch.testing.assert_close(torch.vmap(op)(x), looped(op, x))


def test_declared_signatures_need_no_proof():
    op = numpy_op("b_declared(Tensor x) -> Tensor y", lambda x: np.cumsum(x, 1), infer="elementwise")
    op.register_sbp("S(0) -> S(0)")
    x = torch.randn(3, 4, 5)
    torch.testing.assert_close(torch.vmap(op)(x), looped(op, x))
    assert prove_implied("b_declared", [[((4, 6), torch.float32)]], {}, [parse("S(1)"), parse("S(1)")])


def test_the_proof_follows_attributes_and_definitions():
    schema = "b_dim(Tensor x, *, bool mix=False) -> Tensor y"
    op = numpy_op(schema, lambda x, mix: np.cumsum(x, 0) if mix else x * 2, infer="elementwise")
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.vmap(op)(x), x * 2)
    with pytest.raises(SbpError):
        torch.vmap(lambda t: op(t, mix=True))(x)
    op = numpy_op(schema, lambda x, mix: np.cumsum(x, 0), infer="elementwise")
    with pytest.raises(SbpError):
        torch.vmap(op)(x)


def test_the_proof_draws_no_numbers_and_runs_once():
    calls = []
    op = numpy_op("b_once(Tensor x) -> Tensor y", lambda x: calls.append(1) or x * 2, infer="elementwise")
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.vmap(op)(torch.ones(3, 4))
    assert torch.equal(torch.rand(3), expected)
    calls.clear()
    torch.vmap(op)(torch.ones(3, 4))
    assert len(calls) == 1


def test_where_nothing_can_be_tried_it_loops():
    def kernel(x):
        if x.shape != (4,):
            raise ValueError("four only")
        return x * 2

    op = numpy_op("b_picky(Tensor x) -> Tensor y", kernel, infer="elementwise")
    x = torch.randn(3, 4)
    torch.testing.assert_close(torch.vmap(op)(x), 2 * x)


def test_a_busy_machine_proves_no_less(monkeypatch):
    """Time that other processes take is not the proof's: larger inputs are tried all the same."""
    clock = itertools.count(0.0, 100.0)
    monkeypatch.setattr(independence.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(independence.time, "perf_counter", lambda: next(clock))
    op = numpy_op(
        "b_blocks(Tensor x) -> Tensor y", lambda x: x - x.mean() if x.size > 3000 else x * 1, infer="elementwise"
    )
    with pytest.raises(SbpError, match="and that does not hold"):
        torch.vmap(op)(torch.ones(3, 4))


def test_brackets_that_do_not_fit():
    for text in ("a [b -> a b", "a b] -> a b", "a [[b]] -> a b"):
        with pytest.raises(RegistrationError, match="brackets do not fit together"):
            oneop.define("b_brackets(Tensor x) -> Tensor y", infer=text)


#: Kernels that look at all elements, and show it only for some values.
LOOKING = {
    "any of bool": (torch.bool, lambda x: x | x.any()),
    "all of bool": (torch.bool, lambda x: x & x.all()),
    "all positive": (torch.float32, lambda x: x * (2 if (x > 0).all() else 1)),
    "any zero": (torch.float32, lambda x: x * (2 if (x == 0).any() else 1)),
    "any nan": (torch.float32, lambda x: np.where(np.isnan(x).any(), 0, x).astype(x.dtype)),
    "large": (torch.float32, lambda x: x - x.max() if abs(x).max() > 1000 else x * 1),
    "any zero of int": (torch.int64, lambda x: x * (2 if (x == 0).any() else 1)),
}


@pytest.mark.parametrize("case", LOOKING)
def test_a_claim_that_fails_for_some_values_only_is_refused(case):
    dtype, kernel = LOOKING[case]
    with isolated():
        op = oneop.define("looks(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(kernel)
        with pytest.raises(SbpError, match="and that does not hold"):
            torch.vmap(op)(torch.ones(3, 4).to(dtype))


@pytest.mark.parametrize("kernel", [np.tanh, np.exp, np.log, lambda x: 1 / x, np.sign, lambda x: np.where(x > 0, x, 0)])
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_a_true_claim_holds_for_special_values_too(kernel):
    with isolated():
        op = oneop.define("looks(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(lambda x: kernel(x).astype(x.dtype))
        x = torch.tensor([[1.0, 2.0, 0.5], [3.0, 0.0, -1.0]])
        torch.testing.assert_close(torch.vmap(op)(x), torch.stack([op(row) for row in x]), equal_nan=True)


centres = False


def test_a_proof_is_made_again_when_a_captured_value_is_another():
    global centres
    with isolated():
        op = oneop.define("looks(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(lambda x: x - x.mean() if centres else x * 1)
        x = torch.ones(2, 3)
        torch.vmap(op)(x)
        centres = True
        try:
            with pytest.raises(SbpError, match="and that does not hold"):
                torch.vmap(op)(x)
        finally:
            centres = False
        torch.vmap(op)(x)


def test_an_effect_happens_once_for_each_example():
    seen = []
    with isolated():
        op = oneop.define("looks(Tensor x) -> Tensor y", infer="elementwise", differentiable=False, side_effect=True)

        @op.register_kernel("cpu")
        def kernel(x):
            seen.append(x.tolist())
            return x * 1

        torch.vmap(op)(torch.tensor([[1.0], [2.0], [3.0]]))
    assert seen == [[1.0], [2.0], [3.0]]


@pytest.mark.filterwarnings("error")
def test_a_proof_gives_no_warnings_about_its_own_values(recwarn):
    with isolated():
        op = oneop.define("looks(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(lambda x: np.log(x))
        torch.vmap(op)(torch.ones(2, 3))
    assert not recwarn.list
