"""What torch remembers of the schema of an op, and how it is made to forget.

torch expects that an op has one schema for as long as the process lives. Ops of oneop may get another one: a library is
loaded again, a cell of a notebook runs again. Most of torch asks the op; the memories below keep what they were once
told, by the op's name or by its overload object, which stays the same (see `_overload_of` in core.py). Inductor then
fails, and FakeTensor and subclasses take an op that changes its input for one that does not.

tests/core/test_schema_memory.py looks through all memories of torch for others that hold an op.
"""

from __future__ import annotations

import sys
from typing import Any

#: Functions that remember by overload object: (module, name). They are cleared whole; answers are cheap to make again.
CACHED_FUNCTIONS = (
    ("torch.utils._python_dispatch", "get_alias_info"),
    ("torch._subclasses.fake_tensor", "get_schema_info"),
    ("torch._subclasses.fake_impls", "_is_tensor_constructor"),
    ("torch._subclasses.functional_tensor", "_can_decompose_fast"),
)
#: Dictionaries by (qualified name, overload name).
BY_NAME = (("torch.fx.operator_schemas", "_SCHEMA_TO_SIGNATURE_CACHE"),)
#: Dictionaries by overload object.
BY_OVERLOAD = (
    ("torch._inductor.lowering", "lowerings"),
    ("torch._inductor.lowering", "_maybe_layout_constraints"),
)


def forget_schema(qualified_name: str, overload: object) -> None:
    """Have torch forget the schema of this op. `overload` is the object that graphs hold, or None if there is none.

    Modules that were not imported remember nothing, and names that a version of torch does not have are skipped.
    """
    for module, name in CACHED_FUNCTIONS:
        clear = getattr(_attribute(module, name), "cache_clear", None)
        if clear is not None:
            clear()
    for module, name in BY_NAME:
        _drop(module, name, (qualified_name, ""))
    if overload is not None:
        for module, name in BY_OVERLOAD:
            _drop(module, name, overload)


def _attribute(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _drop(module: str, name: str, key: object) -> None:
    memory = _attribute(module, name)
    if isinstance(memory, dict):
        memory.pop(key, None)
