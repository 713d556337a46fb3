"""Kernels in several languages."""
