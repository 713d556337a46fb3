"""Forks a Python program for each client: `server.py SOCKET EXECUTABLE`, until its standard input is closed.

The programs run at the top level of this file, after serve() has returned in the fork. At their end threads are waited
for, functions of atexit run and streams are written out. Python does not take the interpreter down, which takes half a
second: it would copy what the fork shares with the server. With QUICK_PYTHON_WHOLE_END=1 in its environment a program
ends as every other one does.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import multiprocessing.spawn
import os
import runpy
import select
import signal
import socket
import sys
import threading
import types
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """What a client wants to be run."""

    folder: str
    arguments: list[str]
    environment: list[str]
    files: dict[int, int]  # the number that the client has: that in this process


#: The most files that a message carries.
MOST_FILES = 250

#: Files that clients send are kept with numbers from here, which no program asks for.
OUT_OF_THE_WAY = 500


def read_request(connection: socket.socket) -> Request:
    """Read what a client sends."""
    head, received, _, _ = socket.recv_fds(connection, 8, MOST_FILES)
    size = int.from_bytes(head, "little")
    text = b""
    while len(text) < size:
        text += connection.recv(size - len(text))
    folder, *words = os.fsdecode(text).split("\0")
    numbers, words = _counted(words)
    arguments, environment = _counted(words)
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for file in received]
    for file in received:
        os.close(file)
    return Request(folder, arguments, environment, dict(zip(map(int, numbers), moved, strict=True)))


def _counted(words: list[str]) -> tuple[list[str], list[str]]:
    """Return as many words as the first one says, and the rest."""
    end = 1 + int(words[0])
    return words[1:end], words[end:]


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
            for file in request.files.values():
                os.close(file)
            running[child] = client


def become(request: Request, executable: str) -> None:
    """Take on the client's files, folder, environment and module path."""
    for number, file in request.files.items():
        os.dup2(file, number)
        os.close(file)
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # they were made for the server's
        stream.reconfigure(line_buffering=stream is sys.stderr or os.isatty(stream.fileno()))
    sys.executable = executable
    multiprocessing.spawn.set_executable(executable)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(item.split("=", 1) for item in request.environment)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def run(arguments: list[str]) -> None:
    """Do what `python ARGUMENTS...` does."""
    option, *rest = arguments
    if option == "-u" or os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(line_buffering=True)
    if option == "-u":
        option, *rest = arguments = rest
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


def status_of(stop: SystemExit) -> int:
    """Return the exit status that an exception asks for; print what is no number, as Python does."""
    if stop.code is None or isinstance(stop.code, int):
        return (stop.code or 0) & 255
    print(stop.code, file=sys.stderr)
    return 1


def end(status: int, *, is_interrupted: bool) -> None:
    """Do what Python does at the end before it takes the interpreter down, and end."""
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = 120
    if is_interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


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
    become(_request, sys.argv[2])
    if _is_measured := "COVERAGE_PROCESS_CONFIG" in os.environ:
        import coverage

        coverage.process_startup()
    if _is_measured or os.environ.get("QUICK_PYTHON_WHOLE_END"):  # the core writes its counts when Python is taken down
        run(_request.arguments)
        sys.exit()
    _status, _interrupted = 0, False
    try:
        run(_request.arguments)
    except SystemExit as _stop:
        _status = status_of(_stop)
    except BaseException as _error:
        _status, _interrupted = 1, isinstance(_error, KeyboardInterrupt)
        sys.excepthook(*sys.exc_info())
    end(_status, is_interrupted=_interrupted)
