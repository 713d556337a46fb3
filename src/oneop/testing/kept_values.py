"""Values of tensors that were made before.

Families try the same calls again, and making a large input takes longer than calling most ops with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

import torch


class KeptValues:
    """Tensors by what they were made from; the oldest go where all together would have more than `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[Hashable, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Hashable, make: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Return the tensor of this key, which `make` makes the first time: a copy, as what is kept stays."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None:
            return kept.clone()
        made = make()
        size = made.numel() * made.element_size()
        if size <= self._most // 8:
            with self._lock:
                if key not in self._kept:
                    self._kept[key] = made.clone()
                    self._bytes += size
                while self._bytes > self._most:
                    _, oldest = self._kept.popitem(last=False)
                    self._bytes -= oldest.numel() * oldest.element_size()
        return made
