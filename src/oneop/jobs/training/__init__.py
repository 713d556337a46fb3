"""What train jobs need: variables, optimizers, learning rates, checkpoints."""
