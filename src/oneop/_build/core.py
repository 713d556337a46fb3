"""The core extension, `oneop._core`: found in the cache, or built against the installed torch.

The same code runs at install (setup.py), at first use, and by hand:

    python -m oneop._build.core [--force] [-v]
"""

from __future__ import annotations

import argparse
import platform
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from oneop._build import cache
from oneop._build.compiler import Compiler, find_cxx
from oneop._build.plan import Built, Plan, Unit
from oneop._build.sources import sha_of
from oneop._build.torch_install import TorchInstall, find_torch
from oneop._build.tree import tree_digest
from oneop.errors import BuildError
from oneop.settings import settings

PACKAGE = Path(__file__).resolve().parent.parent


def core_path(progress: bool = True, *, force: bool = False, verbose: bool | None = None) -> Path:
    """Return the path of the core for the installed torch, building it first if need be.

    A build announces itself on stderr unless `progress` is False. Raises `BuildError` if torch, the compiler or the
    Python headers are missing, or if the compiler fails.
    """
    return build_core(progress, force=force, verbose=verbose).path


def build_core(progress: bool = True, *, force: bool = False, verbose: bool | None = None) -> Built:
    """Return the core, as `core_path` does, with its log and build time."""
    torch = find_torch()
    built = None if force else find_core(torch)
    if built is not None:
        return built
    from oneop._build.jobs import job_count  # not needed when the core is there, which is nearly always
    from oneop._build.make import make_result
    from oneop._build.progress import Progress

    plan = plan_core(torch)
    announce = (
        f"oneop: building the core for torch {torch.version}: {{todo}} of {{total}} files, {job_count()} at a time "
        f"(all files take two to three minutes of processor time) ..."
    )
    shown = Progress(
        title=f"the core for torch {torch.version}",
        announce=announce if progress else "",
        verbose=settings.verbose if verbose is None else verbose,
    )
    return make_result(plan, shown, force=force)


def find_core(torch: TorchInstall) -> Built | None:
    """Return the core of these sources, this torch and this Python if the cache has it, else None.

    It is found by a record in its own folder: neither objects nor manifests nor a compiler nor Python.h are needed. A
    core made by another compiler than CXX asks for is taken only if there is no compiler to make a new one.
    """
    built = _built(cache.entry_for("core", "_core", core_key(torch)))
    if built is not None:
        return built
    try:
        find_cxx()
    except BuildError:
        made_from = core_inputs(torch)
        for entry in reversed(list(cache.list_entries("core"))):
            if entry.meta().get("made_from") == made_from and (built := _built(entry)) is not None:
                return built
    return None


def core_inputs(torch: TorchInstall) -> dict[str, object]:
    """Return all that decides what the core is, except for the compiler."""
    return {
        "csrc": tree_digest(csrc_dir()),
        "sdk": tree_digest(PACKAGE / "include"),
        "torch": torch.version,
        "torch_git": torch.git_version,
        "python": sysconfig.get_config_var("SOABI"),
        "machine": platform.machine(),
    }


def core_key(torch: TorchInstall) -> str:
    """Return the key of the core: what it is made from, the compiler that was asked for, and the flags in this file."""
    return cache.digest({**core_inputs(torch), "asked": [settings.cxx, settings.cc], "recipe": sha_of(__file__)})


def _built(entry: cache.Entry) -> Built | None:
    file_name = core_file_name()
    if not entry.has(file_name):
        return None
    seconds = entry.meta().get("build_seconds")
    return Built(
        path=entry.path / file_name,
        log_path=entry.path / "build.log",
        seconds=seconds if isinstance(seconds, float) else 0.0,
        cached=True,
    )


def core_file_name() -> str:
    """Return the file name of the core, by which Python finds its init function."""
    return f"_core{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"


def csrc_dir() -> Path:
    """Return the folder of the core's sources: ONEOP_CSRC_DIR, the checkout's csrc/, or the copy in the wheel."""
    candidates = [settings.csrc_dir] if settings.csrc_dir else [PACKAGE.parent.parent / "csrc", PACKAGE / "_csrc"]
    for folder in candidates:
        if core_sources(folder):
            return folder
    raise BuildError(
        f"the sources of the core are not in {' or '.join(map(str, candidates))}\n"
        f"  install oneop again, or set ONEOP_CSRC_DIR to them"
    )


def core_sources(csrc: Path) -> list[Path]:
    """Return what is compiled: the files of csrc/units, each of which includes several sources, else all sources.

    Most of the time of a small source goes into torch's headers; in a unit they are read once for all its sources.
    """
    return sorted((csrc / "units").glob("*.cpp")) or sorted(csrc.glob("*.cpp"))


def plan_core(torch: TorchInstall) -> Plan:
    """Return how the core is built. Raises `BuildError` if something it needs is missing."""
    csrc, cxx = csrc_dir(), find_cxx()
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise BuildError(
            f"the core needs Python.h, which is not in {include}\n"
            f"  install the headers of this Python (Debian: apt install python3-dev)"
        )
    roots = {"csrc": csrc, "sdk": PACKAGE / "include", "torch": torch.folder, "python": include}
    flags = _compile_flags(cxx, roots)
    libraries = torch.folder / "lib"
    return Plan(
        kind="core",
        name="_core",
        file_name=core_file_name(),
        units=tuple(Unit(source=path, compiler=cxx, flags=flags) for path in core_sources(csrc)),
        linker=cxx,
        link_flags=(
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries}",
            # Some compilers link parts of the standard library statically. Were those seen from outside, other
            # libraries would call into them, and the two copies do not fit.
            *(["-Wl,--exclude-libs,ALL"] if sys.platform == "linux" else []),
            "-ltorch_python",
            "-ltorch_cpu",
            "-lc10",
            "-ltorch",
        ),
        facts={"torch": torch.version, "torch_git": torch.git_version, "python": sysconfig.get_config_var("SOABI")},
        roots=roots,
        covered=(str(torch.folder),),
        key=core_key(torch),
        record={"made_from": core_inputs(torch)},
    )


def _compile_flags(cxx: Compiler, roots: dict[str, Path]) -> tuple[str, ...]:
    torch_include = roots["torch"] / "include"
    return (
        "-std=c++20",  # what torch itself is built with
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        # Calls of torch, Python and the C library go straight to them, not through a table that binds names at first
        # use: Python binds all names of an extension when it loads it.
        "-fno-plt",
        # For parallel loops of torch's headers. The OpenMP library is not linked: torch brings its own, and a second
        # one in the process would have its own threads. Code of clang would need another library than torch's, so
        # there these loops are serial.
        *(("-fopenmp",) if cxx.family == "gcc" else ()),
        "-D_GLIBCXX_USE_CXX11_ABI=1",  # so is every torch that oneop supports
        "-DTORCH_EXTENSION_NAME=_core",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        "-Wall",
        "-fdiagnostics-color=never",
        f"-ffile-prefix-map={roots['csrc']}=csrc",
        f"-I{roots['csrc']}",
        f"-I{roots['sdk']}",
        "-isystem",
        str(torch_include),
        "-isystem",
        str(torch_include / "torch/csrc/api/include"),
        "-isystem",
        str(roots["python"]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the core by hand; print its path and the seconds it took. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m oneop._build.core", description="Build the core of oneop.")
    parser.add_argument("--force", action="store_true", help="compile every source again")
    parser.add_argument("-v", "--verbose", action="store_true", help="show commands and all that compilers say")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        built = build_core(force=options.force, verbose=options.verbose)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(built.path)
    print(f"{'cached' if built.cached else 'built'}, {time.monotonic() - started:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
