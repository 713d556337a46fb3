"""The second corpus: a family that is for it finds each fault, right ops pass, and printed programs repeat failures."""

import os
import re
import resource
import runpy
import subprocess
from pathlib import Path

import corpus_edges
import corpus_faults
import corpus_right
import pytest

import oneop.testing.memory.isolation
from oneop.testing.checker import FAMILIES, run_check
from oneop.testing.subject import Hints
from quick_python import command

#: It takes as long as half of all other tests, and lists what the check does not find yet: `make corpus` runs it.
pytestmark = pytest.mark.skipif("RUN_CORPUS" not in os.environ, reason="make corpus runs it")

SLOW = ("opcheck", "compile", "export")
HERE = Path(__file__).parent
#: Of address space, for a check that makes too large tensors: it fails, and does not end other processes.
BYTES = 10 << 30


@pytest.fixture(autouse=True)
def limited_memory():
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES if hard == resource.RLIM_INFINITY else min(BYTES, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def check(name, expected=()):
    return run_check(name, Hints(), skip=[family for family in SLOW if family not in expected], examples=12)


def families_that_fail_in_a_child(name):
    """Return the same for an op that may end the process that checks it, or never return to it."""
    program = (
        f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(HERE.parents[1])!r}]\n"
        "import corpus_faults\n"
        "from test_corpus import check\n"
        f"report = check(corpus_faults.make({name!r}))\n"
        "print('FAILED:', *(outcome.family for outcome in report.failures), sep='|', flush=True)\n"
        "import os; os._exit(0)\n"
    )
    result = subprocess.run(
        [*command(), "-c", program], capture_output=True, text=True, timeout=240, check=True, env=os.environ
    )
    return re.search(r"FAILED:\|?(.*)", result.stdout).group(1).split("|")


@pytest.mark.parametrize("name", corpus_faults.EXPECTED)
def test_fault_is_found(name, monkeypatch):
    expected = [*corpus_faults.EXPECTED[name], "crashes"]
    expected += ["gradient variants"] if "gradient" in expected else []
    assert set(expected) <= set(FAMILIES)
    if name in corpus_faults.ALONE:
        found = families_that_fail_in_a_child(name)
    else:
        if name == "waits_for_ever_at_step_zero":
            monkeypatch.setattr(oneop.testing.memory.isolation, "SECONDS", 2.0)
        found = [outcome.family for outcome in check(corpus_faults.make(name), expected).failures]
    assert set(found) & set(expected), f"found by {found}"


@pytest.mark.parametrize("name", [*corpus_right.CPP, *corpus_right.BY_NAME, *corpus_edges.RIGHT])
def test_right_op_passes(name):
    report = check((corpus_edges if name in corpus_edges.RIGHT else corpus_right).make(name))
    assert report.ok, str(report)


def test_enough_of_both():
    assert len(corpus_faults.EXPECTED) >= 45 and len(corpus_faults.CPP) >= 20
    assert len(corpus_right.CPP) + len(corpus_right.PYTHON) >= 25


#: Of different families.
REPEATED = [
    "sum_of_nothing_is_unwritten",
    "aborts_for_negative_count",
    "pi_in_float",
    "exponential_of_low_degree",
    "zero_loses_sign",
    "doubles_where_it_should_square",
    "shifts_in_place_from_wrong_end",
    "gradient_has_default_of_backward_op",
    "gradient_of_list_in_reverse",
    "jvp_without_second_input",
    "vmap_rule_ignores_in_dims",
    "sbp_of_product_of_sums",
    "numba_reads_past_end",
    "wrong_beyond_a_million",
    "quick_kernel_for_two",
]


#: How the lines begin that make the call, or ask torch or `check_sbp` about it.
CALLS = ("oneop.ops.", "torch.autograd.", "oneop.testing.check_sbp")


@pytest.mark.parametrize("name", REPEATED)
def test_printed_program_fails_in_the_same_way(name, tmp_path):
    # A file that defines the op when it is run, as an author's does.
    text = Path(corpus_faults.__file__).read_text().replace("Path(__file__).parent", f"Path({str(HERE)!r})")
    program = tmp_path / "ops.py"
    program.write_text(f"import sys\nsys.path.insert(0, {str(HERE)!r})\n{text}\n\nmake({name!r})\n")
    runpy.run_path(str(program))
    failure = check(name).failures[0].failure
    # The call itself may fail first, in its own words; the last line tells the failure in those of the check.
    for lines in (failure.reproduce, [line for line in failure.reproduce if not line.startswith(CALLS)]):
        result = subprocess.run(
            [*command(), "-c", "\n".join(lines)],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env=os.environ,
            cwd=tmp_path,
        )
        assert result.returncode != 0, f"{failure.message}\n{result.stdout}{result.stderr}"
    assert failure.message.splitlines()[0] in result.stdout + result.stderr
