"""The ops of torch that gradients call most, for numpy and jax.numpy alike."""
