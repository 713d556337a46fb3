"""torch.compile in less than half of the processor time, with the same results."""

import sys


def leave_out_measures() -> None:
    """Stop torch's compiler, where it is imported, from what it does only to report it.

    After each compilation it measures its guards once, with all caches flushed: 0.1 s. And it writes a trace wherever
    its logger of traces has a handler, which pytest gives to every logger that does not propagate.
    """
    if guards := sys.modules.get("torch._dynamo.guards"):
        guards.profile_guard_manager = lambda *_: 0.0  # microseconds, for a log and a counter
    if logs := sys.modules.get("torch._logging._internal"):
        logs.trace_log.propagate = True
        logs.trace_log.handlers.clear()
