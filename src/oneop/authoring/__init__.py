"""Ops written in Python: `oneop.define`, and the `register_*` methods that every op has.

What is registered here fills the same records as a C++ library does, so kernels of both kinds stand side by side.

    define.py      define
    methods.py     register_kernel, register_grad and the other methods of ops
    schema.py      what a schema says
    parse_schema.py, schema_arguments.py, schema_defaults.py   its text; other_forms.py: texts that are no schema
    spec.py        shapes and dtypes as the author's functions see them
    signature.py   the signature of an op object
    book.py        what is registered for an op so far, and handing it to the core
    binding.py     how an author's function takes inputs, attributes and `out`
    grad.py        register_grad and register_jvp
    modules.py     op modules: a folder of files named after an op
    foreign.py     ops of C++ libraries, as a schema

    kernels/       register_kernel, and one file for each further language
    rules/infer.py, einsum.py           inference: the author's, the declarative kinds, and `b k, k n -> b n`
    rules/sbp.py, sbp_builder.py, sbp_entries.py   SBP signatures in all forms
    rules/batching.py, vmap_rules.py    vmap: the author's rule, a rule that follows, or a loop
    rules/independence.py               what inference implies beside shapes, and its proof
    rules/effects.py                    ops that are called for what they do
    keys/digest.py, identity.py         digests of functions and values, and of everything registered for an op
    keys/cache_keys.py, captures.py     those digests in torch's compile caches; guards on captured values
"""
