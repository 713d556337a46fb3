"""Wheels with compiled cores, made and tried: `python -m tools.wheels`."""
