"""Jobs on several ranks: all must run one program on one batch, and an error says which rank, job and step it was.

Each rank traces its own graph. Where graphs, attributes, rates, variables or op libraries differ, collectives would mix
up what does not belong together, or wait forever. So the ranks compare what they have: the program at the first call
of a job, the inputs and the learning rate at each (meeting.py).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from oneop.authoring.keys.identity import identity_of
from oneop.errors import ArgumentError, OpRuntimeError
from oneop.jobs.meeting import Call, meet, refuse_values
from oneop.jobs.planning.schema import is_ours
from oneop.runtime.core import loaded_libraries

if TYPE_CHECKING:
    from oneop.jobs.planning.trace import TracedJob

_spread_jobs: set[str] = set()


class SpreadFunction:
    """The function of a job on several ranks, with the comparisons around it."""

    def __init__(self, traced: TracedJob, function: Callable[..., Sequence[torch.Tensor]]) -> None:
        """Compare the calls of this function from its first one on."""
        _spread_jobs.add(traced.name)
        self._traced = traced
        self._function = function
        self._step = 0

    def __call__(
        self, inputs: list[torch.Tensor], held: list[torch.Tensor], rates: list[torch.Tensor]
    ) -> Sequence[torch.Tensor]:
        """Run a step. A step that fails does not count."""
        traced = self._traced
        call = Call(
            job=traced.name,
            step=self._step,
            inputs=tuple(f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for tensor in inputs),
            sums=tuple(map(_checksum, inputs)),
            rates=tuple(map(_checksum, rates)),
        )
        try:
            have_same_values = meet(call, traced.device)
            if self._step == 0:
                _compare_programs(traced)
            if not have_same_values:
                refuse_values(call)
            outputs = self._function(inputs, held, rates)
        except ArgumentError:
            raise
        except RuntimeError as error:
            raise OpRuntimeError(
                f'job "{traced.name}", rank {dist.get_rank()} of {dist.get_world_size()}, step {self._step}: '
                f"{str(error).splitlines()[0]}\n"
                "  if it is about a connection or a time-out, another rank failed first: see its message"
            ) from error
        self._step += 1
        return outputs


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
        "inputs": str([(tuple(spec.shape), str(spec.dtype)) for spec in traced.inputs]),
        "graphs": _digest(str(_calls_of(traced.graph))),
        "optimizer": f"{type(optimizer).__name__} {sorted(settings.items())}",
        "learning rates": str(rates),
        "variables": _digest(str(held)),
        "values of the variables": _digest(",".join(f"{_checksum(value):x}" for value in traced.held)),
        "op libraries": str(sorted((name, library[0]) for name, library in loaded_libraries.items())),
        "ops": str([(name, *_identity(name)) for name in _ops_of(traced)]),
        "torch": torch.__version__,
    }


#: Calls by which DTensor cuts, pads and joins parts: others on each rank where a tensor does not split evenly.
_CUTTING = frozenset(
    "getitem alias as_strided cat chunk clone constant_pad_nd contiguous detach empty expand narrow new_empty "
    "new_zeros pad reshape select slice split split_with_sizes squeeze unsqueeze view zeros".split()
)


def _name_of(target: Any) -> str:
    schema = getattr(target, "_schema", None)
    return str(schema.name).removeprefix("aten::") if schema is not None else str(getattr(target, "__name__", target))


_PLAIN = (float, str, bool, torch.dtype)  # values that are no sizes


def _calls_of(graph: torch.fx.GraphModule) -> Details:
    """Return each call of a graph, without what may differ between ranks: sizes, where a part lies, how it is cut."""
    calls: Details = []
    for node in graph.graph.nodes:
        if node.op != "call_function" or _name_of(node.target) in _CUTTING:
            continue
        schema = getattr(node.target, "_schema", None)
        arguments = schema.arguments if schema is not None else []
        names = [argument.name for argument in arguments]
        names += [f"argument {i}" for i in range(len(names), len(node.args))]
        values = {argument.name: argument.default_value for argument in arguments if argument.has_default_value()}
        values |= {n: v for n, v in zip(names, node.args, strict=False) if isinstance(v, _PLAIN)}
        values |= node.kwargs
        shown = {
            f'"{name}"': repr(value)
            for name, value in sorted(values.items())
            if name != "part" and not isinstance(value, torch.fx.Node) and not _may_be_local(node, name, value)
        }
        calls.append((f"{node.target}", shown))
    return calls


def _may_be_local(node: Any, name: str, value: Any) -> bool:
    """Tell whether an argument may be another one on each rank: sizes are, where tensors do not split evenly."""
    if getattr(node.target, "namespace", "") != "oneop":
        return not isinstance(value, _PLAIN)
    from oneop.registry import get_op
    from oneop.sharding.local import size_attrs

    return name in {attr.name for attr in size_attrs(get_op(node.target._schema.name.partition("::")[2]))}


def _compare_programs(traced: TracedJob) -> None:
    everyone = _gathered(fingerprint(traced))
    for rank, other in enumerate(everyone):
        for what, first in everyone[0].items():
            if other.get(what) == first:
                continue
            shown = first[:160], str(other.get(what))[:160]
            place = ""
            if what in _DETAILS:  # all ranks found the same difference, so all are here
                details = _gathered(_DETAILS[what](traced))
                place, shown = _first_difference(details[0], details[rank])
            raise ArgumentError(
                f'job "{traced.name}": rank {rank} runs another program than rank 0: the {what} differ{place}\n'
                f"  rank 0: {shown[0]}\n  rank {rank}: {shown[1]}\n"
                "  all ranks must define and call the same jobs in the same order, with the same ops and settings"
            )


def _gathered(own: Any) -> list[Any]:
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, own)
    return everyone


Details = list[tuple[str, dict[str, str]]]


def _first_difference(first: Details, other: Details) -> tuple[str, tuple[str, str]]:
    """Return where two lists of named things begin to differ, and what is there in each."""
    nothing = "nothing: there are no more", dict[str, str]()
    for number, (here, there) in enumerate(itertools.zip_longest(first, other, fillvalue=nothing)):
        if here[0] != there[0]:
            return f", first at number {number}", (here[0], there[0])
        for name in [*here[1], *there[1]]:
            values = here[1].get(name, "nothing"), there[1].get(name, "nothing")
            if values[0] != values[1]:
                return f", first at number {number}, {here[0]}, in {name}", (values[0][:160], values[1][:160])
    return "", ("", "")


def _details_of_variables(traced: TracedJob) -> Details:
    pairs = zip(traced.held_names, traced.held, strict=True)
    return [(n, {"its shape": str(tuple(t.shape)), "its dtype": str(t.dtype)}) for n, t in pairs]


def _details_of_values(traced: TracedJob) -> Details:
    pairs = zip(traced.held_names, traced.held, strict=True)
    return [(n, {"its values": f"{t.flatten()[:4].tolist()}, checksum {_checksum(t):x}"}) for n, t in pairs]


#: What of a fingerprint is a digest, and how to say more about it.
_DETAILS: dict[str, Callable[[TracedJob], Details]] = {
    "graphs": lambda traced: _calls_of(traced.graph),
    "variables": _details_of_variables,
    "values of the variables": _details_of_values,
}


def _checksum(tensor: torch.Tensor) -> int:
    """Return a number that differs, but for accidents, for tensors that differ in a value or in the order of values."""
    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8).to(torch.int64)
    weights = torch.arange(1, raw.numel() + 1, device=raw.device) * 1_000_003 % 2_147_483_647
    return int((raw * weights).sum())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
