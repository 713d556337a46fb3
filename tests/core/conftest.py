"""What these tests share: the ops of sources/, built and loaded once."""

import textwrap
from pathlib import Path

import pytest
import torch

import oneop

SOURCES = Path(__file__).parent / "sources"
# The SDK's header first: a header of a test's own that includes it would hide it from the precompiled one.
FRAME = (
    '#include "oneflow/core/framework/framework.h"\n#include "common.h"\nnamespace oneflow {{ namespace {{\n'
    "{}\n}}  // namespace\n}}  // namespace oneflow\n"
)


@pytest.fixture(scope="session")
def ops():
    """`oneop.ops` with every op of sources/."""
    libraries = [oneop.build(f"t_{path.stem}", [path]) for path in sorted(SOURCES.glob("*.cpp"))]
    for library in libraries:
        oneop.load(library)
    return oneop.ops


@pytest.fixture
def isolated():
    """What the test registers is gone after it."""
    with oneop.registry.isolated():
        yield


@pytest.fixture
def inline(isolated, tmp_path):
    """Build (and load) a library from C++ text in the usual namespaces; its line 1 is line 4 of the file."""

    def load(text, name="inline_ops", *, build_only=False, **options):
        built = oneop._build.library.build_inline(
            name, FRAME.format(textwrap.dedent(text)), include_dirs=[SOURCES], **options
        )
        return built if build_only else oneop.load(built)

    return load


@pytest.fixture(autouse=True)
def same_numbers():
    torch.manual_seed(0)


def message(raised):
    """The text of a caught exception, with the folders of files left out."""
    lines = str(raised.value).splitlines()
    return "\n".join(_without_folders(line) for line in lines)


def _without_folders(line):
    return " ".join(word.rsplit("/", 1)[-1] if word.startswith("/") else word for word in line.split(" "))


@pytest.fixture
def text_of():
    return message


@pytest.fixture(scope="session")
def place():
    """Where the sources say something, as messages show it: `place('REGISTER_USER_OP("t_range")')`."""

    def find(text, number=0):
        found = [
            f"{path.name}:{i}"
            for path in sorted(SOURCES.glob("*.cpp"))
            for i, line in enumerate(path.read_text().splitlines(), 1)
            if text in line
        ]
        return found[number]

    return find


@pytest.fixture(scope="session")
def defined(place):
    """Where an op of the sources is defined."""
    return lambda op: place(f'USER_OP("{op}")')
