"""Buffers that lie directly before or behind memory that is not there: touching one byte too much ends the process.

Red zones (guards.py) show what is written beside a buffer, and what is read and shows in a result. Only an unmapped
page shows a read whose value is not used. Whoever runs a kernel on such buffers does so in a child process.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Protocol

import torch

_PAGE = mmap.PAGESIZE
_PROT_NONE, _PROT_READ, _PROT_READ_WRITE = 0, 1, 3
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class MakeFlush(Protocol):
    """Makes memory beside none, on one kind of device."""

    def __call__(self, size: int, *, at_end: bool) -> torch.Tensor:
        """Return `size` bytes."""


def make_flush(size: int, *, at_end: bool) -> torch.Tensor:
    """Return `size` bytes whose last one is the last of a page, or whose first one is the first, before no memory.

    The memory is never freed: it is for a child process that ends soon.
    """
    if size == 0:
        return torch.empty(0, dtype=torch.uint8)
    pages = -(-size // _PAGE)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = _libc.mmap(None, (pages + 2) * _PAGE, _PROT_NONE, flags, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError
    inside = start + _PAGE
    if _libc.mprotect(inside, pages * _PAGE, _PROT_READ_WRITE) != 0:
        raise MemoryError
    address = inside + pages * _PAGE - size if at_end else inside
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8)


def lock_pages(memory: torch.Tensor) -> None:
    """Let nobody write to memory that `make_flush` returned, from now on."""
    if memory.numel() == 0:
        return
    start = memory.data_ptr() // _PAGE * _PAGE
    if _libc.mprotect(start, memory.data_ptr() + memory.numel() - start, _PROT_READ) != 0:
        raise MemoryError
