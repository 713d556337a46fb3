"""Cores that a wheel brings, compiled: one for each version of torch, in `oneop/_cores/<version>/`.

A core fits a minor version of torch, one C++ ABI, one Python and one kind of processor; `core.json` says which. The CPU
build and the CUDA builds of a version share it: the core links against libtorch_cpu, libtorch_python and libc10, which
all of them have, and finds them because torch is imported first. What does not fit, is damaged or cannot be loaded is
left alone with a reason, and the core is built from source as in a checkout.

    python -m oneop._build.prebuilt FOLDER      # for the installed torch, into FOLDER/<version>
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oneop._build import cache
from oneop._build.core import PACKAGE, core_file_name, core_inputs, core_key, plan_core
from oneop._build.sources import sha_of
from oneop._build.torch_install import TorchInstall, cxx11_abi, find_torch
from oneop._version import __version__
from oneop.errors import BuildError
from oneop.settings import settings

CORES = PACKAGE / "_cores"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The prebuilt core that fits, or why there is none."""

    path: Path | None = None
    why: str
    is_damage: bool = False  # something is wrong with the installation, which the user should know


def choose(torch: TorchInstall) -> Choice:
    """Return the core of the wheel for this torch, or why none is used. Nothing is loaded."""
    cores = CORES
    if settings.csrc_dir is not None:
        return Choice(why="ONEOP_CSRC_DIR asks for a core of other sources")
    if not settings.prebuilt:
        return Choice(why="ONEOP_PREBUILT=0 asks for one that is built here")
    if not cores.is_dir():
        return Choice(why="this installation brings no compiled cores")
    folder = cores / torch.minor
    if not folder.is_dir():
        brought = ", ".join(sorted(path.name for path in cores.iterdir() if path.is_dir())) or "none"
        return Choice(why=f"the wheel has cores for torch {brought}, not for {torch.version}")
    path = folder / core_file_name()
    facts = _read_facts(folder / "core.json")
    if facts is None:
        return Choice(why=f"{folder / 'core.json'} is missing or damaged", is_damage=True)
    for name, value in _what_must_fit(torch).items():
        if facts.get(name) != value:
            return Choice(why=f"the wheel's core has {name} {facts.get(name)}, here it is {value}")
    if sha_of(path) != facts.get("sha"):
        return Choice(why=f"{path} is missing or damaged", is_damage=True)
    return Choice(path=path, why=f"the wheel's core for torch {torch.minor}, compiled with {facts.get('compiler')}")


def _what_must_fit(torch: TorchInstall) -> dict[str, object]:
    return {
        "torch": torch.minor,
        "cxx11_abi": cxx11_abi(),
        "python": sysconfig.get_config_var("SOABI"),
        "machine": platform.machine(),
        "oneop": __version__,
    }


def _read_facts(path: Path) -> dict[str, object] | None:
    try:
        facts = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


def make_prebuilt(target: Path, *, verbose: bool = False) -> Path:
    """Build the core of the installed torch so that it may be shipped, into `target`/<version>; return that folder.

    It differs from the core of a checkout in the linking only: no path of this machine is in it.
    """
    from oneop._build.make import make_result
    from oneop._build.progress import Progress

    torch = find_torch()
    plan = plan_core(torch)
    link_flags = (*(flag for flag in plan.link_flags if not flag.startswith("-Wl,-rpath,")), "-Wl,--strip-all")
    key = cache.digest({"shipped": core_key(torch), "link_flags": [*link_flags[1:]]})
    plan = replace(plan, link_flags=link_flags, key=key)
    shown = Progress(
        title=f"the core for torch {torch.version}", announce=f"torch {torch.version} ...", verbose=verbose
    )
    built = make_result(plan, shown)
    folder = target / torch.minor
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(built.path, folder / core_file_name())
    facts = {
        **_what_must_fit(torch),
        "sha": sha_of(folder / core_file_name()),
        "compiler": f"{plan.linker.family} {plan.linker.version}",
        "built_against": torch.version,
        "sources": core_inputs(torch)["csrc"],
    }
    (folder / "core.json").write_text(json.dumps(facts, indent=1) + "\n")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Build a core for a wheel; print its folder. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m oneop._build.prebuilt", description="Build a core for a wheel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="show commands and all that compilers say")
    options = parser.parse_args(arguments)
    try:
        print(make_prebuilt(options.folder, verbose=options.verbose))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
