"""Random calls on DTensors against the same calls on whole tensors: one rank of such a run, and starting all of them.

A call is drawn from {op, mesh, placements, uneven and empty sizes, dtype, forward and backward, eager and compiled,
sizes that change}. Everything follows from the seed, so all ranks draw alike, and a failure is found again.
"""

import datetime
import functools
import os
import random
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 12)


def make_ops():
    """Return {name: (run, make)}: `make(draw)` gives whole inputs, whether they are differentiated, and attributes."""
    import sharded_cpp
    import sharded_ops as ops
    import torch
    from torch.distributed.tensor import Replicate

    import oneop

    cpp = sharded_cpp.load()

    def composition(schema, kernel, **options):
        op = oneop.define(schema, **options)
        op.register_kernel(language="torch")(kernel)
        return op

    gelu = composition("r_gelu(Tensor x) -> Tensor y", torch.nn.functional.gelu, infer="elementwise")
    product = composition("r_product(Tensor a, Tensor b) -> Tensor c", lambda a, b: a @ b, infer="m k, k n -> m n")
    norm = composition(
        "r_norm(Tensor x, Tensor w) -> Tensor y",
        lambda x, w: x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * w,
        sbp=["S(0), B -> S(0)"],
    )
    norm.register_infer(lambda x, w: x)
    pair = composition(
        "r_pair(Tensor x, Tensor w) -> (Tensor a, Tensor b)",
        lambda x, w: (x * w, (x * w).sum(0)),
        sbp=["S(0), B -> S(0), P", "S(1), S(0) -> S(1), S(0)", "P, B -> P, P"],
    )
    pair.register_infer(lambda x, w: (x, w))
    masked = composition(
        "r_masked(Tensor x) -> Tensor y",
        lambda x: x.masked_fill(torch.ones(x.shape[1], dtype=torch.bool).cumsum(0) % 2 == 0, 0.0),
        sbp=["S(0) -> S(0)", "P -> P"],
    )
    masked.register_infer(lambda x: x)
    top = composition(
        "r_top(Tensor x) -> Tensor y",
        lambda x: torch.nn.functional.pad(x, (0, 1), value=-torch.inf).amax(1),
        differentiable=False,
        sbp=["S(0) -> S(0)", "S(1) -> P(max)"],
    )
    top.register_infer(lambda x: x.like(shape=x.shape[:1]))
    rows = oneop.define(
        "r_rows(Tensor x) -> Tensor y", infer="elementwise", differentiable=False, asks_part=True, sbp=["S(0) -> S(0)"]
    )

    @rows.register_kernel("cpu")
    def _(x):
        start, stop = oneop.sharding.part(x).range_of(0, 0)
        import numpy as np

        return x + np.arange(start, stop, dtype=x.dtype)[:, None]

    def added(x, y):
        changed = x.detach() * 1.0
        if any(placement.is_partial() for placement in getattr(changed, "placements", ())):
            y = y.redistribute(y.device_mesh, [Replicate()] * y.device_mesh.ndim)  # torch turns no split into a sum
        ops.add_(changed, y.detach())
        return changed

    def blocks(x, block):
        return ops.blocks(x, block=block)

    def floats(draw, *shape):
        return draw.tensor(*shape)

    def matrix(draw):
        return [floats(draw, draw.rows(), draw.size())], {}

    def two(draw):
        shape = (draw.rows(), draw.size())
        return [floats(draw, *shape), floats(draw, *shape)], {}

    def mm(draw):
        k = draw.size()
        return [floats(draw, draw.rows(), k), floats(draw, k, draw.size())], {}

    def table(draw):
        n = draw.size()
        ids = torch.tensor([draw.random.randrange(n) for _ in range(draw.rows())], dtype=torch.int64)
        return [floats(draw, n, draw.size()), ids], {}

    def expanded(draw):
        n = draw.rows()
        return [floats(draw, n, 1)], {"shape": [n, draw.size()]}

    def with_row(draw):
        n = draw.size()
        return [floats(draw, draw.rows(), n), floats(draw, n)], {}

    def blocked(draw):
        block = draw.random.choice((1, 2, 3, 4))
        return [floats(draw, draw.rows(), block * draw.random.choice((1, 2, 3, 4)))], {"block": block}

    def times(draw):
        return [floats(draw, draw.rows(), draw.size())], {"times": draw.random.choice((2, 3))}

    def by(draw):
        return matrix(draw)[0], {"by": draw.random.choice((2.0, -3.0))}

    def along(draw):
        return matrix(draw)[0], {"dim": draw.random.choice((0, 1))}

    def axis(draw):
        return matrix(draw)[0], {"axis": draw.random.choice((0, 1))}

    def double(make):
        def made(draw):
            tensors, attrs = make(draw)
            return [t.double() if t.is_floating_point() else t for t in tensors], attrs

        return made

    return {
        "relu": (ops.relu, matrix),
        "scale": (ops.scale, by),
        "add_": (added, two),
        "add_n": (lambda *xs, **attrs: ops.add_n(list(xs), **attrs), two),
        "matmul": (ops.matmul, mm),
        "softmax": (ops.softmax, along),
        "embedding": (ops.embedding, table),
        "repeat": (ops.repeat, times),
        "expand": (ops.expand, expanded),
        "affine": (ops.affine, with_row),
        "min_max": (ops.min_max, along),
        "twice": (ops.twice, matrix),
        "gelu": (gelu, matrix),
        "product": (product, mm),
        "norm": (norm, with_row),
        "pair": (pair, with_row),
        "masked": (masked, matrix),
        "top": (top, matrix),
        "rows": (rows, matrix),
        "blocks": (blocks, blocked),
        "c_scale": (cpp.c_scale, double(by)),
        "c_copy": (cpp.c_copy, double(axis)),
        "c_weighted": (cpp.c_weighted, double(two)),
        "c_expand": (cpp.c_expand, double(expanded)),
    }


class Draw:
    """What a call is drawn with."""

    def __init__(self, seed, dtype, allows_empty):
        self.random = random.Random(seed)
        self.dtype = dtype
        self._allows_empty = allows_empty

    def size(self):
        return self.random.choice(SIZES)

    def rows(self):
        """A size of the first axis: often one that is cut unevenly, or not at all."""
        few = (0, 1) if self._allows_empty else (2,)
        return self.random.choice((*SIZES, *few))

    def tensor(self, *shape):
        import torch

        generator = torch.Generator().manual_seed(self.random.randrange(2**31))
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(self.dtype)

    def placements(self, tensor, mesh):
        from torch.distributed.tensor import Partial, Replicate, Shard

        options = [Replicate(), *(Shard(axis) for axis in range(tensor.ndim))]
        if tensor.is_floating_point():
            options.append(Partial())
        return tuple(self.random.choice(options) for _ in range(mesh.ndim))


def close(found, whole, what):
    import torch
    from torch.distributed.tensor import DTensor

    found = found.full_tensor() if isinstance(found, DTensor) else found
    assert found.shape == whole.shape and found.dtype == whole.dtype, (what, found.shape, whole.shape, found.dtype)
    if not whole.numel():
        return
    if not whole.is_floating_point():
        assert torch.equal(found, whole), what
        return
    limit = {torch.float64: 1e-9, torch.float32: 2e-4}[whole.dtype] * max(1.0, float(whole.abs().max()))
    gap = float((found - whole).abs().max())
    assert gap <= limit, (what, gap)


def outputs_of(results):
    import torch

    return [results] if isinstance(results, torch.Tensor) else list(results)


def one_call(run, tensors, attrs, draw, mesh, backward, what):
    """Run a call on whole tensors and on DTensors and compare. Returns False where the op refuses the whole call."""
    import torch
    from cases import spread
    from torch.distributed.tensor import Replicate, distribute_tensor

    placed = [draw.placements(tensor, mesh) for tensor in tensors]
    what = (*what, [tuple(t.shape) for t in tensors], placed, attrs)
    needs = [backward and t.is_floating_point() for t in tensors]
    wholes = [t.clone().requires_grad_(need) for t, need in zip(tensors, needs, strict=True)]
    try:
        expected = outputs_of(run(*wholes, **attrs))
    except Exception:
        if any(0 in t.shape for t in tensors):
            return False  # the maximum of nothing, say
        raise
    parts = [spread(t, mesh, p).requires_grad_(need) for t, p, need in zip(tensors, placed, needs, strict=True)]
    found = outputs_of(run(*parts, **attrs))
    for one, other in zip(found, expected, strict=True):
        close(one.detach(), other.detach(), what)
    differentiable = [i for i, one in enumerate(expected) if one.requires_grad]
    if backward and differentiable:
        # torch.compile wants all outputs that are DTensors used, and says so: https://github.com/pytorch/pytorch/issues/172556
        all_used = "compiled" in what
        used = [i for i in differentiable if all_used or i == differentiable[0] or draw.random.random() < 0.5]
        weights = [
            torch.linspace(-1, 1, expected[i].numel(), dtype=expected[i].dtype).reshape(expected[i].shape) for i in used
        ]
        sum((expected[i] * w).sum() for i, w in zip(used, weights, strict=True)).backward()
        sum(
            (found[i] * distribute_tensor(w, mesh, [Replicate()] * mesh.ndim)).sum()
            for i, w in zip(used, weights, strict=True)
        ).backward()
        for number, (part, whole) in enumerate(zip(parts, wholes, strict=True)):
            if needs[number] and whole.grad is not None:
                close(part.grad, whole.grad, (*what, "gradient", number))
    return True


def run_calls(mesh, seed, eager, compiled):
    """Run so many eager calls, and compiled functions with four sizes each. Returns how many calls were compared."""
    import torch

    ops = make_ops()
    names = sorted(ops)
    compared = 0
    for number in range(eager):
        chooser = random.Random(seed * 100_003 + number)
        name = chooser.choice(names)
        dtype = chooser.choice((torch.float32, torch.float64))
        draw = Draw(chooser.randrange(2**31), dtype, allows_empty=True)
        run, make = ops[name]
        tensors, attrs = make(draw)
        what = (seed, number, name, tuple(mesh.shape), dtype)
        compared += one_call(run, tensors, attrs, draw, mesh, chooser.random() < 0.6, what)
    for number in range(compiled):
        chooser = random.Random(seed * 100_003 + 50_000 + number)
        name = chooser.choice(names)
        dynamic = chooser.choice((None, True))
        backward = chooser.random() < 0.5
        run, make = ops[name]
        torch._dynamo.reset()
        fast = torch.compile(functools.partial(run), backend="aot_eager", dynamic=dynamic, fullgraph=True)
        fixed = chooser.randrange(2**31)
        for size in range(4):
            draw = Draw(
                fixed if chooser.random() < 0.3 else chooser.randrange(2**31), torch.float64, allows_empty=False
            )
            tensors, attrs = make(draw)
            draw.random = random.Random(fixed)  # the same placements, mostly, for other sizes
            what = (seed, number, name, tuple(mesh.shape), "compiled", dynamic, size)
            compared += one_call(fast, tensors, attrs, draw, mesh, backward, what)
    return compared


def main():
    rank, world, folder, seed, eager, compiled, *meshes = sys.argv[1:]
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 64
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=int(rank),
        world_size=int(world),
        timeout=datetime.timedelta(seconds=300),
    )
    from torch.distributed.device_mesh import init_device_mesh

    try:
        total = 0
        for text in meshes:
            mesh = init_device_mesh("cpu", tuple(int(size) for size in text.split("x")))
            total += run_calls(mesh, int(seed), int(eager), int(compiled))
        print(f"compared {total}", flush=True)
        dist.barrier()
    except Exception:
        print(traceback.format_exc()[-3500:], flush=True)
        os._exit(1)  # the others wait for this rank
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # without Python's end, which may abort: see ABORT_OF_GLOO in tests/conftest.py


def run_ranks(folder, world, meshes, seed, eager, compiled, limit=280, python=(sys.executable,)):
    """Start the ranks and wait. Returns how many calls were compared; raises AssertionError with what went wrong."""
    import sharded_cpp

    sharded_cpp.load()  # built once, before the ranks want it
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])}
    environment |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    arguments = [str(folder), str(seed), str(eager), str(compiled), *meshes]
    ranks = [
        subprocess.Popen(
            [*python, HERE / "differential.py", str(rank), str(world), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        said = [rank.communicate(timeout=limit)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    failed = [rank for rank, process in enumerate(ranks) if process.returncode]
    failed.sort(key=lambda rank: "gloo/transport" in said[rank])  # these only lost the one that failed first
    assert not failed, f"rank {failed[0]} of {world}, seed {seed}:\n{said[failed[0]][-3500:]}"
    return int(said[0].split("compared ")[1].split()[0])


if __name__ == "__main__":
    main()
