"""What an op is made of, as digests: keys of compile caches, guards of compiled code."""
