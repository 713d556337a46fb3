"""Compiling small op libraries and driving them with the test host, without torch.

ONEOP_TEST_CXXFLAGS is added to every compilation and ONEOP_TEST_RUNNER put before the host: sanitizers, valgrind.
"""

import hashlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"
CXX = os.environ.get("CXX", "g++")
EXTRA = shlex.split(os.environ.get("ONEOP_TEST_CXXFLAGS", ""))
RUNNER = shlex.split(os.environ.get("ONEOP_TEST_RUNNER", ""))

HEAD = '#include "oneflow/core/framework/framework.h"\nnamespace oneflow {\nnamespace {\n'
TAIL = "\n}  // namespace\n}  // namespace oneflow\n"

DTYPES = {"char": 1, "float": 2, "double": 3, "int8": 4, "int32": 5, "int64": 6, "uint8": 7, "float16": 9, "bool": 12}

# An op whose output is like its input, and a kernel that computes `code` for every element.
SAME = """.SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
  *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
  *ctx->Dtype4ArgNameAndIndex("out", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
  return Maybe<void>::Ok();
})"""


def kernel(op: str, code: str, cls: str = "K") -> str:
    """A float kernel of `op` that runs the statements `code`, which see `in`, `out` and `n`."""
    return f"""
class {cls} final : public user_op::OpKernel {{
  void Compute(user_op::KernelComputeContext* ctx) const override {{
    const user_op::Tensor* in_tensor = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out_tensor = ctx->Tensor4ArgNameAndIndex("out", 0);
    const int64_t n = out_tensor->shape().elem_cnt();
    {code}
    (void)in_tensor; (void)out_tensor; (void)n;
  }}
  bool AlwaysComputeWhenAllOutputsEmpty() const override {{ return false; }}
}};
REGISTER_USER_KERNEL("{op}").SetCreateFn<{cls}>().SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);
"""


def unit(*parts: str) -> str:
    """A file: the parts inside namespace oneflow and an unnamed one."""
    return HEAD + "\n".join(parts) + TAIL


class Builder:
    """Compiles sources into shared libraries; one that was compiled before in this session is reused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, command: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def compile(self, source: str, *flags: str, name: str = "ops.cpp") -> subprocess.CompletedProcess:
        """Compile only; for code that must, or must not, compile."""
        path = self.folder / hashlib.sha1((source + name).encode()).hexdigest()[:12] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        self.object = path.with_suffix(".o")
        # g++ 13 takes a reference into the frame for one into the name that asks for it.
        options = ["-std=c++17", "-Wall", "-Wextra", "-Wno-dangling-reference", "-fPIC", *EXTRA, *flags, f"-I{INCLUDE}"]
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
        assert lines[0] == "lib 0 1.3 oneop 0.1.0", lines[0]
        return lines[1:]

    run.host = [*RUNNER, str(host)]
    return run


def tensor(dtype: str, shape: tuple[int, ...], values: list[float] = ()) -> str:
    """The command for one tensor."""
    return " ".join(map(str, ["t", DTYPES[dtype], *shape, ":", *values]))


def call(op: str, *values: float, shape: tuple[int, ...] | None = None, dtype: str = "float") -> list[str]:
    """The frame of an op with one input `in` and one output `out`."""
    return [f"op {op}", "in in", tensor(dtype, shape if shape is not None else (len(values),), list(values)), "out out"]
