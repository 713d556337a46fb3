"""`oneflow.checkpoint`: what oneop.checkpoint has, and variables as files, as programs of 2021 keep them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oneop.jobs.training import checkpoint
from oneop.jobs.training.checkpoint import load as load

from . import stored


def get(path: str | os.PathLike[str]) -> Any:
    """Return the variables in a folder, by name: those of `save`, of `train.CheckPoint`, or of OneFlow itself."""
    return stored.read_folder(path)


def save(path: str | os.PathLike[str], var_dict: Mapping[str, Any] | None = None) -> None:
    """Write variables into a folder: `var_dict`, or all with what `load` reads beside them.

    A path that ends with .safetensors is that of the file which `load` reads, and nothing else is written.
    """
    if var_dict is None:
        checkpoint.save(path)
    if Path(path).suffix != ".safetensors":
        stored.write_folder(path, dict(stored.stored_variables()) if var_dict is None else var_dict)


__all__ = ["get", "load", "save"]
