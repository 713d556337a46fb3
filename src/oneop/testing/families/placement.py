"""Where an op runs: GPU against CPU, and its SBP signatures."""

from __future__ import annotations

from dataclasses import replace

import torch

from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.context import Context, skipped
from oneop.testing.report import MISSING, Outcome


def devices(context: Context) -> Outcome:
    """A call on the GPU gives what it gives on the CPU."""
    subject = context.subject
    if subject.op.cpu_only:
        return skipped("devices", "declared as cpu only")
    if not subject.kernels("cuda"):
        return Outcome(family="devices", status=MISSING, note="no kernel for cuda")
    if not torch.cuda.is_available():
        return skipped("devices", "there is no GPU here")

    def holds(case: Case) -> None:
        tensors = case.make()
        results = case.run([tensor.cuda() for tensor in tensors])
        assert_close(
            case.run(tensors),
            [result.cpu() for result in results],
            "on cuda and on the cpu",
            context.output_names(),
            rtol=subject.hints.rtol,
            atol=subject.hints.atol,
            scale=largest_value(tensors),
        )

    return context.explore("devices", Restriction(), holds)


def sbp(context: Context) -> Outcome:
    """Every declared SBP signature holds, on shards that are made and run one after another."""
    from oneop.errors import CheckError, SbpError
    from oneop.testing.sbp_proof import check_sbp

    subject = context.subject
    if not subject.op.has_sbp:
        return Outcome(family="sbp", status=MISSING, note="no signatures are declared")
    signatures: dict[str, dict[str, str]] = {}

    def holds(case: Case) -> None:
        if any(not recipe.shape for recipe in case.tensors):
            raise NotForThis  # nothing to split
        try:
            proof = check_sbp(
                subject.name, case.group(case.make()), discover=False, rtol=subject.hints.rtol, **case.attributes
            )
        except CheckError as error:
            if "SBP signature splits" in str(error):
                raise NotForThis from None  # a signature for more axes than this call has
            raise
        except SbpError as error:
            lines = [line.strip().removeprefix("backward:").strip() for line in str(error).splitlines()]
            wrong = [line for line in lines if line.startswith("WRONG")]
            _keep(signatures, [line.removeprefix("WRONG").strip() for line in wrong], "does not hold")
            what = "\n".join(line.removeprefix("WRONG").strip() for line in wrong)
            inputs = ", ".join(str(argument) for argument in case.group(case.names()))
            attrs = "".join(f", {name}={value!r}" for name, value in case.attrs)
            raise Broken(
                f"a declared SBP signature does not hold: {what}",
                f'oneop.testing.check_sbp("{subject.name}", [{inputs}]{attrs})',
            ) from None
        _keep(signatures, [finding.signature for finding in proof.proved], "holds")
        _keep(signatures, [finding.signature for finding in proof.untried], "not tried")

    outcome = context.explore("sbp", Restriction(sizes=(4, 3, 5)), holds, examples=8)
    return replace(outcome, facts={"signatures": list(signatures.values())})


def _keep(signatures: dict[str, dict[str, str]], names: list[str], proof: str) -> None:
    """Remember what came out for signatures; one that failed once stays so."""
    for name in names:
        known = signatures.setdefault(name, {"signature": name, "proof": proof})
        if proof == "does not hold" or known["proof"] == "not tried":
            known["proof"] = proof
