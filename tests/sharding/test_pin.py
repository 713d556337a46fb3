"""`pin` runs an op under the signature that was asked for, or says beforehand why it cannot."""

from contextlib import nullcontext

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.testing._internal.distributed.fake_pg import FakeStore

import oneop
from oneop.errors import ArgumentError, SbpError
from oneop.sharding import pin

S, R, P = Shard, Replicate(), Partial()


@pytest.fixture(scope="module")
def meshes():
    """A line of 4 devices and a grid of 2 by 2, of which only this rank is real."""
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    yield init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))
    dist.destroy_process_group()


def tensor(mesh, shape, *placements):
    return DTensor.from_local(torch.randn(shape), mesh, placements, run_check=False)


def define(schema, kernel, **options):
    op = oneop.define(schema, **{"infer": "elementwise", **options})
    op.register_kernel(language="torch")(kernel)
    return op


@pytest.fixture
def ops():
    """Ops by name, and `runs`: what their kernels ran on."""
    runs = []

    def noting(kernel):
        def run(*args, **attrs):
            runs.append(args)
            return kernel(*args, **attrs)

        return run

    found = {
        "matmul": define("pin_matmul(Tensor a, Tensor b) -> Tensor c", noting(torch.matmul), infer="m k, k n -> m n"),
        "scale": define("pin_scale(Tensor x, *, float by=2.0) -> Tensor y", noting(lambda x, by: x * by)),
        "add": define("pin_add(Tensor[] xs, Tensor? w=None) -> Tensor y", noting(lambda xs, w: sum(xs))),
        "change": oneop.define("pin_change(Tensor(a!) x) -> ()", infer="elementwise", sbp=["S(0) -> ", "S(1) -> "]),
    }
    found["change"].register_kernel(language="numpy")(lambda x: runs.append(x))
    return found, runs


BAD_SIGNATURES = {
    "few": ("S(0) -> S(0)", 'op "pin_matmul": expected a word for each of a, b -> c, found "S(0) -> S(0)"'),
    "many": ("S(0), B, B -> S(0)", 'found "S(0), B, B -> S(0)"'),
    "few outputs": ("S(0), B -> ", "expected a word for each of a, b -> c"),
    "no arrow": ("S(0), B, S(0)", "expected a word for each of a, b -> c"),
    "empty": ("", "expected a word for each of a, b -> c"),
    "no word": ("S(0), Q -> S(0)", 'op "pin_matmul", "b": expected S(axis), B, P, P(max), P(min) or P(avg), found "Q"'),
    "no reduction": ("S(0), P(mul) -> S(0)", 'found "P(mul)"'),
    "no signature": ([], "expected a signature, or a list with one for each dimension of the mesh, found []"),
    "a number": (3, "found 3"),
    "numbers": ([3], "found [3]"),
    "none": (None, "found None"),
}


@pytest.mark.parametrize("kind", BAD_SIGNATURES)
def test_signatures_that_cannot_be_meant(ops, kind):
    signature, text = BAD_SIGNATURES[kind]
    with pytest.raises(ArgumentError) as caught:
        pin(ops[0]["matmul"], signature)
    assert text in str(caught.value)


def test_ops_that_are_none(ops):
    with pytest.raises(ArgumentError, match="pin: expected an op or its name, found 3"):
        pin(3, "B -> B")
    with pytest.raises(LookupError, match='no op "absent" is registered'):
        pin("absent", "B -> B")


#: What is pinned, with what it is called (a line, a grid), and the error.
BAD_CALLS = {
    "no such axis": (
        "matmul",
        "S(5), B -> S(5)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)],
        ArgumentError,
        'op "pin_matmul", input "a": it has the axes 0 to 1, found S(5)',
    ),
    "no such axis from the end": (
        "matmul",
        "S(0), S(-3) -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)],
        ArgumentError,
        'op "pin_matmul", input "b": it has the axes 0 to 1, found S(-3)',
    ),
    "no such axis of the output": (
        "matmul",
        "S(0), B -> S(2)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)],
        ArgumentError,
        'op "pin_matmul", output "c": it has the axes 0 to 1, found S(2)',
    ),
    "no axes": (
        "scale",
        "S(0) -> S(0)",
        lambda line, grid: [tensor(line, (), R)],
        ArgumentError,
        'op "pin_scale", input "x": it has no axes (0 dimensions), found S(0)',
    ),
    "no such axis in a list": (
        "add",
        "S(2), B -> S(2)",
        lambda line, grid: [[tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)]],
        ArgumentError,
        'op "pin_add", input "xs": it has the axes 0 to 1, found S(2)',
    ),
    "one for a grid": (
        "scale",
        "S(0) -> S(0)",
        lambda line, grid: [tensor(grid, (4, 8), S(0), R)],
        ArgumentError,
        'op "pin_scale", input "x": expected 2 signatures, one for each dimension of DeviceMesh((2, 2), ',
    ),
    "two for a line": (
        "scale",
        ["S(0) -> S(0)", "B -> B"],
        lambda line, grid: [tensor(line, (4, 8), S(0))],
        ArgumentError,
        "found 2: S(0) -> S(0) | B -> B",
    ),
    "two meshes": (
        "matmul",
        "S(0), B -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(grid, (8, 8), R, R)],
        ArgumentError,
        'op "pin_matmul", input "b": all inputs must be on one mesh, found DeviceMesh((2, 2), ',
    ),
    "plain": (
        "matmul",
        "S(0), B -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), torch.randn(8, 8)],
        ArgumentError,
        'op "pin_matmul", input "b": expected a DTensor, found a plain tensor',
    ),
    "missing": (
        "matmul",
        "S(0), B -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0))],
        ArgumentError,
        'op "pin_matmul", input "b": it is missing',
    ),
    "too many": (
        "scale",
        "S(0) -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (2, 8), S(0))],
        ArgumentError,
        'op "pin_scale" takes 1 inputs (x), found 2',
    ),
    "refused by inference": (
        "matmul",
        "S(0), B -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (7, 8), R)],
        Exception,
        'op "pin_matmul"',
    ),
    "undeclared": (
        "matmul",
        "P, B -> P",
        lambda line, grid: [tensor(line, (8, 8), P), tensor(line, (8, 8), R)],
        SbpError,
        "expected a signature that it declares for these shapes and attributes: S(0), B -> S(0); S(1), S(0) -> P; ",
    ),
    "undeclared, with the outputs of another": (
        "matmul",
        "S(0), S(0) -> S(0)",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)],
        SbpError,
        'op "pin_matmul": it does not run under S(0), S(0) -> S(0)',
    ),
    "undeclared output": (
        "matmul",
        "S(0), B -> B",
        lambda line, grid: [tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)],
        SbpError,
        "it does not run under S(0), B -> B",
    ),
    "undeclared on the second dimension": (
        "matmul",
        ["S(0), B -> S(0)", "B, S(0) -> B"],
        lambda line, grid: [tensor(grid, (4, 8), S(0), R), tensor(grid, (8, 8), R, R)],
        SbpError,
        "found B, S(0) -> B",
    ),
    "changed and elsewhere": (
        "change",
        "S(1) -> ",
        lambda line, grid: [tensor(line, (2, 8), S(0))],
        SbpError,
        'op "pin_change", input "x": the op changes it in place, so it must lie as pinned: expected S(1), found S(0)',
    ),
}


@pytest.mark.parametrize("way", ["eager", "compiled", "whole graph"])
@pytest.mark.parametrize("kind", BAD_CALLS)
def test_calls_that_cannot_run(meshes, ops, kind, way):
    """Nothing runs and nothing is moved. In a graph torch puts its own error around the text."""
    name, signature, make, error, text = BAD_CALLS[kind]
    args = make(*meshes)
    pinned = pin(ops[0][name], signature)
    ops[1].clear()
    torch._dynamo.reset()
    run = pinned if way == "eager" else torch.compile(pinned, backend="aot_eager", fullgraph=way == "whole graph")
    watch = CommDebugMode() if way == "eager" else nullcontext()  # nothing is compiled in a mode
    with pytest.raises(error if way == "eager" else Exception) as caught, watch:
        run(*args)
    assert text in str(caught.value), str(caught.value)
    assert not ops[1] and (way != "eager" or not watch.get_total_counts())


@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_unknown_and_double_arguments(meshes, ops, way):
    pinned = pin(ops[0]["scale"], "S(0) -> S(0)")
    run = pinned if way == "eager" else torch.compile(pinned, backend="aot_eager")
    x = tensor(meshes[0], (2, 8), S(1))
    with pytest.raises(Exception, match='op "pin_scale" has no input or attribute "bi"'):
        run(x, bi=3.0)
    with pytest.raises(Exception, match='op "pin_scale", input "x": it is given twice'):
        run(x, x=x)
    with pytest.raises(Exception, match='op "pin_scale", attribute "by"'):
        run(x, by="three")
    assert not ops[1]


def test_two_signatures_for_the_same_inputs(meshes):
    """The adapter takes the one that is declared first; the other one cannot be pinned, and says so."""
    op = define("pin_two(Tensor x) -> Tensor y", lambda x: x * 0, sbp=["B -> P", "S(0) -> S(0)", "S(0) -> P"])
    x = tensor(meshes[0], (2, 8), S(0))
    assert pin(op, "S(0) -> S(0)")(x).placements == (S(0),)
    with pytest.raises(SbpError, match="inputs that lie so run under S\\(0\\) -> S\\(0\\), which it declares first"):
        pin(op, "S(0) -> P")(x)


def test_parts_that_inference_refuses(meshes):
    """The signature is declared, and the parts are no whole blocks: the call would go another way unseen."""

    def infer(x):
        assert x.shape[0] % 4 == 0, "blocks of 4"
        return x

    op = define("pin_blocks(Tensor x) -> Tensor y", lambda x: x, infer=None, sbp=["S(0) -> S(0)"])
    op.register_infer(infer)
    with pytest.raises(SbpError, match="inference does not give the part of the output that it should"):
        pin(op, "S(0) -> S(0)")(tensor(meshes[0], (8, 2), R))
    assert pin(op, "S(0) -> S(0)")(tensor(meshes[0], (16, 2), R)).placements == (S(0),)


def test_reductions_and_gradients(meshes):
    """What torch differentiates goes back through sums only."""
    op = define("pin_largest(Tensor x) -> Tensor y", torch.relu, sbp=["P(max) -> P(max)", "S(0) -> S(0)"])
    most = Partial("max")
    x = tensor(meshes[0], (4, 4), most)
    assert pin(op, "P(max) -> P(max)")(x).placements == (most,)
    with pytest.raises(SbpError, match="with inputs that require a gradient"):
        pin(op, "P(max) -> P(max)")(x.detach().requires_grad_())


@pytest.mark.parametrize("way", ["eager", "compiled", pytest.param("dynamic", marks=pytest.mark.slow)])
def test_right_ones_run(meshes, ops, way):
    line, grid = meshes

    def run(op, signature, *args, **named):
        pinned = pin(ops[0][op], signature)
        torch._dynamo.reset()
        if way != "eager":
            pinned = torch.compile(pinned, backend="aot_eager", fullgraph=True, dynamic=way == "dynamic")
        return pinned(*args, **named).placements

    a, b = tensor(line, (2, 8), S(0)), tensor(line, (8, 8), R)
    assert run("matmul", "S(0), B -> S(0)", a, b) == (S(0),)
    assert run("matmul", "S(1), S(0) -> P", a, b) == (P,)
    assert run("matmul", "S(1), S(0) -> P", b=b, a=a) == (P,)  # inputs by name are placed too
    assert run("matmul", "B, S(-1) -> S(-1)", a, b=b) == (S(1),)
    assert run("scale", "S(1) -> S(1)", a, by=3.0) == (S(1),)
    assert run("scale", "S(0) -> S(0)", tensor(line, (3, 8), R)) == (S(0),)  # a device has nothing
    assert run("add", "S(1), B -> S(1)", [a, a]) == (S(1),)
    c, d = tensor(grid, (4, 8), S(0), R), tensor(grid, (8, 8), R, R)
    assert run("matmul", ["S(0), B -> S(0)", "B, S(1) -> S(1)"], c, d) == (S(0), S(1))


def test_a_pinned_call_is_looked_at_once(meshes, ops, monkeypatch):
    """A call like one before costs no planning; one with other shapes or attributes does, and so does a new op."""
    from oneop.sharding import pin_rules

    looked = []
    check = pin_rules._check
    monkeypatch.setattr(pin_rules, "_check", lambda *args: (looked.append(1), check(*args)))
    pinned = pin(ops[0]["scale"], "S(0) -> S(0)")
    x, y = tensor(meshes[0], (2, 8), S(0)), tensor(meshes[0], (3, 8), S(0))
    for args, named in [((x,), {}), ((x,), {}), ((y,), {}), ((y,), {"by": 2.5}), ((x,), {}), ((y,), {"by": 2.5})]:
        pinned(*args, **named)
    assert len(looked) == 3
    ops[0]["scale"].register_sbp("S(1) -> S(1)")
    with pytest.raises(SbpError, match="it does not run under"):
        pinned(x)
