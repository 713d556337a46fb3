"""Sessions of ONNX Runtime that know the ops of op libraries."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oneop._build.library import Library
from oneop.errors import ArgumentError, LoadError, MissingDependencyError, described
from oneop.runtime.library_file import check_file, copy_file, read_file

_lock = threading.Lock()
#: The path and the name under which each content is loaded.
_files: dict[str, tuple[Path, str]] = {}


def custom_op_library() -> Path:
    """Return the shared library for `SessionOptions.register_custom_ops_library`: one for all op libraries.

    It needs no file of ONNX Runtime to be built, and works with ONNX Runtime 1.19 and later. Which op libraries it
    loads is said by entries of the options: `oneop.library.0`, `oneop.library.1` and so on hold their paths. Programs
    in other languages set them too; in Python, use `session_options`.
    """
    from oneop.hosts.build import onnx_host_path

    return onnx_host_path()


def session_options(libraries: Iterable[Library | str | os.PathLike[str]], *, num_threads: int | None = None) -> Any:
    """Return `onnxruntime.SessionOptions` for models with ops of these libraries. See `register`."""
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"oneop.onnx.session_options needs onnxruntime, which is not installed ({error})\n  pip install onnxruntime"
        ) from None
    options = onnxruntime.SessionOptions()
    register(options, libraries, num_threads=num_threads)
    return options


def register(
    options: Any, libraries: Iterable[Library | str | os.PathLike[str]], *, num_threads: int | None = None
) -> None:
    """Make sessions with these options know the ops of the libraries. Call it once for an object of options.

    `num_threads`: the threads of kernels' `parallel_for`, in all sessions of the process; at first the number of
    processors. Raises `LoadError` for a file that is not there or damaged, and what ONNX Runtime raises for the rest.
    """
    files = [_file_of(library) for library in libraries]
    if not files:
        raise ArgumentError("oneop.onnx.register: expected one or more op libraries, found none")
    for i, (path, name) in enumerate(files):
        options.add_session_config_entry(f"oneop.library.{i}", str(path))
        options.add_session_config_entry(f"oneop.library.{i}.name", name)
    if num_threads is not None:
        options.add_session_config_entry("oneop.num_threads", str(num_threads))
    options.register_custom_ops_library(str(custom_op_library()))


def _file_of(library: Library | str | os.PathLike[str]) -> tuple[Path, str]:
    """Return a copy of the library, and its name. A library remembers its host, so this host has a copy of its own."""
    if not isinstance(library, (Library, str, os.PathLike)):
        raise ArgumentError(
            f"oneop.onnx.register: expected a path or what oneop.build returns, found {described(library)}"
        )
    path = library.path if isinstance(library, Library) else Path(library).resolve()
    if not path.is_file():
        raise LoadError(
            f"cannot load the op library {path}\n  there is no such file\n  build it with oneop.build(name, sources)"
        )
    content = read_file(path)
    digest = check_file(path, content)
    with _lock:
        if digest not in _files:
            name = library.name if isinstance(library, Library) else str(path)
            _files[digest] = copy_file(path, digest, content, "-onnx"), name
        return _files[digest]
