"""Calls on DTensors, compared with the same calls on whole tensors. Each case takes a mesh and runs on every rank."""

from cases import calls, compiled, cpp, gradients, jobs, placements, planning
from cases.tools import CASES, is_due, is_slow, spread

__all__ = [
    "CASES",
    "calls",
    "compiled",
    "cpp",
    "gradients",
    "is_due",
    "is_slow",
    "jobs",
    "placements",
    "planning",
    "spread",
]
