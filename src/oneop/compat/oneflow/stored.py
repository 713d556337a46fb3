"""Variables of jobs as programs of 2021 read and set them, and as files: `<name>/out`, the bytes, and `<name>/meta`."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oneop.errors import ArgumentError
from oneop.jobs.locks import holding, tracing_alone
from oneop.jobs.training.session import Variable, current_session
from oneop.model.dtypes import BY_NAME, BY_ONEFLOW

DATA, META = "out", "meta"


class VariableBlob:
    """A variable of the jobs. `numpy()` gives its value of now."""

    def __init__(self, variable: Variable) -> None:
        """Keep the variable."""
        self._variable = variable
        self.name = variable.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return tuple(self._variable.value.shape)

    @property
    def dtype(self) -> torch.dtype:
        """Of its elements."""
        return self._variable.value.dtype

    def numpy(self) -> np.ndarray:
        """Return a copy of the value, of a step that is finished."""
        return _array(self._tensor())

    def _tensor(self) -> torch.Tensor:
        with holding(current_session().lock, is_exclusive=False):
            return self._variable.value.detach().cpu().clone(memory_format=torch.contiguous_format)


class FileBackendVariableBlob:
    """A variable in a folder: a file of its bytes and, since 0.3.4, one that says what they are."""

    def __init__(self, folder: Path) -> None:
        """Read what the folder says of the variable. Raises `ArgumentError` if the two files do not fit."""
        self.file_path = str(folder / DATA)
        self.has_meta_info = (folder / META).is_file()
        if self.has_meta_info:
            self.shape, self.dtype = _read_meta(folder / META)
            expected = self.dtype.itemsize * torch.Size(self.shape).numel()
            size = (folder / DATA).stat().st_size
            if size != expected:
                raise ArgumentError(f"{folder / DATA} has {size} bytes, {folder / META} says {expected}")

    def numpy(self) -> np.ndarray:
        """Read the value."""
        return _array(self._tensor())

    def _tensor(self) -> torch.Tensor:
        if not self.has_meta_info:
            raise ArgumentError(
                f"{self.file_path} has no file {META} beside it, which says the shape and the dtype\n"
                "  read it with numpy.fromfile"
            )
        content = bytearray(Path(self.file_path).read_bytes())
        flat = torch.frombuffer(content, dtype=self.dtype) if content else torch.empty(0, dtype=self.dtype)
        return flat.reshape(self.shape)


def get_all_variables() -> dict[str, VariableBlob]:
    """Return the variables of all jobs that were traced, by name."""
    session = current_session()
    with holding(session.lock, is_exclusive=False):
        known = [variable for variable in session.variables.values() if variable.is_used]
    return {variable.name: VariableBlob(variable) for variable in known}


def load_variables(value_dict: Mapping[str, Any], ignore_mismatch: bool = True) -> None:
    """Set variables to values: arrays, tensors, or what `get_all_variables` and `checkpoint.get` return.

    A name that no job asked for yet is kept for one that will. With `ignore_mismatch=False` it is an error where there
    are variables and none has the name. Raises `ArgumentError` for another shape or dtype; nothing is set then.
    """
    values = {name: _tensor_of(name, value) for name, value in value_dict.items()}
    session = current_session()
    with tracing_alone("load_variables"), holding(session.lock, is_exclusive=True):
        used = {name: variable for name, variable in session.variables.items() if variable.is_used}
        strange = sorted(set(values) - set(used))
        if strange and used and not ignore_mismatch:
            raise ArgumentError(
                f'load_variables: no job has a variable "{strange[0]}"; variables are {", ".join(sorted(used))}'
            )
        for name in used.keys() & values.keys():
            mine, new = used[name].value, values[name]
            if mine.shape != new.shape or mine.dtype != new.dtype:
                raise ArgumentError(
                    f'load_variables: variable "{name}": expected {mine.dtype} {tuple(mine.shape)}, '
                    f"found {new.dtype} {tuple(new.shape)}"
                )
        for name, new in values.items():
            if name in used:
                used[name].value.copy_(new)
            else:
                session.variables[name] = Variable(name, new.clone(), is_used=False)


def read_folder(path: str | os.PathLike[str]) -> Any:
    """Return the variables in the folders below a path, by name; the variable where the path is the folder of one.

    Raises `ArgumentError` if there are none.
    """
    root = Path(path)
    if (root / DATA).is_file():
        return FileBackendVariableBlob(root)
    folders = sorted(file.parent for file in root.rglob(DATA) if file.is_file())
    if not folders:
        raise ArgumentError(f"checkpoint.get: {root} has no variables\n  expected a folder with <name>/{DATA} in it")
    return {str(folder.relative_to(root)): FileBackendVariableBlob(folder) for folder in folders}


def write_folder(path: str | os.PathLike[str], values: Mapping[str, Any]) -> None:
    """Write variables into folders below a path."""
    for name, value in values.items():
        tensor = _tensor_of(name, value).contiguous()
        known = BY_NAME.get(str(tensor.dtype).removeprefix("torch."))
        if known is None or not known.oneflow:
            raise ArgumentError(f'checkpoint.save: variable "{name}" is {tensor.dtype}, which OneFlow does not have')
        folder = Path(path) / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DATA).write_bytes(tensor.flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
        dims = "".join(f"  dim: {extent}\n" for extent in tensor.shape)
        (folder / META).write_text(f"shape {{\n{dims}}}\ndata_type: {known.oneflow}\n")


def stored_variables() -> Iterator[tuple[str, torch.Tensor]]:
    """Yield everything that a checkpoint has of variables, those that no job asked for too."""
    session = current_session()
    with holding(session.lock, is_exclusive=False):
        known = {name: variable.value.detach().cpu().clone() for name, variable in session.variables.items()}
    yield from known.items()


def _read_meta(path: Path) -> tuple[tuple[int, ...], torch.dtype]:
    text = path.read_text(errors="replace")
    named = re.search(r"\bdata_type:\s*(\w+)", text)
    known = BY_ONEFLOW.get(named[1]) if named else None
    if known is None:
        raise ArgumentError(f"{path} is damaged: it names no data type that is known")
    return tuple(map(int, re.findall(r"\bdim:\s*(\d+)", text))), getattr(torch, known.name)


def _tensor_of(name: str, value: Any) -> torch.Tensor:
    if isinstance(value, VariableBlob | FileBackendVariableBlob):
        return value._tensor()
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape))
    raise ArgumentError(f'variable "{name}": expected an array or a variable, found {type(value).__name__}')


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        raise ArgumentError("numpy has no bfloat16; use torch's tensors")
    return tensor.numpy()
