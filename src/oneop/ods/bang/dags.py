"""Operators on dags."""

from __future__ import annotations

from typing import Any

from oneop.ods.bang.operands import Operators, Refused
from oneop.ods.values import UNSET, Dag, to_text
from oneop.ods.work import spend_list


def _con(*dags: Dag) -> Dag:
    spend_list(sum(len(dag.args) for dag in dags))
    for dag in dags[1:]:
        if dag.operator.name != dags[0].operator.name:
            raise Refused(f"the operators differ: {dags[0].operator.name} and {dag.operator.name}")
    return Dag(dags[0].operator, None, tuple(arg for dag in dags for arg in dag.args))


def _place(dag: Dag, key: int | str) -> int:
    names = [arg.name for arg in dag.args]
    if isinstance(key, str):
        if key not in names:
            raise Refused(f"the dag has no argument '{key}'")
        return names.index(key)
    if not 0 <= key < len(names):
        raise Refused(f"the dag has no argument {key}, only {len(names)} of them")
    return key


def _change(dag: Dag, key: int | str, **changes: Any) -> Dag:
    place = _place(dag, key)
    args = [arg._replace(**changes) if i == place else arg for i, arg in enumerate(dag.args)]
    return Dag(dag.operator, dag.name, tuple(args))


#: The operators.
DAGS: Operators = {
    "con": (("dag", "dag*"), _con),
    "getdagop": (("dag",), lambda dag: dag.operator),
    "setdagop": (("dag", "rec"), lambda dag, new: Dag(new, dag.name, dag.args)),
    "getdagarg": (("dag", "key"), lambda dag, key: dag.args[_place(dag, key)].value),
    "getdagname": (("dag", "int"), lambda dag, key: dag.args[_place(dag, key)].name or UNSET),
    "setdagarg": (("dag", "key", "any"), lambda dag, key, value: _change(dag, key, value=value)),
    "setdagname": (("dag", "key", "any"), lambda dag, key, name: _change(dag, key, name=to_text(name))),
}
