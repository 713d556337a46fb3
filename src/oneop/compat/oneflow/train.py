"""`oneflow.train`: checkpoints as programs of 2020 write them."""

import os

from . import checkpoint


class CheckPoint:
    """Initializes, saves and loads the variables of all jobs."""

    def init(self) -> None:
        """Do nothing: a variable starts from its initializer when a job first asks for it."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint into a folder, and each variable beside it as OneFlow did: its bytes, `<name>/out`."""
        checkpoint.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read a checkpoint."""
        checkpoint.load(path)
