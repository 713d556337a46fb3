"""Digests of Python values: what a function does, as far as it can be told from its code and the values it reaches.

Equal digests must mean equal behaviour; that is what makes a digest part of a cache's key. So a value is digested only
if all of it can be read: numbers, texts, containers, arrays, tensors, functions (code, defaults, closure, the globals
that the code loads), classes and instances written in Python. For anything else (an open file, a lock, an object of an
extension) `Undigestible` is raised, and the caller does without the cache.

Installed packages stand for themselves by name and version. Positions in files are left out: moving a function in its
file changes nothing.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import enum
import functools
import hashlib
import importlib
import struct
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from oneop.authoring.binding import Source

#: Content of more elements than this is not read for a digest.
_MOST_ELEMENTS = 1 << 22
_INSTALLED = tuple({f"{sysconfig.get_path(kind)}/" for kind in ("purelib", "platlib", "stdlib", "platstdlib")})
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: all classes of class statements are, and some that C made


class Undigestible(Exception):
    """A value whose behaviour cannot be told from outside."""


def digest_of(*values: object) -> str:
    """Return a digest of the values, the same in every process. Raises `Undigestible`."""
    reader = _Reader()
    for value in values:
        reader.read(value)
    return reader.hexdigest()


@dataclass(frozen=True)
class Place:
    """Where a function finds something that it uses."""

    owner: Any
    name: str
    kind: str  # "item" of a mapping, "attribute", "cell", or "size" of a mapping

    def reader(self) -> Callable[[], object]:
        """Return a function that returns what is there; None if nothing is."""
        if self.kind == "item":
            return functools.partial(self.owner.get, self.name)
        if self.kind == "size":
            return functools.partial(len, self.owner)
        name = "cell_contents" if self.kind == "cell" else self.name
        return functools.partial(_attribute, self.owner, name)


def _attribute(owner: Any, name: str) -> object:
    try:
        return getattr(owner, name, None)
    except ValueError:  # an empty cell
        return None


def places_of(*values: object) -> list[Place]:
    """Return where functions find what they use, except for oneop's own, and globals that their code assigns to."""
    reader = _Reader(is_collecting=True)
    for value in values:
        with contextlib.suppress(RecursionError):
            reader.read(value)
    return [place for place in reader.places if place.name not in reader.assigned]


class _Reader:
    def __init__(self, *, is_collecting: bool = False) -> None:
        self._is_collecting = is_collecting  # places are wanted, also beyond what cannot be digested
        self.places: list[Place] = []
        self.assigned: set[str] = set()
        self._hash = hashlib.sha256(sys.version.encode())
        self._seen: dict[int, int] = {}  # values being read or read already, by number: graphs may have cycles
        self._alive: list[object] = []  # so that no id is used twice

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _put(self, kind: str, content: bytes = b"") -> None:
        # Kind and length first: no two different sequences of values give the same bytes.
        self._hash.update(struct.pack("<I", len(kind)) + kind.encode() + struct.pack("<Q", len(content)) + content)

    def read(self, value: object) -> None:
        if type(value) in _ATOMS:
            return self._put(type(value).__name__, _ATOMS[type(value)](value))
        if type(value) not in (tuple, types.CodeType):  # equal ones may be one object here and two in another process
            number = self._seen.get(id(value))
            if number is not None:
                return self._put("again", str(number).encode())
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
        try:
            self._read_new(value)
        except RecursionError:
            raise
        except Exception:  # Undigestible, or what an object of the author's raises when it is looked at
            if not self._is_collecting:
                raise

    def _note(self, owner: Any, names: Iterable[str], kind: str = "item") -> None:
        if self._is_collecting:
            self.places += [Place(owner, name, kind) for name in names]

    def _read_new(self, value: Any) -> None:
        kind = type(value)
        if kind in (tuple, list, torch.Size):
            self._all(kind.__name__, value)
        elif kind in (dict, collections.OrderedDict, types.MappingProxyType):
            self._all(kind.__name__, [part for item in value.items() for part in item])
        elif kind in (set, frozenset):
            self._put("set", "".join(sorted(digest_of(item) for item in value)).encode())
        elif kind in (range, slice):
            self._put(kind.__name__, repr(value).encode())
        elif kind is types.FunctionType:
            self._function(value)
        elif kind is types.CodeType:
            self._code(value)
        elif kind is types.MethodType:
            self._all("method", [value.__func__, value.__self__])
        elif kind is types.CellType:
            self._cell(value)
        elif kind in (types.BuiltinFunctionType, types.BuiltinMethodType):
            self._builtin(value)
        elif kind is functools.partial:
            self._all("partial", [value.func, value.args, value.keywords])
        elif kind in (staticmethod, classmethod, property):
            self._all(kind.__name__, [getattr(value, part, None) for part in ("__func__", "fget", "fset")])
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, enum.Enum):
            self._all("enum", [type(value).__qualname__, value.name, value.value])
        elif not self._known(value):
            self._instance(value)

    def _all(self, kind: str, values: Iterable[object]) -> None:
        listed = list(values)
        self._put(kind, struct.pack("<Q", len(listed)))
        for value in listed:
            self.read(value)

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            return self._put("empty cell")
        self._all("cell", [content])

    def _function(self, function: types.FunctionType) -> None:
        self._put("function", function.__qualname__.encode())
        self.read(function.__code__)
        self.read(function.__defaults__)
        self.read(function.__kwdefaults__)
        self._all("closure", function.__closure__ or ())
        if not is_installed(function.__module__):
            for cell in function.__closure__ or ():
                self._note(cell, [""], "cell")
            self._note(function, ["__code__", "__defaults__", "__kwdefaults__"], "attribute")
            self._note(vars(function), [*vars(function)])
        attributes = {name: attribute for name, attribute in vars(function).items() if name != "__wrapped__"}
        self.read(attributes)
        if is_installed(function.__module__):
            return  # its globals are its package's
        for path in sorted(set(_loads(function.__code__))):
            self._put("global", ".".join(path).encode())
            self._path(function.__globals__, path)

    def _path(self, scope: dict[str, Any], path: tuple[str, ...]) -> None:
        """Read what `a.b.c` is, with modules looked through as far as the code does."""
        name, *rest = path
        if name not in scope:
            builtins: Any = scope.get("__builtins__", {})
            known = builtins if isinstance(builtins, dict) else vars(builtins)
            return self._put("builtin" if name in known else "absent", name.encode())
        value = scope[name]
        self._note(scope, [name])
        while isinstance(value, types.ModuleType) and rest and not is_installed(value.__name__):
            name = rest.pop(0)
            if name not in vars(value):
                return self._put("absent", name.encode())
            self._note(vars(value), [name])
            value = vars(value)[name]
        self.read(value)

    def _code(self, code: types.CodeType) -> None:
        self.assigned.update(str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL")
        self._put("code", code.co_code)
        facts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        for part in (facts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self.read(tuple(part))
        constants = code.co_consts
        self._put("constants", struct.pack("<Q", len(constants)))
        for constant in constants:
            self.read(constant)
        self.read(getattr(code, "co_exceptiontable", b""))

    def _builtin(self, function: Any) -> None:
        owner = function.__self__
        self._put("builtin function", f"{function.__module__}.{function.__qualname__}".encode())
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            self.read(owner)

    def _module(self, module: types.ModuleType) -> None:
        name = module.__name__
        if not is_installed(name):
            raise Undigestible(f"the module {name} as a whole")
        self._put("module", f"{name} {_version(name)}".encode())

    def _class(self, cls: type) -> None:
        self._put("class", f"{cls.__module__}.{cls.__qualname__}".encode())
        if is_installed(cls.__module__) or not cls.__flags__ & _HEAP_TYPE:
            return self._put("version", _version(cls.__module__).encode())
        self._note(vars(cls), sorted(set(vars(cls)) - _CLASS_BOOKKEEPING))
        self._all("bases", cls.__bases__)
        for name in sorted(set(vars(cls)) - _CLASS_BOOKKEEPING):
            self._put("member", name.encode())
            self.read(vars(cls)[name])

    def _known(self, value: Any) -> bool:
        """Read values of torch, numpy and oneop; False for others."""
        if isinstance(value, Source):
            self._put("source")  # where it is written is not what it does
        elif isinstance(value, torch.Tensor):
            self._tensor(value)
        elif isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            self._put("torch op", str(value).encode())
        elif type(value).__module__ == "oneop._core":
            if not hasattr(value, "__name__"):
                raise Undigestible(f"a {type(value).__qualname__}")
            self._put("op", str(value.__name__).encode())  # has a digest of its own
        elif type(value).__module__.partition(".")[0] == "numpy":
            self._numpy(value)
        elif hasattr(value, "py_func"):  # numba's wrapper of a function
            self._all("compiled", [value.py_func])
        elif type(value).__module__.partition(".")[0] == "triton" and hasattr(value, "cache_key"):
            self._put("triton", str(value.cache_key).encode())
        else:
            return False
        return True

    def _tensor(self, tensor: torch.Tensor) -> None:
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
        if not plain or tensor.device.type == "meta" or tensor.numel() > _MOST_ELEMENTS:
            raise Undigestible(f"a tensor of {tensor.numel()} elements on {tensor.device}")
        content = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        self._all("tensor", [str(tensor.dtype), str(tensor.device), list(tensor.shape), tensor.requires_grad])
        self._put("content", content.flatten().view(torch.uint8).numpy().tobytes() if content.numel() else b"")

    def _numpy(self, value: Any) -> None:
        import numpy as np

        if isinstance(value, np.ndarray) and value.dtype != object and value.size <= _MOST_ELEMENTS:
            self._all("array", [value.dtype.str, list(value.shape)])
            self._put("content", value.tobytes())
        elif isinstance(value, np.generic):
            self._all("number", [value.dtype.str, value.tobytes()])
        elif isinstance(value, (np.dtype, np.ufunc)) or callable(value):
            self._put("numpy", f"{value!r} {np.__version__}".encode())
            if " at 0x" in repr(value):
                raise Undigestible(repr(value))
        else:
            raise Undigestible(f"a {type(value).__qualname__}")

    def _instance(self, value: Any) -> None:
        """Read an object all of whose state is in its `__dict__`: one of classes written in Python, without slots."""
        cls = type(value)
        self._note_attributes(value, cls)
        written = [base for base in cls.__mro__ if base is not object]
        if not hasattr(value, "__dict__") or not all(
            _is_written_in_python(base) and not vars(base).get("__slots__") for base in written
        ):
            if self._is_collecting:
                self.read(cls)
            raise Undigestible(f"a {cls.__module__}.{cls.__qualname__}")
        self._all("instance", [cls, vars(value)])

    def _note_attributes(self, value: Any, cls: type) -> None:
        if cls.__module__.partition(".")[0] == "oneop":
            return
        if hasattr(value, "__dict__"):
            self._note(vars(value), [*vars(value)])
            self._note(vars(value), [""], "size")  # one that is added hides that of the class
        for base in cls.__mro__:
            slots = vars(base).get("__slots__", ())
            self._note(value, [slots] if isinstance(slots, str) else [*slots], "attribute")


def _is_written_in_python(cls: type) -> bool:
    """Tell whether a class statement made the class. Objects of classes made by C have state that nobody can see.

    The flag alone does not tell: files, arrays and others are heap types, more of them in each version of Python.
    """
    made = {name for name, value in vars(cls).items() if cls in (_of(value, "__objclass__"), _of(value, "__self__"))}
    return bool(cls.__flags__ & _HEAP_TYPE) and made <= {"__dict__", "__weakref__", *vars(cls).get("__slots__", ())}


def _of(value: object, name: str) -> object:
    """Return whose method or field C made this, None if it made none."""
    return getattr(value, name, None) if type(value).__module__ == "builtins" else None


_ATOMS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"",
    type(...): lambda value: b"",
    type(NotImplemented): lambda value: b"",
    bool: lambda value: bytes([value]),
    int: lambda value: str(value).encode() if value.bit_length() < 4096 else hex(value).encode(),
    float: lambda value: struct.pack("<d", value),
    complex: lambda value: struct.pack("<dd", value.real, value.imag),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: bytes,
    bytearray: bytes,
    torch.dtype: lambda value: str(value).encode(),
    torch.device: lambda value: str(value).encode(),
    torch.layout: lambda value: str(value).encode(),
    torch.memory_format: lambda value: str(value).encode(),
}
_CLASS_BOOKKEEPING = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __firstlineno__ __static_attributes__ __annotations__ "
    "__abstractmethods__ _abc_impl __dataclass_fields__ __dataclass_params__ __match_args__".split()
)


def _loads(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Give the globals that code loads, each with the attributes it takes of it at once: `("np", "linalg", "norm")`."""
    path: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            if path:
                yield path
            path = (str(step.argval),)
        elif path and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path += (str(step.argval),)
        elif path and step.opname not in ("CACHE", "PUSH_NULL"):
            yield path
            path = ()
    if path:
        yield path
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _loads(constant)


@functools.cache
def is_installed(name: str | None) -> bool:
    """Tell whether a module belongs to Python or an installed package, which are known by version."""
    top = (name or "").partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return top == "oneop" or file.startswith(_INSTALLED) or (not file and top in sys.stdlib_module_names)


@functools.cache
def _version(name: str) -> str:
    top = name.partition(".")[0]
    version = getattr(sys.modules.get(top) or importlib.import_module(top), "__version__", None)
    if version is not None or top in sys.stdlib_module_names:
        return str(version)
    file = getattr(sys.modules.get(name), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
