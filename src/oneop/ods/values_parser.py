"""Parsing types and values: recursive descent over the list of tokens."""

from __future__ import annotations

from oneop.ods.bang.parsing import parse_bang
from oneop.ods.expressions import (
    ArgRef,
    BitsExpr,
    Constant,
    DagExpr,
    Expr,
    FieldRef,
    GetField,
    Instance,
    ListExpr,
    NameRef,
    Paste,
    Range,
    Select,
    SelfRef,
    VariableRef,
)
from oneop.ods.lexer import Token
from oneop.ods.program import Multiclass, Program
from oneop.ods.records import Class, ClassRef
from oneop.ods.scope import Scope
from oneop.ods.token_reader import TokenReader
from oneop.ods.types import is_list, type_of
from oneop.ods.values import BIT, DAG, INT, STRING, UNSET, Bits, Code, Dag, DagArg, Type, is_record, type_name

_SIMPLE_TYPES = {"bit": BIT, "int": INT, "string": STRING, "code": STRING, "dag": DAG}


class ValuesParser(TokenReader):
    """The part of the parser that reads types and values."""

    def __init__(self, program: Program, tokens: list[Token]) -> None:
        super().__init__(tokens)
        self.program = program

    # --- types ---

    def parse_type(self) -> Type:
        """Parse a type."""
        token = self.token
        simple = _SIMPLE_TYPES.get(token.kind)
        if simple is not None:
            self.advance()
            return simple
        if token.kind == "bits":
            self.advance()
            self.need("<")
            width = self.need("number", "the number of bits")
            self.need(">")
            if not isinstance(width.value, int) or not 0 <= width.value <= 1 << 16:
                width.fail(f"there is no bits<{width.value}>")
            return Type("bits", width=width.value)
        if token.kind == "list":
            self.advance()
            self.need("<")
            element = self.parse_type()
            self.need(">")
            return Type("list", element=element)
        if token.kind != "name":
            self.unexpected("a type")
        self.advance()
        alias = self.program.types.get(token.text)
        return alias if alias is not None else Type("class", cls=self.find_class(token))

    def find_class(self, token: Token) -> Class:
        """Return the class that a token names."""
        cls = self.program.classes.get(token.text)
        if cls is None:
            token.fail(f"there is no class '{token.text}'")
        return cls

    # --- arguments of a class ---

    def parse_class_ref(self, scope: Scope, cls: Class | Multiclass, at: Token) -> ClassRef:
        """Parse what follows the name of a class: nothing, or `<arguments>`."""
        args: dict[str, Expr] = {}
        if self.take("<"):
            names = [arg.name for arg in cls.template]
            named = False
            while self.token.kind != ">":
                first = self.token
                value = self.parse_value(scope, name_mode=self._is_named_argument())
                if self.take("="):
                    named = True
                    name = first.text
                    if name not in names:
                        first.fail(f"'{cls.name}' has no template argument '{name}'")
                    value = self.parse_value(scope)
                elif named:
                    first.fail("an argument without a name follows one with a name")
                elif len(args) == len(names):
                    first.fail(f"'{cls.name}' takes {len(names)} template argument{'' if len(names) == 1 else 's'}")
                else:
                    name = names[len(args)]
                if name in args:
                    first.fail(f"template argument '{name}' of '{cls.name}' is given twice")
                args[name] = value
                if not self.take(","):
                    break
            self.need(">")
        for arg in cls.template:
            if arg.default is None and arg.name not in args:
                at.fail(f"template argument '{arg.name}' of '{cls.name}' is missing")
        return ClassRef(cls, args, at)

    def _is_named_argument(self) -> bool:
        return self.token.kind == "name" and self.tokens[self.position + 1].kind == "="

    # --- values ---

    def parse_value(self, scope: Scope, name_mode: bool = False) -> Expr:
        """Parse a value. In name mode unknown names stand for themselves, and `{` begins a body."""
        value = self._parse_simple(scope, name_mode)
        while True:
            kind = self.token.kind
            if kind == ".":
                self.advance()
                name = self.need("name", "the name of a field")
                value = GetField(name, value, name.text)
            elif kind == "{" and not name_mode:
                at = self.advance()
                value = Select(at, value, self.parse_ranges(scope, "}"), of_bits=True)
                self.need("}")
            elif kind == "[":
                at = self.advance()
                value = Select(at, value, self.parse_ranges(scope, "]"), of_bits=False)
                self.need("]")
            elif kind == "#":
                at = self.advance()
                ends = self.token.kind in (":", "{", ";")
                as_name = not is_list(type_of(value))  # what is pasted to a list is no name
                value = Paste(at, value, None if ends else self.parse_value(scope, name_mode=as_name))
            else:
                return value

    def parse_ranges(self, scope: Scope, end: str) -> list[Expr]:
        """Parse `a, b-c, d...e` up to a closing mark."""
        ranges = [self.parse_range(scope)]
        while self.take(","):
            if self.token.kind == end:
                break
            ranges.append(self.parse_range(scope))
        return ranges

    def parse_range(self, scope: Scope) -> Expr:
        """Parse a value, or two that are the ends of a range."""
        first = self.parse_value(scope)
        token = self.token
        if token.kind in ("-", "..."):
            self.advance()
            return Range(token, first, self.parse_value(scope))
        if token.kind == "number" and isinstance(token.value, int) and token.value <= 0:  # `0-3` reads as 0 and -3
            self.advance()
            return Range(token, first, Constant(token, -token.value))
        return first

    def _parse_simple(self, scope: Scope, name_mode: bool) -> Expr:
        token = self.token
        kind = token.kind
        if kind == "name":
            self.advance()
            if self.token.kind == "<" and not (name_mode and token.text not in self.program.classes):
                return Instance(self.program, self.parse_class_ref(scope, self.find_class(token), token))
            return self._resolve(scope, token, name_mode)
        if kind == "number":
            self.advance()
            return Constant(token, token.value)
        if kind == "code":
            self.advance()
            return Constant(token, Code(token.text))
        if kind == "binary":
            self.advance()
            return Constant(token, Bits(tuple(int(digit) for digit in reversed(token.text))))
        if kind == "string":
            return self.parse_string()
        if kind == "[":
            return self._parse_list(scope)
        if kind == "(":
            return self._parse_dag(scope)
        if kind == "bang":
            return parse_bang(self, scope)
        if kind == "{" and not name_mode:
            return self._parse_bits(scope)
        if kind in ("true", "false"):
            self.advance()
            return Constant(token, int(kind == "true"))
        if kind == "?":
            self.advance()
            return Constant(token, UNSET)
        self.unexpected("a value")

    def parse_string(self) -> Constant:
        """Parse one or more strings in a row."""
        token = self.need("string", "a string")
        text = token.text
        while self.token.kind == "string":
            text += self.advance().text
        return Constant(token, text)

    def _resolve(self, scope: Scope, token: Token, name_mode: bool) -> Expr:
        name = token.text
        if name in scope.variables:
            return VariableRef(token, name, scope.variables[name])
        if name in scope.fields:
            return FieldRef(token, name, scope.fields[name])
        if name in scope.args:
            return ArgRef(token, name, scope.args[name])
        if name == "NAME" and scope.in_body:
            return NameRef(token)
        if name_mode:
            return Constant(token, name)
        if name in self.program.variables:
            return Constant(token, self.program.variables[name])
        record = self.program.records.get(name)
        if record is not None:
            return Constant(token, record)
        if name == scope.self_name:
            return SelfRef(token)
        token.fail(f"'{name}' is not defined")

    def _parse_list(self, scope: Scope) -> Expr:
        at = self.advance()
        items: list[Expr] = []
        while self.token.kind != "]":
            items.append(self.parse_value(scope))
            if not self.take(","):
                break
        self.need("]")
        element = None
        if self.take("<"):
            element = self.parse_type()
            self.need(">")
        if element is None and all(isinstance(item, Constant) for item in items):
            return Constant(at, tuple(item.value for item in items if isinstance(item, Constant)))
        return ListExpr(at, items, element)

    def _parse_bits(self, scope: Scope) -> Expr:
        at = self.advance()
        items: list[Expr] = []
        while self.token.kind != "}":
            items.append(self.parse_value(scope))
            if not self.take(","):
                break
        self.need("}")
        return BitsExpr(at, items)

    def _parse_dag(self, scope: Scope) -> Expr:
        at = self.advance()
        operator = self.parse_value(scope)
        if isinstance(operator, Constant) and not is_record(operator.value):
            operator.at.fail(f"the operator of a dag must be a record, not a {type_name(operator.value)}")
        operator_name = self.need("var", "a name with $").text if self.take(":") else None
        args: list[tuple[Expr, str | None]] = []
        while self.token.kind != ")":
            if self.token.kind == "var":
                token = self.advance()
                args.append((Constant(token, UNSET), token.text))
            else:
                value = self.parse_value(scope)
                args.append((value, self.need("var", "a name with $").text if self.take(":") else None))
            if not self.take(","):
                break
        self.need(")")
        if isinstance(operator, Constant) and all(isinstance(expr, Constant) for expr, _ in args):
            made = tuple(DagArg(expr.value, name, expr.at) for expr, name in args if isinstance(expr, Constant))
            return Constant(at, Dag(operator.value, operator_name, made))
        return DagExpr(at, operator, operator_name, args)
