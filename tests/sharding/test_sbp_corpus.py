"""`check_sbp` on signatures that are known to be right or wrong: no false alarm, no miss, and no wrong proposal."""

import pytest
import sbp_corpus
import torch

import oneop
from oneop.errors import SbpError
from oneop.testing import check_sbp


def test_there_are_enough():
    assert len(sbp_corpus.RIGHT) >= 40 and len(sbp_corpus.WRONG) >= 60


@pytest.mark.parametrize("name", sbp_corpus.RIGHT)
def test_no_false_alarm(name):
    op, inputs, attrs = sbp_corpus.make("right", name)
    report = check_sbp(op, inputs, discover=False, **attrs)
    assert len(report.proved) == 1, str(report)


@pytest.mark.parametrize("name", sbp_corpus.WRONG)
def test_no_miss(name):
    op, inputs, attrs = sbp_corpus.make("wrong", name)
    with pytest.raises(SbpError, match="WRONG"):
        check_sbp(op, inputs, discover=False, **attrs)


def every_third(names):
    """Mark all but every third one as slow: the families of the corpus have about three members each."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, name in enumerate(names)]


@pytest.mark.parametrize("name", every_third(sbp_corpus.WRONG))
def test_discovery_proposes_nothing_wrong(name):
    op, inputs, attrs = sbp_corpus.make("wrong", name)
    wrong = sbp_corpus.WRONG[name][4]
    op.register_sbp()
    if name.startswith("other_"):
        pytest.skip("the signature holds for the attributes of this call")
    assert wrong not in check_sbp(op, inputs, backward=False, **attrs).undeclared


@pytest.mark.parametrize("seed", [pytest.param(n, marks=[pytest.mark.slow] * (n % 5 > 0)) for n in range(24)])
def test_no_false_alarm_on_products_that_cancel(seed):
    op = oneop.define(
        "corpus_product(Tensor x, Tensor w) -> Tensor y", infer="... k, n k -> ... n", differentiable=False
    )
    op.register_kernel("cpu")(lambda x, w: x @ w.T)
    generator = torch.Generator().manual_seed(seed)
    lead = ([], [4], [3, 5], [5, 4, 3])[seed % 4]
    k, n = ((4, 3, 5, 12)[seed // 4 % 4], (3, 5)[seed % 2])
    dtype = (torch.float32, torch.float64)[seed // 2 % 2]
    x = torch.randn(*lead, k, generator=generator).to(dtype)
    w = torch.randn(n, k, generator=generator).to(dtype)
    if seed % 3 == 0:
        x, w = x.round(), w.round()  # many sums are zero
    assert not check_sbp(op, [x, w], discover=False).wrong
