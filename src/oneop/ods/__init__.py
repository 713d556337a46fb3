"""Op definitions in TableGen (`.td`): reading them, and making C++ of them.

`read_ops` gives the ops of a file as data, without building anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from oneop.ods import cache
from oneop.ods.dump import dump_records as dump_records
from oneop.ods.lexer import read_source
from oneop.ods.ops import OdsArg as OdsArg
from oneop.ods.ops import OdsAttr as OdsAttr
from oneop.ods.ops import OdsOp as OdsOp
from oneop.ods.ops import ops_of, run_file

StrPath = str | os.PathLike[str]


def read_ops(path: StrPath, include_dirs: Sequence[StrPath] = (), defines: Sequence[str] = ()) -> tuple[OdsOp, ...]:
    """Return the ops that a `.td` file defines, in its order.

    Args:
        path: the file. It needs no include for the base classes.
        include_dirs: searched for included files, after the folder of the including one.
        defines: names that `#ifdef` finds defined.

    Raises:
        OdsError: the file is malformed; the message has file, line and column, the source line and a caret.
    """
    source = read_source(Path(path))
    folders = [Path(folder) for folder in include_dirs]
    key = cache.key_of(source.path, source.text, folders, defines)
    known = cache.load(key)
    if known is not None:
        return known
    definitions = run_file(source, folders, defines)
    ops = tuple(ops_of(definitions.program))
    includes = {str(included.path): cache.digest_of(included.text) for included in definitions.sources[1:]}
    cache.store(key, ops, includes, definitions.absent)
    return ops


__all__ = ["OdsArg", "OdsAttr", "OdsOp", "dump_records", "read_ops"]
