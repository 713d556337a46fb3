"""`oneop new`: a project with an op that builds, passes its tests and can be measured at once."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import sys
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Any

from oneop.cli.output import add_command, note
from oneop.errors import ArgumentError

#: Names that are taken whether these packages are installed or not.
RESERVED = ("oneop", "oneflow", "torch", "numpy", "triton")
KERNELS = ("cpp", "cuda", "triton", "numpy")
WHAT = {
    "op.cpp": "the op and its CPU kernels",
    "ods_kernel.cpp": "its CPU kernels",
    "op.td": "the definition of the op",
    "op.cu": "its CUDA kernels",
    "numpy_kernel.py": "its numpy kernel",
    "triton_kernel.py": "its Triton kernel",
    "gradient.py": "its gradient and its forward-mode rule",
    "forward_mode.py": "its forward-mode rule",
}


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "new",
        "make a project with an op, its tests and its reference",
        "oneop new myop\noneop new myop --kernels cpp,cuda,numpy --grad\noneop new myop --kernels numpy,triton\n"
        "oneop new myop --ods --grad",
    )
    parser.add_argument("name", metavar="NAME", help="name of the op, the package and the folder")
    parser.add_argument(
        "--kernels", default="cpp", metavar="LIST", help=f"languages of its kernels, of {', '.join(KERNELS)} (cpp)"
    )
    parser.add_argument("--ods", action="store_true", help="define the op in a .td file")
    parser.add_argument("--grad", action="store_true", help="with a gradient and a forward-mode rule")
    parser.add_argument("--dir", type=Path, default=Path(), metavar="FOLDER", help="where to make it (here)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the project, and print its files."""
    kernels = _kernels(options.kernels)
    name = options.name
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or name.startswith("_"):
        raise ArgumentError(f"{name!r} cannot be the name of an op\n  expected letters, digits and underscores: my_op")
    owner = owner_of_name(name)
    if owner:
        raise ArgumentError(
            f"{name!r} cannot be the name of a project: `import {name}` brings {owner}\n  choose another: my_{name}"
        )
    folder: Path = options.dir / name
    if folder.exists():
        raise ArgumentError(f"{folder} is there already\n  choose another name, or another folder with --dir")
    files = project_files(name, kernels, ods=options.ods, grad=options.grad)
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    print("\n".join(str(folder / path) for path in files))  # when all are there: a closed pipe ends the command here
    note(f"next: cd {folder} && oneop check && oneop bench")
    note(f"to import {name} everywhere: pip install --no-build-isolation -e .")
    return 0


def owner_of_name(name: str) -> str:
    """Return what `import name` brings already, outside the working folder; "" if nothing."""
    if name in RESERVED:
        return "oneop itself" if name == "oneop" else f"a package that oneop works with, {name}"
    if name in sys.stdlib_module_names:
        return "a module of Python's standard library"
    here = Path.cwd()
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if entry and Path(entry).resolve() != here]
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    finally:
        sys.path[:] = path
    is_folder = spec is not None and spec.origin is None  # any folder in the path, unless a distribution has it
    if spec is None or (is_folder and name not in metadata.packages_distributions()):
        return ""
    return "an installed package"


def _kernels(text: str) -> list[str]:
    kernels = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [kernel for kernel in kernels if kernel not in KERNELS]
    if unknown or not kernels:
        raise ArgumentError(f"--kernels: expected some of {', '.join(KERNELS)}, found {text!r}")
    return kernels


def project_files(name: str, kernels: list[str], *, ods: bool, grad: bool) -> dict[str, str]:
    """Return the files of a project: their paths in it, and their texts."""
    is_native = ods or "cpp" in kernels or "cuda" in kernels
    # The gradient is an op in C++ where all kernels are the CPU's. One written with torch's ops runs on any device.
    has_gradient_op = grad and is_native and not ods and not {"cuda", "triton"} & {*kernels}
    parts = ["ods_kernel.cpp", "op.td"] if ods else ["op.cpp"] if is_native else []
    parts += ["op.cu"] if "cuda" in kernels else []
    parts += [f"{language}_kernel.py" for language in ("numpy", "triton") if language in kernels]
    parts += ["forward_mode.py" if has_gradient_op else "gradient.py"] if grad else []
    modules = [part.removesuffix(".py") for part in parts if part.endswith(".py")]
    values = {
        "name": name,
        "class_name": "".join(word.capitalize() for word in name.split("_")),
        "trait": "" if grad else ", NoGrad",
        "not_differentiable": "" if grad else ", differentiable=False",
        "imports": _imports(name, modules),
        "numpy_role": ", which the others are compared with" if is_native else "",
        "numpy_priority": ", priority=-1" if is_native else "",
        "checked": f'"{name}", "{name}_grad"' if has_gradient_op else f'"{name}"',
    }
    values["gradient"] = (
        fill("gradient_op.cpp", values).rstrip() if has_gradient_op else ";" if grad else "\n    .no_grad();"
    )
    values["reference_grad"] = fill("reference_grad.py", values) if has_gradient_op else ""
    places = {part: f"src/{name}/{part.replace('ods_kernel.', 'op.').replace('op.', f'{name}.', 1)}" for part in parts}
    values["files"] = "\n".join(f"| `{place}` | {WHAT[part]} |" for part, place in places.items())
    files = {place: fill(part, values) for part, place in places.items()}
    files[f"src/{name}/__init__.py"] = fill("init_native.py" if is_native else "init_python.py", values)
    files[f"src/{name}/reference.py"] = fill("reference.py", values)
    files[f"tests/test_{name}.py"] = fill("test_op.py", values)
    for plain in ("pyproject.toml", "README.md", *(["setup.py"] if is_native else [])):
        files[plain] = fill(plain, values)
    return dict(sorted(files.items()))


def _imports(name: str, modules: list[str]) -> str:
    lines = []
    for module in modules:
        if module == "triton_kernel":
            lines += [
                "try:",
                f"    from {name} import triton_kernel  # noqa: F401",
                "except ImportError:  # no triton here",
            ]
            lines += ["    pass"]
        else:
            lines.append(f"from {name} import {module}  # noqa: E402, F401")
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def fill(template: str, values: dict[str, str]) -> str:
    """Return the text of a template with its values."""
    text = (resources.files("oneop.cli") / "templates" / f"{template}.txt").read_text()
    return Template(text).substitute(values)
