"""What names are known where an expression stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from oneop.ods.values import Type


@dataclass(frozen=True)
class Scope:
    """The names of one place, and what may stand there."""

    fields: dict[str, Type] = field(default_factory=dict)
    args: Mapping[str, Type | None] = field(default_factory=dict)
    variables: Mapping[str, Type | None] = field(default_factory=dict)  # None: nobody knows the type
    self_name: str = ""
    in_body: bool = False  # of a class, record or multiclass: NAME is known
    deferred: bool = False  # in a loop or multiclass: statements are kept, not run

    def plus(self, variables: Mapping[str, Type | None]) -> Scope:
        """Return this scope with further variables."""
        return replace(self, variables={**self.variables, **variables})
