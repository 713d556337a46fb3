"""An output shares memory with nothing, by every way in which a `language="torch"` kernel is run."""

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import ArgumentError

CONSTANT = torch.arange(6.0).reshape(2, 3)
KERNELS = {
    "input": lambda x: x,
    "view": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(x.shape),
    "transposed twice": lambda x: x.t().t(),
    "expanded": lambda x: x[:1].expand(2, 3),
    "sliced": lambda x: torch.cat([x, x])[:2],
    "not contiguous": lambda x: (x * 2).t().contiguous().t(),
    "fresh": lambda x: x * 2,
}
ROUTES = {
    "eager": lambda f: f,
    "grad": lambda f: f,
    "aot_eager": lambda f: torch.compile(f, backend="aot_eager", fullgraph=True),
    "compile eager": lambda f: torch.compile(f, backend="eager", fullgraph=True),
    "functionalize": torch.func.functionalize,
    "export": None,
    "vmap": lambda f: lambda x: torch.vmap(f)(x.expand(2, 2, 3).clone())[0],
}


def make(kernel, name="al_op", **options):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="same_shape", **options)
    op.register_kernel(language="torch")(kernel)
    return op


#: Those of torch's compilers meet the kernels by turns among the quick tests.
COMPILED = ["aot_eager", "compile eager", "export"]


@pytest.mark.parametrize(
    "kernel, route",
    [
        pytest.param(kernel, route, marks=[pytest.mark.slow] * (route in COMPILED and COMPILED.index(route) != n % 3))
        for n, kernel in enumerate(KERNELS)
        for route in ROUTES
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_changing_an_output_changes_nothing_else(kernel, route):
    torch._dynamo.reset()
    op = make(KERNELS[kernel], differentiable=route == "grad")

    def call(x):
        y = op(x)
        strides = y.stride()
        y = y.add_(1) if not y.requires_grad else y * 1
        return (y, x + 0, torch.tensor(strides)) if route != "vmap" else (y + 0)

    x = torch.arange(6.0).reshape(2, 3)
    expected = KERNELS[kernel](x.clone()) + (0 if route == "grad" else 1)
    given = x.clone().requires_grad_(route == "grad")
    if route == "export":

        class Model(torch.nn.Module):
            def forward(self, x):
                return call(x)

        run = torch.export.export(Model(), (given.clone(),)).run_decompositions().module()
    else:
        run = ROUTES[route](call)
    found = run(given)
    assert torch.equal(given, x)
    y = found if route == "vmap" else found[0]
    torch.testing.assert_close(y, expected)
    if route != "vmap":
        assert torch.equal(found[1], x) and found[2].tolist() == [3, 1]


def test_outputs_do_not_share_with_each_other():
    op = oneop.define("al_two(Tensor x) -> (Tensor a, Tensor b)")
    op.register_infer(lambda x: (x.like(), x.like()))
    op.register_kernel(language="torch")(lambda x: (y := x * 2, y))

    def call(x):
        a, b = op(x)
        return a.add_(1) if not a.requires_grad else a + 1, b + 0

    for x in (torch.ones(3), torch.ones(3, requires_grad=True)):
        for run in (call, torch.compile(call, backend="aot_eager", fullgraph=True)):
            a, b = run(x)
            assert a.tolist() == [3, 3, 3] and b.tolist() == [2, 2, 2]


def test_a_constant_of_the_kernel_is_not_given_away():
    held = CONSTANT.clone()
    op = make(lambda x: held, "al_constant")
    for x in (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)):
        op(x).add_(1)
    assert torch.equal(held, CONSTANT)


@pytest.mark.parametrize("language", ["numpy", "torch"])
@pytest.mark.parametrize("other", ["itself", "view", "list"])
@pytest.mark.filterwarnings("ignore")
def test_an_op_reads_what_was_there_before_it_changes_it(language, other):
    torch._dynamo.reset()
    op = oneop.define("al_change(Tensor(a!) a, Tensor[] xs) -> ()")

    def kernel(a, xs):
        a *= 2
        for x in xs:
            a += x

    op.register_kernel(**({"language": "torch"} if language == "torch" else {"device": "cpu"}))(kernel)

    def call(y):
        y = y * 1
        op(y, {"itself": [y], "view": [y.flip(0).flip(0), y[:]], "list": [y, y]}[other])
        return y

    x = torch.arange(1.0, 4.0)
    expected = x * (3 if other == "itself" else 4)
    assert torch.equal(call(x), expected)
    assert torch.equal(torch.compile(call, backend="aot_eager", fullgraph=True)(x), expected)
    assert torch.equal(oneop.compile_job(call, [x])(x), expected)
    assert torch.equal(torch.vmap(call)(x.expand(2, 3).clone()), expected.expand(2, 3))


def test_two_changed_inputs_that_share_memory_are_refused():
    op = oneop.define("al_both(Tensor(a!) a, Tensor(b!) b) -> ()")

    @op.register_kernel("cpu")
    def kernel(a, b):
        a += 1
        b += 2

    x = torch.zeros(4)
    op(x[:2], x[2:])
    assert x.tolist() == [1, 1, 2, 2]
    with pytest.raises(ArgumentError, match='op "al_both" changes two of its inputs in place, and they share'):
        op(x[:3], x[1:])
    assert x.tolist() == [1, 1, 2, 2]


#: Of eight elements.
LAYOUTS = {
    "contiguous": lambda z: z.view(2, 4),
    "every second": lambda z: z.view(4, 2).t()[:, ::2],
    "transposed": lambda z: z.view(4, 2).t(),
    "one column": lambda z: z.view(4, 2)[:, 1:],
    "permuted": lambda z: z.view(2, 2, 2).permute(2, 0, 1),
    "a scalar": lambda z: z[3],
    "none": lambda z: z[:0],
}
CHANGES = {
    "numpy": lambda x, y: np.add(x, 1, out=x) + y,
    "torch": lambda x, y: x.add_(1) + y,
    "torch out": lambda x, y, out: out.copy_(x.add_(1) + y),
    "triton out": lambda x, y, out: out.copy_(x.add_(1) + y),
}


# Among the quick tests each form meets each layout once, as a tensor or as a list.
@pytest.mark.parametrize(
    "form, layout, is_list",
    [
        pytest.param(form, layout, is_list, marks=[pytest.mark.slow] * ((i + j + is_list) % 2))
        for i, form in enumerate(CHANGES)
        for j, layout in enumerate(LAYOUTS)
        for is_list in (False, True)
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_change_reaches_a_tensor_of_any_layout(form, layout, is_list):
    torch._dynamo.reset()
    change = CHANGES[form]
    op = oneop.define(f"al_layout(Tensor(a!){'[]' if is_list else ''} x, Tensor y) -> Tensor z")
    op.register_infer(lambda x, y: y.like())
    if form.endswith("out"):

        def kernel(x, y, out):
            change(x[0] if is_list else x, y, out)
    else:

        def kernel(x, y):
            return change(x[0] if is_list else x, y)

    op.register_kernel("cpu", language=form.split()[0])(kernel)

    def call(z):
        z = z * 1
        part = LAYOUTS[layout](z)
        result = op([part] if is_list else part, torch.full_like(part, 5))
        return z, result

    z = torch.arange(8.0)
    changed = z.clone()
    result = LAYOUTS[layout](changed).add_(1) + 5
    for run in (call, torch.compile(call, backend="aot_eager", fullgraph=True), oneop.compile_job(call, [z])):
        torch.testing.assert_close(tuple(run(z)), (changed, result), rtol=0, atol=0)


@pytest.mark.parametrize("form", CHANGES)
def test_elements_that_share_memory_are_not_changed(form):
    op = oneop.define("al_expanded(Tensor(a!) x, Tensor y) -> Tensor z", infer="same_shape")
    op.register_kernel("cpu", language=form.split()[0])(CHANGES[form])
    x = torch.zeros(1)
    with pytest.raises(ArgumentError, match='input "x": the op changes it, and several of its elements share memory'):
        op(x.expand(4), torch.ones(4))
    assert x.item() == 0
