"""Precompiled headers save time and change nothing: objects, what they depend on, and messages are the same."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from oneop import sysconfig
from oneop._build import cache
from oneop._build.compiler import find_cxx
from oneop._build.inputs.lookups import read_names
from oneop._build.library import SDK_PARTS, build
from oneop._build.precompiled import HEADERS, MOST_KEPT, header_of, remove_old
from oneop.errors import BuildError
from oneop.settings import settings

FLAGS = ["-O0"]
#: The others include OneFlow's and little more.
BOTH = HEADERS[:2]


def made(project, name, text, **options):
    """Build a library of one source; return its object's entry in the cache."""
    source = project / f"{name}.cpp"
    source.write_text(text)
    build(name, [source], **{"cflags": FLAGS, **options})
    (entry,) = (entry for entry in cache.list_entries("object", name))
    return entry


def uses_header(entry):
    return "-fpch-deps" in (entry.path / "build.log").read_text()


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory, functions_cache):
    """A cache after two builds: the headers are there."""
    folder = tmp_path_factory.mktemp("warm")
    shutil.copytree(functions_cache, folder / "cache")
    with settings.override(cache_dir=folder / "cache"):
        for number, header in enumerate(BOTH):
            for name in (f"first{number}", f"second{number}"):
                assert not uses_header(made(folder, name, f'#include "{header}"\nint {name};\n'))
    return folder / "cache"


@pytest.fixture
def warm(warm_cache, own_cache):
    """The cache of this test is such a one."""
    shutil.copytree(warm_cache, own_cache)


@pytest.fixture
def plain(warm_cache, tmp_path):
    """Build as `made` does, without precompiled headers."""
    shutil.copytree(warm_cache, tmp_path / "plain", ignore=shutil.ignore_patterns("*.gch"))

    def build_plainly(*arguments, **options):
        with settings.override(cache_dir=tmp_path / "plain", precompile=False):
            entry = made(*arguments, **options)
            assert not uses_header(entry)
            return entry

    return build_plainly


@pytest.mark.parametrize("header", BOTH)
def test_objects_and_what_they_depend_on_are_the_same(project, warm, plain, header):
    (project / "own").mkdir()
    (project / "own/again.h").write_text(f'#include "{header}"\n#include <{header}>\n')
    text = (
        f'// a comment\n/* and\n another */ #  include "{header}"\n#include "again.h"\n#include "{header}"\n'
        "int size = sizeof(std::string) + __LINE__;\n"
    )
    if header == BOTH[0]:
        text += "oneflow::Error compare(int a, unsigned b) { CHECK_LT(a, b); return oneflow::Error(); }\n"
    quick, slow = (build_it(project, "third", text, include_dirs=[project / "own"]) for build_it in (made, plain))
    assert uses_header(quick)
    assert (quick.path / "unit.o").read_bytes() == (slow.path / "unit.o").read_bytes()
    assert quick.inputs() == slow.inputs()
    assert len(quick.inputs()["contents"]) > 100


def test_warnings_are_those_of_the_source(project, warm):
    """Pragmas in a precompiled header are lost: what they silenced must not be there."""
    text = """#include "oneflow/core/framework/framework.h"
namespace oneflow {
enum Kind { kFirst };
Maybe<void> Compare(int a, size_t b, unsigned char c, bool d) {
  CHECK_EQ(a, b);
  CHECK_LT(kFirst, b) << c;
  CHECK_GE_OR_RETURN(c, a);
  CHECK_NE_OR_RETURN(d, b);
  int nobody_uses_it = 3;
  return Maybe<void>::Ok();
}
struct Kernel : user_op::OpKernel {
  void Compute(user_op::KernelComputeContext*) const override {}
};
REGISTER_USER_KERNEL("warned").SetCreateFn<Kernel>();
}
"""
    entry = made(project, "warned", text, cflags=[*FLAGS, "-Wall", "-Wextra", "-Wpedantic"])
    log = (entry.path / "build.log").read_text()
    assert uses_header(entry) and log.count("warning:") == 1 and "nobody_uses_it" in log


def test_the_names_of_headers_are_known():
    # A name that macros make would be absent from the record by which libraries with own folders are told apart.
    files = [str(path) for path in Path(sysconfig.get_include()).rglob("*.h")]
    assert not read_names(files).computing


@pytest.mark.parametrize(
    "text",
    [
        '#include <vector>\n#include "oneop/op.h"\n',
        '#define inline 5\n#include "oneop/op.h"\n',
        pytest.param('#define NDEBUG\n#include "oneop/op.h"\n', marks=pytest.mark.slow),
        pytest.param('int before;\n#include "oneop/op.h"\n', marks=pytest.mark.slow),
    ],
    ids=["another include", "a macro that the header uses", "a macro", "code"],
)
def test_where_something_stands_before_it_the_text_is_read(project, warm, plain, text):
    entries = []
    for build_it in (made, plain):
        try:
            entries.append((build_it(project, "third", text).path / "unit.o").read_bytes())
        except BuildError as error:
            entries.append(str(error).partition("\n  log:")[0])
    assert entries[0] == entries[1]
    assert isinstance(entries[0], str) == ("inline" in text)


@pytest.mark.parametrize(
    "text",
    ["#define FORGED 1\n", pytest.param("", marks=pytest.mark.slow), pytest.param(None, marks=pytest.mark.slow)],
    ids=["another", "cut short", "removed"],
)
def test_a_header_without_its_forward_is_made_again(project, warm, text):
    (header,) = cache.list_entries("header", "op")
    forward = header.path / "oneop/op.h"
    forward.unlink() if text is None else forward.write_text(text)
    twice = '#include "oneop/op.h"\n#include "oneop/op.h"\n#ifdef FORGED\n#error forged\n#endif\n'
    assert not uses_header(made(project, "third", twice))
    assert uses_header(made(project, "fourth", twice))


def test_copies_of_the_sdk_have_headers_of_their_own(project, warm, monkeypatch):
    copy = project / "copy"
    shutil.copytree(sysconfig.get_include(), copy)
    monkeypatch.setattr(sysconfig, "get_include", lambda: str(copy))
    assert not uses_header(made(project, "third", '#include "oneop/op.h"\nint third;\n'))


WARNINGS = ["-Wshadow", "-Wfloat-equal", "-Wsign-conversion"]


@pytest.mark.parametrize(
    "flag", [*WARNINGS, "-g", "-g3", "-flto", "-fsanitize=address", "-include", "-fpch-preprocess", "@file"]
)
def test_flags_that_do_without(flag):
    flags = ("-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-Wall", "-DX=1", "-I/folder", "-pthread")
    assert header_of('#include "oneop/op.h"\n', find_cxx(), flags, flags).makes == "oneop/op.h.gch"
    assert header_of('#include "oneop/op.h"\n', find_cxx(), (*flags, flag), flags) is None
    in_cxx = dataclasses.replace(find_cxx(), command=("ccache", "g++", flag))
    assert header_of('#include "oneop/op.h"\n', in_cxx, flags, flags) is None


@pytest.mark.parametrize("header", HEADERS)
def test_sources_that_may_use_one(header):
    flags = ("-std=c++17",)
    assert header_of(f'#include "{header}"\n', find_cxx(), flags, flags).source.is_file()
    assert header_of(f'#include "other.h"\n#include "{header}"\n', find_cxx(), flags, flags) is None


def test_portable_libraries_do_without(project, own_cache):
    made(project, "carried", '#include "oneop/op.h"\n', portable=True)
    assert not [*(own_cache / "manifest").glob("header-*")]


def test_a_file_of_an_own_folder_is_found_first(project, warm):
    own = project / "own/oneop/op"
    own.mkdir(parents=True)
    (own / "mistake.h").write_text('#error "this one"\n')
    with pytest.raises(BuildError, match="this one"):
        made(project, "third", '#include "oneop/op.h"\nint third;\n', include_dirs=[project / "own"])
    (own / "mistake.h").unlink()
    assert uses_header(made(project, "third", '#include "oneop/op.h"\nint third;\n', include_dirs=[project / "own"]))


def test_macros_of_the_library_count(project, warm):
    text = '#include "oneop/op.h"\n#ifdef OWN\n#error seen\n#endif\n'
    assert uses_header(made(project, "third", text))
    with pytest.raises(BuildError, match="seen"):
        made(project, "fourth", text, defines={"OWN": 1})
    with pytest.raises(BuildError, match=r"compiling fifth\.cpp failed"):
        made(project, "fifth", '#include "oneop/op.h"\n', defines={"vector": "namespace"})


def test_an_edited_sdk_is_compiled_again(project, warm, monkeypatch):
    sdk = project / "sdk"
    shutil.copytree(sysconfig.get_include(), sdk)
    for _, _, source in SDK_PARTS:  # these libraries need nothing of them
        (sdk / source).write_text("")
    monkeypatch.setattr(sysconfig, "get_include", lambda: str(sdk))
    for name in ("first", "second"):
        assert not uses_header(made(project, name, f'#include "oneop/op.h"\nint {name};\n'))
    assert uses_header(made(project, "third", '#include "oneop/op.h"\nint third;\n'))
    with (sdk / "oneop/op/mistake.h").open("a") as file:
        file.write("inline int brought_by_an_edit = 3;\n")
    assert not uses_header(made(project, "fourth", '#include "oneop/op.h"\nint fourth = brought_by_an_edit;\n'))
    assert uses_header(made(project, "fifth", '#include "oneop/op.h"\nint fifth = brought_by_an_edit;\n'))


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[: len(data) // 2], pytest.param(lambda data: data[::-1], marks=pytest.mark.slow)],
    ids=["half", "turned around"],
)
def test_a_damaged_header_is_made_again(project, warm, damage):
    (header,) = cache.list_entries("header", "op")
    path = header.path / "oneop/op.h.gch"
    path.write_bytes(damage(path.read_bytes()))
    assert not uses_header(made(project, "third", '#include "oneop/op.h"\nint third;\n'))
    assert uses_header(made(project, "fourth", '#include "oneop/op.h"\nint fourth;\n'))


def test_messages_are_those_of_the_plain_source(project, warm, plain):
    text = '#include "oneop/op.h"\nOP("t_wrong(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return &x; });\n'
    told = []
    for build_it in (made, plain):
        with pytest.raises(BuildError) as caught:
            build_it(project, "wrong", text)
        told.append(str(caught.value).partition("\n  log:")[0])
    assert told[0] == told[1]


def test_a_header_that_cannot_be_kept_stops_no_build(project, warm, own_cache):
    shutil.rmtree(own_cache / "header")
    (own_cache / "header").write_text("not a folder")
    for name in ("third", "fourth"):
        assert made(project, name, f'#include "oneop/op.h"\nint {name};\n').has("unit.o")


def test_few_stay(own_cache):
    for number in range(MOST_KEPT + 2):
        folder = own_cache / f"work/{number}"
        folder.mkdir(parents=True)
        remove_old()
        cache.publish(folder, cache.entry_for("header", "op", f"{number:020}"), {})
    assert [entry.key for entry in cache.list_entries("header")] == [f"{n:020}" for n in range(2, MOST_KEPT + 2)]
