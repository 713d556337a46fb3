"""Triton kernels; Triton wants to read their source from a file."""

import triton
import triton.language as tl


@triton.jit
def affine_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, 2 * tl.load(x + at, mask=inside), mask=inside)


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, 2 * tl.load(x + at, mask=inside), mask=inside)
