"""Python programs that do not import torch themselves: a server imports it once, and each program is a fork of it.

An import of torch, its compiler and DTensor takes five seconds of processor time, and the tests start hundreds of
programs. `command()` is what to write in place of `sys.executable`: standard streams, working folder, environment,
exit status, signals and time limits are those of an ordinary process, as `client.py` stands in for the program. A
program finds it as its own `sys.executable`, so what it starts in turn, checks of ops or ranks, are forks too.

A program gets an interpreter that has run no line of oneop: the server imports torch's modules, not oneop. What is
decided when torch is imported is decided already, so programs that set such variables, that look at what is imported,
or that test the first use of a machine, use `sys.executable`.
"""

from __future__ import annotations

import atexit
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


def command() -> list[str]:
    """Return what starts a Python program, to be followed by its path, or by -c or -m, and its arguments."""
    return [executable()]


def executable() -> str:
    """Return the same as one word. Given other options than -u, -c and -m it is the ordinary interpreter."""
    if Path("/dev/nvidiactl").exists():  # importing torch's compiler asks for GPUs, and then a fork cannot use them
        return sys.executable
    return _started()


@cache
def _started() -> str:
    """Start the server of this process; it ends when this process does, as it then loses its standard input."""
    folder = Path(tempfile.mkdtemp(prefix="quick-python-"))
    address, program = folder / "socket", folder / "python"
    # -S and -E: nothing of an environment is needed to hand three files and some words to the server.
    words = [sys.executable, "-S", "-E", str(HERE / "client.py"), str(address)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    # The server itself is not measured; coverage.py starts in its programs.
    left_out = ("PYTHONPATH", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(address), str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdout is not None and server.stdout.readline() == b"ready\n", "the server did not start"
    atexit.register(server.kill)
    return str(program)
