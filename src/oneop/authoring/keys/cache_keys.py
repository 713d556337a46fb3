"""No stale compiled code: what is registered for an op is part of the keys of torch's caches, on disk and in memory.

torch keys compiled programs by the graph, in which an op is a name. So the digest of each op of a graph (identity.py)
is added to the keys:

- FX graph cache (Inductor's code): the digests of the ops in the graph. It is traced already, nothing else is in it.
- AOTAutograd cache (the traced forward and backward): also the digest of all ops, since tracing runs gradients and
  compositions, and those may call any op.
- AOTInductor and `torch.export` trace again at each call and have no such cache.
- In memory torch keeps compiled code by Python function. It is guarded on the revision of each op that was traced, and
  on what functions capture: see guards.py and captures.py.

Both disk caches make their keys from `FxGraphHashDetails`, which all torch versions that we support have; a subclass
serves AOTAutograd. Where an op holds a value that cannot be digested, the caches are bypassed for its graphs, as torch
does for graphs that it cannot key. Should a torch have no such class, its caches are switched off: slow, not wrong.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from oneop.authoring.keys.captures import captured, guard_captured, used_by_kernels
from oneop.authoring.keys.guards import change_revisions, guard_cached, guard_op, revisions
from oneop.authoring.keys.identity import identity_of, identity_of_all
from oneop.runtime.after_import import after_import
from oneop.runtime.core import after_defining, after_loading, core
from oneop.runtime.requirement import follow, required
from oneop.runtime.traced_calls import trace_hooks


def ops_in(graph_module: torch.fx.GraphModule | None) -> list[str]:
    """Return the names of oneop's ops in a graph and the graphs inside it, also those that other ops are given."""
    names: set[str] = set()
    for module in () if graph_module is None else graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                names.update(_names((node.target, node.args, node.kwargs)))
    return sorted(names)


def _names(value: object) -> Iterator[str]:
    if isinstance(value, torch._ops.OpOverload) and value.namespace == "oneop":
        yield value._schema.name.partition("::")[2]
    elif isinstance(value, torch._ops.OpOverloadPacket):
        space, _, name = value._qualified_op_name.partition("::")
        if space == "oneop":
            yield name
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _names(item)
    elif isinstance(value, dict):
        yield from _names(list(value.values()))


def _details_of(graph_module: torch.fx.GraphModule | None, codecache: Any, *, is_traced: bool) -> object:
    """Return what a key must contain beside what torch puts in. Raises torch's `BypassFxGraphCache`."""
    names = ops_in(graph_module)
    if not names:
        return None
    if not is_traced:
        guard_cached()
    known = set(core().op_names())
    identities = {name: identity_of(name) for name in names if name in known}
    folds = bool(codecache.config.freezing)  # then ops are run while compiling, and results are kept
    for identity in identities.values():
        if identity.traced is None or (folds and identity.kernels is None):
            raise codecache.BypassFxGraphCache(identity.problem)
    digests = [(name, identity.traced, identity.kernels or "") for name, identity in identities.items()]
    return (digests, required(), "" if is_traced else identity_of_all())


def _extend(codecache: ModuleType) -> None:
    """Add our details to those from which torch makes keys."""
    details: Any = getattr(codecache, "FxGraphHashDetails", None)
    if details is None or not hasattr(codecache, "BypassFxGraphCache"):
        torch.compiler.config.force_disable_caches = True
        warnings.warn(
            f"oneop does not know how torch {torch.__version__} keys its compile caches; they are switched off",
            stacklevel=2,
        )
        return
    original = details.__init__

    @functools.wraps(original)
    def __init__(self: Any, gm: Any, *args: Any, **kwargs: Any) -> None:
        original(self, gm, *args, **kwargs)
        self.oneop = _details_of(gm, codecache, is_traced=type(self) is details)

    details.__init__ = __init__


def install() -> None:
    """Extend torch's keys, now or when torch first makes one."""
    after_import("torch._inductor.codecache", _extend)
    after_defining(change_revisions)
    after_loading(lambda module: module.set_trace_hook(guard_op))
    after_loading(lambda module: follow(module.set_required))
    follow(lambda bits: setattr(revisions, "required", bits))
    after_defining(captured.watch)
    after_defining(used_by_kernels.watch)
    trace_hooks.append(guard_captured)
