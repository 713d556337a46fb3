"""Going over the list of tokens."""

from __future__ import annotations

from typing import NoReturn

from oneop.ods.lexer import Token


class TokenReader:
    """Tokens with a place among them; the last one is the end of the file."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.token = tokens[0]

    def advance(self) -> Token:
        """Go to the next token; return the one that was current."""
        token = self.token
        if token.kind != "end":
            self.position += 1
            self.token = self.tokens[self.position]
        return token

    def take(self, kind: str) -> Token | None:
        """Go past the current token if it is of this kind."""
        return self.advance() if self.token.kind == kind else None

    def need(self, kind: str, what: str = "") -> Token:
        """Go past a token that must be of this kind."""
        if self.token.kind != kind:
            self.unexpected(what or f"'{kind}'")
        return self.advance()

    def unexpected(self, wanted: str) -> NoReturn:
        """Say what was expected and what is there."""
        token = self.token
        shown = "the end of the file" if token.kind == "end" else f"'{token.value}'"
        token.fail(f"expected {wanted}, found {shown}")
