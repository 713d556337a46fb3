"""`oneop info`: versions, compilers, GPUs, paths, and every setting with its value and origin."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata
from typing import Any

from oneop._version import __version__
from oneop.cli.output import add_command, add_json, paint, print_json, table
from oneop.settings import settings

PACKAGES = ("torch", "numpy", "triton", "numba", "ml_dtypes", "hypothesis", "rich")


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "info", "print versions, compilers, GPUs, paths and settings", "oneop info\noneop info --json"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def collect() -> dict[str, Any]:
    """Return everything, as JSON can hold it."""
    from oneop._build.cache import cache_root

    return {
        "oneop": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
        "compilers": _compilers(),
        "gpus": _gpus(),
        "core": _core(),
        "cache": str(cache_root()),
        "settings": [
            {
                "name": setting.name,
                "env": setting.env,
                "value": None if setting.value is None else str(setting.value),
                "origin": setting.origin,
            }
            for setting in settings.describe()
        ],
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _compilers() -> dict[str, str]:
    from oneop._build.compiler import find_cxx
    from oneop._build.cuda import find_toolkit
    from oneop.errors import BuildError

    compilers = {}
    for name, find in (("c++", find_cxx), ("cuda", find_toolkit)):
        try:
            tool: Any = find()
            compiler = getattr(tool, "nvcc", tool)
            compilers[name] = "none" if compiler is None else f"{' '.join(compiler.command)} ({compiler.version})"
        except BuildError as error:
            compilers[name] = f"none: {str(error).splitlines()[0]}"
    return compilers


def _gpus() -> list[str]:
    try:
        import torch
    except ImportError:
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _core() -> str:
    """Return which core is used with the installed torch, and why."""
    from oneop._build.core import find_core
    from oneop._build.prebuilt import choose
    from oneop._build.torch_install import find_torch
    from oneop.errors import BuildError

    try:
        torch = find_torch()
        choice = choose(torch)
        if choice.path is not None:
            return f"{choice.path} ({choice.why})"
        built = find_core(torch)
    except BuildError as error:
        return f"none: {str(error).splitlines()[0]}"
    state = "not built yet; it will be at first use" if built is None else f"{built.path}, built from source"
    return f"{state} ({choice.why})"


def run(options: argparse.Namespace) -> int:
    """Print it."""
    facts = collect()
    if options.json:
        print_json(facts)
        return 0
    rows = [[name, str(facts[name])] for name in ("oneop", "python", "platform")]
    rows += [[name, version or "not installed"] for name, version in facts["packages"].items()]
    rows += [[name, text] for name, text in facts["compilers"].items()]
    rows += [["gpus", ", ".join(facts["gpus"]) or "none"], ["core", facts["core"]], ["cache", facts["cache"]]]
    print(table(rows))
    print("\n" + paint("settings", "bold"))
    shown = [
        [setting["name"], setting["env"], setting["value"] or "-", setting["origin"]] for setting in facts["settings"]
    ]
    print(table(shown, header=["name", "variable", "value", "from"], indent="  "))
    return 0
