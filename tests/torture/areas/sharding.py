"""Random calls on DTensors against whole tensors, with 2 or 4 gloo processes: see tests/sharding/differential.py."""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sharding"))

_SHAPES = [(2, ["2"]), (4, ["4"]), (4, ["2x2"]), (2, ["1x2"]), (4, ["2x1x2"])]


def run_round(seed: int, share: float = 1.0) -> str:
    """Run a share of a round of 5 to 20 s that seed determines; return a short tally; raise on a wrong result."""
    import differential

    world, meshes = random.Random(seed).choice(_SHAPES)
    eager, compiled = (150, 0) if seed % 3 else (30, 3)
    eager, compiled = round(eager * share), round(compiled * share)
    with tempfile.TemporaryDirectory() as folder:
        compared = differential.run_ranks(folder, world, meshes, seed, eager, compiled, python=[sys.executable])
    return f"{compared} calls on {world} ranks, mesh {meshes[0]}"
