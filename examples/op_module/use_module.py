"""Load the op module beside this file and train through it."""

from pathlib import Path

import torch

import oneop

module = oneop.load_module(Path(__file__).parent / "user_relu")
x = torch.tensor([-1.0, 2.0], requires_grad=True)
module.api.user_relu(x).sum().backward()
print(x.grad)
assert x.grad.tolist() == [0.0, 1.0]
