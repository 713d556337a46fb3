"""Build the C++ ops of leaky_relu.cpp, call them, differentiate them once and twice, compile them."""

from pathlib import Path

import torch
import torch.nn.functional as F

import oneop

library = oneop.load("leaky_relu", [Path(__file__).with_name("leaky_relu.cpp")])
oneop.show("leaky_relu")

# Call it. Every op is also in oneop.ops, and in torch.ops.oneop.
x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
y = library.leaky_relu(x, alpha=0.25)
assert torch.equal(y, F.leaky_relu(x, 0.25))
assert torch.equal(y, oneop.ops.leaky_relu(x, alpha=0.25))
assert torch.equal(y, torch.ops.oneop.leaky_relu(x, alpha=0.25))

# Differentiate it, once and twice.
y.sum().backward()
assert torch.equal(x.grad, torch.where(x > 0, 1.0, 0.25))
assert torch.autograd.gradcheck(lambda x: library.leaky_relu(x, alpha=0.25), x)
assert torch.autograd.gradgradcheck(lambda x: library.leaky_relu(x, alpha=0.25), x)

# The same on all cores: the kernel hands its loop to torch's threads.
big = torch.randn(1_000_000)
assert torch.equal(library.leaky_relu_parallel(big, alpha=0.25), F.leaky_relu(big, 0.25))

# Compile it. "eager" keeps this example quick; any backend works.
compiled = torch.compile(lambda x: library.leaky_relu(x * 2, alpha=0.25) + 1, fullgraph=True, backend="eager")
assert torch.equal(compiled(x), F.leaky_relu(x * 2, 0.25) + 1)

print("leaky_relu agrees with torch: forward, backward, double backward, parallel, compiled")
