"""Several processes and one cache: who builds, who waits, and what a killed build leaves."""

import os
import re
import signal
import socket
import time

import pytest

from oneop._build import cache
from oneop._build.library import build
from oneop._build.lock import build_lock, sweep
from oneop.errors import BuildError
from oneop.settings import settings

BUILD = 'from oneop._build.library import build; print(build("slow", "slow.cpp").cached)'


@pytest.fixture
def slow(project, tmp_path, monkeypatch):
    """A source, and a g++ that says it has begun and then sleeps while the file `hold` is there."""
    (project / "slow.cpp").write_text("int x;\n")
    (project / "hold").touch()
    script = tmp_path / "slow-g++"
    script.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *" -c "*) echo run >> {project}/begun; while [ -e {project}/hold ]; do sleep 0.05; done;; esac\n'
        'exec g++ "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    yield project
    (project / "hold").unlink(missing_ok=True)


def wait_for(path):
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.01)


def test_two_processes_build_once(slow, start):
    first, second = start(BUILD), start(BUILD)
    wait_for(slow / "begun")
    time.sleep(0.5)
    (slow / "hold").unlink()
    outputs = [process.communicate(timeout=300) for process in (first, second)]
    assert sorted(out for out, _ in outputs) == ["False\n", "True\n"], outputs
    assert (slow / "begun").read_text() == "run\n"


def test_a_killed_build_does_not_hang_the_next(slow, start, own_cache):
    victim = start(BUILD)
    wait_for(slow / "begun")
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert list((own_cache / "work").glob("*/*"))
    (slow / "hold").unlink()
    started = time.monotonic()
    assert not build("slow", "slow.cpp").cached
    assert time.monotonic() - started < 10
    assert list((own_cache / "work").glob("*")) == []


def test_sweep_takes_what_the_killed_left_and_nothing_else(slow, start, own_cache):
    victim = start(BUILD)
    wait_for(slow / "begun")
    assert sweep() == 0
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert sweep() == 1
    assert list((own_cache / "work").iterdir()) == []


def test_timeout_names_the_owner(slow, start, own_cache):
    owner = start(BUILD)
    wait_for(slow / "begun")
    with settings.override(lock_timeout=0.3), pytest.raises(BuildError) as caught:
        build("slow", "slow.cpp")
    text = re.sub(r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "since TIME", str(caught.value))
    text = re.sub(r"slow-\w{20}\.lock", "slow-KEY.lock", text)
    assert text == (
        'library "slow": another process is building it and was not done after 0.3 s\n'
        f'  owner: pid {owner.pid} on {socket.gethostname()}, since TIME, building library "slow"\n'
        f"  lock: {own_cache}/lock/slow-KEY.lock\n"
        "  end that process, or wait longer: ONEOP_LOCK_TIMEOUT=<seconds>"
    )


def test_an_interrupted_build_leaves_no_compiler(slow, start):
    process = start(BUILD)
    wait_for(slow / "begun")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert "KeyboardInterrupt" in err


def test_a_source_edited_while_it_is_compiled_is_compiled_again(slow, start):
    process = start(BUILD)
    wait_for(slow / "begun")
    time.sleep(0.05)
    (slow / "slow.cpp").write_text("int y;\n")
    (slow / "hold").unlink()
    assert process.communicate(timeout=300)[0] == "False\n"
    assert not build("slow", "slow.cpp").cached
    assert build("slow", "slow.cpp").cached


def test_the_work_folder_is_empty_and_goes_away(own_cache):
    with build_lock("thing", "a thing") as work:
        assert list(work.iterdir()) == []
        (work / "file").touch()
    assert not work.exists()
    assert not (own_cache / "lock/thing.owner.json").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_cache_that_cannot_be_written(project, tmp_path):
    (project / "a.cpp").touch()
    (tmp_path / "closed").mkdir(mode=0o500)
    with settings.override(cache_dir=tmp_path / "closed/cache"), pytest.raises(BuildError, match="set ONEOP_CACHE_DIR"):
        build("a", "a.cpp")


def test_cache_in_a_place_that_is_a_file(project, tmp_path):
    (project / "a.cpp").touch()
    (tmp_path / "file").touch()
    with settings.override(cache_dir=tmp_path / "file"), pytest.raises(BuildError) as caught:
        build("a", "a.cpp")
    assert str(caught.value) == (
        f"cannot write to the build cache {tmp_path}/file: Not a directory\n  set ONEOP_CACHE_DIR to a folder of yours"
    )


def test_a_damaged_cache_file_is_a_miss(project, own_cache):
    (project / "a.cpp").write_text("int x;\n")
    first = build("a", "a.cpp")
    for manifest in (own_cache / "manifest").iterdir():
        manifest.write_text("{")
    assert build("a", "a.cpp").path == first.path
    [entry] = cache.list_entries("object")
    cache.discard(entry)
    assert build("a", "a.cpp").path == first.path
