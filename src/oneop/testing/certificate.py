"""Certificates: what a check found, with all that is needed to repeat it.

A certificate is JSON. It names the files that were checked by their SHA-256, the versions and devices, the settings,
and for each op every property with its outcome, how many calls were tried, and the errors of results. Calls are drawn
from fixed seeds, so the same settings try the same calls.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from oneop._version import __version__
from oneop.errors import ArgumentError
from oneop.registry import OpDef
from oneop.runtime.core import loaded_libraries
from oneop.testing.report import FAILED, PASSED, CheckReport

FORMAT, VERSION = "oneop certificate", 1
SUFFIX = ".certificate.json"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a check was asked to do."""

    only: tuple[str, ...] | None = None
    skip: tuple[str, ...] = ()
    examples: int = 24


def make_certificate(reports: Sequence[CheckReport], settings: Settings) -> dict[str, Any]:
    """Return the certificate of some reports."""
    files = dict.fromkeys(file for report in reports for file in files_of(report.op))
    return {
        "format": FORMAT,
        "version": VERSION,
        "ok": all(report.ok for report in reports),
        "files": [{"name": file.name, "sha256": sha256_of(file)} for file in files],
        "made_with": made_with(),
        "settings": {**asdict(settings), "seed": "fixed"},
        "ops": [{"schema": report.op.schema, **report.to_json()} for report in reports],
    }


def made_with() -> dict[str, Any]:
    """Return versions and devices."""
    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "oneop": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "gpus": gpus,
    }


def files_of(op: OpDef) -> list[Path]:
    """Return the files that an op is made of: its library, or the programs that define it and its kernels."""
    files = []
    for library in dict.fromkeys([op.source.library, *(kernel.source.library for kernel in op.kernels)]):
        if library in loaded_libraries:
            files.append(Path(loaded_libraries[library][1].path))
        elif library.startswith("python:/"):
            files.append(Path(library.removeprefix("python:")))
    return [file for file in dict.fromkeys(files) if file.is_file()]


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate in a file. Raises `ArgumentError` if it is none."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read the certificate {path}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ArgumentError(f"{path} is no certificate of oneop")
    if content.get("version") != VERSION:
        raise ArgumentError(f"{path} is a certificate of version {content.get('version')}, expected {VERSION}")
    return content


def certificate_beside(file: Path) -> dict[str, Any] | None:
    """Return the certificate that lies beside a library or program and is about its present content, or None."""
    path = file.with_name(file.name + SUFFIX)
    if not path.is_file():
        return None
    try:
        content = read_certificate(path)
    except ArgumentError:
        return None
    return content if sha256_of(file) in {entry["sha256"] for entry in content["files"]} else None


def is_certified(op: OpDef) -> bool:
    """Tell whether a certificate beside the op's file says that all its properties hold."""
    for file in files_of(op):
        content = certificate_beside(file)
        if content is not None and any(entry["op"] == op.name and entry["ok"] for entry in content["ops"]):
            return True
    return False


def changed_files(content: dict[str, Any], files: Iterable[Path]) -> list[str]:
    """Return names of certified files whose content is not among these."""
    present = {sha256_of(file) for file in files}
    return [entry["name"] for entry in content["files"] if entry["sha256"] not in present]


def differences(content: dict[str, Any], reports: Sequence[CheckReport]) -> list[str]:
    """Return what new reports say otherwise than a certificate: ops that are gone, and properties that do not hold."""
    by_name = {report.op.name: report for report in reports}
    texts = []
    for entry in content["ops"]:
        report = by_name.get(entry["op"])
        if report is None:
            texts.append(f'op "{entry["op"]}" is not there')
            continue
        if report.op.schema != entry["schema"]:
            texts.append(f'op "{entry["op"]}" has the schema {report.op.schema}, certified was {entry["schema"]}')
        statuses = {outcome.family: outcome.status for outcome in report.outcomes}
        for outcome in entry["outcomes"]:
            now = statuses.get(outcome["family"], "not run")
            if (outcome["status"] == PASSED and now != PASSED) or now == FAILED:
                texts.append(f'op "{entry["op"]}", {outcome["family"]}: certified {outcome["status"]}, now {now}')
    return texts
