"""Threads that call ops in every way while lists change, libraries are reloaded and ops are redefined.

Every result is compared with what the call must give under one of the definitions that it can have met.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import torch

import oneop
from oneop._build.library import build_inline

SOURCES = Path(__file__).parents[2] / "core" / "sources"
SECONDS = 5.0
FRAME = '#include "common.h"\nnamespace oneflow {{\nnamespace {{\n{}\n}}  // namespace\n}}  // namespace oneflow\n'

#: BY is what a library of another version multiplies by; ARITY 2 gives the op another schema.
TEXT = """
KERNEL(Times, {
  const T* x = In<T>(ctx, "x");
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = T(BY * ctx->Attr<double>("by")) * x[i]; }
})
REGISTER_USER_OP("torture_times").Input("x").Output("y").Attr<double>("by", 1.0).SetTensorDescInferFn(Same);
REGISTER_FOR("torture_times", Times, float, "x")
REGISTER_FOR("torture_times", Times, double, "x")
REGISTER_USER_OP_GRAD("torture_times").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  ctx->DefineOp("g", [&](BackwardOpBuilder& b) {
    return b.OpTypeName("torture_times").InputBind("x", ctx->FwOp().output_grad("y", 0))
        .Attr("by", ctx->FwOp().attr<double>("by")).Output("y").Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("g").output("y", 0); });
});
KERNEL(Sum, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    T sum = 0;
    for (int k = 0; k < ctx->input_size("x"); ++k) { sum += In<T>(ctx, "x", k)[i]; }
    Out<T>(ctx, "y")[i] = sum;
  }
})
REGISTER_USER_OP("torture_sum").InputWithMinimum("x", 1).Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_FOR("torture_sum", Sum, float, "x")
#if ARITY == 1
KERNEL(Change, { for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = In<T>(ctx, "a")[i]; } })
REGISTER_USER_OP("torture_change").Input("a").Output("y").NoGrad().SetTensorDescInferFn(Same);
#else
KERNEL(Change, {
  const double by = ctx->Attr<double>("by");
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = In<T>(ctx, "a")[i] + by * In<T>(ctx, "b")[i]; }
})
REGISTER_USER_OP("torture_change").Input("a").Input("b").Output("y").Attr<double>("by", 1.0).NoGrad()
    .SetTensorDescInferFn(Same);
#endif
REGISTER_FOR("torture_change", Change, float, "a")
"""
VERSIONS = ((1, 1), (2, 1), (1, 2), (2, 2))


def build(by: int, arity: int) -> oneop.Library:
    """Return one version of the library."""
    return build_inline(
        "torture_calls", FRAME.format(TEXT), include_dirs=[SOURCES], defines={"BY": str(by), "ARITY": str(arity)}
    )


class LazyScalar:
    """A number that calls an op while it is converted, as a lazy tensor's does."""

    def __init__(self, value: float, other: torch.Tensor) -> None:
        self.value, self.other = value, other

    def __float__(self) -> float:
        oneop.ops.torture_times(self.other, by=3.0)
        gc.collect(0)
        return self.value


class Interrupted:
    """A number whose conversion is interrupted."""

    def __float__(self) -> float:
        raise KeyboardInterrupt


class Work:
    """What one thread does; each method makes one call and checks it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.acts: list[Callable[[], None]] = [
            *[self.by_position, self.by_keyword, self.strided, self.dispatched, self.backward] * 3,
            *[self.lazy_attribute, self.list_input, self.changed_list, self.bad_input, self.interrupted] * 2,
            *[self.other_schema, self.numpy_kernel, self.collect, self.second_order],
        ]

    def tensor(self, *shape: int) -> torch.Tensor:
        sizes = shape or (self.random.choice((1, 3, 8, 100, 5000)),)
        return torch.full(sizes, float(self.random.randint(1, 9)))

    def step(self) -> None:
        self.random.choice(self.acts)()
        self.count += 1

    def check(self, result: torch.Tensor, wants: list[torch.Tensor], what: str) -> None:
        assert any(result.shape == want.shape and torch.equal(result, want) for want in wants), (
            f"{what}: found {result.flatten()[:4].tolist()} of {tuple(result.shape)}, "
            f"expected one of {[w.flatten()[:1].tolist() for w in wants]}"
        )

    def check_times(self, result: torch.Tensor, x: torch.Tensor, by: float, what: str) -> None:
        self.check(result.detach(), [x.detach() * by, x.detach() * (2 * by)], what)

    def by_position(self) -> None:
        x = self.tensor()
        self.check_times(oneop.ops.torture_times(x), x, 1.0, "by position")

    def by_keyword(self) -> None:
        x, by = self.tensor(), self.random.choice((0.5, 2.0, 4.0))
        self.check_times(oneop.ops.torture_times(by=by, x=x), x, by, "by keyword")

    def strided(self) -> None:
        x = self.tensor(6, 4).t()[:, ::2]
        self.check_times(oneop.ops.torture_times(x, by=2.0), x, 2.0, "strided")

    def dispatched(self) -> None:
        x = self.tensor()
        self.check_times(torch.ops.oneop.torture_times(x, by=2.0), x, 2.0, "torch.ops")

    def backward(self) -> None:
        x = self.tensor().requires_grad_()
        y = oneop.ops.torture_times(x, by=2.0)
        (grad,) = torch.autograd.grad(y.sum(), x)
        self.check_times(grad, torch.ones_like(grad), 2.0, "gradient")

    def second_order(self) -> None:
        x = self.tensor().requires_grad_()
        y = oneop.ops.torture_times(x, by=2.0)
        (grad,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        (again,) = torch.autograd.grad(grad.sum(), x)
        assert again[0].item() in {2 * a * b * 4 for a in (1, 2) for b in (1, 2)}, f"second order: {again[0].item()}"

    def lazy_attribute(self) -> None:
        x, other = self.tensor(), self.tensor()
        self.check_times(oneop.ops.torture_times(x, by=LazyScalar(2.0, other)), x, 2.0, "lazy attribute")

    def list_input(self) -> None:
        xs = [self.tensor(50) for _ in range(self.random.randint(1, 4))]
        self.check(oneop.ops.torture_sum(xs), [sum(xs[1:], xs[0])], "list")

    def changed_list(self) -> None:
        xs = [self.tensor(20000) for _ in range(3)]
        want = xs[0] + xs[1] + xs[2]
        started = threading.Event()

        def empty() -> None:
            started.set()
            xs.clear()
            gc.collect(0)

        thread = threading.Thread(target=empty)
        thread.start()
        started.wait()
        try:
            result = oneop.ops.torture_sum(xs)
        except oneop.OneopError:  # the list was empty before it was read
            result = want
        thread.join()
        self.check(result, [want], "list that another thread empties")

    def bad_input(self) -> None:
        x = self.tensor()
        for call in (
            lambda: oneop.ops.torture_times(x, by="2"),
            lambda: oneop.ops.torture_times(x.to(torch.int32)),
            lambda: oneop.ops.torture_times(x, nonsense=1),
            lambda: oneop.ops.torture_sum([]),
        ):
            try:
                call()
            except (oneop.OneopError, TypeError, RuntimeError):
                continue
            raise AssertionError("a bad call did not raise")

    def interrupted(self) -> None:
        try:
            oneop.ops.torture_times(self.tensor(), by=Interrupted())
        except KeyboardInterrupt:
            return
        raise AssertionError("an interrupt was lost")

    def other_schema(self) -> None:
        a, b = self.tensor(40), self.tensor(40)
        for call, want in (
            (lambda: oneop.ops.torture_change(a), a),
            (lambda: oneop.ops.torture_change(a, b, by=2.0), a + 2 * b),
            (lambda: oneop.ops.torture_change(a, b=b), a + b),
        ):
            try:
                self.check(call(), [want], "op whose schema changes")
            except (oneop.OneopError, TypeError, RuntimeError) as error:
                text = str(error)
                known = ("takes 1 input", "has no input or attribute", "expected exactly 1 tensor", "redefined")
                assert any(part in text for part in known), f"unexpected error: {text}"

    def numpy_kernel(self) -> None:
        x = self.tensor()
        try:
            result = oneop.ops.torture_py(x)
        except oneop.errors.KernelNotFoundError:  # defined again, and its kernel not yet
            return
        self.check(result, [x * k for k in (1, 2, 3)], "redefined Python op")

    def collect(self) -> None:
        gc.collect(self.random.choice((0, 0, 0, 0, 1, 2)))


def define_python(factor: int) -> None:
    """Define the Python op, or define it again."""
    op = oneop.define("torture_py(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x * factor)


def change_definitions(seed: int, libraries: list[oneop.Library], stop: threading.Event) -> int:
    """Reload and redefine until the others are done."""
    choice = random.Random(seed)
    changes = 0
    while not stop.is_set():
        if choice.random() < 0.7:
            oneop.load(choice.choice(libraries))
        else:
            define_python(choice.randint(1, 3))
        changes += 1
        stop.wait(choice.choice((0, 0.001, 0.01)))
    return changes


def run_round(seed: int, share: float = 1.0) -> str:
    """Run four calling threads and one that changes definitions for some seconds, or a share of them."""
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-4)
    libraries = [build(*version) for version in VERSIONS]
    oneop.load(libraries[0])
    define_python(1)
    stop = threading.Event()
    faults: list[BaseException] = []
    works = [Work(seed * 10 + i) for i in range(4)]
    changes: list[int] = []

    def body(work: Work) -> None:
        try:
            while not stop.is_set():
                work.step()
        except BaseException as fault:
            faults.append(fault)
            stop.set()

    def changer() -> None:
        try:
            changes.append(change_definitions(seed, libraries, stop))
        except BaseException as fault:
            faults.append(fault)
            stop.set()

    threads = [threading.Thread(target=body, args=(work,)) for work in works] + [threading.Thread(target=changer)]
    for thread in threads:
        thread.start()
    stop.wait(SECONDS * share)
    stop.set()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return f"{sum(work.count for work in works):,} calls, {changes[0]:,} redefinitions"
