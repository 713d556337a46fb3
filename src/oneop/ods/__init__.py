"""Op definitions in TableGen (`.td`): reading them, and making C++ of them.

`read_ops` gives the ops of a file as data, without building anything; `read_checkout` those of a OneFlow checkout.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from oneop.errors import ArgumentError
from oneop.ods import cache
from oneop.ods.dump import dump_records as dump_records
from oneop.ods.lexer import read_source
from oneop.ods.ops import OdsArg as OdsArg
from oneop.ods.ops import OdsAttr as OdsAttr
from oneop.ods.ops import OdsOp as OdsOp
from oneop.ods.ops import ops_of, run_file

StrPath = str | os.PathLike[str]

#: Where a checkout of OneFlow keeps its definitions; the folder above the file's is the one of its includes.
CHECKOUT_DEFINITIONS = "oneflow/ir/include/OneFlow/OneFlowOps.td"
_WITHOUT_MLIR = "REMOVE_ONEFLOW_MLIR_ONLY_OP_DEFINITIONS"


def read_ops(path: StrPath, include_dirs: Sequence[StrPath] = (), defines: Sequence[str] = ()) -> tuple[OdsOp, ...]:
    """Return the ops that a `.td` file defines, in its order.

    Args:
        path: the file. It needs no include for the base classes.
        include_dirs: searched for included files, after the folder of the including one.
        defines: names that `#ifdef` finds defined.

    Warns where it defines none because of names that are not defined: `#ifdef` leaves the ops out.

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
    if not ops:  # not kept: the next one wants to know too
        _say_why_none(source.path, [included.text for included in definitions.sources], defines)
        return ops
    includes = {str(included.path): cache.digest_of(included.text) for included in definitions.sources[1:]}
    cache.store(key, ops, includes, definitions.absent)
    return ops


def read_checkout(path: StrPath) -> tuple[OdsOp, ...]:
    """Return all ops that the definitions of a OneFlow checkout have, with none of MLIR's files.

    Its definitions are in groups that macros choose; all of them are read.

    Raises:
        ArgumentError: there are no definitions below `path`; OneFlow has them since 0.8.
        OdsError: they are malformed.
    """
    definitions = Path(path) / CHECKOUT_DEFINITIONS
    if not definitions.is_file():
        raise ArgumentError(
            f"{path} has no {CHECKOUT_DEFINITIONS}\n"
            "  expected a checkout of OneFlow 0.8 or newer; the ops of an older one are in its C++ sources"
        )
    texts = [file.read_text(errors="replace") for file in sorted(definitions.parent.glob("*.td"))]
    return read_ops(definitions, [definitions.parents[1]], [*_asked_for(texts, "GET_"), _WITHOUT_MLIR])


def _asked_for(texts: Iterable[str], prefix: str = "") -> list[str]:
    """Return the names that `#ifdef` asks for and no `#define` has."""
    whole = "\n".join(texts)
    asked = set(re.findall(rf"^\s*#ifdef\s+({prefix}\w+)", whole, re.MULTILINE))
    return sorted(asked - set(re.findall(rf"^\s*#define\s+({prefix}\w+)", whole, re.MULTILINE)))


def _say_why_none(path: Path, texts: Iterable[str], defines: Sequence[str]) -> None:
    missing = [name for name in _asked_for(texts) if name not in defines]
    if missing:
        names = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        warnings.warn(
            f"{path} defines no op: what it has is left out by #ifdef of names that are not defined: {names}; "
            "name them in defines, or read a OneFlow checkout with oneop.ods.read_checkout",
            stacklevel=3,
        )


__all__ = ["OdsArg", "OdsAttr", "OdsOp", "dump_records", "read_checkout", "read_ops"]
