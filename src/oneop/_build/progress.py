"""What a user sees of a build while it runs: one line on a terminal, after a second."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field

#: A build that takes less shows nothing.
QUIET_SECONDS = 1.0


@dataclass
class Progress:
    """The status line of one build. `announce` is printed before compiling, on a terminal or not, if it is given.

    It may tell how much there is to do: `{todo}` of `{total}` sources.
    """

    title: str
    announce: str = ""
    verbose: bool = False
    _started: float = field(default_factory=time.monotonic)
    _shown: int = 0

    def begin(self, todo: int, total: int) -> None:
        """Print the announcement, if there is anything to compile."""
        if self.announce and todo:
            print(self.announce.format(todo=todo, total=total), file=sys.stderr, flush=True)

    def show(self, state: str) -> None:
        """Show the state, if this is a terminal and the build has taken long enough."""
        elapsed = time.monotonic() - self._started
        if self.verbose or elapsed < QUIET_SECONDS or not sys.stderr.isatty():
            return
        line = f"building {self.title} {state} ({elapsed:.0f} s)"
        line = line[: shutil.get_terminal_size().columns - 1]  # a line that wraps cannot be wiped
        print(f"\r{line:{self._shown}}", end="", file=sys.stderr, flush=True)
        self._shown = len(line)

    def log(self, text: str) -> None:
        """Print `text` if verbose."""
        if self.verbose and text:
            print(text.rstrip("\n"), file=sys.stderr, flush=True)

    def end(self) -> None:
        """Wipe the status line."""
        if self._shown:
            print(f"\r{'':{self._shown}}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0
