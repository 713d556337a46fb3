"""Stands in for a program that the server runs: `client.py SOCKET ARGUMENTS...` lives and ends as the program does."""

import os
import signal
import socket
import sys


def main() -> int:
    """Hand over standard streams, folder, environment and arguments; return the exit status."""
    arguments = sys.argv[2:]
    variables = [f"{name}={value}" for name, value in os.environ.items()]
    folder = os.getcwd()  # noqa: PTH109  pathlib takes 10 ms to import
    request = os.fsencode("\0".join([folder, str(len(arguments)), *arguments, *variables]))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    socket.send_fds(connection, [len(request).to_bytes(8, "little")], [0, 1, 2])
    connection.sendall(request)
    status = int(connection.makefile().read() or 255)  # the server ends the program when this process ends
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


sys.exit(main())
