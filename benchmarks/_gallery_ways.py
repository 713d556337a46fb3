"""Where the gallery is, and what the ways to do the work of its ops are called."""

from pathlib import Path

GALLERY = Path(__file__).parents[1] / "examples" / "gallery"
OURS, BUILTIN, COMPOSED, COMPILED = "oneop", "torch, built in", "torch, composed", "torch.compile"
