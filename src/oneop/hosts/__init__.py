"""What the hosts beside torch share: their compiled parts, and a framework's ops in gradients. Nothing needs torch."""
