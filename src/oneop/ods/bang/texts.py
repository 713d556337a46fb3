"""Operators on strings, and the text of a value."""

from __future__ import annotations

from oneop.ods.bang.operands import Operators, Refused
from oneop.ods.printed import printed, printed_record
from oneop.ods.regex import BadPattern, compile_pattern
from oneop.ods.values import Unset, Value, is_record, to_key, to_text, type_name
from oneop.ods.work import spend, spend_text


def _text(value: Value) -> str:
    text = to_text(value)
    if text is None:
        raise Refused(f"a {type_name(value)} is no text")
    return text


def _find(text: str, wanted: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise Refused(f"the string has no position {start}")
    return text.find(wanted, start)


def _substr(text: str, start: int, count: int = 1 << 62) -> str:
    if not 0 <= start <= len(text) or count < 0:
        raise Refused(f"the string has no part {start}, {count}")
    return text[start : start + count]


def _match(text: str, pattern: str) -> int:
    spend(len(text))
    try:
        return int(compile_pattern(pattern).search(text) is not None)
    except BadPattern as error:
        raise Refused(f"{pattern!r} is no regular expression: {error}") from None


def _subst(old: Value, new: Value, value: Value) -> Value:
    if isinstance(value, str) and isinstance(old, str) and isinstance(new, str):
        spend_text(len(value) + (value.count(old) * max(0, len(new) - len(old)) if old else 0))
        return value.replace(old, new) if old else value
    if is_record(value):
        return new if value is old else value
    raise Refused("works on strings and on records")


def _concat(*texts: str) -> str:
    spend_text(sum(map(len, texts)))
    return "".join(texts)


def _interleave(items: tuple[Value, ...], delimiter: str) -> str:
    texts = [_text(item) for item in items]
    spend_text(sum(map(len, texts)) + len(texts) * len(delimiter))
    return delimiter.join(texts)


def _repr(value: Value) -> str:
    to_key(value)  # counts the parts: a list that holds another one twice, over and over, is short and prints long
    if isinstance(value, Unset):
        raise Refused("the operand is not set")
    return printed_record(value) if is_record(value) else printed(value)


#: The operators.
TEXTS: Operators = {
    "strconcat": (("str", "str*"), _concat),
    "interleave": (("list", "str"), _interleave),
    "find": (("str", "str", "int?"), _find),
    "substr": (("str", "int", "int?"), _substr),
    "match": (("str", "str"), _match),
    "subst": (("any", "any", "any"), _subst),
    "tolower": (("str",), str.lower),
    "toupper": (("str",), str.upper),
    "repr": (("any",), _repr),
    "initialized": (("any",), lambda value: int(not isinstance(value, Unset))),
}
