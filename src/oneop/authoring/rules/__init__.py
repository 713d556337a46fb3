"""What an op says beside its kernels: inference, SBP, vmap, effects, and the proofs of what they imply."""
