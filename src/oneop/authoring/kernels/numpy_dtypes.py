"""numpy's names for torch's dtypes."""

from __future__ import annotations

import functools
from typing import Any

import torch


@functools.cache
def numpy_dtype(dtype: torch.dtype) -> Any:
    """Return numpy's dtype; those that numpy lacks are ml_dtypes'."""
    import numpy as np

    name = str(dtype).removeprefix("torch.")
    if hasattr(np, name):
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"numpy has no {name}; with ml_dtypes it has: pip install ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, name))
