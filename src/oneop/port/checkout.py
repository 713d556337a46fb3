"""The sources to survey: those of a OneFlow checkout, in groups, or all of a folder."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oneop.errors import ArgumentError, OneopError

if TYPE_CHECKING:
    from oneop.ods.ops import OdsOp

#: Group -> the files of a checkout that are in it.
GROUPS = {
    "ops": "oneflow/user/ops/*.cpp",
    "kernels": "oneflow/user/kernels/**/*.cpp",
    "gradients": "oneflow/core/autograd/gradient_funcs/*.cpp",
    "functors": "oneflow/core/functional/impl/*.cpp",
    "cuda": "oneflow/user/**/*.cu",
}
#: Looked at where none is asked for: those that a C++ compiler takes.
USUAL_GROUPS = tuple(group for group in GROUPS if group != "cuda")
_SUFFIXES = {".cpp", ".cc", ".cu"}
_FUNCTIONS = "oneflow/core/functional/functional_api.yaml"


@dataclass(kw_only=True)
class Sources:
    """Files in groups, what they are compiled with beside the SDK, and what could not be made for them."""

    root: Path
    groups: dict[str, list[Path]]
    generation: int = 0
    include_dirs: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@contextmanager
def sources_of(path: Path, groups: Sequence[str], include_dirs: Sequence[Path]) -> Iterator[Sources]:
    """Give the sources below a path, with the headers that are made from its definitions while they are used.

    Raises `ArgumentError` if there are none.
    """
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        raise ArgumentError(f'there is no group "{unknown[0]}"; groups are {", ".join(GROUPS)}')
    with tempfile.TemporaryDirectory(prefix="oneop-survey-") as folder:
        if is_checkout(path):
            yield sources_of_checkout(path.resolve(), groups or USUAL_GROUPS, include_dirs, Path(folder))
        else:
            yield _folder(path.resolve(), include_dirs)


def is_checkout(path: Path) -> bool:
    """Tell whether a folder is a checkout of OneFlow."""
    return (path / "oneflow/user").is_dir()


def _folder(path: Path, include_dirs: Sequence[Path]) -> Sources:
    if not path.exists():
        raise ArgumentError(f"there is no file or folder {path}")
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES)
    if not files:
        raise ArgumentError(f"there is no C++ or CUDA source in {path}")
    root = path.parent if path.is_file() else path
    cuda = [file for file in files if file.suffix == ".cu"]
    parts = {"sources": [file for file in files if file not in cuda], "cuda": cuda}
    groups = {group: files for group, files in parts.items() if files}
    return Sources(root=root, groups=groups, include_dirs=[*include_dirs, root])


def sources_of_checkout(root: Path, groups: Sequence[str], include_dirs: Sequence[Path], work: Path) -> Sources:
    """Return the sources of a checkout; the headers that are made for them are put into the folder `work`."""
    files_of = {group: sorted(root.glob(GROUPS[group])) for group in groups}
    groups_here = {group: files for group, files in files_of.items() if files}
    sources = Sources(root=root, groups=groups_here, generation=generation_of(root))
    if not sources.groups:
        raise ArgumentError(f"{root} has none of these groups: {', '.join(groups)}")
    # Its own headers of ops and kernels are seen, those of its core are not: the SDK stands in for them.
    view = work / "view"
    (view / "oneflow").mkdir(parents=True, exist_ok=True)
    (view / "oneflow/user").unlink(missing_ok=True)
    (view / "oneflow/user").symlink_to(root / "oneflow/user")
    made = work / "made"
    sources.include_dirs = [*include_dirs, made, view]
    has_given = [any((folder / header).is_file() for folder in include_dirs) for header in _headers()]
    for maker, is_given in zip((_make_definitions, _make_functions), has_given, strict=True):
        if not is_given:
            try:
                texts = maker(root)
            except OneopError as error:
                sources.notes.append(str(error).partition("\n")[0])
                continue
            for name, text in texts.items():
                write_if_changed(made / name, text)
    return sources


def write_if_changed(path: Path, text: str) -> None:
    """Write a file, but leave one alone that is the same: what was compiled with it stays good."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def generation_of(root: Path) -> int:
    """Return the generation of a checkout's API, by what its inference context offers; 0 if it has none."""
    path = root / "oneflow/core/framework/infer_util.h"
    text = path.read_text(errors="replace") if path.is_file() else ""
    for year, name in ((2024, "SetOutputShape"), (2022, "InputShape"), (2020, "Shape4ArgNameAndIndex")):
        if name in text:
            return year
    return 0


def _headers() -> tuple[str, str]:
    from oneop.functional.cpp import HEADER as FUNCTIONS
    from oneop.ods.cpp import HEADER as DEFINITIONS

    return DEFINITIONS, FUNCTIONS


def _make_definitions(root: Path) -> dict[str, str]:
    """Return op_generated.h."""
    from oneop.ods.cpp import HEADER, generate_cpp

    ops = definitions_of(root)
    return {HEADER: generate_cpp(ops)[HEADER]} if ops else {}


def definitions_of(root: Path) -> list[OdsOp]:
    """Return the ops in a checkout's definitions; none for one that has no definitions."""
    from oneop.ods import CHECKOUT_DEFINITIONS, read_checkout

    return list(read_checkout(root)) if (root / CHECKOUT_DEFINITIONS).is_file() else []


def _make_functions(root: Path) -> dict[str, str]:
    """Return functional_api.yaml.h."""
    from oneop.functional import read_yaml
    from oneop.functional.cpp import HEADER, generate_functions

    path = root / _FUNCTIONS
    if not path.is_file():
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about functions that stay out; files that call them say so
        return {HEADER: generate_functions(read_yaml(path))[HEADER]}
