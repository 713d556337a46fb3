"""Compiling small op libraries and driving them with the test host, without torch.

ONEOP_TEST_CXXFLAGS is added to every compilation and ONEOP_TEST_RUNNER put before the host: sanitizers, valgrind.
"""

import hashlib
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

import pytest
from sdk_pieces import ABI, CXX, EXTRA, HEAD, HERE, INCLUDE, RUNNER

FRAMEWORK = "oneflow/core/framework/framework.h"
# g++ 13 takes a reference into the frame for one into the name that asks for it.
FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-Wno-dangling-reference", "-fPIC", *EXTRA, f"-I{INCLUDE}"]


class Builder:
    """Compiles sources into shared libraries; one that was compiled before in this session is reused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def precompiled(self) -> list[str]:
        """Options with which sources that include framework.h before all else take a second less."""
        header = self.folder / "precompiled" / FRAMEWORK
        header.parent.mkdir(parents=True)
        shutil.copyfile(INCLUDE / FRAMEWORK, header)
        options = [f"-I{self.folder / 'precompiled'}"]
        command = [CXX, *options, *FLAGS, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        return options if self.run(command).returncode == 0 else []

    def run(self, command: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def compile(self, source: str, *flags: str, name: str = "ops.cpp") -> subprocess.CompletedProcess:
        """Compile only; for code that must, or must not, compile."""
        path = self.folder / hashlib.sha1((source + name).encode()).hexdigest()[:12] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        self.object = path.with_suffix(".o")
        is_plain = source.startswith(HEAD) and set(flags) <= {"-Werror"}
        options = [*(self.precompiled if is_plain else []), *FLAGS, *flags]
        return self.run([CXX, *options, "-c", str(path), "-o", str(self.object)])

    def library(self, *sources: str, flags: tuple[str, ...] = ()) -> Path:
        """A library of one file for each source, called ops0.cpp, ops1.cpp, ...; warnings are errors."""
        key = hashlib.sha1(repr((sources, flags)).encode()).hexdigest()[:12]
        out = self.folder / key / "lib.so"
        if out.exists():
            return out
        objects = []
        for i, source in enumerate(sources):
            result = self.compile(source, "-Werror", *flags, name=f"ops{i}.cpp")
            assert result.returncode == 0, result.stderr
            objects.append(str(self.object))
        out.parent.mkdir(exist_ok=True)
        result = self.run([CXX, "-shared", *EXTRA, *objects, "-o", str(out)])
        assert result.returncode == 0, result.stderr
        return out


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("sdk"))


@pytest.fixture(scope="session")
def drive(builder: Builder):
    """drive(library, script) runs the script in a new process of the host and gives the lines it prints."""
    host = builder.folder / "host"
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *EXTRA, f"-I{INCLUDE}", "-rdynamic"]
    result = builder.run([CXX, *options, str(HERE / "host" / "host.cpp"), "-o", str(host), "-ldl", "-lpthread"])
    assert result.returncode == 0, result.stderr

    def run(library: Path, *script: str) -> list[str]:
        text = "\n".join([f"lib {library}", *script])
        done = subprocess.run([*RUNNER, str(host)], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines()
        assert lines[0] == f"lib 0 {ABI} oneop 0.1.0", lines[0]
        return lines[1:]

    run.host = [*RUNNER, str(host)]
    return run
