"""Kernels on buffers that touch memory which is not there, or that are locked: a wrong access ends the process.

Whoever runs these calls does so in a child process.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from oneop.testing.case import Case
from oneop.testing.memory.guards import Buffer, Use, run_in_buffers, span_of, tensor_on
from oneop.testing.memory.unmapped import MakeFlush, lock_pages, make_flush

#: What buffers hold that have no values: NaN in every floating dtype.
_PATTERN = 0xFF
_FAR = 2048  # bytes


def make_flush_buffer(
    like: torch.Tensor, *, copy: bool, at_end: bool, slack: int = 0, make: MakeFlush = make_flush
) -> Buffer:
    """Return a buffer that lies directly before or behind memory that is not there, or `slack` bytes away from it."""
    span = span_of(like)
    size = span * like.element_size()
    memory = make(size + slack, at_end=at_end)
    memory.fill_(_PATTERN)
    raw = memory[:size] if at_end else memory[slack:]
    return Buffer(raw, tensor_on(raw, like, span, copy=copy), _PATTERN)


@dataclass(frozen=True)
class FlushCall:
    """A kernel on buffers beside unmapped memory, or with the `only`-th buffer there and the others far from it."""

    case: Case
    kernel: int
    at_end: bool
    only: int | None = None

    def run(self, make: MakeFlush = make_flush) -> None:
        """Run it. An access beside a buffer is the end of the process, or of its work with the device."""
        made = 0

        def place(like: torch.Tensor, use: Use) -> Buffer:
            nonlocal made
            number, made = made, made + 1
            slack = 0 if self.only is None or self.only == number else _FAR
            return make_flush_buffer(like, copy=use.has_values, at_end=self.at_end, slack=slack, make=make)

        case = self.case
        run_in_buffers(case.subject, self.kernel, case.group(case.make()), case.attributes, place)


@dataclass(frozen=True)
class LockedCall:
    """A kernel on inputs that cannot be written, all of them or the `only`-th buffer alone.

    Comparing an input before and after a call does not show a kernel that uses it as scratch memory and puts it back;
    another thread that reads the input meanwhile sees it.
    """

    case: Case
    kernel: int
    only: int | None = None

    def run(self) -> None:
        """Run it. Writing to an input that the op does not declare as changed is the end of the process."""
        made = 0

        def place(like: torch.Tensor, use: Use) -> Buffer:
            nonlocal made
            number, made = made, made + 1
            buffer = make_flush_buffer(like, copy=use.has_values, at_end=False)
            if use is Use.READ and self.only in (None, number):
                lock_pages(buffer.raw)
            return buffer

        case = self.case
        run_in_buffers(case.subject, self.kernel, case.group(case.make()), case.attributes, place)
