"""Compiled code follows what the functions of ops capture, as eager calls do."""

import types

import pytest
import torch

import oneop
from oneop.authoring.keys.captures import captured
from oneop.registry import isolated

FACTOR = 2.0
LABEL = "twice"
calls = 0


class Settings:
    def __init__(self, factor):
        self.factor = factor

    def times(self, x):
        return x * self.factor


class Scaling:
    factor = 2.0  # of the class

    def times(self, x):
        return x * self.factor


class Slotted:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 2.0


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0


settings = Settings(2.0)


class Hidden(Scaling):
    def times(self, x):
        return x * self.factor


scaling, slotted, model, hidden = Scaling(), Slotted(), Model(), Hidden()
module = types.ModuleType("settings_of_a_user")
module.factor = 2.0


def helper(x):
    return x * FACTOR


def with_default(x, factor=2.0):
    return x * factor


def of_twice(self, x):
    return x * 2.0


def of_thrice(self, x):
    return x * 3.0


def other_helper(x):
    return x * -3


def closure():
    factor = 2.0

    def bind(value):
        nonlocal factor
        factor = value

    return bind, lambda x: x * factor


def set_global(name, value):
    globals()[name] = value


bind, of_closure = closure()

#: A function, how to make it another (and back).
CASES = {
    "global": (lambda x: x * FACTOR, lambda value: set_global("FACTOR", value), (2.0, 3.0)),
    "int": (lambda x: x * FACTOR, lambda value: set_global("FACTOR", value), (2, 3)),
    "str": (lambda x: x * (2 if LABEL == "twice" else 3), lambda value: set_global("LABEL", value), ("twice", "no")),
    "tuple": (lambda x: x * FACTOR[1], lambda value: set_global("FACTOR", value), ((1, 2.0), (1, 3.0))),
    "closure": (of_closure, bind, (2.0, 3.0)),
    "attribute": (lambda x: x * settings.factor, lambda value: setattr(settings, "factor", value), (2.0, 3.0)),
    "method": (lambda x: settings.times(x), lambda value: setattr(settings, "factor", value), (2.0, 3.0)),
    "object": (
        lambda x: settings.times(x),
        lambda value: set_global("settings", value),
        (Settings(2.0), Settings(3.0)),
    ),
    "module": (lambda x: x * module.factor, lambda value: setattr(module, "factor", value), (2.0, 3.0)),
    "helper": (lambda x: helper(x), lambda value: set_global("helper", value), (helper, other_helper)),
    "attribute of a class": (
        lambda x: scaling.times(x),
        lambda value: setattr(Scaling, "factor", value),
        (2.0, 3.0),
    ),
    "method of a class": (
        lambda x: scaling.times(x),
        lambda value: setattr(Scaling, "times", value),
        (of_twice, of_thrice),
    ),
    "slot": (lambda x: x * slotted.factor, lambda value: setattr(slotted, "factor", value), (2.0, 3.0)),
    "attribute of a module": (lambda x: x * model.factor, lambda value: setattr(model, "factor", value), (2.0, 3.0)),
    "default": (
        lambda x: with_default(x),
        lambda value: setattr(with_default, "__defaults__", value),
        ((2.0,), (3.0,)),
    ),
    "global of a helper": (lambda x: helper(x), lambda value: set_global("FACTOR", value), (2.0, 3.0)),
}


def composition(function):
    op = oneop.define("captures_op(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel(language="torch")(function)


def gradient(function):
    op = oneop.define("captures_op(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x * 1)
    op.register_grad(lambda ctx, dy: function(dy))


def nested(function):
    """The op that is called captures nothing; one that its composition calls does."""
    inner = oneop.define("captures_inner(Tensor x) -> Tensor y", infer="elementwise")
    inner.register_kernel(language="torch")(function)
    composition(lambda x: oneop.ops.captures_inner(x))


def observe(call):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = call(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


# Gradients and ops inside ops find what a kernel reads as kernels do: each of them meets every second case.
PLACES = [(composition, case) for case in CASES] + [
    pytest.param(nested if n % 2 else gradient, case, marks=[pytest.mark.slow] * (n % 6 > 1))
    for n, case in enumerate(CASES)
]


@pytest.mark.parametrize("place, case", PLACES, ids=lambda value: getattr(value, "__name__", value))
def test_compiled_code_follows(place, case):
    function, change, values = CASES[case]
    times = Scaling.times
    before = {"FACTOR": FACTOR, "settings": settings, "helper": helper, "LABEL": LABEL}
    change(values[0])
    try:
        with isolated():
            place(function)
            torch._dynamo.reset()
            compiled = torch.compile(lambda x: oneop.ops.captures_op(x), backend="aot_eager", fullgraph=True)
            seen = []
            for value in (values[0], values[1], values[0]):
                change(value)
                expected = observe(oneop.ops.captures_op)
                assert observe(compiled) == expected
                seen.append(expected)
            assert seen[0] != seen[1] and seen[0] == seen[2]
    finally:
        change(values[0])
        globals().update(before)
        bind(2.0), setattr(settings, "factor", 2.0)
        Scaling.times = times


def test_an_attribute_that_hides_that_of_the_class():
    with isolated():
        composition(lambda x: hidden.times(x))
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: oneop.ops.captures_op(x), backend="aot_eager", fullgraph=True)
        assert observe(compiled) == observe(oneop.ops.captures_op)
        hidden.factor = 5.0
        try:
            assert observe(compiled) == observe(oneop.ops.captures_op) == ([5.0, -10.0], [5.0, 5.0])
        finally:
            del hidden.factor
        assert observe(compiled) == observe(oneop.ops.captures_op)


def count_it(x):
    global calls
    calls += 1
    return x * FACTOR


def test_equal_values_and_what_a_function_assigns_itself_compile_nothing_again():
    global FACTOR
    with isolated():
        composition(count_it)
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(lambda x: oneop.ops.captures_op(x), backend=counter)
        for _ in range(3):
            FACTOR = float("2.0")  # another object
            compiled(torch.ones(3))
        assert counter.frame_count == 1
        assert captured.generation == captured.generation


class Awkward:
    """An object that raises when it is looked at."""

    def __getattribute__(self, name):
        raise RuntimeError(f"nobody asks for {name}")


awkward = [Awkward(), oneop.global_function, open, types.SimpleNamespace(lock=__import__("threading").Lock())]


@oneop.global_function()
def kept_job(x: oneop.typing.Numpy.Placeholder((2,), dtype=oneop.float32)) -> oneop.typing.Numpy:
    return x * 2


def test_objects_that_cannot_be_read_are_passed_over():
    global FACTOR
    kept_job(torch.ones(2).numpy())
    with isolated():
        composition(lambda x: x * FACTOR if awkward and kept_job else x)
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: oneop.ops.captures_op(x), backend="aot_eager", fullgraph=True)
        assert observe(compiled) == observe(oneop.ops.captures_op)
        before = FACTOR
        FACTOR = 7.0  # noted before the awkward objects or after them, it is noticed
        try:
            assert observe(compiled) == observe(oneop.ops.captures_op) == ([7.0, -14.0], [7.0, 7.0])
        finally:
            FACTOR = before
        torch.vmap(oneop.ops.captures_op)(torch.ones(2, 2))
