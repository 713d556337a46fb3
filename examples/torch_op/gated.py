"""An op that is a composition: torch differentiates it, and the compiler looks through it."""

import torch

import oneop

gated = oneop.define("gated(Tensor x, Tensor gate) -> Tensor y", infer="broadcast")


@gated.register_kernel(language="torch")  # any device
def kernel(x, gate):
    return x * torch.sigmoid(gate)


x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
gate = torch.randn(4, dtype=torch.float64, requires_grad=True)
print(gated(x, gate))
assert torch.autograd.gradcheck(gated, (x, gate))
compiled = torch.compile(lambda x, gate: gated(x, gate).sum(0), fullgraph=True, backend="aot_eager")
torch.testing.assert_close(compiled(x, gate), (x * torch.sigmoid(gate)).sum(0))
