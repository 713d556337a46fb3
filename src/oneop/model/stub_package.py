"""Type stubs where type checkers look for them: a partial stub package, `oneop-stubs`, as PEP 561 describes it.

A checker that finds it beside oneop, or anywhere in `sys.path`, reads `oneop.ops` and `oneop._C` from it and everything
else from oneop itself. Both files end with a `__getattr__`: ops of other packages are there too, and are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping

FOLDER = "oneop-stubs"

#: The end of a stub file.
OTHERS = ("def __getattr__(name: str) -> Any: ...  # what other packages bring", "")


def stub_package(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the package, where `texts` are those of its modules: {"ops.pyi": ...}."""
    if not texts:
        return {}
    files = {f"{FOLDER}/{name}": text for name, text in texts.items()}
    return {**files, f"{FOLDER}/py.typed": "partial\n"}
