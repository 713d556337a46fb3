"""An op whose kernel is Triton's."""

import importlib.util
import os
import sys

import torch

import oneop

os.environ.setdefault("TRITON_INTERPRET", "1")
if importlib.util.find_spec("triton") is None:
    sys.exit(print("this example needs triton: pip install triton"))
import triton
import triton.language as tl


@triton.jit
def scaled_add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + alpha * tl.load(y + at, mask=inside), mask=inside)


scaled_add = oneop.define("scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor z", infer="elementwise")


@scaled_add.register_kernel(language="triton")
def launch(x, y, alpha, out):
    n = out.numel()
    scaled_add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, alpha, BLOCK=256)


scaled_add.register_grad(lambda ctx, dz: (dz, dz * ctx.alpha))
x, y = torch.randn(1000, requires_grad=True), torch.randn(1000, requires_grad=True)
z = scaled_add(x, y, alpha=2.0)
z.sum().backward()
torch.testing.assert_close(z, x + 2 * y)
print(y.grad[:3])
