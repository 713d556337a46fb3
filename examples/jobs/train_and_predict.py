"""A train job and a predict job that share variables, with an op of our own in both."""

from pathlib import Path

import numpy as np
import torch.nn.functional as F

import oneop
from oneop import typing as tp

leaky_relu = oneop.load("leaky_relu", [Path(__file__).parents[1] / "leaky_relu" / "leaky_relu.cpp"]).leaky_relu


def model(x):
    init = oneop.random_normal_initializer(stddev=0.3, seed=0)
    hidden = leaky_relu(F.linear(x, oneop.get_variable("w1", (16, 2), initializer=init)), alpha=0.1)
    return F.linear(hidden, oneop.get_variable("w2", (2, 16), initializer=init))


@oneop.global_function(type="train")
def train(
    x: tp.Numpy.Placeholder((64, 2), dtype=oneop.float32),
    label: tp.Numpy.Placeholder((64,), dtype=oneop.int64),
) -> tp.Numpy:
    loss = F.cross_entropy(model(x), label)
    oneop.optimizer.Adam(0.05).minimize(loss)
    return loss


@oneop.global_function()
def predict(x: tp.Numpy.Placeholder((4, 2), dtype=oneop.float32)) -> tp.Numpy:
    return model(x).argmax(1)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for step in range(60):
        x = rng.standard_normal((64, 2), dtype=np.float32)
        loss = train(x, (x[:, 0] * x[:, 1] > 0).astype(np.int64))
        if step % 20 == 0:
            print(f"step {step:2}  loss {loss:.3f}")
    print("same sign?", predict(np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=np.float32)).tolist())
    print(predict.plan())
