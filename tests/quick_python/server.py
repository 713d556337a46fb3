"""Forks a Python program for each client: `server.py SOCKET`, until its standard input is closed.

The programs run at the top level of this file, after serve() has returned in the fork, so that they end as every
program does: functions of atexit run, threads are waited for, and Python takes the interpreter down.
"""

from __future__ import annotations

import gc
import os
import runpy
import select
import signal
import socket
import sys
import types
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """What a client wants to be run."""

    folder: str
    arguments: list[str]
    environment: list[str]
    streams: list[int]


def read_request(connection: socket.socket) -> Request:
    """Read what a client sends."""
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    size = int.from_bytes(head, "little")
    text = b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    folder, count, *words = os.fsdecode(text).split("\0")
    return Request(folder, words[: int(count)], words[int(count) :], list(streams))


def serve(address: str) -> Request:
    """Fork for each client until standard input is closed; return in the fork."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    running: dict[int, socket.socket] = {}  # pid: the client that waits for it
    print("ready", flush=True)
    while True:
        readable, _, _ = select.select([listener, woken, 0, *running.values()], [], [])
        if woken in readable:
            os.read(woken, 4096)
            while running and (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                client = running.pop(ended[0])
                try:
                    client.sendall(str(os.waitstatus_to_exitcode(ended[1])).encode())
                except OSError:
                    pass  # the client has ended
                client.close()
        for pid, client in running.items():
            if client in readable:  # it was killed
                os.kill(pid, signal.SIGKILL)
        if 0 in readable:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        if listener in readable:
            client, _ = listener.accept()
            request = read_request(client)
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (listener, client, *running.values()):
                    other.close()
                for descriptor in (woken, waker):
                    os.close(descriptor)
                return request
            for stream in request.streams:
                os.close(stream)
            running[child] = client


def become(request: Request) -> None:
    """Take on the client's streams, folder, environment and module path."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # they were made for the server's
        stream.reconfigure(line_buffering=stream is sys.stderr or os.isatty(stream.fileno()))
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(item.split("=", 1) for item in request.environment)
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def run(arguments: list[str]) -> None:
    """Do what `python ARGUMENTS...` does."""
    option, *rest = arguments
    if option == "-m":
        sys.argv = rest
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    if option == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        source, name = rest[0], "<string>"
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(option).resolve().parent))
        source, name = Path(option).read_text(), option
        main.__file__ = option
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    # All that one of torch's own programs, its compiler's or DTensor's, would import.
    import torch
    import torch._inductor.compile_fx
    import torch.distributed.tensor
    import torch.testing._internal.optests  # noqa: F401  what opcheck uses
    from quick_compiler import leave_out_measures

    leave_out_measures()
    del sys.path[0]
    gc.collect()
    gc.freeze()  # what is here by now is not looked through, and so not copied, by the programs
    _request = serve(sys.argv[1])
    become(_request)
    run(_request.arguments)
