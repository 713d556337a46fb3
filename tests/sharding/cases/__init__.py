"""Calls on DTensors, compared with the same calls on whole tensors. Each case takes a mesh and runs on every rank."""

from cases import calls, compiled, cpp, gradients, jobs, placements, planning
from cases.tools import CASES, fits, spread

__all__ = ["CASES", "calls", "compiled", "cpp", "fits", "gradients", "jobs", "placements", "planning", "spread"]
