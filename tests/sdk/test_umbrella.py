"""framework.h and op.h stay quick to parse: every op library pays for what they include."""

import shutil
import subprocess

import pytest

from oneop import sysconfig

COMPILER = shutil.which("c++") or "g++"
# Each of these costs a tenth or more of the compile of a library of one op.
SLOW = set(
    "algorithm chrono complex filesystem functional future ios iostream istream locale map mutex"
    " ostream random regex sstream thread unordered_map".split()
)


@pytest.mark.parametrize("header", ["oneflow/core/framework/framework.h", "oneop/op.h"])
def test_no_slow_header_of_the_standard_library(header, tmp_path):
    source = tmp_path / "unit.cpp"
    source.write_text(f'#include "{header}"\n')
    command = [COMPILER, "-std=c++17", f"-I{sysconfig.get_include()}", "-M", str(source)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    names = {path.rsplit("/", 1)[-1] for path in listed if "/c++/" in path}
    assert "string" in names, "the compiler lists the headers that it reads"
    assert not names & SLOW


TAKES_COMPLEX = """
#include "oneflow/core/framework/framework.h"
#include <complex>
int main() {
  oneflow::Scalar s = std::complex<float>(1.5f, -2.f);
  auto both = s.As<std::complex<double>>();
  auto real = oneflow::Scalar(3).As<std::complex<float>>();
  bool kept = s.IsComplex() && both.real() == 1.5 && both.imag() == -2 && s.As<float>() == 1.5f;
  return kept && real.real() == 3 && real.imag() == 0 ? 0 : 1;
}
"""


def test_a_scalar_takes_complex_numbers_without_that_header(tmp_path):
    source, program = tmp_path / "unit.cpp", tmp_path / "unit"
    source.write_text(TAKES_COMPLEX)
    subprocess.run(
        [COMPILER, "-std=c++17", f"-I{sysconfig.get_include()}", str(source), "-o", str(program)], check=True
    )
    assert subprocess.run([str(program)], check=False).returncode == 0
