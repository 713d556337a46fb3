"""An argument may have any name: those of parameters, ours and torch's, too."""

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import RegistrationError
from oneop.testing import check_sbp

PACKAGE = Path(oneop.__file__).parent

#: Functions whose keywords are options of their own, not attributes or tensors of an op that its author named.
OPTIONS = {
    "_build/jobs.py",
    "cli/output.py",
    "compat/oneflow/names.py",
    "jax/batching.py",
    "jax/primitive.py",
    "jax/sharding.py",
    "ods/bang/dags.py",
    "packaging.py",
    "port/references/layers.py",
    "port/references/scalars.py",
    "port/references/table.py",
    "runtime/loader.py",
    "settings.py",
    "sharding/self_test.py",
    "testing/case.py",
    "testing/dual.py",
    "testing/repeating.py",
    "authoring/keys/cache_keys.py",
}
#: Options beside attributes: an attribute of such a name is given with an underscore.
BESIDE = {"check_sbp", "validate_strategies", "sbp_signatures", "flops", "formula"}

#: Parameters of torch's functions through which calls of ops go, and keywords that torch looks for in them.
OF_TORCH = ["op", "interpreter", "curr_mode", "op_overload", "device", "requires_grad", "self", "func", "types"]
OF_TORCH += ["args", "kwargs", "out", "dtype", "layout", "memory_format", "names", "info", "in_dims", "keyset"]


@cache
def functions_with_keywords():
    return [
        (file.relative_to(PACKAGE).as_posix(), node)
        for file in sorted(PACKAGE.rglob("*.py"))
        if "**" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.args.kwarg is not None
    ]


def test_parameters_beside_keywords_are_positional_only():
    wrong = []
    for file, node in functions_with_keywords():
        name = getattr(node, "name", "lambda")
        if file in OPTIONS:
            continue
        hidden = [arg.arg for arg in node.args.args] + [arg.arg for arg in node.args.kwonlyargs if name not in BESIDE]
        if hidden and name != "define":
            wrong.append(f"{file}:{node.lineno} {name}: {', '.join(hidden)}")
    assert not wrong, "an attribute of the same name cannot be given:\n" + "\n".join(wrong)


def parameter_names():
    names = set(OF_TORCH)
    for _, node in functions_with_keywords():
        names |= {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return sorted(names - {"needs"})


def named_op(names):
    attrs = ", ".join(f"float {name}=2.0" for name in names)
    op = oneop.define(f"an_{names[0]}(Tensor v, *, {attrs}) -> Tensor zz", infer="elementwise")
    op.register_kernel("cpu")(lambda v, **attrs: v * v.dtype.type(sum(attrs[name] for name in names)))
    op.register_grad(lambda ctx, dy: dy * sum(getattr(ctx, name) for name in names))
    return op


class Program(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        return self.call(x)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's own, in run_decompositions
@pytest.mark.parametrize("half", [0, 1])  # many names in one op: each way through torch takes seconds
def test_attributes_of_any_name_by_every_route(half):
    names = parameter_names()[half::2]
    op = named_op(names)
    values = {name: float(i) for i, name in enumerate(names)}
    total = sum(values.values())

    def call(x):
        return op(x, **values)

    torch._dynamo.reset()
    x, batch = torch.ones(3), torch.ones(2, 3)
    moved = torch.ones(3, requires_grad=True)
    results = {
        "eager": call(x),
        "grad": torch.autograd.grad(call(moved).sum(), moved)[0],
        "vmap": torch.vmap(call)(batch),
        "vmap of grad": torch.vmap(torch.func.grad(lambda x: call(x).sum()))(batch),
        "jvp": torch.func.jvp(call, (x,), (x,))[1],
        "job": oneop.compile_job(call, [x])(x),
        "compile": torch.compile(call, fullgraph=True, backend="aot_eager")(moved),
        "export": torch.export.export(Program(call), (x,)).run_decompositions().module()(x),
    }
    assert {route: result.unique().tolist() for route, result in results.items()} == {
        route: [total] for route in results
    }


@pytest.mark.parametrize("name", ["device", "requires_grad", "curr_mode", "op_overload", "self", "lambda"])
def test_torch_sees_some_names_with_an_underscore(name):
    op = oneop.define(f"an_seen_{name}(Tensor v, *, bool {name}=True) -> Tensor zz", infer="elementwise")
    op.register_kernel("cpu")(lambda v, **attrs: v * np.float32(attrs[name]))
    schema = op.overload._schema
    assert [argument.name for argument in schema.arguments] == ["v", f"{name}_"]
    x = torch.ones(2)
    for values in ({name: False}, {f"{name}_": False}):
        assert op(x, **values).tolist() == [0, 0]
    assert op.overload(x, **{f"{name}_": False}).tolist() == [0, 0]


def test_names_of_keywords_that_become_the_same_are_refused():
    with pytest.raises(RegistrationError, match="has a name that is taken by another input, output or attribute"):
        oneop.define("an_twice(Tensor v, *, int device, int device_) -> Tensor y")


@pytest.mark.parametrize("name", ["needs", "__class__", "__init__"])
@pytest.mark.parametrize("method", ["register_grad", "register_jvp"])
def test_a_rule_whose_context_hides_an_argument_is_refused(name, method):
    op = oneop.define(f"an_hidden(Tensor v, *, float {name}=2.0) -> Tensor y", infer="elementwise")
    with pytest.raises(RegistrationError, match=f'a rule cannot read its argument "{name}".*\n  give the argument'):
        getattr(op, method)(lambda ctx, dy: dy)


def test_names_that_the_context_once_kept_for_itself():
    op = oneop.define("an_own(Tensor v, *, float _values=2.0, float _op=3.0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda v, _values, _op: v * np.float32(_values * _op))
    op.register_grad(lambda ctx, dy: dy * ctx._values * ctx._op)
    v = torch.ones(2, requires_grad=True)
    op(v).sum().backward()
    assert v.grad.tolist() == [6, 6]


def test_options_and_attributes_of_the_same_name():
    op = oneop.define("an_rtol(Tensor v, *, float rtol=2.0, int output_counts=1) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda v, rtol: v * v.dtype.type(rtol))
    op.register_grad(lambda ctx, dy: dy * ctx.rtol)
    assert check_sbp(op, [torch.randn(12)], rtol=1e-3, rtol_=3.0, discover=False).wrong == ()
    counted = oneop.define(
        "an_counts(Tensor v, *, int output_counts=1) -> Tensor y",
        infer="elementwise",
        flops=lambda v, output_counts: v.numel() * output_counts,
    )
    assert counted.flops((5,), output_counts=3) == 15
