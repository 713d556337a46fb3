"""An op defined in Python with a kernel in C++."""

import torch

import oneop

clip = oneop.define("clip(Tensor x, *, float low=0.0, float high=1.0) -> Tensor y", infer="elementwise")
clip.register_source(
    "cpu",
    """
    const T lower = static_cast<T>(low);
    const T upper = static_cast<T>(high);
    for (int64_t i = 0; i < n; ++i) { y[i] = std::min(std::max(x[i], lower), upper); }
    """,
    dtypes=(torch.float32, torch.float64),
)


@clip.register_check
def check(x, low, high):
    return low <= high or f"low is {low}, above high, {high}"


@clip.register_grad
def grad(ctx, dy):
    return dy * ((ctx.x > ctx.low) & (ctx.x < ctx.high))


x = torch.linspace(-1.1, 2.1, 6, dtype=torch.float64, requires_grad=True)
print(clip(x))
assert torch.autograd.gradcheck(clip, (x,))
