"""Saving and loading everything that jobs remember: variables, optimizer state, step counts. The format is safetensors.

A job that goes on from a checkpoint does the same, bit for bit, as one that was never stopped.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from oneop.errors import ArgumentError
from oneop.jobs.ranks import writes_checkpoints
from oneop.jobs.session import Variable, current_session

FILE_NAME = "oneop.safetensors"


def save(path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint and return its file. A path without the ending .safetensors is a folder, made if need be.

    The file appears only when it is complete: a process that dies while saving leaves the one before.
    """
    from safetensors.torch import save_file

    target = _file_of(path)
    if not writes_checkpoints():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    session = current_session()
    tensors = {name: value.detach().cpu().clone() for name, value in session.tensors()}
    trainable = ",".join(name for name, variable in session.variables.items() if variable.trainable)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    save_file(tensors, str(part), metadata={"oneop": "1", "trainable": trainable})
    part.replace(target)
    return target


def load(path: str | os.PathLike[str]) -> None:
    """Read a checkpoint into the session. Variables that are there keep their memory, so traced jobs see the values.

    Raises `ArgumentError` if the file is missing or does not fit; nothing is changed then.
    """
    from safetensors import SafetensorError, safe_open

    source = _file_of(path)
    try:
        with safe_open(str(source), framework="pt") as file:
            trainable = set((file.metadata() or {}).get("trainable", "").split(","))
            loaded = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise ArgumentError(f"checkpoint.load: cannot read {source}\n  {error}") from error
    session = current_session()
    known = dict(session.tensors())
    for name, value in loaded.items():
        mine = known.get(name)
        if mine is not None and (mine.shape != value.shape or mine.dtype != value.dtype):
            raise ArgumentError(
                f'checkpoint.load: "{name}" is {value.dtype} {tuple(value.shape)} in {source}, '
                f"here it is {mine.dtype} {tuple(mine.shape)}"
            )
    for name, value in sorted(loaded.items(), key=lambda item: not item[0].startswith("variable/")):
        if name in known:
            known[name].copy_(value)
        else:
            _add(name, value, trainable)


def _add(name: str, value: torch.Tensor, trainable: set[str]) -> None:
    session = current_session()
    kind, _, rest = name.partition("/")
    if kind == "variable":
        session.variables[rest] = Variable(rest, value, rest in trainable)
    elif kind == "state":
        variable, _, key = rest.rpartition("/")
        session.variables[variable].state[key] = value
    else:
        session.counters[rest] = value


def _file_of(path: str | os.PathLike[str]) -> Path:
    given = Path(path)
    return given if given.suffix == ".safetensors" else given / FILE_NAME
