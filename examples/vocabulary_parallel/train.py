"""A split vocabulary on 2 or 4 ranks, eager and compiled, compared with one process.

    torchrun --standalone --nproc_per_node=4 train.py

or plainly `python train.py`, which does that on 4 ranks; `--ranks 2` on 2.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import loss
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

VOCABULARY, WIDTH, TOKENS, STEPS, RATE = 13, 8, 10, 3, 0.5  # no number of ranks divides the vocabulary


def train(model, parameters, ids, labels):
    """A few steps; returns the losses."""
    optimizer = torch.optim.SGD(parameters, lr=RATE)
    losses = []
    for _ in range(STEPS):
        found = model(*parameters, ids, labels)
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        losses.append(found.detach())
    return losses


def data():
    generator = torch.Generator().manual_seed(1)
    table = torch.randn(VOCABULARY, WIDTH, generator=generator, dtype=torch.float64)
    head = torch.randn(WIDTH, VOCABULARY, generator=generator, dtype=torch.float64)
    ids, labels = (torch.randint(VOCABULARY, (TOKENS,), generator=generator) for _ in range(2))
    return table, head, ids, labels


def reference(table, head, ids, labels):
    return torch.nn.functional.cross_entropy(torch.nn.functional.embedding(ids, table) @ head, labels)


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def main():
    """What every rank does."""
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    table, head, ids, labels = data()
    alone = [t.clone().requires_grad_() for t in (table, head)]
    expected = train(reference, alone, ids, labels)
    compiled = torch.compile(loss.model, backend="aot_eager")
    for what, model in (("eager", loss.model), ("compiled", compiled)):
        parameters = [
            distribute_tensor(table, mesh, [Shard(0)]).requires_grad_(),
            distribute_tensor(head, mesh, [Shard(1)]).requires_grad_(),
        ]
        tokens = [distribute_tensor(t, mesh, [Replicate()]) for t in (ids, labels)]
        losses = [whole(one) for one in train(model, parameters, *tokens)]  # on all ranks: gathering needs them all
        for found, wanted in [*zip(losses, expected, strict=True), *zip(parameters, alone, strict=True)]:
            torch.testing.assert_close(whole(found.detach()), wanted.detach(), rtol=1e-9, atol=1e-9)
        assert parameters[0].grad.placements == (Shard(0),)
        if dist.get_rank() == 0:
            text = [round(float(one), 6) for one in losses]
            print(f"{dist.get_world_size()} ranks, {what}: losses {text}, as in one process")
    dist.barrier()  # so that no rank ends while a thread of gloo still holds the tensors of its last collective
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    if "RANK" in os.environ:
        main()
    else:
        ranks = parser.parse_args().ranks
        start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
        sys.exit(subprocess.run([*start, *sys.argv], env={"OMP_NUM_THREADS": "1", **os.environ}).returncode)
