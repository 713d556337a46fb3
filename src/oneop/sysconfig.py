"""Flags for those who build an op library with their own Makefile or CMake.

An op library sees only the SDK headers and links against nothing, so the flags are few; g++ and nvcc take them all:

    g++ -shared -fPIC -O3 $(python -c "import oneop; print(' '.join(oneop.sysconfig.get_compile_flags()))") relu.cpp
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_compile_flags", "get_include", "get_lib", "get_link_flags"]

_PACKAGE = Path(__file__).resolve().parent


def get_include() -> str:
    """Return the folder of the SDK headers."""
    return str(_PACKAGE / "include")


def get_lib() -> str:
    """Return the folder that link flags name. An op library needs nothing from it."""
    return str(_PACKAGE)


def get_compile_flags() -> list[str]:
    """Return what g++, clang++ and nvcc need to compile a source that includes the SDK."""
    return [f"-I{get_include()}", "-std=c++17"]


def get_link_flags() -> list[str]:
    """Return what they need to link such a library."""
    return [f"-L{get_lib()}"]
