"""Data parallel times tensor parallel: a transformer block on a grid of 2 by 2, compared with one process.

    torchrun --standalone --nproc_per_node=4 train.py

or plainly `python train.py`, which does that; `--ranks 2` on 2. It trains eagerly, then compiled.
`--fail-on-rank 1` has a kernel fail on one rank, to see what happens.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import block
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

WIDTH, HEADS, BATCH, LENGTH, STEPS, RATE = 16, 4, 4, 6, 3, 0.1

#: Where each parameter lies along the second dimension of the grid: columns, then rows, as in Megatron.
SPLIT = {name: Shard(1) for name in ("wq", "wk", "wv", "w1")} | {"wo": Shard(0), "w2": Shard(0)}


def train(x, target, p, model=block.block):
    """A few steps; returns the losses."""
    optimizer = torch.optim.SGD(p.values(), lr=RATE, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        loss = (model(x, p, HEADS) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def data():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(BATCH, LENGTH, WIDTH, generator=generator, dtype=torch.float64) for _ in range(2)]


@record  # torchrun's report then has this rank's message
def main(fail_on_rank):
    """What every rank does."""
    enough = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])  # a GPU for each rank of this machine
    device = "cuda" if enough else "cpu"
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    world = dist.get_world_size()
    mesh = init_device_mesh(device, (world // 2, 2), mesh_dim_names=("data", "tensor"))
    if fail_on_rank == dist.get_rank():
        fail()

    x, target = (distribute_tensor(t.to(device), mesh, [Shard(0), Replicate()]) for t in data())
    alone = {name: t.to(device).requires_grad_() for name, t in block.parameters(WIDTH).items()}
    expected = train(*(t.to(device) for t in data()), alone)
    compiled = torch.compile(block.block, backend="inductor" if device == "cuda" else "aot_eager")
    for what, model in (("eager", block.block), ("compiled", compiled)):
        p = {
            name: distribute_tensor(t.to(device), mesh, [Replicate(), SPLIT.get(name, Replicate())]).requires_grad_()
            for name, t in block.parameters(WIDTH).items()
        }
        losses = [loss.full_tensor() for loss in train(x, target, p, model)]
        for found, whole in [(losses, expected), (p.values(), alone.values())]:
            for one, other in zip(found, whole, strict=True):
                gathered = getattr(one, "full_tensor", lambda one=one: one)()
                torch.testing.assert_close(gathered, other, rtol=1e-9, atol=1e-9)
        if dist.get_rank() == 0:
            print(f"{world} ranks, mesh {tuple(mesh.shape)}, {what}: losses {[round(float(one), 6) for one in losses]}")
            print("losses and parameters are those of one process")
    dist.barrier()  # so that no rank ends while a thread of gloo still holds the tensors of its last collective
    dist.destroy_process_group()


def fail():
    """Have this rank's gelu fail."""

    @block.gelu.register_kernel("cpu", priority=1)
    def broken(x):
        raise ValueError(f"this rank ({dist.get_rank()}) has no gelu today")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fail-on-rank", type=int, default=-1)
    parser.add_argument("--ranks", type=int, default=4)
    given = parser.parse_args()
    if "RANK" in os.environ:
        main(given.fail_on_rank)
    else:
        start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={given.ranks}"]
        sys.exit(subprocess.run([*start, *sys.argv], env={"OMP_NUM_THREADS": "1", **os.environ}).returncode)
