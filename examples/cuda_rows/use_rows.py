"""softmax and layer norm in CUDA, beside torch's own."""

import shutil
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

import oneop

FOLDER = Path(__file__).parent

if shutil.which("nvcc") is None:
    sys.exit(print("this example needs nvcc"))
ops = oneop.load("cuda_rows", [FOLDER / "softmax.cu", FOLDER / "layer_norm.cu"])
if not torch.cuda.is_available():
    sys.exit(print("built:", ", ".join(ops.ops), "(no GPU to run them on)"))

x = torch.randn(1000, 4096, device="cuda", requires_grad=True)
gamma, beta = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
torch.testing.assert_close(ops.row_softmax(x), torch.softmax(x, -1))
y, mean, inv_std = ops.row_layer_norm(x, gamma, beta, epsilon=1e-5)
torch.testing.assert_close(y, F.layer_norm(x, (4096,), gamma, beta), rtol=1e-4, atol=1e-4)
y.sum().backward()
print("softmax and layer norm agree with torch's; the gradient has norm", float(x.grad.norm()))
