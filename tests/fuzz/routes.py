"""The other ways to run a program. Each runs it and eager, and compares what both show."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import oneop
from oneop.errors import SbpError
from oneop.jobs.training.session import current_session

from .definitions import LOG
from .observe import Difference, compare, observe
from .programs import Program, inputs_of


class Refused(Exception):
    """The route says, in words, that it does not take this program."""


@dataclass(frozen=True)
class Route:
    """`lacks` are features that a route does not take, for a reason that is written beside it."""

    name: str
    run: Callable[[Program], None]
    cost: int  # 1: milliseconds, 2: a compilation, 3: a C++ compilation
    lacks: frozenset[str] = frozenset()

    def takes(self, program: Program) -> bool:
        return not self.lacks & program.features


def _against_eager(program: Program, run: Callable[..., Any], *, grads: bool, rows: int = 3, **options: Any) -> None:
    if grads and not program.has_gradients:
        return
    inputs = inputs_of(program.seed, rows)
    expected = observe(program, inputs, grads=grads)
    # Copies of results (`copy`) share nothing, where eager gives back an input that it changed.
    exact = not (options.get("copy") and "changes an input" in program.features)
    compare(observe(run, inputs, grads=grads, **options), expected, exact_memory=exact)


def formula(program: Program) -> None:
    """Eager itself, against plain torch."""
    for grads in (False, True) if program.has_gradients else (False,):
        inputs = inputs_of(program.seed)
        expected = observe(program.with_formulas(), inputs, grads=grads)
        compare(observe(program, inputs, grads=grads), expected, exact_memory=False)


def _compiled(backend: str, dynamic: bool | None, sizes: tuple[int, ...]) -> Callable[[Program], None]:
    def run(program: Program) -> None:
        torch._dynamo.reset()
        with torch._inductor.config.patch(fallback_random=True):
            compiled = torch.compile(program, backend=backend, dynamic=dynamic, fullgraph=True)
            for grads in (False, True):
                for rows in sizes:
                    _against_eager(program, compiled, grads=grads, rows=rows)

    return run


def redefined(program: Program) -> None:
    """Compiled, then an op is edited: the compiled function follows."""
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    _against_eager(program, compiled, grads=True)
    for op in program.ops:
        if op.redefine is not None:
            op.redefine()
    _against_eager(program, compiled, grads=True)


class _Module(torch.nn.Module):
    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> Any:
        return self.program(x, y, w)


def exported(program: Program) -> None:
    batch = torch.export.Dim("batch", min=2, max=64)
    shapes = ({0: batch}, {0: batch}, None)
    with torch.no_grad():
        made = torch.export.export(_Module(program), tuple(inputs_of(1, 3)), dynamic_shapes=shapes)
        plain, lowered = made.module(), made.run_decompositions().module()
    for run in (plain, lowered):
        for rows in (3, 5):
            _against_eager(program, run, grads=False, rows=rows)


def ahead_of_time(program: Program) -> None:
    """An AOTInductor package."""
    import tempfile

    with torch.no_grad(), tempfile.TemporaryDirectory() as folder, torch._inductor.config.patch(fallback_random=True):
        made = torch.export.export(_Module(program), tuple(inputs_of(1, 3)))
        path = torch._inductor.aoti_compile_and_package(made, package_path=f"{folder}/model.pt2")
        run = torch._inductor.aoti_load_package(path)
        _against_eager(program, run, grads=False)


def functionalized(program: Program) -> None:
    _against_eager(program, torch.func.functionalize(program), grads=False)


def traced(program: Program) -> None:
    """make_fx on fake tensors, then the graph runs."""
    with torch.no_grad():
        graph = make_fx(program, tracing_mode="fake")(*inputs_of(1, 3))
    LOG.clear()
    _against_eager(program, graph, grads=False)


def checkpointed(program: Program) -> None:
    def run(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> Any:
        return checkpoint(program, x, y, w, use_reentrant=False)

    _against_eager(program, run, grads=True)


def functional_call(program: Program) -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(4))

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return program(x, y, self.w)

    module = Module()
    _against_eager(program, lambda x, y, w: torch.func.functional_call(module, {"w": w}, (x, y)), grads=True)


def _loop(program: Program, dims: tuple[int, int], inputs: list[torch.Tensor], act: Callable[..., Any]) -> list[Any]:
    x, y, w = inputs
    slices = [(x.select(dims[0], i), y.select(dims[1], i)) for i in range(x.shape[dims[0]])]
    results = [act(a, b, w) for a, b in slices]
    return [torch.stack(parts) for parts in zip(*results, strict=True)]


def vmapped(program: Program) -> None:
    """vmap over x and y against a loop, the batch at two places; a false claim is refused."""
    for dims in ((0, 0), (1, 0)):
        inputs = inputs_of(program.seed, batch=(2,))
        inputs[0] = inputs[0].movedim(0, dims[0]).contiguous()
        expected = observe(lambda *given, dims=dims: _loop(program, dims, list(given), program), inputs, grads=False)
        mapped = torch.vmap(program, in_dims=(*dims, None))
        try:
            found = observe(mapped, inputs, grads=False)
        except SbpError:
            if "false claim" in program.features:
                raise Refused("a false claim") from None
            raise
        # One step for all examples, or all steps for one: the order of side effects is the loop's choice.
        found.log.sort()
        expected.log.sort()
        compare(found, expected, exact_memory=False)  # results of a loop are stacked, so they are copies


def vmap_of_grad(program: Program) -> None:
    if not program.has_gradients:
        raise Refused("changed what backward needs")

    def loss(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return sum(((value * (i + 1)).sum() for i, value in enumerate(program(x, y, w))), x.sum() * 0)

    inputs = inputs_of(program.seed, batch=(2,))
    act = torch.func.grad(loss, argnums=(0, 2))
    expected = _loop(program, (0, 0), [value.clone() for value in inputs], act)
    try:
        found = torch.vmap(act, in_dims=(0, 0, None))(*[value.clone() for value in inputs])
    except SbpError:
        if "false claim" in program.features:
            raise Refused("a false claim") from None
        raise
    for one, other in zip(found, expected, strict=True):
        if not torch.allclose(one, other, rtol=1e-3, atol=1e-4):
            raise Difference(f"vmap of grad differs by {float((one - other).abs().max()):.4g}")


def vmap_randomness(program: Program) -> None:
    """Random ops under vmap: refused, the same for all, or different for each."""
    x, y, w = inputs_of(program.seed)
    batch = [value.expand(3, *value.shape).clone() for value in (x, y)]
    try:
        torch.vmap(program, in_dims=(0, 0, None))(*batch, w)
    except (RuntimeError, SbpError) as error:
        if not isinstance(error, SbpError) and "randomness error mode" not in str(error):
            raise
    else:
        raise Difference("a random op ran under vmap in error mode")
    if "false claim" in program.features:
        raise Refused("a false claim")
    torch.manual_seed(5)
    same = torch.vmap(program, in_dims=(0, 0, None), randomness="same")(*[b.clone() for b in batch], w)
    torch.manual_seed(5)
    alone = program(x.clone(), y.clone(), w)
    for one, other in zip(same, alone, strict=True):
        if not torch.allclose(one, other.expand(3, *other.shape), rtol=1e-3, atol=1e-4):
            raise Difference("randomness same is not one draw for all")
    torch.manual_seed(6)
    again = program(x.clone(), y.clone(), w)
    torch.manual_seed(7)
    different = torch.vmap(program, in_dims=(0, 0, None), randomness="different")(*[b.clone() for b in batch], w)
    for one, other, drawn in zip(alone, again, different, strict=True):
        depends = not torch.equal(one, other)
        if depends and torch.equal(drawn[0], drawn[1]):
            raise Difference("randomness different drew the same twice")


def job(program: Program) -> None:
    """A planned job: contiguous inputs, strided ones, and the first result again after another call."""
    compiled = oneop.compile_job(program, inputs_of(1))
    _against_eager(program, compiled, grads=False, copy=True)

    def strided(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> Any:
        return compiled(x.t().contiguous().t(), y, w)

    _against_eager(program, strided, grads=False, copy=True)
    _against_eager(program, compiled, grads=False, copy=True)


def global_job(program: Program) -> None:
    """`global_function` on arrays: by position, by keyword, strided, by position again."""
    from oneop import typing as tp

    x, y, w = (value.numpy() for value in inputs_of(program.seed))
    count = len(program.results)

    def body(x: Any, y: Any, w: Any) -> Any:
        found = program(x, y, w)
        return found if count > 1 else found[0]

    matrix = tp.Numpy.Placeholder((3, 4), dtype=oneop.float32)
    body.__annotations__ = {
        "x": matrix,
        "y": matrix,
        "w": tp.Numpy.Placeholder((4,), dtype=oneop.float32),
        "return": tuple[(tp.Numpy,) * count] if count > 1 else tp.Numpy,
    }
    made = oneop.global_function()(body)
    expected = observe(program, inputs_of(program.seed), grads=False)
    calls = [
        lambda: made(x, y, w),
        lambda: made(x=x, y=y, w=w),
        lambda: made(np.asfortranarray(x), y, w),
        lambda: made(x, w=w, y=y),
        lambda: made(x, y, w),
    ]
    for position, call in enumerate(calls):
        LOG.clear()
        torch.manual_seed(11)
        found = call()
        arrays = found if count > 1 else (found,)
        for one, other in zip(arrays, expected.outputs, strict=True):
            if not np.allclose(one, other.numpy(), rtol=1e-3, atol=1e-4):
                raise Difference(f"call {position} of the job differs by {np.abs(one - other.numpy()).max():.4g}")
        if LOG != expected.log:
            raise Difference(f"side effects {LOG}, expected {expected.log}")


def train_job(program: Program) -> None:
    """A train job of which w is the variable: three steps, by position and keyword, against steps with autograd."""
    from oneop import typing as tp

    x, y, w = inputs_of(program.seed)
    rate = 0.125

    def loss_of(x: Any, y: Any, w: Any) -> Any:
        parts = [(value * (i + 1)).sum() for i, value in enumerate(program(x, y, w)) if value.requires_grad]
        return sum(parts) if parts else None

    def step(weight: torch.Tensor) -> tuple[Any, torch.Tensor]:
        leaf = weight.clone().requires_grad_()
        loss = loss_of(x.clone(), y.clone(), leaf)
        if loss is None:
            return None, weight
        [grad] = torch.autograd.grad(loss, [leaf], allow_unused=True)
        return (None, weight) if grad is None else (loss.detach(), weight - rate * grad)

    if not program.has_gradients or step(w)[0] is None:
        return

    def body(x: Any, y: Any) -> Any:
        variable = oneop.get_variable("w", (4,), initializer=lambda shape, dtype: w.clone())
        loss = loss_of(x, y, variable)
        oneop.optimizer.SGD(rate, momentum=0).minimize(loss)
        return loss

    matrix = tp.Numpy.Placeholder((3, 4), dtype=oneop.float32)
    body.__annotations__ = {"x": matrix, "y": matrix, "return": tp.Numpy}
    oneop.clear_default_session()
    made = oneop.global_function(type="train")(body)
    given = {"x": x.numpy(), "y": y.numpy()}
    expected = w
    for position, call in enumerate((lambda: made(**given), lambda: made(*given.values()), lambda: made(**given))):
        torch.manual_seed(position)
        LOG.clear()
        loss, expected = step(expected)
        log = list(LOG)
        torch.manual_seed(position)
        LOG.clear()
        found = call()
        [weight] = [value for name, value in current_session().tensors() if name == "variable/w"]
        for what, one, other in (("loss", torch.from_numpy(found), loss), ("w", weight, expected)):
            if not torch.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True):
                raise Difference(f"step {position} of the train job: {what} is {one}, expected {other}")
        if LOG != log:
            raise Difference(f"side effects {LOG}, expected {log}")


#: torch.func.functionalize does not take custom ops that change an argument; its compilers do, in another way.
#: Programs that change an input or log cannot be run twice, as recomputation does.
_TWICE = frozenset({"changes an input", "effect"})
_CHANGES = frozenset({"changes an input"})
#: AOTAutograd leaves out random ops whose results nobody uses, torch's own too; later draws are then others.
_DRAWS = frozenset({"unused draw"})
#: Attributes that AOTInductor's files cannot hold; see tests/core/test_aot_inductor.py.
_NOT_STORED = frozenset({"complex", "shape[]", "Scalar", "empty optional list"})

ROUTES = {
    route.name: route
    for route in [
        Route("formula", formula, 1),
        Route("functional_call", functional_call, 1),
        Route("functionalize", functionalized, 1, frozenset({"changing"})),
        Route("checkpoint", checkpointed, 1, _TWICE),
        Route("vmap", vmapped, 1, frozenset({"random"})),
        Route("vmap of grad", vmap_of_grad, 1, frozenset({"random"}) | _TWICE),
        Route("vmap randomness", vmap_randomness, 1, _TWICE),
        Route("make_fx", traced, 1),
        Route("job", job, 1),
        Route("job on arrays", global_job, 1, _CHANGES),
        Route("train job", train_job, 1, _CHANGES),
        Route("compile", _compiled("aot_eager", None, (3, 5, 2, 7)), 2, _DRAWS),
        Route("compile dynamic", _compiled("aot_eager", True, (3, 5, 2, 7)), 2, _DRAWS),
        Route("redefined", redefined, 2, _DRAWS),
        Route("export", exported, 2, _DRAWS),
        Route("inductor", _compiled("inductor", None, (3, 5, 2, 7)), 3, _DRAWS),
        Route("AOTInductor", ahead_of_time, 3, _DRAWS | _NOT_STORED),
    ]
}
NEEDS = {"vmap randomness": frozenset({"random"})}


def run_route(route: Route, program: Program) -> str:
    """Return "right", "refused" or "none" (not applicable). Raises what went wrong."""
    if not route.takes(program) or not NEEDS.get(route.name, frozenset()) <= program.features:
        return "none"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            route.run(program)
        except Refused:
            return "refused"
    return "right"
