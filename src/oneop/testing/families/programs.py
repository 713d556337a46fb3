"""The op in torch's programs and in jobs: opcheck, compile, export, planned jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from oneop.testing.case import Case, Restriction, make_case
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.domain.accepted_values import RANGES
from oneop.testing.domain.probe import usual_attrs
from oneop.testing.explore import Broken, NotForThis, first_lines
from oneop.testing.families.aliases import assert_own_memory
from oneop.testing.families.context import Context
from oneop.testing.families.gradients.inputs import differentiable, floating, obstacle
from oneop.testing.report import Outcome


def _samples(context: Context, sizes: tuple[int, ...]) -> list[Case]:
    """Return one call of the largest template for the first two kinds of calls, in the given sizes."""
    attrs = usual_attrs(context.domain)
    cases = []
    for choice in context.domain.choices[:2]:
        templates = sorted(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
        for template in templates[:1]:
            named = {symbol: sizes[i % len(sizes)] for i, symbol in enumerate(template.symbols)}
            case = make_case(context.domain, choice, template.shapes(named), attrs)
            cases.append(next(filter(_is_finite, _fills(case)), case))
    return cases


def _fills(case: Case) -> Iterator[Case]:
    """Yield the call with other values for those that have no range: an op such as acosh is NaN for most."""
    yield case
    yield case.like(fill="positive")
    for low, high in RANGES:
        tensors = (
            replace(tensor, bounds=(low, high)) if tensor.dtype.is_floating_point and tensor.bounds is None else tensor
            for tensor in case.tensors
        )
        yield replace(case, tensors=tuple(tensors))


def _is_finite(case: Case) -> bool:
    """Tell whether the results are; torch's checks take NaN for a difference."""
    try:
        return all(bool(torch.isfinite(result).all()) for result in floating(case.run(case.make())))
    except Exception:
        return True


def _inputs(context: Context, case: Case) -> list[torch.Tensor]:
    """Return inputs, with gradients where the op has one."""
    tensors = case.make()
    if obstacle(context, "") is None:
        for tensor, flag in zip(tensors, differentiable(case), strict=True):
            tensor.requires_grad_(flag)
    return tensors


def opcheck(context: Context) -> Outcome:
    """Torch's own check of a custom op: schema, fake tensors, autograd registration, AOT dispatch."""

    def holds(case: Case) -> None:
        case.run(case.make())  # what the op refuses is no matter of torch's check
        overload = context.subject.call.overload
        args = context.subject.torch_args(case.group(_inputs(context, case)), case.attributes)
        names = [argument.name for argument in overload._schema.arguments]
        keywords = [argument.name for argument in overload._schema.arguments if argument.kwarg_only]
        values = dict(zip(names, args, strict=True))
        positional = tuple(values[name] for name in names if name not in keywords)
        try:
            torch.library.opcheck(overload, positional, {name: values[name] for name in keywords})
        except Exception as error:
            raise Broken(
                f"torch.library.opcheck: {first_lines(error, 3)}",
                f"torch.library.opcheck(torch.ops.oneop.{context.subject.name}.default, {positional_text(case)})",
            ) from error

    return context.run("opcheck", _samples(context, (3, 2)), holds)


def positional_text(case: Case) -> str:
    """Return the arguments of opcheck as text."""
    inputs = ", ".join(str(argument) for argument in case.group(case.names()))
    return f"({inputs},), {case.attributes}"


def compiled(context: Context) -> Outcome:
    """A compiled program gives what the eager call gives, also for other sizes, and backward."""
    samples = _samples(context, (3, 2))

    def holds(case: Case) -> None:
        torch._dynamo.reset()
        function = torch.compile(
            lambda *tensors: tuple(
                case.run([tensor + 0 if tensor.dtype.is_floating_point else tensor.clone() for tensor in tensors])
            ),
            backend="aot_eager",
            fullgraph=True,
        )
        other = _other_size(context, case)
        for sample in [case, *([other] if other is not None else [])]:
            _compare(context, sample, function, "compiled")
        if case not in samples[1:]:  # how memory is shared does not follow from the dtype
            _shares_nothing(context, case)

    return context.run("compile", samples, holds)


def _shares_nothing(context: Context, case: Case) -> None:
    """Results of a compiled call have memory of their own, as those of an eager one."""
    if any(arg.is_mutable for arg in context.subject.op.inputs):
        return
    torch._dynamo.reset()
    function = torch.compile(lambda *tensors: tuple(case.run(tensors)), backend="aot_eager", fullgraph=True)
    tensors = case.make()
    assert_own_memory(function(*tensors), tensors)


def _other_size(context: Context, case: Case) -> Case | None:
    for sample in _samples(context, (5, 4)):
        if [t.dtype for t in sample.tensors] == [t.dtype for t in case.tensors] and sample.counts == case.counts:
            return sample
    return None


def _compare(context: Context, case: Case, function: Any, what: str) -> None:
    tensors, own = _inputs(context, case), _inputs(context, case)
    expected = case.run(tensors)
    actual = list(function(*own))
    names = context.output_names()
    scale = largest_value([tensor.detach() for tensor in tensors])
    assert_close([e.detach() for e in expected], [f.detach() for f in actual], what, names, scale=scale)
    pairs = [(e, f) for e, f in zip(floating(expected), floating(actual), strict=True) if e.requires_grad]
    wanted = [i for i, tensor in enumerate(tensors) if tensor.requires_grad]
    if pairs and wanted:
        grads = []
        for results, inputs in (([e for e, _ in pairs], tensors), ([f for _, f in pairs], own)):
            weights = [torch.ones_like(result) for result in results]
            grads.append(torch.autograd.grad(results, [inputs[i] for i in wanted], weights, allow_unused=True))
        present = [(a, b) for a, b in zip(*grads, strict=True) if a is not None and b is not None]
        titles = [f"the gradient of {case.names()[i]}" for i in wanted]
        assert_close([a for a, _ in present], [b for _, b in present], what, titles, scale=scale)


class _Call(torch.nn.Module):
    """A call as a module, for export."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def forward(self, *tensors: torch.Tensor) -> Any:
        return tuple(self.case.run(tensors))


def exported(context: Context) -> Outcome:
    """torch.export makes a program that gives what the call gives."""

    def holds(case: Case) -> None:
        if any(arg.is_mutable for arg in context.subject.op.inputs):
            raise NotForThis
        tensors = case.make()
        if not tensors:
            raise NotForThis
        program = torch.export.export(_Call(case), tuple(tensors), strict=False)
        results = list(program.module()(*case.make()))
        assert_close(case.run(tensors), results, "exported", context.output_names(), scale=largest_value(tensors))

    return context.run("export", _samples(context, (3, 2))[:1], holds)


def job(context: Context) -> Outcome:
    """A planned job gives what the eager call gives, also where a kernel works in place."""

    def holds(case: Case) -> None:
        from oneop.jobs.graph import compile_job

        if not case.tensors:
            raise NotForThis
        is_mutable = any(arg.is_mutable for arg in context.subject.op.inputs)

        def alone(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(case.run([tensor.clone() for tensor in tensors] if is_mutable else tensors))

        def in_between(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            made = [tensor * 0.5 if tensor.dtype.is_floating_point else tensor for tensor in tensors]
            return tuple(result * 2 if result.dtype.is_floating_point else result for result in case.run(made))

        bodies = [(alone, "in a planned job"), (in_between, "between other ops of a planned job")]
        if any(context.subject.dynamic_axes):  # nothing else in a job may use them
            bodies.pop()
        for body, what in bodies:
            tensors = [tensor.contiguous() for tensor in case.make()]
            expected = body(*tensors)
            planned = compile_job(body, tensors)
            for _ in range(2):
                results = planned(*tensors)
                flat = [results] if isinstance(results, torch.Tensor) else list(results)
                assert_close(expected, flat, what, context.output_names(), scale=largest_value(tensors))

    return context.explore("job", Restriction(sizes=(3, 5, 8)), holds, examples=4)
