"""Whose files these are. Code of the cache runs as the user, so nobody else may be able to put it there.

Only the cache's root and the files that are used are looked at: whoever may not write to the root cannot replace what
is below it. Folders above the root are the user's own choice, as for PATH.
"""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path


def why_not_trusted(path: str | Path) -> str:
    """Return why code in this file or folder must not run, "" if it may or if nothing is there."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to {_user(status.st_uid)}, not to {_user(os.geteuid())}"
    if status.st_mode & stat.S_IWOTH:
        return f"every user may write to it (mode {stat.S_IMODE(status.st_mode):03o})"
    if status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
        return f"group {_group(status.st_gid)} may write to it (mode {stat.S_IMODE(status.st_mode):03o})"
    return ""


@functools.cache
def _is_own_group(gid: int) -> bool:
    """Tell whether only this user and root are in the group, as in systems with a group for each user."""
    import grp
    import pwd

    if gid == 0:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user, "root"}


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _group(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
