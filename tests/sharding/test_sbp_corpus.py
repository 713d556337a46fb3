"""`check_sbp` on signatures that are known to be right or wrong: no false alarm, no miss, and no wrong proposal."""

import pytest
import sbp_corpus

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


@pytest.mark.parametrize("name", sbp_corpus.WRONG)
def test_discovery_proposes_nothing_wrong(name):
    op, inputs, attrs = sbp_corpus.make("wrong", name)
    wrong = sbp_corpus.WRONG[name][4]
    op.register_sbp()
    if name in ("other_mode", "other_flag"):
        pytest.skip("the signature holds for the attributes of this call")
    assert wrong not in check_sbp(op, inputs, backward=False, **attrs).undeclared
