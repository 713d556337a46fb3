"""For the setup.py of a package that ships ops: its sources are compiled when a wheel is built.

    from setuptools import setup
    from oneop.packaging import build_ops

    setup(cmdclass=build_ops("fast_gelu"))

The library goes into the wheel beside its sources, and stubs of its ops, `oneop-stubs`, beside the package. It needs no
torch to be there and runs under every torch that oneop supports, so the wheel is for a platform, not for a version of
Python or torch.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

SUFFIXES = (".cpp", ".cc", ".cxx", ".cu")


def build_ops(package: str, *, name: str | None = None, certificate: bool = False, **options: Any) -> dict[str, type]:
    """Return the setuptools commands that compile the sources in a package's folder to `<name>.so`, there.

    `name` is by default the package's. With `certificate`, the ops are checked and the wheel brings what was found; a
    wheel whose ops fail is not built. `options` are those of `oneop.build`; `portable` is True unless it is given. CUDA
    sources are left out where there is no nvcc.
    """
    bdist_wheel: Any = importlib.import_module("setuptools.command.bdist_wheel").bdist_wheel
    build_py: Any = importlib.import_module("setuptools.command.build_py").build_py

    library_name = name or package.rpartition(".")[2]

    class BuildOps(build_py):  # type: ignore[misc]
        """build_py, and then the library; an editable install builds it when it is first used."""

        def run(self) -> None:
            super().run()
            if self.editable_mode:
                return
            target = Path(self.build_lib, *package.split("."))
            built = build_library(library_name, Path(self.get_package_dir(package)), **options)
            shutil.copyfile(built, target / f"{library_name}.so")
            write_stubs(built, Path(self.build_lib))
            if certificate:
                write_certificate(package, target / f"{library_name}.so")

    class PlatformWheel(bdist_wheel):  # type: ignore[misc]
        """A wheel for any Python 3 on this platform."""

        def initialize_options(self) -> None:
            super().initialize_options()
            self.distribution.has_ext_modules = lambda: True  # else what is compiled would not lie beside the rest

        def get_tag(self) -> tuple[str, str, str]:
            return "py3", "none", str(super().get_tag()[2])

    return {"build_py": BuildOps, "bdist_wheel": PlatformWheel}


def build_library(name: str, folder: Path, **options: Any) -> Path:
    """Build the sources and definitions of a folder, and return the path of the library."""
    from oneop._build.library import build

    has_cuda = shutil.which("nvcc") is not None
    sources = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]
    sources = [path for path in sources if path.suffix != ".cu" or has_cuda]
    settings = {"portable": True, "ods": sorted(folder.glob("*.td")), **options}
    return build(name, sources, **settings).path


def write_stubs(library: Path, folder: Path) -> None:
    """Write the stubs of a library's ops into a folder; warn if they cannot be had.

    The library is loaded for that, in a process of its own, which needs torch; a wheel can be built without.
    """
    command = [sys.executable, "-m", "oneop", "gen", str(library), "--stubs", "-o", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip() or f"status {result.returncode}").splitlines()[-1]
        warnings.warn(f"the wheel gets no type stubs: {library.name} could not be loaded: {reason}", stacklevel=2)


def write_certificate(package: str, library: Path) -> None:
    """Check the ops of a package that was built, and write their certificate beside its library.

    Raises `RuntimeError` with the report if something fails; that needs torch and hypothesis.
    """
    from oneop.testing.certificate import SUFFIX

    folder = library.resolve().parents[len(package.split("."))]
    file = library.with_name(library.name + SUFFIX).resolve()
    command = [sys.executable, "-m", "oneop", "check", "--load", package, "--certificate", str(file)]
    # Bytecode and files that the check leaves would go into the wheel.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    with tempfile.TemporaryDirectory() as elsewhere:
        result = subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        file.unlink(missing_ok=True)
        text = "\n".join(line for line in (result.stdout + result.stderr).splitlines() if "  passed " not in line)
        raise RuntimeError(f"the ops of {package} get no certificate:\n{text}")
