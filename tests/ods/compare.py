"""Records in a form in which our reader's and llvm-tblgen's can be compared, and the programs to compare them on."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import oneop.ods

FOLDER = Path(__file__).parent / "programs"
TBLGEN = shutil.which("llvm-tblgen") or next((str(p) for p in sorted(Path("/usr/bin").glob("llvm-tblgen-*"))), None)


def programs():
    """Return {name: text}: the files of the folder hold many programs, each below a line with its name."""
    return {
        f"{path.stem}: {name}": text
        for path in sorted(FOLDER.glob("*.td"))
        for name, text in re.findall(r"^// --- (.*)\n((?:(?!// ---).*\n)*)", path.read_text(), re.MULTILINE)
    }


def spelled_out(value, records):
    """A value with anonymous records replaced by what is in them; a bit of an unset field is an unset bit."""
    if isinstance(value, list):
        return [spelled_out(item, records) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "varbit":
        return None
    if value.get("kind") == "def" and records[value["def"]]["!anonymous"]:
        return {"anonymous": contents(records[value["def"]], records)}
    return {key: spelled_out(item, records) for key, item in value.items() if key != "printable"}


def contents(record, records):
    """The fields of a record and its classes."""
    fields = {key: spelled_out(value, records) for key, value in record.items() if not key.startswith("!")}
    return {"!superclasses": sorted(record["!superclasses"]), **fields}


def named(records):
    """All records but the anonymous ones."""
    return {name: contents(record, records) for name, record in records.items() if not record["!anonymous"]}


@cache
def built_in():
    """The names of the prelude's records."""
    return set(oneop.ods.dump_records(FOLDER.parent / "corpus" / "included.inc"))


def ours(path):
    """What our reader finds. Raises `OdsError`."""
    records = named(oneop.ods.dump_records(path))
    return {name: record for name, record in records.items() if name not in built_in()}


def theirs(path, tblgen=TBLGEN):
    """What llvm-tblgen finds, None if it refuses the file."""
    done = subprocess.run([tblgen, "--dump-json", str(path)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return None
    records = json.loads(done.stdout)
    return named({name: record for name, record in records.items() if isinstance(record, dict) and "!name" in record})
