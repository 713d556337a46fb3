"""oneop beside its peers, measured in one run: `python -m benchmarks`, or `make bench`."""

from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "sources"
ALPHA = 0.2
