"""The compiled parts of the hosts, built from `csrc/` without torch and kept in the cache by their contents.

python -m oneop.hosts.build runtime [-o FOLDER]    # liboneop_runtime.so, for programs in C
python -m oneop.hosts.build onnx [-o FOLDER]       # liboneop_onnx.so, which ONNX Runtime loads
"""

from __future__ import annotations

import argparse
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oneop._build.compiler import Compiler, known_cxx
from oneop._build.core import PACKAGE, csrc_dir
from oneop._build.plan import Plan, Unit, find_result
from oneop.errors import BuildError
from oneop.settings import settings

#: The runtime's units. They see headers of no other package, so that hosts have their objects in common.
RUNTIME = ("engine.cpp", "hosts/c_host.cpp")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a host is built from."""

    name: str
    file_name: str
    units: tuple[str, ...]  # in csrc/units
    include_dirs: dict[str, Path] = field(default_factory=dict)  # of other packages, by their names
    link_flags: tuple[str, ...] = ()


def runtime_path() -> Path:
    """Return the runtime, the shared library behind `oneop/runtime.h`; it is built first if need be."""
    return build_host(
        Recipe(
            name="runtime",
            file_name="liboneop_runtime.so",
            units=RUNTIME,
            link_flags=(
                "-Wl,-soname,liboneop_runtime.so",
                f"-Wl,--version-script={csrc_dir() / 'units/hosts/runtime.map'}",
            ),
        )
    )


def numpy_host_path() -> Path:
    """Return the extension `oneop._numpy_host` for this Python and numpy; it is built first if need be."""
    import numpy as np

    return build_host(
        Recipe(
            name="numpy",
            file_name=f"_numpy_host{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}",
            units=(*RUNTIME, "interpreter.cpp", "hosts/numpy_host.cpp"),
            include_dirs={"python": python_headers(), "numpy": Path(np.get_include())},
        )
    )


def jax_host_path() -> Path:
    """Return the handler that XLA calls, for the installed jaxlib; it is built first if need be."""
    import jax.ffi

    return build_host(
        Recipe(
            name="jax",
            file_name="liboneop_jax.so",
            units=("hosts/jax_host.cpp",),
            include_dirs={"jaxlib": Path(jax.ffi.include_dir())},
        )
    )


def onnx_host_path() -> Path:
    """Return the library of custom ops for ONNX Runtime, with the runtime in it; it is built first if need be."""
    return build_host(
        Recipe(
            name="onnx",
            file_name="liboneop_onnx.so",
            units=(*RUNTIME, "hosts/onnx_host.cpp"),
            link_flags=(
                "-Wl,-soname,liboneop_onnx.so",
                f"-Wl,--version-script={csrc_dir() / 'units/hosts/onnx.map'}",
            ),
        )
    )


def python_headers() -> Path:
    """Return the folder of Python.h. Raises `BuildError` if it is not installed."""
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise BuildError(
            f"hosts in Python need Python.h, which is not in {include}\n"
            f"  install the headers of this Python (Debian: apt install python3-dev)"
        )
    return include


def build_host(recipe: Recipe) -> Path:
    """Return the shared library of a recipe, from the cache or built. Raises `BuildError`."""
    plans = [_plan(recipe, cxx) for cxx in known_cxx()]
    built = next(filter(None, map(find_result, plans)), None)
    if built is None:
        from oneop._build.make import make_result  # not needed when the library is there
        from oneop._build.progress import Progress

        announce = f"oneop: building the {recipe.name} host, which takes about half a minute ..."
        shown = Progress(title=f"the {recipe.name} host", announce=announce, verbose=bool(settings.verbose))
        built = make_result(plans[0], shown)
    return built.path


def _plan(recipe: Recipe, cxx: Compiler) -> Plan:
    csrc = csrc_dir()
    roots = {"csrc": csrc, "sdk": PACKAGE / "include", **recipe.include_dirs}
    flags = (
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wall",
        "-pthread",
        "-fdiagnostics-color=never",
        f"-ffile-prefix-map={csrc}=csrc",
        f"-I{csrc}",
        f"-I{PACKAGE / 'include'}",
    )
    includes = tuple(word for folder in recipe.include_dirs.values() for word in ("-isystem", str(folder)))
    units = [
        Unit(source=csrc / "units" / unit, compiler=cxx, flags=flags if unit in RUNTIME else (*flags, *includes))
        for unit in recipe.units
    ]
    return Plan(
        kind="host",
        name=recipe.name,
        file_name=recipe.file_name,
        units=tuple(units),
        linker=cxx,
        link_flags=("-shared", "-pthread", "-Wl,--exclude-libs,ALL", *recipe.link_flags, "-ldl"),
        roots=roots,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the runtime, or the host of ONNX Runtime, by hand; print its path. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m oneop.hosts.build", description="Build a host of oneop.")
    parser.add_argument("host", choices=("runtime", "onnx"))
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="put a copy there")
    options = parser.parse_args(arguments)
    try:
        path = runtime_path() if options.host == "runtime" else onnx_host_path()
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            path = Path(shutil.copy2(path, options.output))
    except (BuildError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
