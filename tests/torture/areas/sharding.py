"""Random calls on DTensors against whole tensors, with 2 or 4 gloo processes: see tests/sharding/differential.py."""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sharding"))

_SHAPES = [(2, ["2"]), (4, ["4"]), (4, ["2x2"]), (2, ["1x2"]), (4, ["2x1x2"])]


def run_round(seed: int) -> str:
    """Run one bounded round (5 to 20 s) fully determined by seed; return a short tally; raise on a wrong result."""
    import differential

    world, meshes = random.Random(seed).choice(_SHAPES)
    eager, compiled = (150, 0) if seed % 3 else (30, 3)
    with tempfile.TemporaryDirectory() as folder:
        compared = differential.run_ranks(folder, world, meshes, seed, eager, compiled)
    return f"{compared} calls on {world} ranks, mesh {meshes[0]}"
