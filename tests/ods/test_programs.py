"""Small programs give the records that llvm-tblgen gives; what it gave is kept in programs/expected.json."""

import json
import os

import pytest

from oneop.errors import OdsError

from .compare import FOLDER, TBLGEN, ours, programs, theirs
from .generated import Generator

PROGRAMS = programs()
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
#: Programs that we read and llvm-tblgen 14, 16 and 19 refuse: newer operators, and rules that we do not have.
OURS_ONLY = {
    "bits: bits of an int",
    "bits: let bits of an int",
    "bits: let of the same bit in one range",
    "inherit: NAME as an argument",
    "operators: equal of dags",
    "operators: equal of lists",
    "operators: initialized",
    "operators: instances",
    "operators: instances by a regular expression",
    "operators: instances by classes of characters",
    "operators: lists of strings",
    "operators: match",
    "operators: match in a class",
}
SEEDS = int(os.environ.get("ONEOP_ODS_SEEDS", "40"))


def read(text, folder):
    path = folder / "program.td"
    path.write_text(text)
    try:
        return path, json.loads(json.dumps(ours(path)))
    except OdsError:
        return path, None


def test_every_program_has_an_expectation():
    assert set(PROGRAMS) == set(EXPECTED)
    assert {name for name, records in EXPECTED.items() if records is None} >= OURS_ONLY


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in OURS_ONLY])
def test_gives_what_llvm_gave(name, tmp_path):
    _, records = read(PROGRAMS[name], tmp_path)
    assert records == EXPECTED[name]


@pytest.mark.skipif(TBLGEN is None, reason="needs llvm-tblgen")
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_llvm(name, tmp_path):
    """What both accept is the same, whatever the version; an older llvm-tblgen may refuse more."""
    path, records = read(PROGRAMS[name], tmp_path)
    llvm = theirs(path)
    assert llvm is None or records == llvm


@pytest.mark.skipif(TBLGEN is None, reason="needs llvm-tblgen")
def test_generated_programs_agree_with_llvm(tmp_path):
    read_by_both = 0
    for seed in range(SEEDS):
        text = Generator(seed).program()
        path, records = read(text, tmp_path)
        llvm = theirs(path)
        assert llvm is None or records == llvm, f"seed {seed}\n{text}"
        read_by_both += llvm is not None
    assert read_by_both > SEEDS // 8


@pytest.mark.parametrize("seed", range(5))
def test_generated_programs_are_the_same_again(seed):
    assert Generator(seed).program() == Generator(seed).program()
