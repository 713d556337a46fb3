"""`oneflow.math`: functions of elements and matrix products, as thin names over torch."""

import torch

from .blobs import named

relu = named("Relu", torch.relu)
sigmoid = named("Sigmoid", torch.sigmoid)
tanh = named("Tanh", torch.tanh)
gelu = named("Gelu", torch.nn.functional.gelu)
abs = named("Abs", torch.abs)
exp = named("Exp", torch.exp)
log = named("Log", torch.log)
sqrt = named("Sqrt", torch.sqrt)
rsqrt = named("Rsqrt", torch.rsqrt)
square = named("Square", torch.square)
negative = named("Negative", torch.neg)
add = named("Add", torch.add)
subtract = named("Subtract", torch.sub)
multiply = named("Multiply", torch.mul)
divide = named("Divide", torch.div)
pow = named("Pow", torch.pow)


@lambda function: named("SigmoidGrad", function)
def sigmoid_grad(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the gradient of sigmoid from its result and the result's gradient."""
    return y * (1 - y) * dy


def reduce_sum(x: torch.Tensor, axis: int | list[int] | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return the sum over some dimensions, all by default."""
    return torch.sum(x, list(range(x.ndim)) if axis is None else axis, keepdim=keepdims)


def reduce_mean(x: torch.Tensor, axis: int | list[int] | None = None, keepdims: bool = False) -> torch.Tensor:
    """Return the mean over some dimensions, all by default."""
    return torch.mean(x, list(range(x.ndim)) if axis is None else axis, keepdim=keepdims)
