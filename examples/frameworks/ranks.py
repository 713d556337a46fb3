"""A model with an op under DDP, FSDP2, tensor parallelism and pipelining, on two processes with gloo.

Each way trains one step, and its gradients are compared with those of one process.
"""

import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

import oneop

swish = oneop.define("frameworks_swish(Tensor x, *, float beta=1.0) -> Tensor y", infer="elementwise")


@swish.register_kernel("cpu")
def kernel(x, beta):
    return x * (1 + np.tanh(x.dtype.type(beta / 2) * x)) / 2


@swish.register_grad
def grad(ctx, dy):
    s = torch.sigmoid(ctx.beta * ctx.x)
    return dy * (s + ctx.beta * ctx.x * s * (1 - s))


# [model
class Swish(nn.Module):
    def forward(self, x):
        return swish(x)


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), Swish(), nn.Linear(8, 2))


# model]


def loss_of(y):
    return y.square().mean()


def with_ddp(rank, x):
    # [ddp
    model = nn.parallel.DistributedDataParallel(make_model())
    loss_of(model(x.chunk(2)[rank])).backward()
    # ddp]
    return [p.grad for p in model.parameters()]


def with_fsdp(rank, x):
    # [fsdp
    from torch.distributed.fsdp import fully_shard

    model = make_model()
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    loss_of(model(x.chunk(2)[rank])).backward()
    # fsdp]
    return [p.grad.full_tensor() for p in model.parameters()]


def with_tensor_parallel(rank, x):
    # [tp
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model = make_model()
    parallelize_module(model, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    loss_of(model(x)).backward()
    # tp]
    return [p.grad.full_tensor() for p in model.parameters()]


def with_pipeline(rank, x):
    # [pipeline
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    model = make_model()
    part = model[:2] if rank == 0 else model[2:]
    stage = PipelineStage(part, rank, num_stages=2, device=torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=lambda y, target: loss_of(y - target))
    if rank == 0:
        schedule.step(x)
    else:
        schedule.step(target=torch.zeros(len(x), 2))
    # pipeline]
    return [p.grad for p in model.parameters()]


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    model = make_model()
    loss_of(model(x)).backward()
    expected = [p.grad for p in model.parameters()]
    for way in (with_ddp, with_fsdp, with_tensor_parallel, with_pipeline):
        for gradient, whole in zip(way(rank, x), expected, strict=True):
            if gradient is not None:  # a rank of a pipeline has those of its own part
                torch.testing.assert_close(gradient, whole)
        if rank == 0:
            print(f"{way.__name__}: gradients equal to one process")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(run, (port,), nprocs=2)
