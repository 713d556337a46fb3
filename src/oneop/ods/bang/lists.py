"""Operators on lists."""

from __future__ import annotations

from oneop.ods.bang.operands import Operators, Refused, is_list_value
from oneop.ods.values import Dag, Value, same
from oneop.ods.work import spend, spend_list


def _head(items: tuple[Value, ...]) -> Value:
    if not items:
        raise Refused("the list is empty")
    return items[0]


def _tail(items: tuple[Value, ...]) -> Value:
    if not items:
        raise Refused("the list is empty")
    return items[1:]


def _flatten(items: tuple[Value, ...]) -> Value:
    spend_list(sum(len(item) if is_list_value(item) else 1 for item in items))
    return tuple(inner for item in items for inner in (item if is_list_value(item) else (item,)))


def _splat(value: Value, count: int) -> Value:
    if not 0 <= count <= 1 << 20:
        raise Refused(f"a list cannot have {count} elements")
    spend_list(count)
    return (value,) * count


def _range(*operands: Value) -> Value:
    values = [len(value) if is_list_value(value) else value for value in operands]
    if not all(isinstance(value, int) for value in values) or (len(values) == 3 and values[2] == 0):
        raise Refused("needs ints, and a step that is not 0")
    numbers = range(*values)
    if len(numbers) > 1 << 20:
        raise Refused(f"the list would have {len(numbers)} elements")
    spend_list(len(numbers))
    return tuple(numbers)


def _concat_lists(*lists: tuple[Value, ...]) -> Value:
    spend_list(sum(map(len, lists)))
    return tuple(item for items in lists for item in items)


def _remove(items: tuple[Value, ...], unwanted: tuple[Value, ...]) -> Value:
    spend(len(items) * len(unwanted))
    return tuple(item for item in items if not any(same(item, other) for other in unwanted))


def _size(value: Value) -> int:
    return len(value.args) if isinstance(value, Dag) else len(value)


#: The operators; `size` and `empty` take dags and strings too.
LISTS: Operators = {
    "listconcat": (("list", "list*"), _concat_lists),
    "listflatten": (("list",), _flatten),
    "listsplat": (("any", "int"), _splat),
    "listremove": (("list", "list"), _remove),
    "size": (("sized",), _size),
    "empty": (("sized",), lambda value: int(_size(value) == 0)),
    "head": (("list",), _head),
    "tail": (("list",), _tail),
    "range": (("any", "any?", "any?"), _range),
}
