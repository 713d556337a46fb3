"""The installed torch: its version and folder, without importing it, and the versions that oneop is tested with."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from oneop.errors import BuildError

#: The versions of torch that the tests were run with; docs/install.md has what ran with each. Others are not refused.
TESTED_TORCH = ("2.11", "2.12", "2.13", "2.14", "2.15")


@dataclass(frozen=True, kw_only=True)
class TorchInstall:
    """The installed torch, as far as a compiler needs to know it."""

    folder: Path
    version: str
    git_version: str

    @property
    def minor(self) -> str:
        """Return the version up to the minor number, as "2.13"; within it torch keeps its C++ ABI."""
        return minor_version(self.version)


def find_torch() -> TorchInstall:
    """Return the installed torch without importing it. Raises `BuildError` if there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BuildError("the core needs torch, which is not installed\n  pip install torch")
    folder = Path(spec.origin).parent
    text = (folder / "version.py").read_text()
    version = re.search(r"^__version__ = '([^']*)'", text, re.MULTILINE)
    git_version = re.search(r"^git_version = '([^']*)'", text, re.MULTILINE)
    return TorchInstall(
        folder=folder, version=version[1] if version else "unknown", git_version=git_version[1] if git_version else ""
    )


def minor_version(version: str) -> str:
    """Return "2.13" for "2.13.0+cpu", and the whole text where it is no such version."""
    numbers = re.match(r"\d+\.\d+", version)
    return numbers[0] if numbers else version


def is_tested(version: str) -> bool:
    """Tell whether oneop is tested with this version of torch. A nightly or alpha build of a version is not."""
    return minor_version(version) in TESTED_TORCH and re.fullmatch(r"[\d.]+(\+\w+)?", version) is not None


def warn_if_untested(version: str) -> None:
    """Say so where oneop is not tested with this version of torch."""
    if not is_tested(version):
        warnings.warn(
            f"oneop is not tested with torch {version}, only with {', '.join(TESTED_TORCH)}; "
            "`oneop check` tests your ops with it",
            RuntimeWarning,
            stacklevel=3,
        )


def cxx11_abi() -> bool:
    """Tell whether torch uses the newer ABI of libstdc++. Wheels since torch 2.6 do; a torch built by hand may not."""
    ask = getattr(sys.modules.get("torch"), "compiled_with_cxx11_abi", None)
    return True if ask is None else bool(ask())
