import shutil
import subprocess
from pathlib import Path

import pytest

from oneop import sysconfig


def test_folders_exist():
    assert (Path(sysconfig.get_include()) / "oneop/abi.h").is_file()
    assert Path(sysconfig.get_lib()).is_dir()


def test_flags():
    assert sysconfig.get_compile_flags() == [f"-I{sysconfig.get_include()}", "-std=c++17"]
    assert sysconfig.get_link_flags() == [f"-L{sysconfig.get_lib()}"]


@pytest.mark.parametrize(
    ("compiler", "source", "more"),
    [("g++", "a.cpp", ["-fPIC"]), ("nvcc", "a.cu", ["-x", "cu", "-Xcompiler", "-fPIC"])],
)
def test_both_compilers_take_all_flags(tmp_path, compiler, source, more):
    """As in the Makefile of the first seed: an old -std first, and link flags in a compile step."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    text = '#include "oneop/abi.h"\n#if __cplusplus < 201703L\n#error too old\n#endif\nint x = ONEOP_ABI_MAJOR;\n'
    (tmp_path / source).write_text(text)
    flags = [*sysconfig.get_compile_flags(), *sysconfig.get_link_flags(), *more, "-O2"]
    command = [compiler, "-std=c++11", "-c", source, "-o", "a.o", *flags]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
