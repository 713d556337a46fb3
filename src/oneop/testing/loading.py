"""Lines of Python that load what an op under check was made of: libraries, modules and programs."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from oneop.runtime.core import loaded_libraries
from oneop.testing.subject import Subject


def loading_lines(subject: Subject) -> list[str]:
    """Return lines that bring the op, its kernels, its gradient and its reference, whatever files they are in."""
    lines = []
    for library in _libraries(subject):
        if library in loaded_libraries:
            lines.append(f'oneop.load("{loaded_libraries[library][1].path}")')
        elif library.startswith("python:/"):
            lines += lines_for_file(Path(library.removeprefix("python:")))
    function = subject.hints.reference
    code = getattr(function, "__code__", None)
    if code is not None and Path(code.co_filename).is_file():
        lines += lines_for_file(Path(code.co_filename).absolute())
    return list(dict.fromkeys(lines))


@functools.cache  # asked before each call that is tried, and there are thousands of modules; a file is run in one way
def lines_for_file(path: Path) -> list[str]:
    """Return lines that run a file as it was run here: as a module if it was imported, else as a program."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or Path(file).absolute() != path or name in ("__main__", "__mp_main__"):
            continue
        if not name.startswith("oneop_"):
            depth = len(name.split(".")) + (path.name == "__init__.py")
            return [f'import sys; sys.path.insert(0, "{path.parents[depth - 1]}"); import {name}']
    return [f'import runpy; runpy.run_path("{path}")']


def _libraries(subject: Subject) -> Iterator[str]:
    from oneop.authoring.book import pages_of

    op = subject.op
    yield op.source.library
    yield from (kernel.source.library for kernel in op.kernels)
    if op.grad is not None:
        yield op.grad.source.library
    yield from (page.library for page in pages_of(op.name))
