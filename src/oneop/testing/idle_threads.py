"""Threads of torch that sleep when they have nothing to do, while an op is checked.

GNU's OpenMP lets threads spin for about a millisecond after each parallel loop. A check calls many short ones, so that
half of the processor time of its process was spent there, and on a busy machine the time by the clock too. The runtime
spins a hundred times less as long as it manages more threads than there are processors, and it has no call that says
so. So a thread with a team of its own waits meanwhile; other runtimes take no notice of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

#: So many elements torch splits over its threads.
_ELEMENTS = 1 << 17


@contextlib.contextmanager
def idle_threads() -> Iterator[None]:
    """Let the threads of torch sleep between parallel loops meanwhile."""
    if torch.get_num_threads() == 1:
        yield
        return
    has_team, may_end = threading.Event(), threading.Event()

    def work() -> None:
        torch.zeros(_ELEMENTS).add_(1)
        has_team.set()
        may_end.wait()

    thread = threading.Thread(target=work, name="oneop-idle-threads", daemon=True)
    thread.start()
    has_team.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()
