"""Stands in for a program that the server runs: `client.py SOCKET ARGUMENTS...` lives and ends as the program does."""

import os
import signal
import socket
import sys


def main() -> int:
    """Hand over open files, folder, environment and arguments; return the exit status."""
    arguments = sys.argv[2:]
    if not is_quick(arguments):
        os.execv(sys.executable, [sys.executable, *arguments])
    files = open_files()
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    folder = os.getcwd()  # noqa: PTH109  pathlib takes 10 ms to import
    words = [folder, str(len(files)), *map(str, files), str(len(arguments)), *arguments, *variables]
    request = os.fsencode("\0".join(words))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    socket.send_fds(connection, [len(request).to_bytes(8, "little")], files)
    connection.sendall(request)
    for file in files[3:]:  # the program alone holds them, and their ends are seen when it closes them
        os.close(file)
    status = int(connection.makefile().read() or 255)  # the server ends the program when this process ends
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def is_quick(arguments: list[str]) -> bool:
    """Tell whether the server knows the options before the program."""
    rest = arguments[1:] if arguments[:1] == ["-u"] else arguments
    return len(rest) > 0 and (not rest[0].startswith("-") or (rest[0] in ("-c", "-m") and len(rest) > 1))


def open_files() -> list[int]:
    """Return the files that this process was given: the standard streams and, behind them, those that were passed."""
    passed = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        number = int(name)
        if number > 2:
            try:
                os.fstat(number)
            except OSError:  # of the list itself
                continue
            passed.append(number)
    return [0, 1, 2, *sorted(passed)]


sys.exit(main())
