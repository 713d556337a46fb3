"""Malformed definitions: the text, where the fault is, and a piece of what must be said about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Malformed:
    name: str
    text: str
    line: int
    column: int
    says: str
    ours_only: bool = False  # llvm-tblgen has no opinion: it knows nothing of ops


def op(body: str, traits: str = "") -> str:
    return f'def OneFlow_AOp : OneFlow_BaseOp<"a", [{traits}]> {{\n{body}\n}}\n'


MALFORMED = [
    # the six of reference/tablegen.md
    Malformed("bits_overflow", "def a {\n  bits<4> b = 16;\n}", 2, 15, "does not fit in bits<4>"),
    Malformed("double_else", "#ifdef A\n#else\n#else\n#endif\n", 3, 1, "second #else"),
    Malformed("unknown_named_argument", "class A<int n>;\ndef a : A<m = 1>;", 2, 11, "no template argument 'm'"),
    Malformed("argument_twice", "class A<int n, int m = 0>;\ndef a : A<1, n = 2>;", 2, 14, "given twice"),
    Malformed("dag_operator", "def a { dag d = (1 2); }", 1, 18, "must be a record"),
    Malformed("duplicate_template_argument", "class A<int n, int n>;", 1, 20, "there twice"),
    # the lexer
    Malformed("open_string", 'def a { string s = "abc; }\n', 1, 20, "not closed on its line"),
    Malformed("open_code", "def a { code s = [{ abc; }\n", 1, 18, "}] is missing"),
    Malformed("open_comment", "def a;\n/* abc /* */\n", 2, 1, "not closed"),
    Malformed("bad_escape", 'def a { string s = "a\\q"; }', 1, 22, "unknown escape"),
    Malformed("bad_character", "def a;\n  @def b;\n", 2, 3, "unexpected character '@'"),
    Malformed("missing_include", 'include "nowhere.td"\n', 1, 9, "could not find include file 'nowhere.td'"),
    Malformed("include_without_name", "include nowhere\n", 1, 1, "needs a file name"),
    Malformed("open_ifdef", "def a;\n#ifdef A\ndef b;\n", 2, 1, "no #endif"),
    Malformed("endif_alone", "def a;\n#endif\n", 2, 1, "#endif without #ifdef"),
    Malformed("huge_number", "def a { int i = 99999999999999999999; }", 1, 17, "64 bits", ours_only=True),
    # syntax
    Malformed("missing_semicolon", "def a { int b = 1 }", 1, 19, "expected ';', found '}'"),
    Malformed("missing_brace", "def a {\n  int b = 1;\n", 3, 1, "found the end of the file"),
    Malformed("stray_token", "class A;\n}\n", 2, 1, "expected class, def"),
    Malformed("missing_value", "def a { int b = ; }", 1, 17, "expected a value, found ';'"),
    Malformed("let_without_in", "let x = 1 def a;", 1, 11, "expected ',' or 'in'"),
    Malformed("dag_name_without_dollar", "def o;\ndef a { dag d = (o 1:x); }", 2, 22, "a name with $"),
    # names
    Malformed("unknown_class", "def a : Nope;", 1, 9, "no class 'Nope'"),
    Malformed("unknown_name", "def a { int b = c; }", 1, 17, "'c' is not defined"),
    Malformed("unknown_field", "class A { int b = 1; }\ndef a : A {\n  let c = 1;\n}", 3, 7, "no field 'c'"),
    Malformed("class_twice", "class A { int b = 1; }\nclass A { int c = 1; }", 2, 7, "defined already"),
    Malformed("def_twice", "def a;\ndef a;", 2, 5, "defined already"),
    Malformed("parent_twice", "class A;\ndef a : A, A;", 2, 12, "already"),
    Malformed("unknown_multiclass", "defm a : Nope;", 1, 10, "no multiclass 'Nope'"),
    Malformed("unknown_operator", "def a { int b = !nope(1); }", 1, 17, "no operator !nope"),
    # values
    Malformed("wrong_type", 'class A { int b = 1; }\ndef a : A { let b = "x"; }', 2, 21, "type int: a string"),
    Malformed("too_many_arguments", "class A<int n>;\ndef a : A<1, 2>;", 2, 14, "takes 1 template argument"),
    Malformed("missing_argument", "class A<int n>;\ndef a : A;", 2, 9, "'n' of 'A' is missing"),
    Malformed("wrong_operand", 'def a { int b = !add(1, "x"); }', 1, 25, "operand 2 of !add must be an int"),
    Malformed("bad_cast", 'class A;\ndef a { A b = !cast<A>("nope"); }', 2, 15, "no record 'nope'"),
    Malformed("failed_assert", 'def a { assert !eq(1, 2), "not equal"; }', 1, 16, "assertion failed: not equal"),
    Malformed("different_operators", "def o; def p;\ndef a { dag d = !con((o 1), (p 2)); }", 2, 17, "operators differ"),
    Malformed("empty_head", "def a { int i = !head([]<int>); }", 1, 17, "the list is empty"),
    Malformed("no_such_bit", "def a { bits<4> b; let b{4} = 1; }", 1, 24, "no element 4"),
    Malformed(
        "let_bits_outside", "class A { bits<4> b = 0; }\nlet b{1} = 1 in def a : A;", 2, 6, "outside a body the bits"
    ),
    Malformed("repr_of_unset", "def a { string s = !repr(?); }", 1, 20, "the operand is not set", ours_only=True),
    # ops
    Malformed("unknown_attr_type", op("  let attrs = (ins OneFlow_Tensor:$x);"), 2, 20, "unknown type", ours_only=True),
    Malformed(
        "unknown_input_type", op("  let input = (ins F32Attr:$x);"), 2, 20, "OneFlow_Tensor, Variadic", ours_only=True
    ),
    Malformed("unnamed_input", op("  let input = (ins OneFlow_Tensor);"), 2, 20, "needs a name", ours_only=True),
    Malformed("outs_for_ins", op("  let input = (outs OneFlow_Tensor:$x);"), 2, 7, "(ins ...)", ours_only=True),
    Malformed(
        "name_of_two",
        op("  let input = (ins OneFlow_Tensor:$x);\n  let output = (outs OneFlow_Tensor:$x);"),
        3,
        22,
        "names two of",
        ours_only=True,
    ),
    Malformed("op_twice", op("") + op("").replace("AOp", "BOp"), 4, 5, 'op "a" is defined already', ours_only=True),
    Malformed("unknown_trait", op("", "NoSuchTrait"), 1, 40, "'NoSuchTrait' is not defined"),
    Malformed("unknown_flag", op("  let has_chek_fn = 1;"), 2, 7, "no field 'has_chek_fn'"),
]

#: Ones whose syntax the llvm-tblgen of Debian stable does not know at all.
NEWER = {"unknown_named_argument", "argument_twice"}
