"""However a build ends, no compiler outlives it."""

import os
import signal
import time
from pathlib import Path

import pytest

from oneop._build.library import build

BUILD = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever started the tests may ignore it, as nohup does
from oneop._build.library import build; build("slow", ["slow.cpp", "other.cpp"])
"""


@pytest.fixture
def slow(project, tmp_path, monkeypatch):
    """Two sources, and a driver that runs a compiler which never ends, as g++ runs cc1plus."""
    for name in ("slow", "other"):
        (project / f"{name}.cpp").write_text("int x;\n")
    script = tmp_path / "driver-g++"
    script.write_text(
        "#!/bin/sh\n"
        'case "$*" in *" -c "*) ;; *) exec g++ "$@";; esac\n'
        f"sh -c 'trap \"\" INT TERM HUP; echo $$ >> {project}/pids; while :; do sleep 1000; done' &\n"
        f"echo $$ >> {project}/pids\nwait\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("MAX_JOBS", "2")
    yield project
    for pid in pids(project):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def pids(project):
    path = project / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_leaves_no_compiler(slow, start, number):
    process = start(BUILD)
    until(lambda: len(pids(slow)) == 4, "the compilers did not start")
    started = pids(slow)
    assert all(map(alive, started))
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    until(lambda: not any(map(alive, started)), f"still running after {number!r}")
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)


def test_one_failure_ends_the_build_and_its_compilers(project, monkeypatch):
    """A build leaves nothing behind in its group, not even what a compiler started and forgot."""
    (project / "a.cpp").write_text("int x;\n")
    script = project / "my-g++"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *" -c "*) sleep 1000 >/dev/null 2>&1 & echo $! > {project}/pids;; esac\n'
        'exec g++ "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    build("a", "a.cpp")
    [left] = pids(project)
    until(lambda: not alive(left), "still running")
