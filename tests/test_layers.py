"""The structure of the code base: what may depend on what, in C++ and in Python."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CSRC = ROOT / "csrc"

#: The folders of csrc, lowest first. A file includes files of its own folder and of folders above it in this list.
CPP_LAYERS = (
    "engine/ops",
    "engine/frames",
    "engine/registry",
    "engine/calls",
    "engine/plans",
    "c_host",
    "interpreter",
    "numpy_host",
    "jax_host",
    "onnx_host",
    "torch_host/interpreter",
    "torch_host/memory",
    "torch_host/ops",
    "torch_host/calls",
    "torch_host/compute",
    "torch_host/handles",
    "torch_host/autograd",
    "torch_host/services",
    "torch_host/registration",
    "torch_host/jobs",
    "python/calls",
    "python/functions",
    "python/kernels",
    "python/module",
)
#: What hosts without torch may include beside files of csrc.
PLAIN_HOSTS = {
    "c_host": re.compile(r"[a-z_]+|pthread\.h|oneop/.*\.h"),
    "interpreter": re.compile(r"[a-z_]+|Python\.h|oneop/.*\.h"),
    "jax_host": re.compile(r"[a-z_]+|oneop/runtime\.h|xla/ffi/api/ffi\.h"),
    "onnx_host": re.compile(r"[a-z_]+|oneop/runtime\.h"),
    "numpy_host": re.compile(r"[a-z_]+|Python\.h|structmember\.h|numpy/arrayobject\.h|oneop/.*\.h"),
}
#: What the engine may include beside its own files: the standard library, dlopen, and the SDK.
ENGINE_INCLUDES = re.compile(r"[a-z_]+|dlfcn\.h|oneop/.*\.h")
MOST_FILES = 25


def cpp_files(root: Path) -> dict[str, Path]:
    return {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.suffix in {".h", ".cpp"}}


def includes(path: Path) -> list[str]:
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def cpp_violations(root: Path) -> list[str]:
    """Return what is wrong with the includes below a folder that is built as csrc is."""
    files = {name: path for name, path in cpp_files(root).items() if not name.startswith("units/")}
    faults = []
    units: dict[str, set[str]] = {}
    for name, path in files.items():
        folder = str(Path(name).parent)
        if folder not in CPP_LAYERS:
            faults.append(f"{name}: the folder {folder} is not in CPP_LAYERS")
            continue
        for included in includes(path):
            if included in files:
                other = str(Path(included).parent)
                if other in CPP_LAYERS and CPP_LAYERS.index(other) > CPP_LAYERS.index(folder):
                    faults.append(f"{name} includes {included}, which is in a higher layer")
                elif folder in PLAIN_HOSTS and other.startswith(("torch_host", "python")):
                    faults.append(f"{name} includes {included}: {folder} does without")
                unit, other_unit = str(Path(name).with_suffix("")), str(Path(included).with_suffix(""))
                units.setdefault(unit, set()).update({other_unit} - {unit})
            elif folder.startswith("engine/") and not ENGINE_INCLUDES.fullmatch(included):
                faults.append(f"{name} includes {included}: the engine knows neither torch nor Python")
            elif folder in PLAIN_HOSTS and not PLAIN_HOSTS[folder].fullmatch(included):
                faults.append(f"{name} includes {included}: {folder} does without")
    return faults + cycles(units)


def python_violations(package: Path) -> list[str]:
    """Return the cycles among the modules of a package, imports inside functions included."""
    modules = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return cycles({name: set(imports(path, set(modules))) - {name} for name, path in modules.items()})


def imports(path: Path, modules: set[str]) -> Iterable[str]:
    for_types = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for_types.update(id(inner) for inner in ast.walk(node))
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """Return a text for each group of nodes that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for node in graph.get(todo.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        reached[start] = seen
    groups = {
        tuple(sorted(other for other in seen if start in reached.get(other, ())))
        for start, seen in reached.items()
        if start in seen
    }
    return [f"a cycle: {', '.join(group)}" for group in sorted(groups)]


def test_cpp_layers():
    assert cpp_violations(CSRC) == []


def test_python_has_no_import_cycles():
    assert python_violations(ROOT / "src/oneop") == []


def test_every_source_is_in_one_unit_of_the_build():
    units = [name for path in sorted((CSRC / "units").rglob("*.cpp")) for name in includes(path)]
    assert sorted(units) == sorted(name for name in cpp_files(CSRC) if name.endswith(".cpp") and "units/" not in name)


def test_no_folder_is_too_large_to_look_over():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    folders = ("csrc", "src", "tests", "benchmarks")
    named_by_oneflow = "src/oneop/include/oneflow/"  # its sources include these headers by their paths
    names = [name for name in tracked if name.startswith(folders) and not name.startswith(named_by_oneflow)]
    counts = Counter(str(Path(name).parent) for name in names)
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_every_unit_of_cpp_is_on_the_map():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = {
        row[1]: set(re.findall(r"`(\w+)`", row[2]))
        for row in re.finditer(r"^\| `([\w/]+)` \| (.*) \|$", text, re.MULTILINE)
    }
    units: dict[str, set[str]] = {}
    for name in cpp_files(CSRC):
        units.setdefault(str(Path(name).parent), set()).add(Path(name).stem)
    for folder in CPP_LAYERS:
        assert units[folder] <= table.get(folder, set()), folder


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (
            {"engine/ops/a.h": '#include "torch_host/calls/b.h"', "torch_host/calls/b.h": ""},
            "engine/ops/a.h includes torch_host/calls/b.h, which is in a higher layer",
        ),
        (
            {
                "engine/ops/a.h": '#include "engine/ops/b.h"',
                "engine/ops/b.cpp": '#include "engine/ops/a.h"',
                "engine/ops/b.h": "",
            },
            "a cycle: engine/ops/a, engine/ops/b",
        ),
        (
            {"engine/plans/a.cpp": "#include <ATen/ATen.h>"},
            "engine/plans/a.cpp includes ATen/ATen.h: the engine knows neither torch nor Python",
        ),
        (
            {"c_host/a.cpp": '#include "interpreter/b.h"', "interpreter/b.h": "#include <Python.h>"},
            "c_host/a.cpp includes interpreter/b.h, which is in a higher layer",
        ),
        (
            {"interpreter/a.cpp": "#include <torch/torch.h>"},
            "interpreter/a.cpp includes torch/torch.h: interpreter does without",
        ),
        ({"elsewhere/a.cpp": ""}, "elsewhere/a.cpp: the folder elsewhere is not in CPP_LAYERS"),
    ],
)
def test_a_planted_violation_in_cpp_is_found(tmp_path, files, fault):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert cpp_violations(tmp_path) == [fault]


def test_a_planted_cycle_in_python_is_found(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from pack.b import g\n    return g\n")
    (package / "b.py").write_text("from pack import a\n")
    assert python_violations(package) == ["a cycle: pack.a, pack.b"]
