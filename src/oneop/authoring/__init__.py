"""Ops written in Python: `oneop.define`, and the `register_*` methods that every op has.

What is registered here fills the same records as a C++ library does, so kernels of both kinds stand side by side.

    schema.py    the text of a schema, and what it says
    spec.py      shapes and dtypes as the author's functions see them
    infer.py     inference: the author's, and the declarative kinds
    einsum.py    inference and SBP from `b k, k n -> b n`
    sbp.py       SBP signatures in all forms
    sbp_builder.py  the context and the builder that SBP functions use
    book.py      what is registered for an op so far, and handing it to the core
    binding.py   how an author's function takes inputs, attributes and `out`
    kernels.py   register_kernel, and one file for each further language
    grad.py      register_grad and register_jvp
    define.py    define, and the methods
    batching.py  vmap: the author's rule, a rule that follows, or a loop
    independence.py  what inference implies beside shapes, and its proof
    effects.py   ops that are called for what they do
    digest.py    digests of Python functions and values
    identity.py  the digest of everything registered for an op
    cache_keys.py  those digests in the keys of torch's compile caches
"""
