"""An op library is one binary for every torch: it needs the C and C++ runtime, exports one symbol, and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import oneop

SOURCE = Path(__file__).parents[1] / "examples/leaky_relu/leaky_relu.cpp"

#: What the C and C++ runtimes version their symbols with, and who may be linked.
RUNTIME_VERSIONS = re.compile(r"@+(GLIBC|GLIBCXX|CXXABI|GCC)_[\d.]+$")
RUNTIME_LIBRARIES = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux[\w-]*)\.so\.\d+$")

#: Undefined in every shared object that gcc links, and weak: nobody needs to define them.
OPTIONAL = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}

pytestmark = pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm and readelf, from binutils")


@pytest.fixture(scope="module", params=[False, True], ids=["native", "portable"])
def library(request):
    return oneop.build("leaky_relu", [SOURCE], portable=request.param)


def symbols(library, *options):
    output = subprocess.run(["nm", "-D", *options, str(library)], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1] for line in output.splitlines()]


def test_it_needs_only_the_runtime(library):
    output = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    if "libstdc++" not in output:
        pytest.skip("this compiler links the C++ runtime statically")
    strangers = {name for name in symbols(library, "--undefined-only") if not RUNTIME_VERSIONS.search(name)}
    assert strangers <= OPTIONAL


def test_it_exports_one_symbol(library):
    assert symbols(library, "--defined-only") == ["oneop_plugin"]


def test_it_is_linked_with_nothing_else(library):
    output = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output)
    assert [name for name in needed if not RUNTIME_LIBRARIES.match(name)] == []
    assert "RPATH" not in output and "RUNPATH" not in output
