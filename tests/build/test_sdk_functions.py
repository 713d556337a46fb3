"""The SDK's functions are compiled once for all libraries of the same flags, and libraries are as they were."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from oneop import sysconfig
from oneop._build import cache
from oneop._build.library import SDK_PARTS, _without_own_folders_and_macros, build

INCLUDE = Path(sysconfig.get_include())
OP = """
#include "oneop/op.h"
OP("NAME(Tensor x, *, int k=2) -> Tensor y").elementwise<float, double>([](auto x, auto k) { return k * x; })
    .gradient("dx = NAME(dy, k=k)");
"""


def op_source(project, name, text=OP):
    (project / f"{name}.cpp").write_text(text.replace("NAME", name))
    return [f"{name}.cpp"]


@pytest.mark.parametrize(("macro", "source"), [(macro, source) for _, macro, source in SDK_PARTS])
def test_each_interface_has_its_implementation(macro, source):
    line = "ONEOP_INTERFACE" if macro == "ONEOP_SDK_APART" else "ONEOP_OP_INTERFACE"
    headers = {path.name for path in INCLUDE.rglob("*.h") if f"\n{line}\n" in path.read_text()}
    assert len(headers) > 20
    assert set(re.findall(r'#pragma implementation "(.*)"', (INCLUDE / source).read_text())) == headers


def objects():
    return sorted(entry.name for entry in cache.list_entries("object"))


def test_libraries_share_the_functions(project, functions_cache, own_cache):
    shutil.copytree(functions_cache, own_cache)
    assert objects() == ["op_functions", "sdk_functions", "seed"]
    first = build("apart_a", op_source(project, "apart_a"), cflags=["-O0"])
    mine = {"include_dirs": [project], "defines": {"MINE": 3}}
    build("apart_b", op_source(project, "apart_b"), **mine, cflags=["-O0", "-Wall"])
    assert objects() == ["apart_a", "apart_b", "op_functions", "sdk_functions", "seed"]
    made = (own_cache / "object").glob("apart_a-*/unit.o")
    symbols = subprocess.run(["nm", "-C", *made], capture_output=True, text=True, check=True).stdout
    assert not re.search(r" [TW] oneop::op::(?!.*<)\w+\(", symbols), "a function of the SDK is in the library's object"
    assert first.path.stat().st_size < 400_000, "what nobody uses is dropped"


@pytest.mark.slow  # test_flags_that_matter looks at the flags
def test_code_made_in_another_way_has_functions_of_its_own(project, runs):
    for name, flags in {"apart_c": ["-O0"], "apart_d": ["-O0", "-fwrapv"]}.items():
        build(name, op_source(project, name), cflags=flags)
        assert sorted(runs()) == [f"{name}.cpp", "link", "op_functions.cpp", "sdk_functions.cpp"]


def test_portable_libraries_are_complete(project, runs):
    build("apart_portable", op_source(project, "apart_portable"), cflags=["-O0"], portable=True)
    assert sorted(runs()) == ["apart_portable.cpp", "link"]


EVERY_CLASS = """
#include <new>
#include <type_traits>
#include "oneflow/core/framework/framework.h"
#include "oneop/op.h"

template <typename T>
struct Derived final : T {
  using T::T;
  Derived() = default;
  Derived(const Derived&) = default;
  Derived(Derived&&) = default;
  Derived& operator=(const Derived&) = default;
  Derived& operator=(Derived&&) = default;
};

template <typename T>
void Use(void* a, void* b) {
  if constexpr (std::is_default_constructible_v<T>) new (a) T();
  if constexpr (std::is_copy_constructible_v<T>) new (a) T(*static_cast<const T*>(b));
  if constexpr (std::is_move_constructible_v<T>) new (a) T(std::move(*static_cast<T*>(b)));
  if constexpr (std::is_copy_assignable_v<T>) *static_cast<T*>(a) = *static_cast<const T*>(b);
  if constexpr (std::is_move_assignable_v<T>) *static_cast<T*>(a) = std::move(*static_cast<T*>(b));
  if constexpr (std::is_destructible_v<T>) static_cast<T*>(a)->~T();
  if constexpr (!std::is_final_v<T>) Use<Derived<T>>(a, b);
}

__attribute__((visibility("default"))) void use_all(void* a, void* b) {
"""


def test_code_that_is_not_inlined_finds_every_constructor(project, functions_cache, own_cache):
    shutil.copytree(functions_cache, own_cache)
    (project / "all.cpp").write_text('#include "oneflow/core/framework/framework.h"\n#include "oneop/op.h"\n')
    command = ["g++", "-std=c++17", "-w", f"-I{INCLUDE}", "-fsyntax-only", "-fdump-lang-class=all.class", "all.cpp"]
    subprocess.run(command, cwd=project, check=True)
    names = set(re.findall(r"^Class ((?:oneflow|oneop)::[\w:]+)$", (project / "all.class").read_text(), re.MULTILINE))
    outer = sorted(name for name in names if name.rpartition("::")[0] not in names)  # nested ones may be private
    assert len(outer) > 100 and "oneflow::user_op::OpKernel" in outer
    uses = "".join(f"  Use<{name}>(a, b);\n" for name in outer)
    (project / "apart_all.cpp").write_text(f"{EVERY_CLASS}{uses}}}\n")
    build("apart_all", ["apart_all.cpp"], cflags=["-O0"], ldflags=["-Wl,--undefined=_Z7use_allPvS_"])
    assert objects() == ["apart_all", "op_functions", "sdk_functions", "seed"]


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (["-O2", "-I/a", "-I", "/b", "-isystem", "/c", "-Wall"], ["-O2"]),
        (["-DN=3", "-UN", "-D", "N=3", "-DNDEBUG", "-D_FORTIFY_SOURCE=2"], ["-DNDEBUG", "-D_FORTIFY_SOURCE=2"]),
        (["-DONEOP_PORT=2022", "-D", "ONEOP_PORT=2020"], ["-DONEOP_PORT=2022", "-DONEOP_PORT=2020"]),
        (["-include", "x.h", "-fsanitize=address", "-std=c++20"], ["-fsanitize=address", "-std=c++20"]),
        (["-O0", "-fwrapv", "-Wall"], ["-O0", "-fwrapv"]),
    ],
)
def test_flags_that_matter(flags, kept):
    assert _without_own_folders_and_macros(flags) == kept
