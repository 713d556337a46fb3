"""The engine without torch, `oneop._numpy_host`, built and loaded at first use, and the libraries in it."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

from oneop._build.library import Library
from oneop.errors import ArgumentError, LoadError, described
from oneop.runtime.library_file import check_file, copy_file, read_file
from oneop.runtime.requirement import follow

#: Kinds of entries of SBP signatures, as in oneop/abi.h.
SPLIT, BROADCAST, PARTIAL_SUM = 1, 2, 3

#: Specs of tensors as the engine takes them: (shape, name of the dtype).
Spec = tuple[tuple[int, ...], str]

_lock = threading.RLock()
_engine: Any = None
#: What is loaded under each library name: the digest of its content, and its ops.
_loaded: dict[str, tuple[str, tuple[str, ...]]] = {}
#: The digest of the library that each op came from last. What is kept for a call is kept for it.
editions: dict[str, str] = {}


def engine() -> Any:
    """Return the extension module. One in a process, for all hosts but torch's."""
    global _engine
    if _engine is None:
        with _lock:
            if _engine is None:
                from oneop.hosts.build import numpy_host_path
                from oneop.hosts.frameworks import infer, num_outputs

                module = _import_file(numpy_host_path())
                module.set_framework(num_outputs, infer)
                follow(module.set_required)
                _engine = module
    return _engine


def _import_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("oneop._numpy_host", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["oneop._numpy_host"] = module
    return module


def load_ops(library: Library | str | os.PathLike[str], package: str = "") -> tuple[str, ...]:
    """Load an op library into the engine; return the names of its ops. The same content again does nothing."""
    if isinstance(library, Library):
        path, name = library.path, library.name
    elif isinstance(library, (str, os.PathLike)):
        path = Path(library).resolve()
        name = str(path)
    else:
        raise ArgumentError(f"load: expected a path or what oneop.build returns, found {described(library)}")
    if not path.is_file():
        raise LoadError(
            f"cannot load the op library {path}\n  there is no such file\n  build it with oneop.build(name, sources)"
        )
    with _lock:
        content = read_file(path)
        digest = check_file(path, content)
        known = _loaded.get(f"{package}/{name}")
        if known is not None and known[0] == digest:
            return known[1]
        for key, (other, names) in _loaded.items():  # the same file by its path, and by what oneop.build returned
            is_current = other == digest and all(editions.get(op) == digest for op in names)
            if is_current and key.startswith(f"{package}/"):
                return names
        # A library remembers the host that it was loaded by. torch's may load the same file, so this one has its own.
        names = tuple(engine().load(str(copy_file(path, digest, content, "-host")), name, package))
        _loaded[f"{package}/{name}"] = (digest, names)
        editions.update(dict.fromkeys(names, digest))
    return names
