"""A oneop project made of sources from OneFlow: copies of them, their headers, their definitions and references."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oneop.errors import ArgumentError, BuildError
from oneop.port.checkout import definitions_of, generation_of, is_checkout, sources_of_checkout
from oneop.port.definitions import definitions_text, functions_called
from oneop.port.objects import Objects, compile_all, flags_for
from oneop.port.reading import missing_in
from oneop.port.scope import reason_to_leave_out
from oneop.port.trial import complete_ops

_INCLUDE = re.compile(r'^\s*#\s*include\s*"(oneflow/user/[^"]+)"', re.MULTILINE)
_REGISTERED = re.compile(r'REGISTER_(?:NO_GRAD_|CPU_ONLY_)*USER_OP\("(\w+)"\)')
_FUNCTIONS = "oneflow/core/functional/functional_api.yaml"


@dataclass(kw_only=True)
class Ported:
    """The files of a project by their paths in it, its ops, and what to say about it."""

    files: dict[str, str]
    ops: list[str]
    checked: list[str]
    notes: list[str] = field(default_factory=list)


def port_files(files: Sequence[Path], name: str, references: Mapping[str, str]) -> Ported:
    """Return the project `name` of sources of one checkout, or of sources that include the SDK alone.

    Args:
        files: C++ sources of ops, kernels and gradients.
        name: of the project and of its package.
        references: {op: function of torch's}, as in {"relu": "torch.relu"}. The ops that
            `oneop.port.references` knows have one without.

    Raises:
        ArgumentError: a file is not there, or is one that no SDK for ops serves.
        BuildError: a file does not compile; the message says what it needs.
    """
    functions_of(references)
    for file in files:
        if not file.is_file():
            raise ArgumentError(f"there is no file {file}")
        reason = reason_to_leave_out(f"/{file.resolve()}", file.read_text(errors="replace"))
        if reason is not None:
            raise ArgumentError(f"{file} cannot be ported: it {reason}")
    root = _root_of(files)
    sources, headers = _with_what_they_include([file.resolve() for file in files], root)
    texts: dict[str, str] = {}
    for path in sources:
        if path.name in texts:
            raise ArgumentError(
                f"two files are called {path.name}; the sources of a project are in one folder: rename one"
            )
        texts[path.name] = path.read_text(errors="replace")
    ported = Ported(files={}, ops=[], checked=[])
    ported.ops = [op for text in texts.values() for op in _REGISTERED.findall(text)]
    package = f"src/{name}"
    ported.files |= {f"{package}/{file}": text for file, text in texts.items()}
    ported.files |= {f"{package}/include/{header}": text for header, text in headers.items()}
    generation = generation_of(root) if root is not None else 0
    compiled = _compiled(sources, root, ported)
    if root is not None:
        ops = complete_ops(definitions_of(root), compiled.compiled)
        ported.ops += [op.name for op in ops]
        if ops:
            ported.files[f"{package}/{name}.td"] = definitions_text(ops)
        functions = _functions(root, list(texts.values()))
        if functions:
            ported.files[f"{package}/{name}.yaml"] = functions
    stray = [op for op in references if op not in ported.ops]
    if stray and ported.ops:
        raise ArgumentError(
            f'--reference: the files have no op "{stray[0]}"; their ops are {", ".join(sorted(ported.ops))}'
        )
    _finish(ported, name, generation, references)
    return ported


def functions_of(references: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Return the functions that are named for ops, as `reference.py` of a project sees them: with torch imported.

    Raises `ArgumentError` for one that is not there, or that cannot be called.
    """
    import torch

    functions: dict[str, Callable[..., Any]] = {}
    for op, text in references.items():
        try:
            function = eval(text, {"torch": torch})
        except Exception as error:
            raise ArgumentError(
                f"--reference {op}={text}: there is no such function: {error}\n"
                "  expected one of torch's, as in relu=torch.relu; others are written into reference.py"
            ) from None
        if not callable(function):
            raise ArgumentError(f"--reference {op}={text}: expected a function, found {type(function).__name__}")
        functions[op] = function
    return functions


def _root_of(files: Sequence[Path]) -> Path | None:
    """Return the checkout that the files are in, None if they are in none. Raises `ArgumentError` for several."""
    roots = {next((folder for folder in file.resolve().parents if is_checkout(folder)), None) for file in files}
    if len(roots) > 1:
        raise ArgumentError("the files are of several checkouts: port those of one at a time")
    return roots.pop()


def _with_what_they_include(files: Sequence[Path], root: Path | None) -> tuple[list[Path], dict[str, str]]:
    """Return the sources, with those of the utilities that they include, and the headers of OneFlow's that they see."""
    sources, headers = list(files), dict[str, str]()
    todo = list(files)
    while todo:
        for name in _INCLUDE.findall(todo.pop().read_text(errors="replace")):
            path = root / name if root is not None else Path(name)
            if name in headers or not path.is_file():
                continue
            headers[name] = path.read_text(errors="replace")
            todo.append(path)
            source = path.with_suffix(".cpp")
            if source.is_file() and source not in sources:
                sources.append(source)
                todo.append(source)
    return sources, headers


def _compiled(sources: Sequence[Path], root: Path | None, ported: Ported) -> Objects:
    """Compile the sources, to see which ops they define. Raises `BuildError` where one of them does not compile."""
    from oneop._build.compiler import find_cxx

    with tempfile.TemporaryDirectory(prefix="oneop-port-") as folder:
        if root is None:
            flags = flags_for(sorted({path.parent for path in sources}), 0)
        else:
            made = sources_of_checkout(root, ("ops", "kernels"), (), Path(folder))
            flags = flags_for(made.include_dirs, made.generation)
        files = {f"{number}_{path.stem}": path for number, path in enumerate(sources)}
        objects = compile_all(files, Path(folder) / "objects", find_cxx().command, flags, jobs=2)
    for name, error in objects.failed.items():
        what, text, where = missing_in(error)
        needs = "" if text.startswith(what.removesuffix(" ...")) else f": it needs {what}"
        raise BuildError(f"{files[name]} does not compile{needs}\n  {where}: {text}")
    defined = frozenset[str]().union(*(compiled.defines for compiled in objects.compiled))
    absent = sorted({name for compiled in objects.compiled for name in compiled.needs - defined})
    ported.notes += [f"defined in a file that was not given: {name}" for name in absent]
    return objects


def _functions(root: Path, texts: Sequence[str]) -> str:
    """Return the part of the checkout's functions that the sources call."""
    path = root / _FUNCTIONS
    return functions_called(path.read_text(), texts) if path.is_file() else ""


def _finish(ported: Ported, name: str, generation: int, references: Mapping[str, str]) -> None:
    """Add what is the same in every project, and the references."""
    from oneop.port.references import REFERENCES

    package = f"src/{name}"
    ported.checked = [op for op in ported.ops if op in REFERENCES or op in references]
    known = [op for op in ported.ops if op in REFERENCES and op not in references]
    lines = ['"""What the ops should compute. `oneop check` and `oneop bench` compare them with this."""', ""]
    lines += ["import torch", "", "import oneop.testing"] if references else []
    lines += ["from oneop.port.references import use", "", f"use({known!r})"] if known else []
    lines += [f'oneop.testing.reference("{op}")({function})' for op, function in references.items()]
    ported.files[f"{package}/reference.py"] = "\n".join(lines) + "\n"
    options = f'include_dirs=[_HERE / "include"], defines={{"ONEOP_PORT": {generation}}}'
    ported.files[f"{package}/__init__.py"] = _INIT.format(name=name, options=options)
    ported.files["setup.py"] = _SETUP.format(name=name, options=options)
    ported.files["pyproject.toml"] = _PYPROJECT.format(name=name)
    ported.files[f"tests/test_{name}.py"] = _TEST.format(name=name, ops=ported.checked)


_INIT = '''"""{name}: ops ported from OneFlow."""

from pathlib import Path

import oneop

_HERE = Path(__file__).parent
_BUILT = _HERE / "{name}.so"  # in a wheel; in a checkout the sources are built when they change

if _BUILT.is_file():
    library = oneop.load(_BUILT)
else:
    library = oneop.load(
        "{name}",
        sorted(_HERE.glob("*.cpp")),
        ods=sorted(_HERE.glob("*.td")),
        functional=sorted(_HERE.glob("*.yaml")),
        {options},
    )
'''
_SETUP = '''"""What pyproject.toml cannot say: the sources are compiled when a wheel is built."""

from pathlib import Path

from setuptools import setup

from oneop.packaging import build_ops

_HERE = Path(__file__).parent.resolve() / "src/{name}"
setup(cmdclass=build_ops("{name}", functional=sorted(_HERE.glob("*.yaml")), {options}))
'''
_PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "Ops ported from OneFlow, made with oneop."
requires-python = ">=3.11"
dependencies = ["oneop"]

[project.entry-points."oneop.ops"]
{name} = "{name}"

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
{name} = ["*.cpp", "*.td", "*.yaml", "*.so", "include/**/*"]

[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["tests"]
"""
_TEST = '''"""The ops of {name}, against their references."""

import pytest

import {name}.reference  # noqa: F401
import oneop.testing


@pytest.mark.parametrize("op", {ops})
def test_check(op):
    oneop.testing.check(op, only=["memory", "inference", "reference", "gradient"])
'''
