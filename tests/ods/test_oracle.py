"""Our reader and llvm-tblgen see the same records. Runs where llvm-tblgen is installed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import oneop.ods
from oneop.errors import OdsError

from .malformed import MALFORMED, NEWER

CORPUS = Path(__file__).parent / "corpus"
PRELUDE = Path(oneop.ods.__file__).parent / "prelude"
TBLGEN = shutil.which("llvm-tblgen") or next((str(p) for p in Path("/usr/bin").glob("llvm-tblgen-*")), None)
pytestmark = pytest.mark.skipif(TBLGEN is None, reason="needs llvm-tblgen")


def oracle(path, *options):
    return subprocess.run(
        [TBLGEN, "--dump-json", f"-I{PRELUDE}", f"-I{path.parent}", *options, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def spelled_out(value, records):
    """A value with anonymous records replaced by what is in them: their numbers mean nothing."""
    if isinstance(value, list):
        return [spelled_out(item, records) for item in value]
    if isinstance(value, dict) and value.get("kind") == "def" and records[value["def"]]["!anonymous"]:
        return {"anonymous": contents(value["def"], records)}
    if isinstance(value, dict):
        return {key: spelled_out(item, records) for key, item in value.items() if key != "printable"}
    return value


def contents(name, records):
    record = records[name]
    fields = {key: spelled_out(value, records) for key, value in record.items() if not key.startswith("!")}
    return {"!superclasses": sorted(record["!superclasses"]), **fields}


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.glob("*.td")))
@pytest.mark.parametrize("defines", [(), ("GIVEN",)])
def test_same_records(name, defines, tmp_path):
    text = (CORPUS / name).read_text()
    done = oracle(CORPUS / name, "-DORACLE", *(f"-D{define}" for define in defines))
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    theirs.pop("!instanceof")
    theirs.pop("!tablegen_json_version")
    ours = oneop.ods.dump_records(CORPUS / name, defines=defines)
    named = {n for n, record in theirs.items() if not record["!anonymous"]}
    prelude = set(re.findall(r"^def (\w+)", (PRELUDE / "prelude.td").read_text(), re.MULTILINE))
    assert {n for n, r in ours.items() if not r["!anonymous"]} - prelude == named - prelude, text
    for record in sorted(named):
        assert contents(record, ours) == contents(record, theirs), record


@pytest.mark.parametrize("case", [case for case in MALFORMED if case.name not in NEWER], ids=lambda case: case.name)
def test_refuses_the_same(case, tmp_path):
    """What we refuse as TableGen is refused by llvm-tblgen too."""
    if case.ours_only:
        pytest.skip("a rule of oneop, not of TableGen")
    path = tmp_path / "bad.td"
    path.write_text('include "prelude.td"\n' + case.text)
    assert oracle(path).returncode != 0
    path.write_text(case.text)
    with pytest.raises(OdsError):
        oneop.ods.dump_records(path)
