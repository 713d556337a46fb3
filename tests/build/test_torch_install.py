"""Which torch is installed, and what is said of one that oneop was not tested with."""

import importlib.metadata
import re
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from oneop._build.torch_install import TESTED_TORCH, cxx11_abi, find_torch, is_tested, minor_version, warn_if_untested

ROOT = Path(__file__).parents[2]


def test_the_installed_torch():
    torch = find_torch()
    installed = importlib.metadata.version("torch")  # some builds leave the "+cu130" out there
    assert torch.version.split("+")[0] == installed.split("+")[0] and (torch.folder / "lib").is_dir()
    assert re.fullmatch(r"[0-9a-f]{40}", torch.git_version)
    assert torch.version.startswith(f"{torch.minor}.")


@pytest.mark.parametrize(
    ("version", "minor"), [("2.13.0+cpu", "2.13"), ("2.9.1", "2.9"), ("2.16.0a0+git1", "2.16"), ("unknown", "unknown")]
)
def test_minor_versions(version, minor):
    assert minor_version(version) == minor


@pytest.mark.parametrize("version", ["2.11.0", "2.13.0+cpu", "2.15.1+cu132"])
def test_tested_versions_are_silent(version):
    assert is_tested(version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_untested(version)


@pytest.mark.parametrize("version", ["2.10.0", "2.16.0", "3.0.0+cu140", "2.15.0a0+git12", "2.15.0.dev20260101"])
def test_other_versions_are_told(version):
    assert not is_tested(version)
    with pytest.warns(RuntimeWarning) as caught:
        warn_if_untested(version)
    assert str(caught[0].message) == (
        f"oneop is not tested with torch {version}, only with 2.11, 2.12, 2.13, 2.14, 2.15; "
        "`oneop check` tests your ops with it"
    )


def test_pip_is_told_the_oldest_version_and_no_newest():
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [text for text in requirements if text.startswith("torch")] == [f"torch>={TESTED_TORCH[0]}"]


def test_the_abi_of_libstdcxx(monkeypatch):
    assert cxx11_abi()
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    assert cxx11_abi()  # not imported yet: as every wheel has it
    sys.modules["torch"].compiled_with_cxx11_abi = lambda: False
    assert not cxx11_abi()
