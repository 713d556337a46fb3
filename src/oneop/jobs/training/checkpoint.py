"""Saving and loading everything that jobs remember: variables, optimizer state, step counts. The format is safetensors.

A job that goes on from a checkpoint does the same, bit for bit, as one that was never stopped. Names of tensors are
`variable/<name>`, `state/<name>/<key>` and `counter/<job>/steps`; the metadata has, as JSON, the job and the trained
variables of each counter, since two jobs may have one name.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from oneop.errors import ArgumentError
from oneop.jobs.locks import holding, tracing_alone
from oneop.jobs.ranks import writes_checkpoints
from oneop.jobs.training.session import Loaded, Session, StepCount, Variable, current_session

FILE_NAME = "oneop.safetensors"
FORMAT = "2"  # 1: Adam's step count was one for each job


def save(path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint and return its file. A path without the ending .safetensors is a folder, made if need be.

    The variables are those of one step, also while other threads train. The file appears only when it is complete: a
    process that dies while saving leaves the one before. Threads and processes may save to one path: the last one that
    finishes stays. Raises `ArgumentError` if it cannot be written, and inside a run that changes variables.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    target = _file_of(path)
    if not writes_checkpoints():
        return target
    session = current_session()
    if session.lock.is_held():
        raise ArgumentError(
            "checkpoint.save: this thread is inside a run of a job, the step is not finished\n  save after it"
        )
    with holding(session.lock, is_exclusive=False):
        tensors = {
            name: value.detach().cpu().clone(memory_format=torch.contiguous_format) for name, value in session.tensors()
        }
        jobs = {key: {"job": count.job, "trains": list(count.variables)} for key, count in session.counts.items()}
    part = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")  # no two savers share it, on any host
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, str(part), metadata={"oneop": FORMAT, "jobs": json.dumps(jobs)})
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    except (OSError, SafetensorError, KeyError) as error:
        raise ArgumentError(f"checkpoint.save: cannot write {target}\n  {error}") from error
    finally:
        with contextlib.suppress(OSError):  # it is gone if all went well
            part.unlink()
    return target


def load(path: str | os.PathLike[str], *, strict: bool = True, restart: bool = False) -> None:
    """Read a checkpoint into the session. Variables that are there keep their memory, so traced jobs see the values.

    Jobs that are not traced yet find their variables when they ask for them. `strict`: everything that jobs have, or
    ask for later, must be in the file; otherwise what is missing keeps its value or starts from its initializer.
    `restart`: leave out step counts, so that schedules of learning rates begin at step 0.

    Raises `ArgumentError` if the file cannot be read or does not fit; nothing is changed then.
    """
    source = _file_of(path)
    content = _read(source)
    session = current_session()
    with tracing_alone("checkpoint.load"), holding(session.lock, is_exclusive=True):
        _check(content, session, source, strict=strict, restart=restart)
        _apply(content, session, restart=restart)
        session.loaded = Loaded(source, strict)


@dataclass
class _Content:
    """A checkpoint, read and understood."""

    variables: dict[str, torch.Tensor] = field(default_factory=dict)
    states: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)
    counts: list[StepCount] = field(default_factory=list)


def _read(source: Path) -> _Content:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(source), framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise ArgumentError(f"checkpoint.load: cannot read {source}\n  {error}") from error
    if metadata.get("oneop") not in ("1", FORMAT):
        raise ArgumentError(
            f"checkpoint.load: {source} is not a checkpoint of jobs (format {metadata.get('oneop')!r}, "
            f"expected up to {FORMAT!r})"
        )
    try:
        return _understand(tensors, metadata)
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ArgumentError(f"checkpoint.load: {source} is damaged\n  {error}") from error


def _understand(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> _Content:
    content = _Content()
    jobs = json.loads(metadata.get("jobs", "{}"))
    shared_steps = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition("/")
        owner, _, key = rest.rpartition("/")
        if kind == "variable":
            content.variables[rest] = value
        elif kind == "state" and f"variable/{owner}" in tensors:
            content.states[owner, key] = value
        elif kind == "counter" and key == "steps":
            known = jobs.get(owner, {"job": owner, "trains": []})
            content.counts.append(StepCount(str(known["job"]), tuple(map(str, known["trains"])), value.reshape(())))
        elif kind == "counter" and key == "step" and metadata["oneop"] == "1":
            shared_steps[owner] = value
        else:
            raise ValueError(f'it has a tensor "{name}", which is no variable, state of a variable, or step count')
    if metadata["oneop"] == "1":
        _upgrade(content, shared_steps)
    return content


def _upgrade(content: _Content, shared_steps: dict[str, torch.Tensor]) -> None:
    """Read format 1: Adam's step count belonged to a job, and which variables a job trains was not written."""
    adam = sorted(name for name, key in content.states if key == "square")
    trained = tuple(sorted({name for name, _ in content.states}))
    if len(shared_steps) > 1 or len(content.counts) > 1:
        names = ", ".join(f'"{count.job}"' for count in content.counts)
        raise ValueError(f"it is of an older format, which does not say which variables the jobs {names} train")
    for value in shared_steps.values():
        content.states |= {(name, "step"): value.clone() for name in adam}
    for count in content.counts:
        count.variables = trained or tuple(sorted(content.variables))


def _check(content: _Content, session: Session, source: Path, *, strict: bool, restart: bool) -> None:
    """Raise `ArgumentError`, with all that is wrong, unless a checkpoint fits the session."""
    wrong = []
    missing = []
    for name, variable in _used(session).items():
        pairs = [(f'variable "{name}"', content.variables.get(name), variable.value)]
        pairs += [(f'{k} of variable "{name}"', content.states.get((name, k)), v) for k, v in variable.state.items()]
        for what, saved, mine in pairs:
            if saved is None:
                missing.append(what)
            elif saved.shape != mine.shape or saved.dtype != mine.dtype:
                wrong.append(
                    f"{what} is {saved.dtype} {tuple(saved.shape)} in the file, {mine.dtype} {tuple(mine.shape)} here"
                )
    if not restart:
        for count in filter(_is_alive, session.counts.values()):
            if not any(count.is_of(saved.job, saved.variables) for saved in content.counts):
                missing.append(f'the step count of job "{count.job}"')
    lines = wrong[:4]
    if missing and strict:
        lines.append(f"not in the file: {_listed(missing)}")
    if not lines:
        return
    extra = [f'variable "{name}"' for name in content.variables if name not in _used(session)]
    if extra:
        lines.append(f"only in the file: {_listed(extra)}")
    hint = "" if wrong else "\n  keep the values of what is missing: checkpoint.load(path, strict=False)"
    raise ArgumentError(f"checkpoint.load: {source} does not fit the jobs here\n  " + "\n  ".join(lines) + hint)


def _used(session: Session) -> dict[str, Variable]:
    return {name: variable for name, variable in session.variables.items() if variable.is_used}


def _is_alive(count: StepCount) -> bool:
    return count.owner is not None and count.owner() is not None


def _apply(content: _Content, session: Session, *, restart: bool) -> None:
    # What an earlier checkpoint brought and no job asked for goes.
    session.variables = _used(session)
    session.counts = {key: count for key, count in session.counts.items() if count.owner is not None}
    for name, value in content.variables.items():
        known = session.variables.get(name)
        if known is None:
            session.variables[name] = Variable(name, value, is_used=False)
        else:
            known.value.copy_(value)
    for (name, key), value in content.states.items():
        state = session.variables[name].state
        if key in state:
            state[key].copy_(value)
        else:
            state[key] = value.to(session.variables[name].value.device)
    for count in session.counts.values() if restart else ():
        count.value.zero_()
    for saved in () if restart else content.counts:
        mine = next((c for c in session.counts.values() if c.is_of(saved.job, saved.variables)), None)
        if mine is None:
            session.add_count(saved)
        else:
            mine.value.copy_(saved.value)


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    rest = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return ", ".join(shown[:8]) + rest


def _file_of(path: str | os.PathLike[str]) -> Path:
    place = Path(path)
    return place if place.suffix == ".safetensors" else place / FILE_NAME
