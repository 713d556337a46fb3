"""Signatures that are right and signatures that are wrong, for judging `check_sbp`.

They were written down before it was run on them. RIGHT must raise no alarm; each of WRONG must.
"""

import oneop

from .parts import columns, rows, same
from .right import RIGHT, SIZE_ATTRS
from .wrong import WRONG


def make(kind, name):
    """Define the op of an entry, with its one signature; return it with inputs and attributes."""
    inputs, outputs, kernel, infer, signature, tensors, attrs = (RIGHT if kind == "right" else WRONG)[name]
    op = oneop.define(
        f"corpus_{kind}_{name}({inputs}) -> {outputs}",
        sbp=[signature],
        differentiable=False,
        size_attrs=SIZE_ATTRS.get(name),
    )
    op.register_infer(infer) if infer not in (same, rows, columns) else op.register_infer(_named(infer, inputs))
    op.register_kernel(language="torch")(kernel)
    return op, tensors, attrs


def _named(infer, inputs):
    """Return inference with the parameters of the op: what takes anything cannot say which attributes it reads."""
    count = inputs.count("Tensor ")
    return eval(
        f"lambda {', '.join(f't{i}' for i in range(count))}: infer({', '.join(f't{i}' for i in range(count))})",
        {"infer": infer},
    )
