"""What the ranks say to each other before each step of a job on several devices: which call it is, or that one cannot.

A rank that refuses its call, for a batch of another shape say, must tell the others: they would wait for it until the
time-out of the process group. So every call of a job on several ranks begins with one collective of one size, whatever
the job: a header. A rank whose call is refused sends a header that says so, and the text through the group's store.
Where headers differ all ranks know it, and a second collective, which only then takes place, tells what differs.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from oneop.errors import ArgumentError

#: How long a rank that refuses its call waits for the others to hear of it before it raises.
PATIENCE = timedelta(seconds=10)
_HERE, _REFUSED = 0, 1
_refusals = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a job as the other ranks must have it too. Checksums are of values."""

    job: str
    step: int
    inputs: tuple[str, ...]  # dtypes and shapes
    sums: tuple[int, ...] = ()
    rates: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return which call it is."""
        return f'job "{self.job}", step {self.step}, on {", ".join(self.inputs) or "no inputs"}'


def meet(call: Call, device: torch.device) -> bool:
    """Wait for all ranks. Raises `ArgumentError` on all of them where one refused, or calls something else.

    Returns whether all have the same values; if not, `refuse_values` says which differ.
    """
    everyone = _exchange([_HERE, _number((call.job, call.inputs)), call.step, _number((call.sums, call.rates))], device)
    refused = [(rank, header[1]) for rank, header in enumerate(everyone) if header[0] == _REFUSED]
    if refused:
        rank, number = refused[0]
        raise ArgumentError(
            f'job "{call.job}", step {call.step}: rank {rank} refused its call, so no rank runs this step\n'
            f"  rank {rank}: {_said(rank, number)}\n  all ranks must call a job on several devices with the same batch"
        )
    if all(header == everyone[0] for header in everyone):
        return True
    if all(header[:3] == everyone[0][:3] for header in everyone):
        return False
    calls = _calls(call)
    for rank, other in enumerate(calls):
        if (other.job, other.inputs, other.step) != (calls[0].job, calls[0].inputs, calls[0].step):
            raise ArgumentError(
                f'job "{call.job}", step {call.step}: rank {rank} makes another call than rank 0\n'
                f"  rank 0: {calls[0]}\n  rank {rank}: {other}\n"
                "  all ranks must call the same jobs in the same order, with batches of the same shapes"
            )
    raise AssertionError("headers differ, and calls do not")


def refuse_values(call: Call) -> None:
    """Raise `ArgumentError`, on all ranks, that names the first input that is another one on a rank."""
    calls = _calls(call)
    for rank, other in enumerate(calls):
        pairs = zip(other.sums, calls[0].sums, strict=True)
        differing = [i for i, (here, there) in enumerate(pairs) if here != there]
        if differing or other.rates != calls[0].rates:
            what = f"input {differing[0]}" if differing else "the learning rate"
            raise ArgumentError(
                f'job "{call.job}", step {call.step}: {what} of rank {rank} is not that of rank 0\n'
                "  all ranks call a job on several devices with the same whole arrays; each computes its part of them\n"
                "  with a loader on each rank, gather the batches first, or use DTensor.from_local and the ops directly"
            )


def _calls(own: Call) -> list[Call]:
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, own)
    return everyone


def refuse(error: BaseException, device: torch.device) -> None:
    """Tell the ranks that wait for this one that its call is refused, and why. The caller raises the error then.

    A rank that makes its call later than `PATIENCE` hears of it all the same, as long as this process is there.
    """
    number = next(_refusals)
    _store().set(_key(dist.get_rank(), number), str(error).partition("\n")[0])
    try:
        _exchange([_REFUSED, number, 0, 0], device, PATIENCE)
    except RuntimeError:
        error.add_note("the other ranks have not called the job yet; they are told when they do")


@contextlib.contextmanager
def refusing(device: torch.device | None) -> Iterator[None]:
    """Let the other ranks know if the block fails; without a device nobody waits for this rank."""
    try:
        yield
    except Exception as error:
        if device is not None:
            refuse(error, device)
        raise


def mark_spread(error: BaseException, device: torch.device, ranks: Sequence[int]) -> None:
    """Note on the error of a trace that the job is one of several ranks, which may wait for this one."""
    if dist.is_available() and dist.is_initialized() and 1 < len(ranks) == dist.get_world_size():
        error.__dict__["_oneop_spread_on"] = device


@contextlib.contextmanager
def refusing_traces() -> Iterator[None]:
    """Let the other ranks know if a job of several ranks cannot be traced in a call."""
    try:
        yield
    except Exception as error:
        device = getattr(error, "_oneop_spread_on", None)
        if device is not None:
            if device.type == "cuda":
                device = torch.device("cuda", torch.cuda.current_device())
            refuse(error, device)
        raise


def _exchange(header: list[int], device: torch.device, patience: timedelta | None = None) -> list[list[int]]:
    own = torch.tensor(header, dtype=torch.int64, device=device)
    everyone = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    work: Any = dist.all_gather(everyone, own, async_op=True)
    if patience is None:
        work.wait()
    else:
        work.wait(patience)
    return [row.tolist() for row in everyone]


def _said(rank: int, number: int) -> str:
    return str(_store().get(_key(rank, number)).decode(errors="replace"))


def _key(rank: int, number: int) -> str:
    return f"oneop/refused/{rank}/{number}"


def _store() -> Any:
    return dist.distributed_c10d._get_default_store()


def _number(what: object) -> int:
    """Return a number for a value; others, but for accidents, have other ones."""
    return int(hashlib.sha256(repr(what).encode()).hexdigest()[:15], 16)
