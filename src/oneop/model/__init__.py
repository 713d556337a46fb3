"""Facts that several parts of oneop need, each written once: attribute types and dtypes. Nothing here imports torch."""
