"""`oneop.require` and `torch.use_deterministic_algorithms`: which kernels run, and what they are told."""

import sys
import threading
import warnings
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, KernelNotFoundError, RegistrationError
from oneop.runtime import requirement
from oneop.runtime.requirement import required

SOURCE = Path(__file__).with_name("requirement_ops.cpp")


@pytest.fixture(scope="module", autouse=True)
def library():
    built = oneop.build("requirement_ops", [SOURCE])
    oneop.load(built)
    return built


@pytest.fixture(autouse=True)
def nothing_is_required():
    yield
    torch.use_deterministic_algorithms(False)
    oneop.require(deterministic=False, batch_invariant=False)


def ran(name="rq_ranked"):
    return int(getattr(oneop.ops, name)(torch.ones(1)))


def test_each_requirement_takes_its_kernel():
    assert ran() == 3
    with oneop.require(deterministic=True):
        assert ran() == 1
        with oneop.require(batch_invariant=True):
            assert ran() == 0
        assert ran() == 1
        with oneop.require(deterministic=False):
            assert ran() == 3
    with oneop.require(batch_invariant=True):
        assert ran() == 0
    assert ran() == 3 and required() == 0


def test_it_holds_from_the_call_on_without_a_block():
    oneop.require(deterministic=True)
    assert ran() == 1
    oneop.require(batch_invariant=None)
    assert ran() == 1
    oneop.require(deterministic=False)
    assert ran() == 3


def test_blocks_of_threads_end_in_any_order():
    first_in, second_in, first_out, results = *(threading.Event() for _ in range(3)), []

    def first():
        with oneop.require(deterministic=True):
            first_in.set()
            second_in.wait(60)
        first_out.set()

    def second():
        first_in.wait(60)
        with oneop.require(deterministic=True):
            second_in.set()
            first_out.wait(60)
            results.append(ran())

    threads = [threading.Thread(target=function) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] and ran() == 3 and required() == 0


def test_no_plan_is_kept_for_another_requirement():
    """Backward passes make plans on threads without the GIL, while this one changes what is required."""
    done = threading.Event()

    def first_calls():
        for size in range(1, 3000):
            oneop.ops.rq_ranked(torch.ones(size))
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # else each call may wait five milliseconds for this loop: a minute in all
    try:
        thread = threading.Thread(target=first_calls)
        thread.start()
        while not done.is_set():
            oneop.require(deterministic=True)
            oneop.require(deterministic=False)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    for wanted, result in ((False, 3), (True, 1)):
        with oneop.require(deterministic=wanted):
            assert all(int(oneop.ops.rq_ranked(torch.ones(size))[0]) == result for size in range(1, 3000))


def test_an_object_begins_several_blocks():
    twice = oneop.require(deterministic=True)
    for _ in range(2):
        with twice:
            assert ran() == 1
            with twice:
                assert ran() == 1
            assert ran() == 1
        assert ran() == 3


def test_as_a_decorator():
    @oneop.require(deterministic=True)
    def called(name, *, plus):
        return ran(name) + plus

    assert ran() == 3 and called("rq_ranked", plus=10) == 11 and ran() == 3 and called.__name__ == "called"


def test_calls_in_a_loop_keep_nothing():
    for _ in range(100):
        oneop.require(deterministic=True)
        oneop.require(batch_invariant=False)
    assert ran() == 1 and len(requirement._wishes) < 4


def test_an_exception_ends_it_too():
    with pytest.raises(ZeroDivisionError), oneop.require(deterministic=True):
        1 / 0  # noqa: B018
    assert ran() == 3


def test_torch_asks_less():
    """A kernel that says nothing is taken for deterministic, as torch takes its own ops."""
    torch.use_deterministic_algorithms(True)
    assert ran() == 2
    with oneop.require(deterministic=True):
        assert ran() == 1


def test_all_threads_follow():
    results = []
    with oneop.require(deterministic=True):
        thread = threading.Thread(target=lambda: results.append(ran()))
        thread.start()
        thread.join()
    assert results == [1]


def test_refused_where_no_kernel_gives_it():
    with oneop.require(deterministic=True), pytest.raises(KernelNotFoundError) as raised:
        ran("rq_fast_only")
    text = str(raised.value)
    assert (
        'no kernel of op "rq_fast_only" gives what is required\n  in force: oneop.require(deterministic=True)' in text
    )
    assert "x: float32[1] -> y: float32[1]" in text
    assert "declare what holds: register_kernel(..., deterministic=True, batch_invariant=True)" in text
    assert "it is declared nondeterministic" in text and "batch_invariant=True)" in text
    assert f"{SOURCE.name}:" in text and len(text.splitlines()) < 12
    with (
        oneop.require(batch_invariant=True),
        pytest.raises(KernelNotFoundError, match="is not declared batch invariant"),
    ):
        ran("rq_fast_only")
    torch.use_deterministic_algorithms(True)
    with pytest.raises(KernelNotFoundError, match=r"in force: torch.use_deterministic_algorithms\(True\)"):
        ran("rq_fast_only")
    assert ran() == 2
    both = r"in force: oneop.require\(deterministic=True, batch_invariant=True\) and torch"
    with oneop.require(deterministic=True, batch_invariant=True):
        with pytest.raises(KernelNotFoundError, match=both):
            ran("rq_fast_only")
        lacks = "it is not declared deterministic, and is not declared batch invariant"
        with pytest.raises(KernelNotFoundError, match=lacks):
            ran("rq_silent")


def test_torch_may_only_warn():
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match='op "rq_fast_only": the kernel at .* is declared nondeterministic, and torch'):
        assert ran("rq_fast_only") == 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ran() == 2  # another kernel is there


def test_a_warning_may_be_an_error():
    with oneop.registry.isolated():
        op = oneop.define("rq_warned(Tensor x) -> Tensor", infer="elementwise")
        op.register_kernel("cpu", deterministic=False)(lambda x: x)
        torch.use_deterministic_algorithms(True, warn_only=True)
        with warnings.catch_warnings(), pytest.raises(UserWarning, match="is declared nondeterministic"):
            warnings.simplefilter("error")
            op(torch.ones(1))


def test_kernels_see_it():
    assert ran("rq_asks") == 0
    with oneop.require(deterministic=True):
        assert ran("rq_asks") == 1
        with oneop.require(batch_invariant=True):
            assert ran("rq_asks") == 3
    with oneop.require(batch_invariant=True):
        assert ran("rq_asks") == 2
    torch.use_deterministic_algorithms(True)
    assert ran("rq_asks") == 1


def test_state_lives_on():
    assert ran("rq_counts") == 1
    with oneop.require(deterministic=True):
        assert ran("rq_counts") == 2
    assert ran("rq_counts") == 3


def test_a_backward_pass_is_asked_too():
    x = torch.ones(2, requires_grad=True)
    y = oneop.ops.rq_twice(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with oneop.require(deterministic=True):
        z = oneop.ops.rq_twice(x)
        with pytest.raises(KernelNotFoundError, match="rq_twice_grad"):
            z.sum().backward()


def test_jobs_follow():
    job = oneop.compile_job(lambda x: oneop.ops.rq_ranked(x), (torch.ones(1),))
    assert int(job(torch.ones(1))) == 3
    for _ in range(2):
        with oneop.require(deterministic=True):
            assert int(job(torch.ones(1))) == 1
        assert int(job(torch.ones(1))) == 3
    torch.use_deterministic_algorithms(True)
    assert int(job(torch.ones(1))) == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_programs_follow(backend):
    with oneop.registry.isolated():
        op = oneop.define("rq_composed(Tensor x) -> Tensor", infer="elementwise")
        op.register_kernel(language="torch", priority=1)(lambda x: x * 2)
        op.register_kernel(language="torch", deterministic=True)(lambda x: x * 3)
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: op(x) + oneop.ops.rq_ranked(x), backend=backend)
        for _ in range(2):
            assert compiled(torch.ones(1)).item() == 5
            with oneop.require(deterministic=True):
                assert compiled(torch.ones(1)).item() == 4


def test_python_kernels_declare():
    with oneop.registry.isolated():
        op = oneop.define("rq_python(Tensor x) -> Tensor", infer="elementwise")
        op.register_kernel("cpu", priority=1, deterministic=False)(lambda x: x * 0 + 1)
        op.register_kernel("cpu", deterministic=True, batch_invariant=True)(lambda x: x * 0)
        assert ran("rq_python") == 1
        with oneop.require(deterministic=True, batch_invariant=True):
            assert ran("rq_python") == 0
        declared = [(kernel.deterministic, kernel.batch_invariant) for kernel in oneop.get_op("rq_python").kernels]
        assert declared == [(False, False), (True, True)]
        assert "  deterministic  batch invariant" in str(oneop.get_op("rq_python"))


def test_source_kernels_declare():
    with oneop.registry.isolated():
        op = oneop.define("rq_text(Tensor x) -> Tensor y", infer="elementwise")
        op.register_source("cpu", "for (int64_t i = 0; i < n; ++i) y[i] = 5;", deterministic=True, batch_invariant=True)
        with oneop.require(deterministic=True, batch_invariant=True):
            assert ran("rq_text") == 5


def test_functors_declare_themselves():
    kernels = {name: oneop.get_op(name).kernels[0] for name in ("rq_twice", "rq_sum", "rq_twice_grad", "rq_asks")}
    declared = {name: (kernel.deterministic, kernel.batch_invariant) for name, kernel in kernels.items()}
    assert declared == {
        "rq_twice": (True, True),
        "rq_sum": (True, True),
        "rq_twice_grad": (False, False),
        "rq_asks": (True, True),
    }


def test_a_declaration_is_for_those_that_have_none():
    kernels = oneop.get_op("rq_several").kernels
    assert {kernel.dtype: kernel.deterministic for kernel in kernels} == {"float64": False, "float32": True}


def test_the_numpy_host_follows(library):
    import numpy as np

    import oneop.numpy

    ops = oneop.numpy.load(library)
    x = np.ones(1, np.float32)
    assert ops.rq_ranked(x)[0] == 3
    with oneop.require(deterministic=True):
        assert ops.rq_ranked(x)[0] == 1
        with pytest.raises(KernelNotFoundError, match="gives what is required"):
            ops.rq_fast_only(x)
    assert ops.rq_ranked(x)[0] == 3


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="require, deterministic: expected True, False or None, found"):
        oneop.require(deterministic=1)
    with oneop.registry.isolated():
        op = oneop.define("rq_wrong(Tensor x) -> Tensor", infer="elementwise")
        with pytest.raises(RegistrationError, match='op "rq_wrong": deterministic is True or False or None, found'):
            op.register_kernel("cpu", deterministic="yes")(lambda x: x)
        with pytest.raises(RegistrationError, match="batch_invariant is True or False, found"):
            op.register_kernel("cpu", batch_invariant=None)(lambda x: x)
