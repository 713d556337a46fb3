"""Many threads at once: right results, kernels side by side, libraries loaded in between."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.testing import assert_close

import oneop


def run_threads(count, work):
    """Run work(i) in so many threads that all start together; the first exception is raised."""
    start = threading.Barrier(count)

    def body(i):
        start.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(body, i) for i in range(count)]]


def test_calls_and_backwards_with_changing_shapes(ops):
    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for i in range(150):
            n = 1 + (i * (seed + 3)) % 17
            x = torch.randn(n, generator=generator, requires_grad=True)
            y = torch.randn(n, generator=generator)
            alpha = 0.125 * (1 + i % 3)
            z = ops.t_relu(ops.t_multiply(x, y), alpha=alpha)
            a, b, total = ops.t_multiples(z, output_counts=[2, 1])
            ops.t_add_n([a, b, total]).sum().backward()
            product = x.detach() * y
            slope = torch.where(product > 0, 1.0, alpha)
            assert_close(total.detach(), 3 * slope * product)
            assert_close(x.grad, 6 * slope * y)

    run_threads(8, work)


def test_state_is_not_torn(ops):
    x = torch.ones(2)
    before = ops.t_counting(x, which=77)[0].item()
    run_threads(8, lambda _: [ops.t_counting(x, which=77) for _ in range(100)])
    assert ops.t_counting(x, which=77)[0].item() == before + 801


def test_kernels_run_side_by_side(ops):
    x = torch.ones(1)
    started = time.perf_counter()
    for _ in range(4):
        ops.t_sleep(x)
    one_by_one = time.perf_counter() - started
    started = time.perf_counter()
    run_threads(4, lambda _: ops.t_sleep(x))
    assert time.perf_counter() - started < one_by_one  # they sleep: even a busy machine runs them side by side

    ticks = []
    done = threading.Event()
    ticker = threading.Thread(
        target=lambda: [ticks.append(1) or time.sleep(0.005) for _ in range(1000) if not done.is_set()]
    )
    ticker.start()
    ops.t_sleep(x)
    torch.ops.oneop.t_sleep(x)
    done.set()
    ticker.join()
    assert len(ticks) > 5  # Python went on meanwhile


def test_a_library_is_loaded_while_others_call(ops, inline):
    stop = threading.Event()
    source = """
        template <int kBy> class Times final : public user_op::OpKernel {
          void Compute(KernelComputeContext* ctx) const override {
            for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<float>(ctx, "y")[i] = kBy * In<float>(ctx, "x")[i]; }
          }
        };
        REGISTER_USER_OP("i_times").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
        REGISTER_USER_KERNEL("i_times").SetCreateFn<Times<BY>>().SetIsMatchedHob(ON_CPU);
    """
    versions = [inline(source, build_only=True, defines={"BY": by}) for by in (1, 2)]
    import oneop

    oneop.load(versions[0])

    def call():
        while not stop.is_set():
            x = torch.randn(3, requires_grad=True)
            ops.t_relu(x).sum().backward()
            assert oneop.ops.i_times(torch.ones(2)).tolist() in ([1, 1], [2, 2])

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call) for _ in range(4)]
        for i in range(1, 21):
            oneop.load(versions[i % 2])
            assert oneop.ops.i_times(torch.ones(2)).tolist() == [1 + i % 2] * 2
        stop.set()
        for future in calls:
            future.result()


def test_backward_in_another_thread(ops):
    x = torch.randn(5, requires_grad=True)
    loss = ops.t_relu(x).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    assert_close(x.grad, torch.where(x > 0, 1.0, 0.5))


@pytest.mark.parametrize("times", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_the_overload_of_an_op_is_whole_while_its_schema_changes(times):
    """Graphs and other threads hold the overload; it changes in place, and never lacks an attribute."""
    schemas = ["thread_flips(Tensor x) -> Tensor y", "thread_flips(Tensor x, *, int by=1) -> Tensor y"]
    ended, faults = threading.Event(), []

    def define(schema):
        op = oneop.define(schema, infer="elementwise", differentiable=False)
        op.register_kernel("cpu")(lambda x: x)
        return op

    held = define(schemas[0]).overload

    def read():
        try:
            while not ended.is_set():
                for _ in range(1000):
                    held._schema, held._opname, held._op  # noqa: B018 - that they are there is the point
        except AttributeError as error:
            faults.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=read) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for i in range(times):
            define(schemas[i % 2])
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not faults, faults
