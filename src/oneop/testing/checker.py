"""`check`: all families for one op."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError, MissingDependencyError
from oneop.registry import list_ops
from oneop.runtime.core import core
from oneop.testing.accepted import with_accepted_values
from oneop.testing.accuracy import NARROW
from oneop.testing.case import Case
from oneop.testing.domain.probe import Choice, Domain, find_domain
from oneop.testing.domain.templates import Template
from oneop.testing.families import (
    agreement,
    aliases,
    crashes,
    environment,
    hosts,
    inference,
    invariance,
    layouts,
    leaks,
    memory,
    placement,
    programs,
    repetition,
    sizes,
    special,
    streams,
    transforms,
    values,
)
from oneop.testing.families.context import Context, Family, skipped
from oneop.testing.families.gradients import first, graph, kinds, second, variants
from oneop.testing.idle_threads import idle_threads
from oneop.testing.report import FAILED, CheckReport, Failure, Outcome
from oneop.testing.subject import Bounds, Hints, Subject, make_hints, name_of, subject_of

if TYPE_CHECKING:
    from oneop._core import Op

#: Processor time for the calls of one family. Those that are left out then are told.
SECONDS = 8.0

#: What is verified, in this order: a kernel that writes where it must not is run no further.
FAMILIES: dict[str, Family] = {
    "crashes": crashes.crashes,
    "memory": memory.memory,
    "inference": inference.inference,
    "streams": streams.streams,
    "determinism": repetition.determinism,
    "kernels": agreement.kernels,
    "reference": agreement.reference,
    "values": values.values,
    "layouts": layouts.layouts,
    "sizes": sizes.sizes,
    "special values": special.special_values,
    "aliases": aliases.aliases,
    "environment": environment.environment,
    "leaks": leaks.leaks,
    "threads": repetition.threads,
    "gradient": first.gradient,
    "second gradient": second.second_gradient,
    "graph gradient": graph.graph_gradient,
    "gradient variants": variants.gradient_variants,
    "gradient kinds": kinds.gradient_kinds,
    "jvp": transforms.jvp,
    "vmap": transforms.vmap,
    "opcheck": programs.opcheck,
    "compile": programs.compiled,
    "export": programs.exported,
    "job": programs.job,
    "sbp": placement.sbp,
    "batch invariance": invariance.batch_invariance,
    "devices": placement.devices,
}
#: Those that run once more on the GPU, where an op has kernels for it and there is a GPU.
ON_CUDA = (
    "memory",
    "inference",
    "streams",
    "determinism",
    "kernels",
    "reference",
    "values",
    "layouts",
    "sizes",
    "special values",
    "aliases",
    "gradient",
    "second gradient",
    "gradient variants",
)
#: Those that are run only when they are named: other hosts than torch's are built first.
ON_REQUEST: dict[str, Family] = {"hosts": hosts.hosts}
#: Those that compare calls which draw random numbers in different ways.
COMPARE_CALLS = {
    "kernels",
    "reference",
    "values",
    "layouts",
    "special values",
    "aliases",
    "environment",
    "threads",
    "streams",
    "vmap",
    "compile",
    "export",
    "job",
    "sbp",
    "hosts",
}

#: Of a family that failed: the families that would fail for the same cause, and what the failure means for them.
_ALL = frozenset(FAMILIES)
IMPLIED: dict[str, tuple[frozenset[str], str]] = {
    "crashes": (_ALL, "a call ends the process or does not return"),
    "memory": (_ALL, "a kernel handles memory wrongly"),
    "inference": (frozenset({"opcheck", "compile", "export", "job"}), "results do not fit the inference"),
    "streams": (_ALL, "a kernel works on another stream than that of the call"),
    "determinism": (frozenset({*COMPARE_CALLS, "batch invariance"}), "the same call does not give the same result"),
    "gradient": (frozenset({"gradient variants"}), "the gradient is wrong"),
    "opcheck": (frozenset({"compile", "export"}), "opcheck failed"),
}


def check(
    op: str | Op,
    *,
    reference: Callable[..., Any] | None = None,
    shapes: Sequence[Sequence[Sequence[int]]] = (),
    attrs: Mapping[str, Sequence[Any]] | None = None,
    values: Mapping[str, Bounds] | None = None,
    only: str | Iterable[str] | None = None,
    skip: str | Iterable[str] = (),
    examples: int = 24,
    rtol: float | None = None,
    atol: float | None = None,
    strict: bool = False,
    progress: bool | None = None,
) -> CheckReport:
    """Verify an op, from its definition alone, and return the report.

    Inputs are made from the schema, the dtypes of its kernels, and what its inference takes.

    Args:
        op: the op, or its name.
        reference: a function of the same arguments, written with torch; else the one given to `testing.reference`.
        shapes: shapes of the inputs, one list for each call, where inference does not show which go together.
        attrs: values of attributes to try: `{"mode": ["mean", "sum"]}`.
        values: lowest and highest value of inputs: `{"index": (0, 3)}`.
        only: families to run; by default all of `oneop.testing.FAMILIES`.
        skip: families to leave out.
        examples: how many calls a family tries.
        rtol: how far results may differ, relative to their size; by default what their dtype allows.
        atol: the same, absolute.
        strict: what is missing (a gradient, a forward-mode rule, a kernel for cuda) fails too.
        progress: show a line on the terminal; by default if stderr is one.

    Raises:
        OpCheckFailed: something failed. It is an `AssertionError`; its text is the report.
    """
    hints = make_hints(reference=reference, shapes=shapes, attrs=attrs, values=values, rtol=rtol, atol=atol)
    report = run_check(
        op, hints, only=only, skip=skip, examples=examples, strict=strict, progress=progress_line(progress)
    )
    report.raise_if_failed()
    return report


def run_check(
    op: str | Op,
    hints: Hints,
    *,
    only: str | Iterable[str] | None = None,
    skip: str | Iterable[str] = (),
    examples: int = 24,
    strict: bool = False,
    progress: Callable[[str, str, int, int], None] | None = None,
    case: Case | None = None,
) -> CheckReport:
    """Do what `check` does, on one call alone if that is given, and return the report whether it is ok or not."""
    started = time.monotonic()
    wanted = choose_families(only, skip)
    if examples < 1:
        raise ArgumentError(f"examples: expected at least 1, found {examples}")
    _need_hypothesis()
    subject = subject_of(op, hints)
    outcomes: list[Outcome] = []
    runs = [(device, family) for device in _devices_of(subject, case) for family in wanted if _runs_on(device, family)]
    contexts: dict[str, Context] = {}
    with _quiet():
        for number, (device, family) in enumerate(runs):
            if progress is not None:
                progress(subject.name, _title(device, family), number, len(runs))
            if device not in contexts:
                try:
                    domain = _domain_of(case) if case is not None else find_domain(subject, device)
                    domain, told = with_accepted_values(domain) if case is None else (domain, None)
                    outcomes += [told] if told is not None else []
                except ArgumentError as error:
                    failure = Failure(message=str(error), case="", reproduce=())
                    outcomes.append(Outcome(family=_title(device, "inputs"), status=FAILED, failure=failure))
                    break
                contexts[device] = Context(
                    subject=subject, domain=domain, examples=examples, seconds=SECONDS, repeat=case
                )
            context = contexts[device]
            outcome = _once(outcomes, _not_run(context, family) or _run_family(context, family))
            outcomes.append(replace(outcome, family=_title(device, family)))
            if outcome.status == FAILED:
                context.failed.add(family)
    if progress is not None:
        progress(subject.name, "", len(runs), len(runs))
    accuracy = {device: context.accuracy for device, context in contexts.items() if context.accuracy}
    return CheckReport(
        op=subject.op,
        outcomes=tuple(outcomes),
        seconds=time.monotonic() - started,
        strict=strict,
        accuracy=accuracy,
        by_author=hints.rtol is not None or hints.atol is not None,
    )


def _once(outcomes: list[Outcome], outcome: Outcome) -> Outcome:
    """Return the outcome, or that it fails as another family did: one cause is one failure."""
    if outcome.failure is None:
        return outcome
    for other in outcomes:
        if other.failure is not None and other.failure.message == outcome.failure.message:
            return skipped(outcome.family, f"fails as {other.family} does")
    return outcome


def _devices_of(subject: Subject, case: Case | None) -> list[str]:
    """Return the devices to check an op on: those it has kernels for, the GPU if there is one."""
    if case is not None:
        return [case.device]
    has_gpu = bool(subject.kernels("cuda")) and torch.cuda.is_available() and not subject.op.cpu_only
    names = [kernel.device for kernel in subject.op.kernels]
    on_cpu = not names or any(name in ("cpu", "any") for name in names) or not has_gpu
    return ["cpu"] * on_cpu + ["cuda"] * has_gpu


def _runs_on(device: str, family: str) -> bool:
    return family in ON_CUDA if device == "cuda" else family != "streams"


def _title(device: str, family: str) -> str:
    return family if device == "cpu" else f"{family} on {device}"


def _domain_of(case: Case) -> Domain:
    """Return the domain of one call."""
    template = Template(tuple(tuple(str(size) for size in recipe.shape) for recipe in case.tensors))
    dtypes = tuple(recipe.dtype for recipe in case.tensors)
    wide = tuple(torch.float64 if dtype in NARROW else dtype for dtype in dtypes)
    choices = [Choice(counts=case.counts, dtypes=kind, templates=(template,)) for kind in dict.fromkeys((dtypes, wide))]
    attrs = {name: (value,) for name, value in case.attrs}
    return Domain(subject=case.subject, device=case.device, choices=tuple(choices), attrs=attrs)


def _not_run(context: Context, family: str) -> Outcome | None:
    """Return why a family is not run, or None."""
    if context.subject.is_random and family in COMPARE_CALLS:
        return skipped(family, "the op is random: no two calls of it are compared")
    op = context.subject.op
    if not op.outputs and not any(arg.is_mutable for arg in op.inputs) and family in {*COMPARE_CALLS, "determinism"}:
        return skipped(family, "the op has no results to compare")
    if family == "jvp" and "gradient" in context.failed and core().op_info(op.name)["forward"] is None:
        return skipped(family, "not run: it is derived from the gradient, which is wrong")
    if family == "jvp" and "gradient" in context.by_reference:
        return skipped(family, "the gradient is that of the reference, and not the numerical one")
    for cause, (implied, meaning) in IMPLIED.items():
        if cause in context.failed and family in implied:
            return skipped(family, f"not run: {meaning}")
    return None


def _run_family(context: Context, family: str) -> Outcome:
    started = time.monotonic()
    try:
        outcome = (FAMILIES.get(family) or ON_REQUEST[family])(context)
    except Exception as error:
        failure = Failure(message=f"{type(error).__name__}: {error}", case="", reproduce=())
        outcome = Outcome(family=family, status=FAILED, failure=failure)
    return Outcome(**{**vars(outcome), "seconds": time.monotonic() - started})


def choose_families(only: str | Iterable[str] | None, skip: str | Iterable[str]) -> list[str]:
    """Return the families to run. Raises `ArgumentError` for a name that is none."""
    known = {**FAMILIES, **ON_REQUEST}
    chosen = list(FAMILIES) if only is None else [only] if isinstance(only, str) else list(only)
    left_out = [skip] if isinstance(skip, str) else list(skip)
    for name in (*chosen, *left_out):
        if name not in known:
            raise ArgumentError(f"there is no family of checks {name!r}\n  there are: {', '.join(known)}")
    return [name for name in known if name in chosen and name not in left_out]


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "oneop.testing makes its calls with hypothesis, which is not installed\n  pip install 'oneop[testing]'"
        ) from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leave the caller's random state and grad mode alone, and silence what torch says of slow ways."""
    functorch: Any = torch._C._functorch
    state = torch.random.get_rng_state()
    functorch._set_vmap_fallback_warning_enabled(False)
    with warnings.catch_warnings(), torch.enable_grad(), idle_threads():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            functorch._set_vmap_fallback_warning_enabled(True)
            torch.random.set_rng_state(state)


def progress_line(wanted: bool | None = None) -> Callable[[str, str, int, int], None] | None:
    """Return what shows the progress on the terminal, or None where stderr is none."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        return None
    width = 20

    def show(op: str, family: str, done: int, total: int) -> None:
        filled = width * done // max(total, 1)
        line = f"{op} [{'#' * filled}{'.' * (width - filled)}] {done}/{total} {family}"[:79]  # else it wraps
        print(f"\r{line:79}" if done < total else f"\r{'':79}\r", end="", file=sys.stderr, flush=True)

    return show


def pytest_params(library: Any = None) -> list[Any]:
    """Return a pytest parameter for each op of a library, of a list of names, or of the registry.

    Example::

        @pytest.mark.parametrize("op", oneop.testing.pytest_params(library))
        def test_op(op):
            oneop.testing.check(op)
    """
    import pytest

    if library is None:
        names = list_ops()
    elif isinstance(library, ModuleType):
        names = [name for name in list_ops() if hasattr(library, name)]
    elif hasattr(library, "ops"):
        names = list(library.ops)
    else:
        names = [name_of(op) for op in ([library] if isinstance(library, str) or callable(library) else library)]
    return [pytest.param(name, id=name) for name in names]
