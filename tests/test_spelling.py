"""Hints in errors about unknown names: `errors.nearest`."""

import pytest

from oneop.errors import OpNotFoundError, did_you_mean, nearest


@pytest.mark.parametrize(
    "name, names, meant",
    [
        ("aplha", ["beta", "alpha"], "alpha"),
        ("X", ["y", "x"], "x"),  # one letter: too far for difflib
        ("MATMUL", ["matmuls", "matmul2", "matmul"], "matmul"),
        ("Relu6", ["Relu", "Relu9", "relu6"], "relu6"),  # nearer than names that keep the case
        ("x", ["alpha", "beta"], None),
        ("x", [], None),
    ],
)
def test_nearest(name, names, meant):
    assert nearest(name, names) == meant
    assert did_you_mean(name, names) == ("" if meant is None else f', did you mean "{meant}"?')


def test_the_core_prefers_a_difference_in_case():
    import oneop
    from oneop.runtime.core import core

    for name in ("t_spelling_a", "t_spelling_b"):
        oneop.define(f"{name}(Tensor x) -> Tensor")
    with pytest.raises(OpNotFoundError, match='did you mean "t_spelling_b"'):
        core().op_info("T_SPELLING_B")
