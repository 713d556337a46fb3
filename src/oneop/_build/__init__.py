"""Building op libraries and the core: compilers, the cache, and what ties them together. See README.md."""
