"""Jobs on several ranks: all must run one program on one batch, and an error says which rank, job and step it was.

Each rank traces its own graph. Where graphs, attributes, rates, variables or op libraries differ, collectives would mix
up what does not belong together, or wait for ever. So the ranks compare what they have: the program at the first call
of a job, the inputs and the learning rate at each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from oneop.authoring.keys.identity import identity_of
from oneop.errors import ArgumentError, OpRuntimeError
from oneop.jobs.schema import is_ours
from oneop.runtime.core import loaded_libraries

if TYPE_CHECKING:
    from oneop.jobs.trace import TracedJob

Function = Callable[..., Sequence[torch.Tensor]]
_spread_jobs: set[str] = set()


def alike_on_all_ranks(traced: TracedJob, function: Function) -> Function:
    """Return the function of a job on several ranks with the comparisons around it."""
    _spread_jobs.add(traced.name)
    step = 0

    def run(inputs: list[torch.Tensor], held: list[torch.Tensor], rates: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        nonlocal step
        try:
            if step == 0:
                _compare_programs(traced, fingerprint(traced))
            _compare_values(traced.name, step, inputs, rates)
            outputs = function(inputs, held, rates)
        except ArgumentError:
            raise
        except RuntimeError as error:
            raise OpRuntimeError(
                f'job "{traced.name}", rank {dist.get_rank()} of {dist.get_world_size()}, step {step}: '
                f"{str(error).splitlines()[0]}\n"
                "  if it is about a connection or a time-out, another rank failed first: see its message"
            ) from error
        step += 1
        return outputs

    return run


def writes_checkpoints() -> bool:
    """Tell whether this rank writes checkpoints: with jobs on several ranks, which have the same values, the first."""
    return not _spread_jobs or not dist.is_initialized() or dist.get_rank() == 0


def _ops_of(traced: TracedJob) -> list[str]:
    return sorted({node.target._opname for node in traced.graph.graph.nodes if is_ours(node)})


def _identity(name: str) -> tuple[str, str]:
    """Return the digests of an op's rules and kernels; nothing for what cannot be digested."""
    identity = identity_of(name)
    return (identity.traced or "")[:16], (identity.kernels or "")[:16]


def fingerprint(traced: TracedJob) -> dict[str, str]:
    """Return what must be the same on all ranks: for each kind of thing a text, or a digest where that is long."""
    optimizer = traced.optimizer
    rates = [] if optimizer is None else [optimizer.schedule.rate(step) for step in (0, 1, 2, 5, 10, 100, 1000, 10_000)]
    settings = {} if optimizer is None else {k: v for k, v in vars(optimizer).items() if k != "schedule"}
    held = [(n, tuple(t.shape), str(t.dtype)) for n, t in zip(traced.held_names, traced.held, strict=True)]
    return {
        "job": traced.name,
        "inputs": str([(tuple(one.shape), str(one.dtype)) for one in traced.inputs]),
        "graph": _digest("\n".join(_node_texts(traced.graph))),
        "optimizer": f"{type(optimizer).__name__} {sorted(settings.items())}",
        "learning rates": str(rates),
        "variables": _digest(str(held)),
        "values of the variables": _digest(",".join(f"{_checksum(value):x}" for value in traced.held)),
        "op libraries": str(sorted((name, found[0]) for name, found in loaded_libraries.items())),
        "ops": str([(name, *_identity(name)) for name in _ops_of(traced)]),
        "torch": torch.__version__,
    }


def _node_texts(graph: torch.fx.GraphModule) -> list[str]:
    """Return each call of a graph, without what may differ between ranks: sizes, and where a part lies."""
    texts = []
    for node in graph.graph.nodes:
        if node.op != "call_function":
            continue
        constants = [value for value in node.args if isinstance(value, (float, str, bool, torch.dtype))]
        named = {
            name: value
            for name, value in node.kwargs.items()
            if name != "part" and not isinstance(value, torch.fx.Node) and not _may_be_local(node, name, value)
        }
        texts.append(f"{node.target} {constants} {sorted(named.items(), key=str)}")
    return texts


def _may_be_local(node: Any, name: str, value: Any) -> bool:
    """Tell whether an argument may be another one on each rank: sizes are, where tensors do not split evenly."""
    if getattr(node.target, "namespace", "") != "oneop":
        return not isinstance(value, (float, str, bool, torch.dtype))
    from oneop.registry import get_op
    from oneop.sharding.local import size_attrs

    return name in {attr.name for attr in size_attrs(get_op(node.target._schema.name.partition("::")[2]))}


def _compare_programs(traced: TracedJob, own: dict[str, str]) -> None:
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, own)
    for rank, other in enumerate(everyone):
        for what, mine in everyone[0].items():
            if other.get(what) == mine:
                continue
            shown = (mine[:160], str(other.get(what))[:160])
            raise ArgumentError(
                f'job "{own["job"]}": rank {rank} runs another program than rank 0: the {what} differ\n'
                f"  rank 0: {shown[0]}\n  rank {rank}: {shown[1]}\n"
                "  all ranks must define and call the same jobs in the same order, with the same ops and settings"
            )


def _compare_values(name: str, step: int, inputs: Sequence[torch.Tensor], rates: Sequence[torch.Tensor]) -> None:
    device = inputs[0].device if inputs else torch.device("cpu")
    own = torch.tensor([*map(_checksum, inputs), *map(_checksum, rates)], dtype=torch.int64, device=device)
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, own)
    for rank, other in enumerate(everyone):
        differing = (other != everyone[0]).nonzero().flatten().tolist()
        if not differing:
            continue
        what = f"input {differing[0]}" if differing[0] < len(inputs) else "the learning rate"
        raise ArgumentError(
            f'job "{name}", step {step}: {what} of rank {rank} is not that of rank 0\n'
            "  all ranks call a job on several devices with the same whole arrays; each computes its part of them\n"
            "  with a loader on each rank, gather the batches first, or use DTensor.from_local and the ops directly"
        )


def _checksum(tensor: torch.Tensor) -> int:
    """Return a number that differs, but for accidents, for tensors that differ in a value or in the order of values."""
    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8).to(torch.int64)
    weights = torch.arange(1, raw.numel() + 1, device=raw.device) * 1_000_003 % 2_147_483_647
    return int((raw * weights).sum())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
