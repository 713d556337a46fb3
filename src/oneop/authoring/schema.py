"""What a schema says: the name of an op, its inputs, attributes and outputs."""

from __future__ import annotations

from dataclasses import dataclass

from oneop.errors import RegistrationError


@dataclass(frozen=True, kw_only=True)
class Arg:
    """An input or output."""

    name: str
    count: int = 1
    count_is_minimum: bool = False
    is_optional: bool = False
    is_mutable: bool = False
    alias: str = ""  # the a of Tensor(a!)
    has_gaps: bool = False  # items of the list may be None
    is_keyword_only: bool = False  # written after the star; signatures show it

    @property
    def presence(self) -> str:
        """The attribute that says which items are given, where some may be None."""
        return f"{self.name}_given"

    @property
    def is_list(self) -> bool:
        """Whether it holds a list of tensors."""
        return self.count != 1 or self.count_is_minimum


@dataclass(frozen=True, kw_only=True)
class Attr:
    """An attribute; `default` counts only if `has_default`."""

    name: str
    type: str
    is_optional: bool = False  # the value may be None
    is_positional: bool = False  # a call may give it by position, after the inputs
    has_default: bool = False
    default: object = None
    list_size: int = 0  # the length that a list must have; 0: any


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a schema says."""

    text: str
    name: str
    inputs: tuple[Arg, ...]
    attrs: tuple[Attr, ...]
    outputs: tuple[Arg, ...]


def schema_error(text: str, problem: str) -> RegistrationError:
    """Return the error for a text that cannot be read."""
    return RegistrationError(f'schema "{" ".join(text.split())}": {problem}')
