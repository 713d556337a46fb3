"""What fast_gelu should compute; `oneop check` and `oneop bench` compare it with this."""

import torch

import oneop.testing


@oneop.testing.reference("fast_gelu")
def fast_gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")
