"""Compiled code in memory follows redefinitions: guards on the revision of each op that was traced."""

import contextlib
import threading
import warnings

import pytest
import torch
import torch._inductor.config

import oneop
from oneop.authoring.keys import guards
from oneop.registry import isolated

BACKENDS = ["eager", "aot_eager", "inductor"]


@pytest.fixture(autouse=True)
def alone():
    limit = torch._dynamo.config.recompile_limit
    # Inductor and its caches without loops in C++, which take a second each to compile.
    with isolated(), torch._inductor.config.patch(fallback_by_default=True):
        yield
    torch._dynamo.config.recompile_limit = limit


def define(name, factor, *, language="torch", slope=None):
    """Define an op that multiplies, with a gradient that multiplies by `slope`."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor", infer="elementwise")
    op.register_kernel("cpu", language=language)(lambda x: x * factor)
    if slope is not None:
        op.register_grad(lambda ctx, dy: dy * slope)
    return op


def counted():
    torch._dynamo.utils.counters.clear()
    return lambda: torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kernel_that_is_traced_into_the_code(backend):
    define("guarded_kernel", 2.0)
    compiled = torch.compile(lambda x: oneop.ops.guarded_kernel(x) + 1, backend=backend)
    x = torch.ones(3)
    assert compiled(x).tolist() == [3.0] * 3
    define("guarded_kernel", 5.0)
    assert compiled(x).tolist() == [6.0] * 3


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_gradient(backend):
    define("guarded_gradient", 2.0, language="numpy", slope=2.0)
    compiled = torch.compile(lambda x: oneop.ops.guarded_gradient(x).sum(), backend=backend)

    def gradient():
        x = torch.ones(3, requires_grad=True)
        compiled(x).backward()
        return x.grad.tolist()

    assert gradient() == [2.0] * 3
    define("guarded_gradient", 2.0, language="numpy", slope=7.0)
    assert gradient() == [7.0] * 3


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("place", ["gradient", "composition"])
def test_an_op_that_only_another_op_calls(backend, place):
    """Dynamo sees the outer op alone. AOTAutograd traces the inner one, or nobody does if its cache has the code."""
    define("guarded_inner", 2.0)
    outer = oneop.define("guarded_outer(Tensor x) -> Tensor", infer="elementwise")
    if place == "gradient":
        outer.register_kernel("cpu", language="numpy")(lambda x: x * 1)
        outer.register_grad(lambda ctx, dy: oneop.ops.guarded_inner(dy))
    else:
        outer.register_kernel("cpu", language="torch")(lambda x: oneop.ops.guarded_inner(x))

    def result(compiled):
        x = torch.ones(3, requires_grad=True)
        y = compiled(x)
        y.sum().backward()
        return x.grad.tolist() if place == "gradient" else y.tolist()

    def program(x):
        return oneop.ops.guarded_outer(x)

    compiled = torch.compile(program, backend=backend)
    assert result(compiled) == [2.0] * 3
    define("guarded_inner", 3.0)
    assert result(compiled) == [3.0] * 3
    # Put back, the definition is one that torch's cache on disk knows, so nothing is traced below the outer op.
    define("guarded_inner", 2.0)
    assert result(compiled) == [2.0] * 3
    define("guarded_inner", 4.0)
    assert result(compiled) == [4.0] * 3


def test_a_call_by_the_name_in_torch_is_guarded():
    define("guarded_by_torch", 2.0)
    compiled = torch.compile(lambda x: torch.ops.oneop.guarded_by_torch(x), backend="aot_eager")
    x = torch.ones(3)
    assert compiled(x).tolist() == [2.0] * 3
    define("guarded_by_torch", 5.0)
    assert compiled(x).tolist() == [5.0] * 3


def test_other_code_is_not_compiled_again():
    define("guarded_one", 2.0)
    define("guarded_other", 2.0)
    first = torch.compile(lambda x: oneop.ops.guarded_one(x), backend="aot_eager")
    second = torch.compile(lambda x: oneop.ops.guarded_other(x), backend="aot_eager")
    third = torch.compile(lambda x: x.sin(), backend="aot_eager")
    x = torch.ones(3)
    for compiled in (first, second, third):
        compiled(x)
    graphs = counted()
    define("guarded_one", 3.0)
    define("guarded_new", 3.0)
    for compiled in (second, third):
        compiled(x)
    assert graphs() == 0
    assert first(x).tolist() == [3.0] * 3
    assert graphs() == 1


def test_redefinitions_do_not_use_up_torchs_limit():
    torch._dynamo.config.recompile_limit = 3  # the fixture puts it back; monkeypatch would delete it
    define("guarded_often", 0.0)
    compiled = torch.compile(lambda x: oneop.ops.guarded_often(x), backend="aot_eager", fullgraph=True)
    x = torch.ones(3)
    for factor in range(7):
        define("guarded_often", float(factor))
        assert compiled(x).tolist() == [float(factor)] * 3


def test_an_op_that_is_not_traced_leaves_the_limit():
    define("guarded_eagerly", 1.0)
    limit = torch._dynamo.config.recompile_limit
    define("guarded_fresh", 1.0)
    assert torch._dynamo.config.recompile_limit == limit


def test_a_trace_under_way_is_not_given_the_new_revision():
    """A thread compiles while another redefines: the code that was traced from the old definition is not kept."""
    define("guarded_meanwhile", 2.0)
    reached, go_on = threading.Event(), threading.Event()

    def wait_here(graph, inputs):
        reached.set()
        go_on.wait(30)
        return graph.forward

    compiled = torch.compile(lambda x: oneop.ops.guarded_meanwhile(x), backend=wait_here)
    x = torch.ones(3)

    def compile_and_call():
        with contextlib.suppress(oneop.errors.KernelNotFoundError):  # between the definition and its kernel
            compiled(x)

    compiling = threading.Thread(target=compile_and_call)
    compiling.start()
    assert reached.wait(30)
    defining = threading.Thread(target=lambda: define("guarded_meanwhile", 3.0))
    defining.start()
    defining.join(0.2)
    assert defining.is_alive()  # it waits for the trace
    go_on.set()
    compiling.join(30)
    defining.join(30)
    assert compiled(x).tolist() == [3.0] * 3


def test_a_redefinition_does_not_wait_forever(monkeypatch):
    monkeypatch.setattr(guards, "LOCK_SECONDS", 0.1)
    define("guarded_patience", 2.0)
    compiled = torch.compile(lambda x: oneop.ops.guarded_patience(x), backend="aot_eager")
    x = torch.ones(3)
    compiled(x)
    lock = torch._dynamo.convert_frame.compile_lock
    held, release = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        oneop.define("guarded_patience(Tensor x) -> Tensor", infer="elementwise")
    assert any(
        'op "guarded_patience" changed while another thread has been compiling' in str(warning.message)
        for warning in caught
    )
    release.set()
    holder.join(30)
    for thread in threading.enumerate():
        if thread.name == "oneop guards":
            thread.join(30)
    define("guarded_patience", 4.0)
    assert compiled(x).tolist() == [4.0] * 3
