"""global_function: what goes in and comes out, and what is refused."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.jobs.context import current_context
from oneop.jobs.scope import Placement

X = np.array([-2, -1, 0, 1, 2], dtype=np.float32)


def test_numpy_in_and_out(leaky_relu):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,), dtype=oneop.float32)) -> tp.Numpy:
        return leaky_relu(x, alpha=0.5)

    for _ in range(3):
        y = job(X)
        assert type(y) is np.ndarray and y.dtype == np.float32
        np.testing.assert_array_equal(y, [-1, -0.5, 0, 1, 2])
    first, second = job(X), job(-X)
    np.testing.assert_array_equal(first, [-1, -0.5, 0, 1, 2])  # results are not overwritten by the next run
    np.testing.assert_array_equal(second, [2, 1, 0, -0.5, -1])
    np.testing.assert_array_equal(job(x=X), first)
    np.testing.assert_array_equal(job(X[::-1].copy()[::-1]), first)  # not contiguous
    assert repr(job) == "<oneop predict job job>" and job.__name__ == "job"


def test_several_results():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,)), y: tp.Numpy.Placeholder((5,))) -> tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        return x + y, x, (x + y).view(5, 1).expand(5, 2)

    for _ in range(2):
        total, same, wide = job(X, X)
        np.testing.assert_array_equal(total, 2 * X)
        np.testing.assert_array_equal(same, X)
        np.testing.assert_array_equal(wide, np.stack([2 * X] * 2, 1))


def test_other_forms_of_results():
    @oneop.global_function()
    def as_dict(x: tp.Numpy.Placeholder((5,))) -> dict[str, tp.Numpy]:
        return {"double": x * 2, "half": x / 2}

    @oneop.global_function()
    def as_list(x: tp.ListNumpy.Placeholder((5,))) -> list[tp.Numpy]:
        return [x, x + 1]

    @oneop.global_function()
    def nested(xs: tuple[tp.Numpy.Placeholder((5,)), tp.Numpy.Placeholder((5,))]) -> tp.ListListNumpy:
        return xs[0] + xs[1]

    @oneop.global_function()
    def as_tensor(x: tp.Tensor.Placeholder((5,))) -> tp.Tensor:
        return x * 3

    @oneop.global_function()
    def no_annotation(x: tp.Numpy.Placeholder((5,))):
        return x * 4

    @oneop.global_function()
    def nothing(x: tp.Numpy.Placeholder((5,))) -> None:
        oneop.watch(x * 5, seen.append)

    seen = []
    np.testing.assert_array_equal(as_dict(X)["half"], X / 2)
    np.testing.assert_array_equal(as_list([X])[1], X + 1)
    np.testing.assert_array_equal(nested((X, X))[0][0], 2 * X)
    assert torch.equal(as_tensor(torch.from_numpy(X)), torch.from_numpy(X * 3))
    np.testing.assert_array_equal(no_annotation(X).get().numpy(), X * 4)
    assert nothing(X) is None
    np.testing.assert_array_equal(seen[0], X * 5)


def test_callback():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Callback[tp.Numpy]:
        return x * 2

    done = threading.Event()
    got = []
    job(X)(lambda y: (got.append(y), done.set()))
    assert done.wait(30)
    np.testing.assert_array_equal(got[0], X * 2)
    np.testing.assert_array_equal(job(X).wait(), X * 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (X[:4], 'job "job", parameter "x": expected float32 (5,), found float32 (4,)'),
        (X.astype(np.float64), 'job "job", parameter "x": expected float32 (5,), found float64 (5,)'),
        ([1.0], 'job "job", parameter "x": expected a numpy array, float32 (5,), found list'),
        (torch.zeros(5), 'job "job", parameter "x": expected a numpy array, float32 (5,), found Tensor'),
        (np.array(["a"] * 5), 'job "job", parameter "x": expected float32 (5,), found an array of dtype <U1'),
    ],
)
def test_wrong_input(value, message):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,), dtype=oneop.float32)) -> tp.Numpy:
        return x * 2

    job(X)  # the C++ entry must refuse it too
    with pytest.raises(ArgumentError) as caught:
        job(value)
    assert str(caught.value) == message
    np.testing.assert_array_equal(job(X), X * 2)


def test_wrong_arguments():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return x * 2

    for call in (lambda: job(), lambda: job(X, X), lambda: job(X, y=X)):
        with pytest.raises(ArgumentError, match=r'job "job" takes 1 arguments \(x\)'):
            call()


def test_wrong_annotations():
    with pytest.raises(ArgumentError) as caught:

        @oneop.global_function()
        def job(x, y: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
            return x

    assert str(caught.value) == (
        'job "job", parameter "x": expected a placeholder, found no annotation\n'
        "  write x: oneop.typing.Numpy.Placeholder((5,), dtype=oneop.float32)"
    )
    with pytest.raises(ArgumentError, match=r"expected a shape \(tuple of ints\), found 5"):
        tp.Numpy.Placeholder(5)
    with pytest.raises(ArgumentError, match='expected type "predict" or "train", found \'both\''):
        oneop.global_function(type="both")


def test_result_must_match_annotation():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return x, x

    with pytest.raises(ArgumentError, match="the function returned tuple of 2"):
        job(X)


def test_op_names(leaky_relu):
    def wrapper(x, name="fixed", op="leaky_relu"):
        return oneop.user_op_builder(name).Op(op).Input("x", [x]).Output("y").Build().InferAndTryRun().SoleOutputBlob()

    @oneop.global_function()
    def twice(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return wrapper(wrapper(x))

    assert twice(X).shape == (5,)

    @oneop.global_function()
    def clash(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return wrapper(wrapper(x), op="leaky_relu_parallel")

    with pytest.raises(ArgumentError) as caught:
        clash(X)
    assert str(caught.value) == (
        'job "clash": op name "fixed" is taken by an op "leaky_relu", this is an op "leaky_relu_parallel"\n'
        '  rename one of them, or let a name be made: user_op_builder(oneop.util.unique_str("fixed"))'
    )


def test_data_dependent_shapes_are_refused():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return x[x > 0]

    with pytest.raises(ArgumentError) as caught:
        job(X)
    assert str(caught.value) == (
        'job "job": what aten.nonzero.default gives depends on the data, and a job is planned before there are any\n'
        "  compute it outside the job, or use an op of fixed shape such as torch.where"
    )


def test_errors_of_the_function_name_the_job():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return x @ torch.zeros(4)

    with pytest.raises(RuntimeError) as caught:
        job(X)
    assert 'while tracing job "job"' in caught.value.__notes__


def test_jobs_of_several_threads(leaky_relu):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return leaky_relu(leaky_relu(x, alpha=0.5), alpha=0.5) + x

    job(X)
    wrong = []

    def call(factor):
        for _ in range(200):
            x = X * factor
            if not np.array_equal(job(x), np.where(x > 0, x, 0.25 * x) + x):
                wrong.append(factor)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_jobs_of_python_kernels_in_several_threads():
    """They run with the GIL: a thread that waits for its turn must let go of it."""
    op = oneop.define("job_slow_twice(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def twice(x, out):
        time.sleep(0.0005)
        np.multiply(x, 2, out=out)

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return op(op(x))

    job(X)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(job, [X * factor for factor in range(40)], timeout=60))
    for factor, result in enumerate(results):
        np.testing.assert_array_equal(result, X * factor * 4)


@pytest.mark.parametrize("backend", ["planned", "eager", "inductor"])
def test_backends(leaky_relu, backend):
    @oneop.global_function(backend=backend)
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return leaky_relu(x * 2, alpha=0.5) + 1

    np.testing.assert_allclose(job(X), [-1, 0, 1, 3, 5])


def test_unknown_backend():
    @oneop.global_function(backend="magic")
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return x * 2

    with pytest.raises(ArgumentError, match="expected a backend of planned, inductor, eager, found 'magic'"):
        job(X)


def test_a_default_placement():
    config = oneop.FunctionConfig()
    with pytest.raises(ArgumentError, match="default_placement_scope: expected a placement, found 'cpu'"):
        config.default_placement_scope("cpu")
    placement = oneop.scope.placement("gpu", "0:0")
    config.default_placement_scope(placement)
    seen = []

    @oneop.global_function(function_config=config)
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        seen.append(current_context().device)
        with placement, placement:  # it may be entered again
            return x * 2

    assert job(X).tolist() == (X * 2).tolist()
    wanted = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    assert set(seen) == {wanted} and job.compile().traced.device == wanted
    config.default_placement_scope(None)
    assert config.placement is None


def test_a_job_is_traced_where_its_first_placement_says():
    # The meta device stands for a GPU: the sum of a tensor there and one on the CPU is refused.
    elsewhere = Placement(torch.device("meta"))
    seen = []

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        with elsewhere:
            seen.append(str(x.device))
            return x + torch.ones(5, device=current_context().device)

    assert str(job.compile().traced.device) == "meta" and seen == ["cpu", "meta", "meta"]

    @oneop.global_function()
    def bad(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        raise ValueError("for another reason")

    with pytest.raises(ValueError, match="for another reason"):
        bad(X)


def test_placement_outside_and_inside():
    with oneop.scope.placement("cpu", "0:0"):
        pass
    with pytest.raises(ArgumentError, match="expected cpu, gpu or cuda, found 'tpu'"), oneop.scope.placement("tpu"):
        pass
    with pytest.raises(ArgumentError, match='such as "0:0"'), oneop.scope.placement("cpu", "zero"):
        pass
