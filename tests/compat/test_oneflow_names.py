"""`import oneflow`: names that oneop itself does not have, in a program of its own."""

import subprocess
from pathlib import Path

import oneop
from quick_python import command

COMPAT = Path(oneop.__file__).parent / "compat"
PROGRAM = """
import os
import unittest

import numpy as np
import oneflow as flow
import oneflow.typing as oft
import torch

import oneop

oneop.define("twice(Tensor x) -> Tensor y", infer="elementwise", differentiable=False).register_kernel("cpu")(
    lambda x: x * 2
)

flow.config.gpu_device_num(0)


class Twice(flow.deprecated.nn.Module):
    def __init__(self):
        flow.nn.Module.__init__(self)
        self.builder = flow.consistent_user_op_module_builder("twice")
        self.builder.InputSize("x", 1).Output("y")
        self.builder.user_op_module.InitOpKernel()

    def forward(self, x):
        call = self.builder.OpName("Twice_%s" % self.call_seq_no).Input("x", [x]).Build()
        return call.InferAndTryRun().RemoteBlobList()[0]


@flow.unittest.skip_unless_1n1d()
class Names(flow.unittest.TestCase):
    def test_a_module_with_another_number_of_inputs(case):
        builder = flow.consistent_user_op_module_builder("twice").InputSize("x", 1).Output("y")
        with case.assertRaises(oneop.errors.ArgumentError) as raised:
            builder.Input("x", [torch.ones(2)] * 2)
        lines = ['op "twice", input "x": InputSize declares 1 tensors, found 2', "  give as many as declared"]
        case.assertEqual(str(raised.exception).splitlines(), lines)

    def test_modules(case):
        @flow.global_function()
        def job(x: oft.Numpy.Placeholder((2,))):
            module = flow.find_or_create_module("Twice", Twice)
            case.assertIs(module, flow.find_or_create_module("Twice", Twice))
            y = module(module(x))
            case.assertEqual(y.op_name, "Twice_%d" % (module.call_seq_no - 1))
            case.assertEqual((y.parallel_conf.device_tag, y.parallel_conf.device_tag()), ("cpu", "cpu"))
            return y

        y = job(np.array([1.0, 2.0], np.float32)).get()
        case.assertEqual(y.numpy_list()[0].tolist(), [4.0, 8.0])

    def test_jobs_are_on_the_gpu_where_there_is_one(case):
        def job_of(config=None):
            tags = []

            @flow.global_function(function_config=config)
            def job(x: oft.Numpy.Placeholder((2,))):
                y = flow.math.relu(x)
                tags.append(y.parallel_conf.device_tag)
                return y

            case.assertEqual(job(np.array([-1.0, 2.0], np.float32)).get().numpy().tolist(), [0.0, 2.0])
            case.assertEqual(len(set(tags)), 1)
            return tags[0]

        case.assertEqual(job_of(), "cpu")  # because the program asks for no GPU
        flow.config.gpu_device_num(1)
        case.assertEqual(job_of(), "gpu" if torch.cuda.is_available() else "cpu")
        config = flow.FunctionConfig()
        config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
        case.assertEqual(job_of(config), "cpu")
        flow.config.gpu_device_num(0)

    def test_arrays_of_the_mirrored_view_may_be_smaller(case):
        @flow.global_function()
        def job(x: oft.ListNumpy.Placeholder((4, 3)), y: oft.Numpy.Placeholder((1,))):
            return x * 2 + y

        y = np.ones(1, np.float32)
        for shape in ((4, 3), (3, 1), (0, 3), (3, 1)):
            x = np.random.rand(*shape).astype(np.float32)
            case.assertTrue(np.array_equal(job([x], y=y).get().numpy_list()[0], x * 2 + 1))
        for shape in ((5, 3), (4,), (4, 3, 1)):
            with case.assertRaises(oneop.errors.ArgumentError) as raised:
                job([np.zeros(shape, np.float32)], y)
            case.assertIn("expected float32 (4, 3)", str(raised.exception))
        case.assertIn("float32[4, 3]", str(job.plan()))

    def test_batch_axes(case):
        @flow.global_function()
        def job(x: oft.Numpy.Placeholder((2, 2))):
            w = flow.get_variable("w", shape=(2, 2), initializer=flow.constant_initializer(1.0))
            of_input = flow.user_op_builder("a").Op("twice").Input("x", [x]).Output("y").Build().InferAndTryRun()
            of_variable = flow.user_op_builder("b").Op("twice").Input("x", [w]).Output("y").Build().InferAndTryRun()
            case.assertEqual(of_input.SoleOutputBlob().batch_axis, 0)
            case.assertIsNone(of_variable.SoleOutputBlob().batch_axis)
            case.assertEqual(flow.math.add(of_variable.SoleOutputBlob(), x).batch_axis, 0)
            return of_input.SoleOutputBlob() + of_variable.SoleOutputBlob()

        case.assertEqual(job(np.ones((2, 2), np.float32)).get().numpy().tolist(), [[4.0, 4.0], [4.0, 4.0]])

    def test_math(case):
        x, dy = torch.randn(3), torch.randn(3)
        y = flow.math.sigmoid(x, name="s")
        case.assertTrue(torch.equal(y, torch.sigmoid(x)) and y.op_name == "s")
        leaf = x.clone().requires_grad_()
        torch.sigmoid(leaf).backward(dy)
        torch.testing.assert_close(flow.math.sigmoid_grad(y, dy), leaf.grad)
        case.assertTrue(torch.equal(flow.math.reduce_sum(x), x.sum()))
        case.assertTrue(torch.equal(flow.math.reduce_mean(x.view(1, 3), axis=1, keepdims=True), x.mean().view(1, 1)))

    def test_small_names(case):
        case.assertIs(flow.float32, torch.float32)
        case.assertIn(flow.int8, flow.dtypes())
        case.assertFalse(flow.eager_execution_enabled())
        case.assertEqual(flow.FixedTensorDef((2,)), oft.Numpy.Placeholder((2,)))
        case.assertEqual(flow.MirroredTensorDef((2,)), oft.ListNumpy.Placeholder((2,)))
        case.assertIs(flow.typing, oneop.typing)
        flow.train.CheckPoint().init()
        with case.assertRaisesRegex(NotImplementedError, "Module has no forward"):
            flow.nn.Module()(1)
        with case.assertRaises(AttributeError):
            flow.no_such_name

    def test_watches_by_annotation(case):
        given = {}

        def array(x: oft.Numpy):
            given["array"] = x

        def arrays(x: oft.ListNumpy):
            given["list"] = x

        def plain(x):
            given["plain"] = x

        def gradient(x):
            given["gradient"] = x

        @flow.global_function(type="train")
        def job() -> oft.Numpy:
            w = flow.get_variable("watched", shape=(2,), initializer=flow.ones_initializer())
            loss = w * 3
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.5]), momentum=0).minimize(loss)
            for callback in (array, arrays, plain):
                flow.watch(w, callback)
            flow.watch_diff(w, gradient)
            return loss

        job()
        case.assertEqual(type(given["array"]), np.ndarray)
        case.assertEqual([type(x) for x in given["list"]], [np.ndarray])
        for value in (given["array"], given["list"][0], given["plain"].numpy()):
            case.assertEqual(value.tolist(), [1.0, 1.0])
        case.assertEqual(given["gradient"].numpy().tolist(), [3.0, 3.0])

    def test_eager_jobs(case):
        flow.enable_eager_execution()
        case.assertTrue(flow.eager_execution_enabled() and flow.unittest.env.eager_execution_enabled())
        try:

            @flow.global_function()
            def job(x: oft.ListNumpy.Placeholder((2,))):
                y = flow.math.relu(x) + flow.constant(1.0, shape=(1,))
                case.assertEqual(y.numpy(0).tolist(), [1.0, 3.0])
                w = flow.get_variable("eager", shape=(2,), initializer=flow.ones_initializer(), reuse=True)
                return flow.cast_to_current_logical_view(y), w

            y, w = job([np.array([-1.0, 2.0], np.float32)]).get()
            case.assertEqual((y.numpy_list()[0].tolist(), w.numpy().tolist()), ([1.0, 3.0], [1.0, 1.0]))
            with case.assertRaisesRegex(oneop.errors.ArgumentError, "a train job does not run eagerly"):
                flow.global_function(type="train")(job.__wrapped__)
        finally:
            flow.enable_eager_execution(False)

    def test_what_a_job_knows_of_itself(case):
        config = flow.FunctionConfig()
        config.enable_inplace()
        config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
        case.assertTrue(config.function_desc.enable_inplace)

        @flow.global_function(function_config=config)
        def job():
            case.assertEqual(flow.current_scope().device_parallel_desc_symbol.device_tag, "cpu")
            case.assertEqual(flow.placement.current_scope().default_device_tag, "cpu")
            case.assertFalse(flow.current_global_function_desc().IsTrainable())
            return flow.constant(2.0, shape=(2, 3))

        result = job().get()
        case.assertEqual((result.size, result.size(), result.size(1)), (6, torch.Size((2, 3)), 3))

    def test_variables_as_files(case):
        import tempfile

        flow.config.enable_legacy_model_io(True)

        @flow.global_function()
        def job() -> oft.Numpy:
            return flow.get_variable("in_a_file", shape=(3,), initializer=flow.ones_initializer())

        value = job()
        with tempfile.TemporaryDirectory() as folder:
            flow.train.CheckPoint().save(folder)
            dtype = flow.convert_oneflow_dtype_to_numpy_dtype(flow.float32)
            case.assertEqual(np.fromfile(folder + "/in_a_file/out", dtype).tolist(), value.tolist())

    def test_all_variables(case):
        import tempfile

        names = ("kept_a", "group/kept_b")
        types = {names[0]: flow.float32, names[1]: flow.int64}

        @flow.global_function()
        def job() -> oft.Numpy:
            a = flow.get_variable(names[0], shape=(2, 3), initializer=flow.ones_initializer())
            b = flow.get_variable(names[1], shape=(), dtype=flow.int64, initializer=flow.zeros_initializer())
            return a + b

        first = job()
        mine = {name: blob for name, blob in flow.get_all_variables().items() if name in names}
        case.assertEqual(sorted(mine), sorted(names))
        case.assertEqual([(mine[name].shape, mine[name].dtype) for name in names],
                         [((2, 3), flow.float32), ((), flow.int64)])
        before = mine["kept_a"].numpy()
        flow.load_variables({"kept_a": np.full((2, 3), 4, np.float32), "group/kept_b": torch.tensor(7)})
        case.assertEqual(before.tolist(), first.tolist())  # a copy
        case.assertEqual(mine["kept_a"].numpy().tolist(), [[4.0] * 3] * 2)  # the value of now
        case.assertEqual(job().tolist(), [[11.0] * 3] * 2)
        with tempfile.TemporaryDirectory() as folder:
            flow.checkpoint.save(folder + "/all")
            flow.checkpoint.save(folder + "/some", {"kept_a": mine["kept_a"], "other": np.arange(4, dtype=np.int8)})
            stored = flow.checkpoint.get(folder + "/all")
            case.assertEqual([stored[name].numpy().tolist() for name in names], [[[4.0] * 3] * 2, 7])
            case.assertEqual({name: stored[name].dtype for name in names}, types)
            case.assertEqual(sorted(flow.checkpoint.get(folder + "/some")), ["kept_a", "other"])
            one = flow.checkpoint.get(folder + "/some/other")
            case.assertEqual((one.shape, one.dtype, one.numpy().tolist()), ((4,), flow.int8, [0, 1, 2, 3]))
            flow.load_variables({name: np.zeros_like(mine[name].numpy()) for name in names})
            case.assertEqual(job().tolist(), [[0.0] * 3] * 2)
            flow.load_variables(stored, ignore_mismatch=False)
            case.assertEqual(job().tolist(), [[11.0] * 3] * 2)
            flow.load_variables({name: np.zeros_like(mine[name].numpy()) for name in names})
            flow.checkpoint.load(folder + "/all", strict=False)
            case.assertEqual(job().tolist(), [[11.0] * 3] * 2)
            with open(folder + "/some/other/out", "ab") as file:
                file.write(b"more")
            with case.assertRaisesRegex(oneop.errors.ArgumentError, "has 8 bytes, .*meta says 4"):
                flow.checkpoint.get(folder + "/some")
            says = "has no variables\\n  expected a folder with <name>/out"
            with case.assertRaisesRegex(oneop.errors.ArgumentError, says):
                flow.checkpoint.get(folder + "/nowhere")
            # files of OneFlow 0.2, which do not say what they are
            os.remove(folder + "/some/other/meta")
            with case.assertRaisesRegex(oneop.errors.ArgumentError, "no file meta beside it, which says the shape"):
                flow.checkpoint.get(folder + "/some")["other"].numpy()
            with open(folder + "/some/other/meta", "w") as file:
                file.write("data_type: kNothing")
            with case.assertRaisesRegex(oneop.errors.ArgumentError, "it names no data type that is known"):
                flow.checkpoint.get(folder + "/some")
        with case.assertRaisesRegex(oneop.errors.ArgumentError, 'load_variables: no job has a variable "never"'):
            flow.load_variables({"never": np.zeros(2)}, ignore_mismatch=False)
        says = 'load_variables: variable "kept_a": expected .*float32 .2, 3.'
        with case.assertRaisesRegex(oneop.errors.ArgumentError, says):
            flow.load_variables({"group/kept_b": np.array(1), "kept_a": np.zeros(3, np.float32)})
        with tempfile.TemporaryDirectory() as folder:
            odd = {"odd": torch.zeros(2, dtype=torch.complex32)}
            with case.assertRaisesRegex(oneop.errors.ArgumentError, "complex32, which OneFlow does not have"):
                flow.checkpoint.save(folder, odd)
        with case.assertRaisesRegex(oneop.errors.ArgumentError, "expected an array or a variable, found list"):
            flow.load_variables({"kept_a": [1.0]})
        case.assertEqual(job().tolist(), [[11.0] * 3] * 2)  # nothing was set

    def test_variables_that_no_job_asked_for_yet(case):
        flow.load_variables({"asked_later": np.array([5.0, 6.0], np.float32)})
        case.assertNotIn("asked_later", flow.get_all_variables())

        @flow.global_function()
        def job() -> oft.Numpy:
            return flow.get_variable("asked_later", shape=(2,), initializer=flow.zeros_initializer())

        case.assertEqual(job().tolist(), [5.0, 6.0])

    def test_a_name_that_is_not_there(case):
        for name in ("matmul", "get_all_variable", "nowhere_at_all"):
            case.assertFalse(hasattr(flow, name))
            with case.assertRaisesRegex(AttributeError, f"module 'oneflow' has no attribute '{name}'") as raised:
                getattr(flow, name)
            case.assertIn("this is oneop's alias", str(raised.exception))
        with case.assertRaisesRegex(AttributeError, "did you mean get_all_variables"):
            flow.get_all_variable

    @flow.unittest.skip_unless_2n1d()
    def test_two_machines(case):
        case.fail("there is one machine")


unittest.main()
"""


def test_names(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [*command(), str(program)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{COMPAT.parents[1]}:{COMPAT}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
    )
    assert done.returncode == 0, done.stderr
    assert "OK (skipped=1)" in done.stderr
