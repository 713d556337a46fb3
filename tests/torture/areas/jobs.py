"""Jobs called in every way, from several threads, beside training, checkpoints, failures and redefined ops.

A round makes random job programs and compares every result with the same function run eagerly; meanwhile other threads
train, predict, save, profile and redefine. Every variable has one value in all its elements, so a mixture of steps is
seen at once.
"""

from __future__ import annotations

import gc
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

import oneop
from oneop import typing as tp

SHAPE = (4, 4)
TABOO = np.float32(-12345.0)  # kernels raise where they find it in the first element
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "leaky_relu" / "leaky_relu.cpp"
UNARY = ("neg", "sin", "relu", "abs", "square", "sigmoid")
BINARY = ("add", "mul", "sub", "maximum")
OTHERS = ("t", "view", "slice", "cat", "matmul", "ours", "python", "swap", "swap_t", "inplace", "number", "copy", "log")


class Taboo(Exception):
    """What kernels raise."""


# --- ops ------------------------------------------------------------------------------------------------------------

logged: list[tuple[int, float]] = []


def define_ops():
    """Define the Python ops of the programs; they may be there from an earlier round in this process."""
    oneop.load("leaky_relu_torture", [EXAMPLE]) if "leaky_relu" not in oneop.list_ops() else None
    double = oneop.define("torture_job_double(Tensor x) -> Tensor y", infer="elementwise")

    @double.register_kernel("cpu")
    def _(x, out):
        if x.size and x.flat[0] == TABOO:
            raise Taboo
        np.multiply(x, 2, out=out)

    swap = oneop.define("torture_job_swap(Tensor(a!) a, Tensor x) -> Tensor old", differentiable=False)

    @swap.register_infer
    def _(a, x):
        return a.like()

    @swap.register_kernel("cpu")
    def _(a, x):
        old = a.copy()
        a[...] = x
        return old

    log = oneop.define("torture_job_log(Tensor x, *, int number=0) -> ()", differentiable=False)

    @log.register_infer
    def _(x, number):
        return ()

    @log.register_kernel("cpu")
    def _(x, number):
        logged.append((number, float(x.flat[0])))

    define_times(1)


def define_times(factor):
    """Define, or redefine, an op that multiplies by `factor`."""
    times = oneop.define("torture_job_times(Tensor x) -> Tensor y", infer="elementwise")

    @times.register_kernel("cpu")
    def _(x, out):
        np.multiply(x, factor, out=out)


# --- programs -------------------------------------------------------------------------------------------------------


def random_program(rng, *, may_change):
    """Return a list of steps and the numbers of the values that are returned."""
    names = [*UNARY, *BINARY, *OTHERS, *(("change",) * 3 if may_change else ())]
    steps = [(rng.choice(names), rng.randrange(30), rng.randrange(30)) for _ in range(rng.randrange(1, 12))]
    return steps, [rng.randrange(20) for _ in range(rng.randrange(1, 4))]


def run_program(program, x, y, weight):
    """Run a program on tensors; `weight` gives a tensor of the job's own."""
    steps, results = program
    values = [x, y, weight()]
    for name, a, b in steps:
        values.append(one_step(name, values[a % len(values)], values[b % len(values)], x, a))
    return tuple(values[r % len(values)] for r in results)


def one_step(name, a, b, x, number):
    ops = oneop.ops
    if name in UNARY:
        return getattr(torch, name)(a)
    if name in BINARY:
        return getattr(torch, name)(a, b)
    table = {
        "t": lambda: a.t(),
        "view": lambda: a.reshape(2, -1).reshape(SHAPE),
        "slice": lambda: a[:, :1] * b,
        "cat": lambda: torch.cat([a[:2], b[2:]]),
        "matmul": lambda: (a @ b) * 0.1,
        "ours": lambda: ops.leaky_relu(a, alpha=0.3),
        "python": lambda: ops.torture_job_double(a),
        "swap": lambda: swapped(a * 1, b),
        "swap_t": lambda: swapped((a * 1).t(), b),
        "inplace": lambda: (a * 1).add_(b),
        "number": lambda: a[0, 0] * 0.1 + b,
        "copy": lambda: a.clone(),
        "log": lambda: (ops.torture_job_log(a, number=number), a)[1],
        "change": lambda: x.mul_(0.5).add_(b) * 1,
    }
    return table[name]()


def swapped(a, x):
    old = oneop.ops.torture_job_swap(a, x)
    return old + a


# --- calling a program in every way -----------------------------------------------------------------------------------


class Subject:
    """One random program as a job of each kind, and eagerly."""

    def __init__(self, rng, number):
        self.changes = rng.random() < 0.35
        self.program = random_program(rng, may_change=self.changes)
        self.uses_weight = rng.random() < 0.5
        name = f"torture-{number}"
        weight = torch.full(SHAPE, 0.5)

        def inside():
            if not self.uses_weight:
                return torch.full(SHAPE, 0.5)
            return oneop.get_variable(name, SHAPE, initializer=oneop.constant_initializer(0.5), trainable=False)

        def body(x, y):
            return run_program(self.program, x, y, inside)

        self.eager = lambda x, y: run_program(self.program, x, y, lambda: weight.clone())
        place, tensor = tp.Numpy.Placeholder(SHAPE), tp.Tensor.Placeholder(SHAPE)

        @oneop.global_function()
        def array_job(x: place, y: place) -> tuple[tp.Numpy, ...]:
            return body(x, y)

        @oneop.global_function()
        def tensor_job(x: tensor, y: tensor) -> tuple[tp.Tensor, ...]:
            return body(x, y)

        @oneop.global_function()
        def list_job(x: tp.ListNumpy.Placeholder(SHAPE), y: place) -> list[tp.Numpy]:
            return list(body(x, y))

        @oneop.global_function()
        def callback_job(x: place, y: place) -> tp.Callback[tuple[tp.Numpy, ...]]:
            return body(x.clone(), y)

        class Graph(oneop.Graph):
            def build(self, x, y):
                return body(x, y)

        self.array_job, self.tensor_job, self.list_job = array_job, tensor_job, list_job
        self.callback_job, self.graph = callback_job, Graph()
        self.compiled = None if self.uses_weight else oneop.compile_job(body, [torch.zeros(SHAPE), torch.zeros(SHAPE)])

    def expect(self, x, y):
        """Return eager results, and the inputs as eager code leaves them."""
        a, b = torch.from_numpy(x.copy()), torch.from_numpy(y.copy())
        results = [result.clone().numpy() for result in self.eager(a, b)]
        return results, a.numpy(), b.numpy()

    def ways(self):
        """Return the names of the ways to call it."""
        all_ways = ["position", "keyword", "mixed", "strided", "fortran", "readonly", "tensor", "list", "callback"]
        all_ways += ["graph", "inference", "strided_tensor", "profile", *(["compiled"] if self.compiled else [])]
        return all_ways

    def call(self, way, x, y):
        """Call the job in one way on copies of the arrays; return results and the given arrays afterwards."""
        x, y = x.copy(), y.copy()
        if way == "readonly" and not self.changes:
            x.flags.writeable = y.flags.writeable = False
        if way == "strided":
            x = np.repeat(x, 2, axis=1)[:, ::2]
        if way == "fortran":
            x = np.asfortranarray(x)
        if way in ("position", "strided", "fortran", "readonly"):
            results = self.array_job(x, y)
        elif way == "keyword":
            results = self.array_job(y=y, x=x)
        elif way == "mixed":
            results = self.array_job(x, y=y)
        elif way == "list":
            results = self.list_job([x], y)
        elif way == "callback":
            results = self.call_back(x, y)
        elif way == "profile":
            self.array_job.profile(1)
            results = self.array_job(x, y)
        else:
            results = self.call_with_tensors(way, x, y)
        return [np.asarray(result) for result in results], x, y

    def call_back(self, x, y):
        """Change the inputs as soon as the call has returned."""
        given_x, given_y = x.copy(), y.copy()
        pending = self.callback_job(given_x, given_y)
        given_x[:] = given_y[:] = 77
        return pending.wait()

    def call_with_tensors(self, way, x, y):
        a, b = torch.from_numpy(x), torch.from_numpy(y)
        if way == "inference":
            with torch.inference_mode():
                return self.tensor_job(a, b)
        if way == "strided_tensor":
            wide = a.repeat_interleave(2, 1)[:, ::2]
            results = self.tensor_job(wide, b)
            a.copy_(wide)
            return results
        return {"tensor": self.tensor_job, "graph": self.graph, "compiled": self.compiled}[way](a, b)


def check_call(subject, way, rng):
    """Call once and compare everything with eager; returns what must not change any more."""
    x = np.array([rng.uniform(-2, 2) for _ in range(16)], np.float32).reshape(SHAPE)
    y = np.array([rng.uniform(-2, 2) for _ in range(16)], np.float32).reshape(SHAPE)
    wanted, x_after, y_after = subject.expect(x, y)
    results, x_found, y_found = subject.call(way, x, y)
    assert len(results) == len(wanted), (way, len(results), len(wanted))
    for found, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=f"{way} {subject.program}")
    if way != "callback":
        np.testing.assert_array_equal(x_found, x_after, err_msg=f"input x, {way} {subject.program}")
        np.testing.assert_array_equal(y_found, y_after, err_msg=f"input y, {way} {subject.program}")
    return list(zip(results, [expected.copy() for expected in wanted], strict=True))


# --- what goes on meanwhile -------------------------------------------------------------------------------------------


class Training:
    """A train job whose variables have one value each: minus the number of steps."""

    def __init__(self, width=1 << 14):
        ones = oneop.constant_initializer(0.0)
        place = tp.Numpy.Placeholder((1,))

        def weights():
            return [oneop.get_variable(f"torture-w{i}", (width,), initializer=ones) for i in range(3)]

        @oneop.global_function(type="train")
        def torture_train(x: place) -> tp.Numpy:
            loss = sum((w * oneop.ops.torture_job_double(x).detach() * 0.5).sum() for w in weights())
            oneop.optimizer.SGD(1.0, momentum=0.0).minimize(loss)
            return loss

        @oneop.global_function()
        def torture_predict(x: place) -> tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
            return tuple(w + x for w in weights())

        self.train, self.predict = torture_train, torture_predict
        self.good = 0
        one = np.ones(1, np.float32)
        self.train(one)
        self.good += 1

    def step(self, rng):
        """Take a step, or one that fails."""
        if rng.random() < 0.25:
            try:
                self.train(np.full(1, TABOO))
            except Exception:
                return "failed step"
            raise AssertionError("a kernel raised and the step did not")
        self.train(np.ones(1, np.float32))
        self.good += 1
        return "step"

    def look(self, rng):
        """Predict, by position or keyword: the weights of one step."""
        x = np.zeros(1, np.float32)
        parts = self.predict(x) if rng.random() < 0.5 else self.predict(x=x)
        values = {float(v) for part in parts for v in (part.min(), part.max())}
        assert len(values) == 1, f"a prediction saw the weights of several steps: {values}"
        return "predict"

    def save(self, folder, rng):
        """Save: one step, and its count."""
        from safetensors.torch import load_file

        file = oneop.checkpoint.save(Path(folder) / f"{rng.randrange(2)}.safetensors")
        try:
            tensors = load_file(str(file))
        except OSError:
            return "replaced"
        weights = [tensors[f"variable/torture-w{i}"] for i in range(3)]
        values = {float(v) for w in weights for v in (w.min(), w.max())}
        values.add(-float(tensors["counter/torture_train/steps"]))
        assert len(values) == 1, f"a checkpoint mixes steps: {values}"
        return "save"


class Redefinition:
    """An op that changes while a job calls it."""

    def __init__(self):
        self.factor = 1

        @oneop.global_function()
        def torture_times(x: tp.Numpy.Placeholder((4,))) -> tp.Numpy:
            return oneop.ops.torture_job_times(x)

        self.job = torture_times

    def redefine(self):
        define_times(self.factor + 1)
        self.factor += 1
        return "redefine"

    def look(self):
        least = self.factor
        try:
            found = self.job(np.ones(4, np.float32))
        except oneop.errors.KernelNotFoundError:  # defined again, and its kernel not yet
            return "redefined call"
        assert (found == found[0]).all() and least <= found[0] <= self.factor + 1, (least, found, self.factor)
        return "redefined call"


def run_round(seed: int, share: float = 1.0, *, seconds: float = 6.0, subjects: int = 3) -> str:
    """Run a share of a round, determined by seed as far as threads allow; return a tally, raise on a wrong result."""
    rng = random.Random(seed)
    torch.set_num_threads(1)
    oneop.clear_default_session()
    define_ops()
    all_subjects = [Subject(rng, number) for number in range(subjects)]
    for subject in all_subjects:  # one after the other first: a fault here needs no threads
        for way in rng.sample(subject.ways(), len(subject.ways())):
            check_call(subject, way, rng)
    training, redefinition = Training(), Redefinition()
    kept, tally, errors = [], Counter(), []
    ends = time.monotonic() + seconds * share
    with tempfile.TemporaryDirectory() as folder:

        def caller(own):
            subject = own.choice(all_subjects)
            way = own.choice([w for w in subject.ways() if w != "profile" or own.random() < 0.2])
            kept.extend(check_call(subject, way, own))
            del kept[:-200]
            return "call"

        def collector(own):
            gc.collect()
            time.sleep(0.02)
            return "gc"

        def redefiner(own):
            time.sleep(own.uniform(0.5, 1.5))
            return redefinition.redefine()

        roles = [
            caller,
            caller,
            lambda own: training.step(own),
            lambda own: training.look(own),
            lambda own: training.save(folder, own),
            lambda own: redefinition.look(),
            redefiner,
            collector,
        ]

        def work(role, own):
            try:
                while time.monotonic() < ends and not errors:
                    tally[role(own)] += 1
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(role, random.Random(rng.random()))) for role in roles]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise AssertionError(f"seed {seed}: {errors[0]!r}") from errors[0]
    for found, expected in kept:
        np.testing.assert_array_equal(found, expected, err_msg="an earlier result was overwritten")
    finish(training)
    return ", ".join(f"{count} {name}" for name, count in sorted(tally.items()))


def finish(training):
    """Check that exactly the good steps counted."""
    from oneop.jobs.training.session import current_session

    value = current_session().variables["torture-w0"].value
    count = int(current_session().counts["torture_train"].value)
    assert count == training.good, f"{training.good} steps succeeded, the job counts {count}"
    assert float(value.min()) == float(value.max()) == -training.good
    oneop.clear_default_session()


if __name__ == "__main__":
    import sys

    for argument in sys.argv[1:]:
        print(argument, run_round(int(argument)), flush=True)
