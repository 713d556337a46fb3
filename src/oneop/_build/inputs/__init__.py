"""Finding what a compile or link depends on: files that were read, names that were looked for in vain, flags."""
