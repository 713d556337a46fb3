"""Facts that several parts of oneop need, each written once: attribute types, dtypes, the place of type stubs.

Nothing here imports torch.
"""
