"""An op whose kernel is numpy: defined, run, differentiated twice, compiled."""

import numpy as np
import torch

import oneop

softplus = oneop.define(
    "softplus(Tensor x, *, float beta=1.0) -> Tensor y", infer="elementwise", doc="log(1 + e^bx) / b"
)


@softplus.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
def kernel(x, beta, out):
    np.multiply(x, beta, out=out)
    np.logaddexp(out, 0, out=out)
    np.divide(out, beta, out=out)


@softplus.register_grad
def grad(ctx, dy):
    return dy * torch.sigmoid(ctx.beta * ctx.x)


@softplus.register_jvp
def jvp(ctx, dx):
    return dx * torch.sigmoid(ctx.beta * ctx.x)


x = torch.linspace(-2, 2, 5, dtype=torch.float64, requires_grad=True)
print(softplus(x, beta=2.0))
assert torch.autograd.gradcheck(softplus, (x,)) and torch.autograd.gradgradcheck(softplus, (x,))
compiled = torch.compile(lambda x: softplus(x) + 1, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(compiled(x), torch.nn.functional.softplus(x) + 1)
