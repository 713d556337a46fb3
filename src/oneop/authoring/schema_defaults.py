"""The default of an attribute in a schema: a literal, or the name of a dtype."""

from __future__ import annotations

import ast
import cmath
import re

import torch

from oneop.authoring.schema import schema_error


def read_default(text: str, part: str, kind: str, default: str) -> object:
    """Return the value. Raises `RegistrationError` for what is no literal of this type of attribute."""
    if kind == "dtype":
        named = _dtype(default)
        if named is not None:
            return named
    if kind == "dtype[]":
        dtypes = _dtypes(default)
        if dtypes is not None:
            return dtypes
    literal = default
    if kind in ("complex", "Scalar") and re.fullmatch(r"\(.*[jJ]\s*\)", default):
        literal = default[1:-1].strip()  # a complex number as Python prints it: (1+2j)
    try:
        tree = ast.parse(literal, mode="eval")
        if not _is_plain(literal, tree):
            raise ValueError
        value = ast.literal_eval(_Names().visit(tree))
    except (ValueError, SyntaxError):
        raise schema_error(text, f'"{part}": {default} is no literal of type {kind}') from None
    if any(isinstance(node, ast.Constant) and _is_cut(node.value) for node in ast.walk(ast.parse(literal))):
        raise schema_error(text, f'"{part}": {default} does not fit type {kind}')
    return value


#: A text or bytes: what C++ reads too. Names of characters, texts side by side and other prefixes are not.
_TEXT = re.compile(r"""[bB]?('([^'\\\n]|\\(?!N)(.|\n))*'|"([^"\\\n]|\\(?!N)(.|\n))*")""")


def _is_plain(default: str, tree: ast.Expression) -> bool:
    """Tell whether a literal is one that op.h reads too: no brackets around one value, and plain texts."""
    tuples = sum(isinstance(node, ast.Tuple) for node in ast.walk(tree))
    if _TEXT.sub("", default).count("(") != tuples:
        return False
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, (str, bytes))]
    return all(_TEXT.fullmatch(ast.get_source_segment(default, node) or "") for node in texts)


def _is_cut(value: object) -> bool:
    """Tell whether a number is written with digits and yet infinite."""
    return isinstance(value, (float, complex)) and not isinstance(value, bool) and cmath.isinf(value)


class _Names(ast.NodeTransformer):
    """Puts the numbers in place of `inf` and `nan`, as Python writes them in a repr."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the number, or the name if it is another one."""
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _dtypes(text: str) -> list[torch.dtype] | None:
    """Return the dtypes of a list or tuple of names, None if it is none."""
    if (text[:1], text[-1:]) not in (("[", "]"), ("(", ")")):
        return None
    names = [name.strip() for name in text[1:-1].split(",")]
    if text[0] == "(" and len(names) == 1 and names[0]:
        return None  # brackets around one name
    if not names[-1] and (len(names) == 1 or names[-2]):
        names.pop()  # after the last comma
    dtypes = [_dtype(name) for name in names]
    return None if None in dtypes else [dtype for dtype in dtypes if dtype is not None]


def _dtype(name: str) -> torch.dtype | None:
    value = getattr(torch, name.removeprefix("torch."), None)
    return value if isinstance(value, torch.dtype) else None
