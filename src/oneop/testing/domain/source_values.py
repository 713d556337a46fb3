"""Values that an op's code compares something with: strings and numbers in its Python functions and C++ sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from oneop.registry import OpDef

_WORD = re.compile(r'"([A-Za-z_][A-Za-z0-9_.-]{0,30})"')
_ENVIRONMENT = re.compile(r"[\"']([A-Z][A-Z0-9_]{2,})[\"']")
_QUOTED = re.compile(r"[\"'`]([A-Za-z_][A-Za-z0-9_.-]{0,30})[\"'`]")
_IS_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}")
_BESIDE_ENVIRONMENT = re.compile(r"(?:getenv|environ)(.{0,200})", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)(?:[fFlL]?)(?![\w.])")
#: Smaller and larger numbers are no thresholds.
_LEAST_NUMBER, _LARGEST_NUMBER, _MOST_NUMBERS = 1e-3, 1e4, 32
_ASKS_ENVIRONMENT = re.compile(r"getenv|environ")


def words_in_sources(op: OpDef) -> list[str]:
    """Return the string literals in the files of an op and its kernels, other than names of the op itself."""
    known = {op.name, *(arg.name for arg in (*op.inputs, *op.outputs)), *(attr.name for attr in op.attrs)}
    return [word for word in dict.fromkeys(_search(op, _WORD)) if word not in known]


def environment_variables(op: OpDef) -> list[str]:
    """Return what may be environment variables in the files of an op and its kernels: words in capital letters."""
    return list(dict.fromkeys(_search(op, _ENVIRONMENT)))[:8] if any(_search(op, _ASKS_ENVIRONMENT)) else []


def environment_values(op: OpDef) -> list[str]:
    """Return what code may compare environment variables with: strings of Python functions, and words beside getenv."""
    words = [value for value in constants_in_code(op.name) if isinstance(value, str) and value.isprintable()]
    for after in _search(op, _BESIDE_ENVIRONMENT):
        words += _WORD.findall(after)
    return [word for word in dict.fromkeys(words) if word and not word.isupper()][:16]


def _search(op: OpDef, pattern: re.Pattern[str]) -> Iterable[str]:
    files = dict.fromkeys([op.source.file, *(kernel.source.file for kernel in op.kernels)])
    for file in files:
        path = Path(file)
        if path.is_file() and path.stat().st_size < 1 << 20:
            yield from pattern.findall(path.read_text(errors="replace"))


def numbers_in_code(op: OpDef, reference: Callable[..., Any] | None) -> list[float]:
    """Return sizes of numbers in the code of an op and of its reference, fractions first: it may compare with them."""
    constants: dict[str | float, None] = {}
    _collect(reference, constants, set())
    numbers = [*constants, *constants_in_code(op.name)]
    files = dict.fromkeys([op.source.file, *(kernel.source.file for kernel in op.kernels)])
    for path in (Path(file) for file in files if not file.endswith(".py")):
        if path.is_file() and path.stat().st_size < 1 << 20:
            numbers += [float(text) for text in _NUMBER.findall(_COMMENT.sub("", path.read_text(errors="replace")))]
    sizes = [abs(float(number)) for number in numbers if isinstance(number, (int, float)) and abs(number) < 1e300]
    chosen = dict.fromkeys(size for size in sizes if _LEAST_NUMBER <= size <= _LARGEST_NUMBER)
    return sorted(chosen, key=lambda number: number == int(number))[:_MOST_NUMBERS]


def constants_in_code(name: str) -> list[str | float]:
    """Return strings and numbers in the code of an op's Python functions: what it compares attributes with.

    Kernels may be registered in other files than the op's, and for an op of C++.
    """
    from oneop.authoring.book import definition_of, pages_of

    functions: list[Any] = []
    definition = definition_of(name)
    if definition is not None:
        functions += [rule.function for rule in (definition.infer, definition.check) if rule is not None]
        functions += [definition.sbp] if definition.sbp is not None else []
    functions += [kernel.fields.get("function") for page in pages_of(name) for kernel in page.kernels]
    constants: dict[str | float, None] = {}
    for function in functions:
        _collect(function, constants, set())
    return list(constants)


def words_of_reference(function: Callable[..., Any]) -> list[str]:
    """Return strings in the code of a reference and of functions that it calls, and quoted words of their texts.

    Functions of torch are written in C++, so their texts alone say which words they know.
    """
    constants: dict[str | float, None] = {}
    _collect(function, constants, set())
    words = [constant for constant in constants if isinstance(constant, str)]
    for called in (function, *_functions_called(function)):
        called_constants: dict[str | float, None] = {}
        _collect(called, called_constants, set())
        words += [word for word in called_constants if isinstance(word, str)]
        words += _QUOTED.findall(getattr(called, "__doc__", None) or "")
    return [word for word in dict.fromkeys(words) if _IS_WORD.fullmatch(word)]


def _functions_called(function: Callable[..., Any]) -> list[Any]:
    """Return the functions that a function names: globals, and attributes of modules among them."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return []
    functions = []
    modules = [value for name in code.co_names if isinstance(value := function.__globals__.get(name), ModuleType)]
    for name in code.co_names:
        own = function.__globals__.get(name)
        if callable(own):
            functions.append(own)
        for module in modules:
            inner = getattr(module, name, None)
            if isinstance(inner, ModuleType) and inner not in modules:
                modules.append(inner)  # co_names has the names of `torch.nn.functional.pad` in this order
            elif callable(inner):
                functions.append(inner)
    return functions


def _collect(function: Any, constants: dict[str | float, None], seen: set[int]) -> None:
    if id(function) in seen or function is None:
        return
    seen.add(id(function))
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        _collect_code(code, constants)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if isinstance(content, Callable):  # type: ignore[arg-type]
                _collect(content, constants, seen)
            elif isinstance(content, Mapping):
                constants.update((key, None) for key in content if isinstance(key, str))
            elif isinstance(content, (int, float)):
                constants[content] = None
        in_module = getattr(function, "__globals__", {})
        constants.update((in_module[name], None) for name in code.co_names if _is_number(in_module.get(name)))
    for inner in ("func", "__wrapped__", "function"):
        if getattr(function, inner, None) is not None:
            _collect(getattr(function, inner), constants, seen)


def _collect_code(code: CodeType, constants: dict[str | float, None]) -> None:
    for constant in code.co_consts:
        if _is_value(constant):
            constants[constant] = None
        elif isinstance(constant, (tuple, frozenset)):
            constants.update((item, None) for item in constant if _is_value(item))
        elif isinstance(constant, CodeType):
            _collect_code(constant, constants)


def _is_value(constant: Any) -> bool:
    if isinstance(constant, str):
        return len(constant) < 40
    return _is_number(constant)


def _is_number(constant: Any) -> bool:
    return isinstance(constant, (int, float)) and not isinstance(constant, bool)
