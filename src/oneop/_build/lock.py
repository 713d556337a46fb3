"""One builder at a time: an OS file lock with a time-out, and a note that says who holds it.

The lock belongs to the process and dies with it, so a killed build never blocks the next one. The holder of a lock also
owns the work folder of the same name; whoever takes the lock next throws away what a killed build left there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from oneop._build.cache import cache_root, make_dir, read_json, remove, write_json
from oneop.errors import BuildError
from oneop.settings import settings

if TYPE_CHECKING:
    from filelock import BaseFileLock


@contextlib.contextmanager
def build_lock(name: str, what: str, waiting: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Hold the lock `name` and yield an empty work folder, removed at the end.

    `what` is the note for others, such as 'library "relu"'; `waiting` is called with the owner while the lock is taken.
    Raises `BuildError` that names the owner if the lock is not free within ONEOP_LOCK_TIMEOUT seconds.
    """
    lock = _file_lock(name)
    _acquire(lock, name, what, waiting)
    try:
        write_json(
            _owner_path(name), {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), "what": what}
        )
        sweep(except_for=name)
        parent = cache_root() / "work" / name
        shutil.rmtree(parent, ignore_errors=True)
        # A new name each time: compilers of a killed build may still be writing into the old folder.
        work = Path(tempfile.mkdtemp(dir=make_dir(parent)))
        try:
            yield work
        finally:
            shutil.rmtree(parent, ignore_errors=True)
            _owner_path(name).unlink(missing_ok=True)
    finally:
        lock.release()


def sweep(except_for: str = "") -> int:
    """Remove what killed builds left behind and return how many folders that were; running builds are left alone."""
    count = 0
    shutil.rmtree(cache_root() / "trash", ignore_errors=True)
    work = cache_root() / "work"
    for folder in work.iterdir() if work.is_dir() else ():
        if folder.name == except_for:
            continue
        lock = _file_lock(folder.name)
        with contextlib.suppress(TimeoutError, OSError):
            lock.acquire(timeout=0)
            try:
                shutil.rmtree(folder, ignore_errors=True)
                _owner_path(folder.name).unlink(missing_ok=True)
                count += 1
            finally:
                lock.release()
    return count


def describe_owner(name: str) -> str:
    """Return who holds the lock, for a message."""
    owner = read_json(_owner_path(name))
    if not owner:
        return "unknown (it has just begun or ended)"
    since = owner.get("since")
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since if isinstance(since, (int, float)) else 0))
    return f"pid {owner.get('pid')} on {owner.get('host')}, since {when}, building {owner.get('what')}"


def _acquire(lock: BaseFileLock, name: str, what: str, waiting: Callable[[str], None] | None) -> None:
    deadline = time.monotonic() + settings.lock_timeout
    while True:
        try:
            lock.acquire(timeout=min(0.2, max(0.0, deadline - time.monotonic())), poll_interval=0.02)
            return
        except TimeoutError:
            if time.monotonic() >= deadline:
                raise BuildError(
                    f"{what}: another process is building it and was not done after {settings.lock_timeout:g} s\n"
                    f"  owner: {describe_owner(name)}\n"
                    f"  lock: {_lock_path(name)}\n"
                    f"  end that process, or wait longer: ONEOP_LOCK_TIMEOUT=<seconds>"
                ) from None
            if waiting is not None:
                waiting(describe_owner(name))
        except OSError as error:
            path = _lock_path(name)
            if path.is_dir():
                remove(path)  # a damaged cache
                continue
            raise BuildError(
                f"{what}: cannot lock the build cache: {error.strerror} ({path})\n"
                f"  set ONEOP_CACHE_DIR to a folder of yours"
            ) from None


def _file_lock(name: str) -> BaseFileLock:
    from filelock import FileLock  # slow to import, and not needed when everything is cached

    make_dir(_lock_path(name).parent)
    return FileLock(_lock_path(name))


def _lock_path(name: str) -> Path:
    return cache_root() / "lock" / f"{name}.lock"


def _owner_path(name: str) -> Path:
    return cache_root() / "lock" / f"{name}.owner.json"
