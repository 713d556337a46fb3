"""The shape of the code: functions that fit on a screen, and names that say what they hold."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = sorted((ROOT / "src" / "oneop").rglob("*.py"))
CPP = sorted(
    p for folder in ("csrc", "src/oneop/include") for p in (ROOT / folder).rglob("*") if p.suffix in {".cpp", ".h"}
)

MOST_LINES = 60
#: Words that say nothing about what a variable holds.
EMPTY_NAMES = {"one", "found", "given", "many", "all_of"}
#: `# long: why` or `// long: why`, right above a function or in its first line, excuses its length.
REASON = re.compile(r"(#|//) long: \w+")


def is_excused(lines: list[str], first: int) -> bool:
    """Whether a reason stands in line `first` (from 1), in the line above it, or in the line after it."""
    return any(REASON.search(line) for line in lines[max(first - 2, 0) : first + 1])


def long_functions(text: str) -> Iterator[str]:
    """Yield the Python functions that are too long."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > MOST_LINES and not is_excused(lines, first) and not is_excused(lines, node.lineno):
                yield f"{node.lineno}: {node.name} has {count} lines"


def empty_names(text: str) -> Iterator[str]:
    """Yield the variables, parameters and inner functions of a module whose names say nothing."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name, line = node.id, node.lineno
        elif isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name, line = node.name, node.lineno
        else:
            continue
        if name in EMPTY_NAMES:
            yield f"{line}: {name}"


_NO_CODE = re.compile(
    r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|^ONEOP_(?:OP_)?INTERFACE$", re.MULTILINE)
_NO_FUNCTION = re.compile(r"(inline )?namespace\b|(template\s*<.*>\s*)?(class|struct|enum|union|extern)\b", re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def cpp_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield head, first and last line of each outermost function of a C++ file, found by its braces."""
    code = _DIRECTIVE.sub(_blank, _NO_CODE.sub(_blank, text))
    heads: list[tuple[str, int]] = []  # of the blocks that are open
    begin = 0  # of the text since the last brace or semicolon
    for mark in re.finditer(r"[{};]", code):
        if mark[0] == "{":
            head = code[begin : mark.start()]
            heads.append((head.strip(), code.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1))
        elif mark[0] == "}" and heads:
            head, first = heads.pop()
            if not _NO_FUNCTION.match(head) and all(_NO_FUNCTION.match(outer) for outer, _ in heads):
                yield " ".join(head.split()), first, code.count("\n", 0, mark.start()) + 1
        begin = mark.end()


def long_cpp_functions(text: str) -> Iterator[str]:
    """Yield the C++ functions that are too long."""
    lines = text.splitlines()
    for head, first, last in cpp_functions(text):
        if last - first + 1 > MOST_LINES and not is_excused(lines, first):
            yield f"{first}: {head[:60]} has {last - first + 1} lines"


def test_functions_fit_on_a_screen():
    too_long = [f"{p.relative_to(ROOT)}:{entry}" for p in PYTHON for entry in long_functions(p.read_text())]
    too_long += [f"{p.relative_to(ROOT)}:{entry}" for p in CPP for entry in long_cpp_functions(p.read_text())]
    assert too_long == [], "split them, or say why not in a comment above: # long: ..."


def test_names_say_what_they_hold():
    empty = [f"{p.relative_to(ROOT)}:{entry}" for p in PYTHON for entry in empty_names(p.read_text())]
    assert empty == []


def test_a_long_function_is_noticed():
    body = "\n".join(f"    x{i} = {i}" for i in range(MOST_LINES))
    assert [*long_functions(f"def f():\n{body}\n")] == [f"1: f has {MOST_LINES + 1} lines"]
    assert [*long_functions(f"class A:\n  def f(self):\n{body}\n")] == [f"2: f has {MOST_LINES + 1} lines"]
    assert [*long_functions(f"# long: a table\ndef f():\n{body}\n")] == []
    assert [*long_functions(f"def f():  # long: a table\n{body}\n")] == []


def test_a_long_cpp_function_is_noticed():
    body = '  x = "}";  // }\n' * (MOST_LINES - 1)
    text = "namespace a {\nclass B {\n void g() {\n" + body + " }\n};\n}\n"
    assert [*long_cpp_functions(text)] == [f"3: void g() has {MOST_LINES + 1} lines"]
    assert [*long_cpp_functions(f"int f(int x)\n    noexcept {{\n{body}}}\n")] != []
    assert [*long_cpp_functions(f"// long: a table\nint f() {{\n{body}}}\n")] == []
    assert [*long_cpp_functions("namespace a {\n" + "int f() {\n  return 1;\n}\n" * MOST_LINES + "}\n")] == []
    assert [*long_cpp_functions("struct A {\n" + "  int x;\n" * MOST_LINES + "};\n")] == []


def test_an_empty_name_is_noticed():
    text = "def f(given):\n    found = [one for one in given]\n    for many in found: pass\n    lambda all_of: all_of\n"
    assert sorted(empty_names(text)) == ["1: given", "2: found", "2: one", "3: many", "4: all_of"]
    assert [*empty_names("record.found = given.one(found=1)  # one found\n")] == []
