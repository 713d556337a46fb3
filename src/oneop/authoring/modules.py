"""Op modules: a folder named after an op, with its definition, its Python API and its Python kernels.

    user_relu/
      user_relu_cpp_def.cpp     the ops, in C++, or
      user_relu_def.py          the ops, in Python (`oneop.define`)
      user_relu_py_api.py       functions that call them
      user_relu_py_kernel.py    forward(args), backward(args) for user_relu_forward and user_relu_backward
      user_relu_cpp_kernel.cpp  further kernels, in C++

The folder is only read. C++ is built in the cache, and again only when something has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from oneop.authoring import book
from oneop.authoring.binding import Source, source_of
from oneop.authoring.kernels.numpy_dtypes import numpy_dtype
from oneop.errors import LoadError, RegistrationError
from oneop.runtime.core import core, find_op
from oneop.runtime.loader import LoadedLibrary, load

StrPath = str | os.PathLike[str]


class OpModule:
    """A folder whose parts are asked for one by one, `.py_api().cpp_def().py_kernel().build_load()`, or all at once."""

    def __init__(self, op_type_name: str, folder: Path) -> None:
        """Take the folder; nothing is read yet."""
        self.name = op_type_name
        self.folder = folder
        self._api: ModuleType | SimpleNamespace | None = None
        self._sources: list[Path] = []
        self._def: Path | None = None
        self._kernels: Path | None = None
        self.library: LoadedLibrary | None = None

    @property
    def api(self) -> Any:
        """The functions of `_py_api.py`; without that file, the ops themselves."""
        if self._api is None:
            raise LoadError(f'op module "{self.name}": its API is not loaded\n  call .py_api() before .api')
        return self._api

    def py_api(self) -> OpModule:
        """Load the Python API. It may call ops that `build_load` brings only later."""
        self._api = _run_file(self._file("_py_api.py"), f"{self.name}_py_api")
        return self

    def cpp_def(self) -> OpModule:
        """Ask for the definition in C++."""
        self._sources.append(self._file("_cpp_def.cpp"))
        return self

    def py_def(self) -> OpModule:
        """Ask for the definition in Python."""
        self._def = self._file("_def.py")
        return self

    def cpp_kernel(self) -> OpModule:
        """Ask for kernels in C++."""
        self._sources.append(self._file("_cpp_kernel.cpp"))
        return self

    def py_kernel(self) -> OpModule:
        """Ask for the kernels in Python: `forward` and `backward`."""
        self._kernels = self._file("_py_kernel.py")
        return self

    def gpu_kernel(self) -> OpModule:
        """Refuse: op modules have kernels for the cpu."""
        raise NotImplementedError(
            f'op module "{self.name}": Python kernels run on the cpu only\n'
            "  write a CUDA kernel in a library of its own: oneop.load(name, sources)"
        )

    def build_load(self) -> OpModule:
        """Build and load what was asked for. Raises `BuildError` with the compiler's words."""
        if self._sources:
            self.library = load(self.name, self._sources)
        if self._def is not None:
            _run_file(self._def, f"{self.name}_def")
        if self._kernels is not None:
            _register_kernels(self.name, self._kernels)
        return self

    def _file(self, ending: str) -> Path:
        path = self.folder / f"{self.name}{ending}"
        if not path.is_file():
            there = sorted(file.name for file in self.folder.iterdir() if file.is_file())
            raise LoadError(
                f'op module "{self.name}": {path} is not there\n  the folder has: {", ".join(there) or "no files"}'
            )
        return path

    def __repr__(self) -> str:
        return f"<op module {self.name} at {self.folder}>"


def custom_op_module(op_type_name: str, module_path: StrPath = "") -> OpModule:
    """Return the op module in the folder `op_type_name` of `module_path`, which is the working folder by default."""
    folder = Path(module_path or Path.cwd()).absolute() / op_type_name
    if not folder.is_dir():
        raise LoadError(
            f'op module "{op_type_name}": the folder {folder} is not there\n'
            "  expected a folder named after the op, in the one that is given"
        )
    return OpModule(op_type_name, folder)


def load_module(path: StrPath) -> OpModule:
    """Load a whole op module: every part that its folder has. `module.api` has its functions, or the ops themselves."""
    folder = Path(path).absolute()
    module = custom_op_module(folder.name, folder.parent)
    parts: list[tuple[str, Callable[[], OpModule]]] = [
        ("_cpp_def.cpp", module.cpp_def),
        ("_def.py", module.py_def),
        ("_cpp_kernel.cpp", module.cpp_kernel),
        ("_py_kernel.py", module.py_kernel),
        ("_py_api.py", module.py_api),
    ]
    present = [ask for ending, ask in parts if (folder / f"{folder.name}{ending}").is_file()]
    if not any((folder / f"{folder.name}{ending}").is_file() for ending in ("_cpp_def.cpp", "_def.py")):
        raise LoadError(
            f'op module "{folder.name}": nothing in {folder} defines its ops\n'
            f"  expected {folder.name}_cpp_def.cpp or {folder.name}_def.py"
        )
    before = set(core().op_names())
    for ask in present:
        ask()
    module.build_load()
    if module._api is None:
        brought = [name for name in core().op_names() if name not in before or name.startswith(module.name)]
        module._api = SimpleNamespace(**{name: find_op(name) for name in brought})
    return module


def _run_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as a module without leaving bytecode beside it."""
    unique = f"oneop_module_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}_{name}"
    module = ModuleType(unique)
    module.__file__ = str(path)
    sys.modules[unique] = module  # so that classes in it can be pickled and inspected
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except BaseException:
        del sys.modules[unique]
        raise
    return module


def _register_kernels(name: str, path: Path) -> None:
    module = _run_file(path, f"{name}_py_kernel")
    functions = {part: getattr(module, part) for part in ("forward", "backward") if hasattr(module, part)}
    if not functions:
        raise RegistrationError(f'op module "{name}": {path} has neither forward(args) nor backward(args)')
    for part, function in functions.items():
        op = f"{name}_{part}"
        if op in core().op_names():
            _register_kernel(op, function, path)
        elif part == "forward":
            raise RegistrationError(
                f'op module "{name}": {path} has forward(args), and there is no op "{op}"\n'
                f"  define it under that name in {name}_cpp_def.cpp or {name}_def.py"
            )


def _register_kernel(op: str, function: Callable[..., Any], path: Path) -> None:
    schema = book.schema_of(op)
    source = source_of(function, Source(file=str(path), line=1, library=f"python:{path}"))
    takes_attrs = len(inspect.signature(function).parameters) > 1
    attrs = [attr.name for attr in schema.attrs]

    def kernel(*inputs: Any, **values: Any) -> Any:
        return function(inputs, values) if takes_attrs else function(inputs)

    has_tag = "device_sub_tag" in attrs
    book.add_kernel(
        op,
        book.KernelPage(
            source=source,
            language="numpy",
            form="numpy",
            devices=("cpu",),
            dtypes=({},),
            priority=0,
            # OneFlow's ops say by an attribute that they mean the Python kernel.
            when=(lambda raw, values: values["device_sub_tag"] == "py") if has_tag else None,
            when_text='device_sub_tag == "py"' if has_tag else "",
            fields={
                "function": kernel,
                "attrs": attrs if takes_attrs else [],
                "takes_out": False,
                "dtype_of": numpy_dtype,
                "input_is_list": [arg.is_list for arg in schema.inputs],
                "input_is_mutable": [arg.is_mutable for arg in schema.inputs],
            },
        ),
    )
