"""What an op is, as one digest: everything registered for it, in Python and in C++.

Two parts, because compiled programs contain them differently. What is *traced* (the definition, inference, gradients,
compositions, rules) becomes part of a compiled program. *Kernels* that torch cannot look into are called by it, so
they only count where a compiler runs one ahead of time, to fold constants.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oneop._version import __version__
from oneop.authoring import book
from oneop.authoring.keys.digest import Undigestible, digest_of
from oneop.authoring.rules import vmap_rules
from oneop.runtime.core import core, loaded_libraries


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The digests of an op; None where a part holds a value that cannot be digested, and `problem` says which."""

    traced: str | None
    kernels: str | None
    problem: str = ""


_FACTS = ("schema", "inputs", "outputs", "attrs", "no_grad", "cpu_only", "non_contiguous", "random", "side_effect")
#: What decides which kernel of an op runs, and so which composition is traced.
_PLACE = ("priority", "devices", "dtypes", "others", "language", "deterministic", "batch_invariant")
#: Stands for what cannot be digested: equal to nothing in another process.
_NONCE = secrets.token_hex(16)


def identity_of(name: str) -> Identity:
    """Return the digests of an op as it is now: values that its functions reach are read again at each call."""
    info = core().op_info(name)
    kernels = [kernel["source"]["library"] for kernel in info["kernels"]]
    rules = [info[part]["library"] for part in ("source", "grad", "eager_grad", "forward") if info[part]]
    pages = [book.page_of(name, library) for library in sorted({*kernels, *rules}) if _is_python(library)]
    facts = {key: info[key] for key in _FACTS}
    places = [[kernel[key] for key in _PLACE] for kernel in info["kernels"]]
    problems: list[str] = []

    def digest(*values: object) -> str | None:
        try:
            return digest_of(*values)
        except (Undigestible, RecursionError) as problem:
            problems.append(f'op "{name}" depends on {problem}')
            return None

    traced = digest(
        _own_version(),
        facts,
        places,
        [_library_digest(library) for library in sorted(set(rules)) if not _is_python(library)],
        [(page.op, page.grad, page.forward) for page in pages],
        [kernel for page in pages for kernel in page.kernels if book.is_composition(kernel)],
        vmap_rules.written_rule(name),
    )
    opaque = digest(
        [_library_digest(library) for library in sorted(set(kernels)) if not _is_python(library)],
        [kernel for page in pages for kernel in page.kernels if not book.is_composition(kernel)],
    )
    return Identity(traced=traced, kernels=opaque, problem="; ".join(problems))


def identity_of_all() -> str:
    """Return one digest of the traced parts of all ops: a gradient or a composition may call any of them."""
    everything = hashlib.sha256()
    for name in sorted(core().op_names()):
        everything.update(f"{name} {identity_of(name).traced or _NONCE}\n".encode())
    return everything.hexdigest()


def _is_python(library: str) -> bool:
    return library.startswith("python:")


def _library_digest(library: str) -> str:
    known: tuple[str, Any] | None = loaded_libraries.get(library)
    return _NONCE if known is None else known[0]


@functools.cache
def _own_version() -> str:
    """The core and what its parts in Python do with an op."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))  # of all of authoring
    content = b"".join(path.read_bytes() for path in sources)
    return f"{__version__} {core().__file__} {hashlib.sha256(content).hexdigest()}"
