"""Whatever a build depends on may change: the next build must not give the old code, nor build when nothing changed."""

import ctypes
import json
import os
import random
import shutil
import subprocess

import pytest

from oneop._build.library import build

EXPORT = 'extern "C" __attribute__((visibility("default")))'
ANSWER = EXPORT + " int oneop_plugin() { return VALUE; }\n"


def in_test_slow(values):
    """Mark parameters of which others look at the same."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def inputs_of(library):
    return json.loads((library.path.parent / "inputs.json").read_text())


def answer(name="a", sources="a.cpp", **options):
    """Build, call the library in this process, and build again, which must find it."""
    library = build(name, sources, **options)
    again = build(name, sources, **options)
    assert again.cached and again.path == library.path, [inputs_of(library), inputs_of(again)]
    return ctypes.CDLL(os.fspath(library)).oneop_plugin()


def define(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#define VALUE {value}\n")


def keep_times(path, change):
    """Change a file so that its size, mtime and atime stay."""
    old = path.stat()
    change()
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (old.st_size, old.st_mtime_ns)


# --- headers ---


def test_an_edit_that_keeps_size_and_time(project):
    (project / "a.cpp").write_text('#include "v.h"\n' + ANSWER)
    define(project / "v.h", 1)
    assert answer() == 1
    keep_times(project / "v.h", lambda: define(project / "v.h", 2))
    assert answer() == 2
    other = project / "other"
    define(other, 3)
    keep_times(project / "v.h", lambda: other.replace(project / "v.h"))
    assert answer() == 3


@pytest.mark.parametrize("include", ['"v.h"', "<v.h>"])
def test_a_header_that_appears_earlier_in_the_search_path(project, include):
    (project / "src").mkdir()
    (project / "src/a.cpp").write_text(f"#include {include}\n" + ANSWER)
    (project / "one").mkdir()
    define(project / "three/v.h", 3)
    options = {"sources": "src/a.cpp", "include_dirs": ["one", "two", "three"]}  # "two" is not there at all
    assert answer(**options) == 3
    define(project / "two/v.h", 2)
    assert answer(**options) == 2
    define(project / "one/v.h", 1)
    assert answer(**options) == 1
    if include == '"v.h"':
        define(project / "src/v.h", 0)
        assert answer(**options) == 0
        (project / "src/v.h").unlink()
    (project / "one/v.h").unlink()
    assert answer(**options) == 2


def test_a_header_of_a_header_that_appears_earlier(project):
    (project / "a.cpp").write_text("#include <lib/outer.h>\n" + ANSWER)
    (project / "inc/lib").mkdir(parents=True)
    (project / "inc/lib/outer.h").write_text('#include "detail/v.h"\n')
    define(project / "inc/detail/v.h", 1)
    assert answer(include_dirs=["inc"]) == 1
    define(project / "inc/lib/detail/v.h", 2)  # beside the header that includes it: a folder that was not there
    assert answer(include_dirs=["inc"]) == 2


def test_a_system_header_that_is_shadowed(project):
    (project / "inc").mkdir()
    (project / "a.cpp").write_text("#include <climits>\n#ifndef VALUE\n#define VALUE 1\n#endif\n" + ANSWER)
    assert answer(include_dirs=["inc"]) == 1
    (project / "inc/climits").write_text("#include_next <climits>\n#define VALUE 2\n")
    assert answer(include_dirs=["inc"]) == 2


def test_a_folder_that_a_system_flag_names(project):
    (project / "a.cpp").write_text("#include <v.h>\n" + ANSWER)
    define(project / "sys/v.h", 1)
    flags = ["-isystem", str(project / "sys")]
    assert answer(cflags=flags) == 1
    define(project / "sys/v.h", 2)
    assert answer(cflags=flags) == 2


CONDITIONS = [
    '__has_include("opt.h")',
    "__has_include(<opt.h>)",
    'defined(__has_include) && __has_include( "opt.h" )',
    "HAS(<opt.h>)",
    "HAS(NAME)",
    "__has_include(NAME)",
    "__has_include(STRING(opt.h))",
    "HAVE_OPT",
    '\\\n  __has_include \\\n ("opt.h")',
]


@pytest.mark.parametrize("reads", [True, False])
def test_has_include_that_becomes_true_and_false(project, reads):
    """A source for each condition, which decides a digit of the answer: what a source misses, no other one brings."""
    body = '#include "opt.h"' if reads else "#define VALUE 2"
    for digit, condition in enumerate(CONDITIONS):
        (project / f"{digit}.cpp").write_text(
            "#define HAS(x) __has_include(x)\n#define NAME <opt.h>\n#define TEXT(x) #x\n#define STRING(x) TEXT(x)\n"
            '#define HAVE_OPT __has_include("opt.h")\n'
            f"#if {condition}\n{body}\n#else\n#define VALUE 1\n#endif\n"
            f"int digit{digit}() {{ return VALUE * {10**digit}; }}\n"
        )
    names = [f"digit{digit}()" for digit in range(len(CONDITIONS))]
    (project / "a.cpp").write_text(f"int {', '.join(names)};\n#define VALUE {' + '.join(names)}\n{ANSWER}")
    (project / "inc").mkdir()
    options = {"sources": ["a.cpp", *(f"{digit}.cpp" for digit in range(len(CONDITIONS)))], "include_dirs": ["inc"]}
    assert answer(**options) == 111_111_111
    define(project / "inc/opt.h", 2)
    assert answer(**options) == 222_222_222
    (project / "inc/opt.h").unlink()
    assert answer(**options) == 111_111_111


def test_an_include_of_a_macro(project):
    (project / "a.cpp").write_text("#define NAME <v.h>\n#include NAME\n" + ANSWER)
    (project / "one").mkdir()
    define(project / "two/v.h", 2)
    assert answer(include_dirs=["one", "two"]) == 2
    define(project / "one/v.h", 1)
    assert answer(include_dirs=["one", "two"]) == 1


def test_a_forced_include(project):
    (project / "a.cpp").write_text(ANSWER)
    define(project / "v.h", 1)
    flags = ["-include", str(project / "v.h")]
    assert answer(cflags=flags) == 1
    define(project / "v.h", 2)
    assert answer(cflags=flags) == 2


MORE_FOLDERS = ["a\\b", "a b", "${sdk}", "a'b", 'a"b', "a#b", "a:b", "a,b=c", "-I", "%"]


@pytest.mark.parametrize("folder", ["a\nb", "a\\ b", "$$", "ä☃", "@x", *in_test_slow(MORE_FOLDERS)])
def test_folders_with_odd_names(project, folder):
    (project / "a.cpp").write_text("#include <v.h>\n" + ANSWER)
    define(project / folder / "v.h", 1)
    assert answer(include_dirs=[folder]) == 1
    define(project / folder / "v.h", 2)
    assert answer(include_dirs=[folder]) == 2
    shutil.copy(project / "a.cpp", project / folder / "a.cpp")
    assert answer(sources=project / folder / "a.cpp", include_dirs=[folder]) == 2
    define(project / folder / "v.h", 3)
    assert answer(sources=project / folder / "a.cpp", include_dirs=[folder]) == 3


def test_a_link_that_points_elsewhere(project):
    (project / "a.cpp").write_text('#include "v.h"\n' + ANSWER)
    define(project / "one/v.h", 1)
    define(project / "two/v.h", 2)
    (project / "v.h").symlink_to("one/v.h")
    assert answer() == 1
    (project / "v.h").unlink()
    (project / "v.h").symlink_to("two/v.h")
    assert answer() == 2
    (project / "inc").symlink_to("one")
    (project / "v.h").unlink()
    assert answer(include_dirs=["inc"]) == 1
    (project / "inc").unlink()
    (project / "inc").symlink_to("two")
    assert answer(include_dirs=["inc"]) == 2


def test_data_that_the_assembler_includes(project):
    (project / "a.cpp").write_text(
        f'asm(".section .rodata\\ndata: .incbin \\"{project}/data.bin\\"\\n.text");\n'
        'extern "C" const unsigned char data[] __attribute__((visibility("hidden")));\n#define VALUE data[0]\n' + ANSWER
    )
    (project / "data.bin").write_bytes(b"\1")
    assert answer() == 1
    (project / "data.bin").write_bytes(b"\2")
    assert answer() == 2


# --- the compiler, its flags, the environment ---


def test_flags_in_cxx(project, monkeypatch):
    (project / "a.cpp").write_text(ANSWER)
    for value in (1, 2):
        monkeypatch.setenv("CXX", f"g++ -DVALUE={value}")
        assert answer() == value


def test_a_wrapper_that_changes(project, monkeypatch):
    (project / "a.cpp").write_text(ANSWER)
    wrapper = project / "my-g++"
    monkeypatch.setenv("CXX", str(wrapper))
    wrapper.write_text('#!/bin/sh\nexec g++ -DVALUE=1 "$@"\n')
    wrapper.chmod(0o755)
    assert answer() == 1
    keep_times(wrapper, lambda: wrapper.write_text('#!/bin/sh\nexec g++ -DVALUE=2 "$@"\n'))
    assert answer() == 2


@pytest.mark.parametrize("variable", ["CPATH", "CPLUS_INCLUDE_PATH"])
def test_search_paths_of_the_environment(project, monkeypatch, variable):
    (project / "a.cpp").write_text("#include <v.h>\n" + ANSWER)
    define(project / "one/v.h", 1)
    define(project / "two/v.h", 2)
    monkeypatch.setenv(variable, str(project / "one"))
    assert answer() == 1
    monkeypatch.setenv(variable, f"{project}/none:{project}/two")
    assert answer() == 2
    define(project / "none/v.h", 3)
    assert answer() == 3
    define(project / "none/v.h", 4)
    assert answer() == 4


@pytest.mark.parametrize("flags", [["-Iinc"], ["-I", "inc"], ["-include", "inc/v.h"], ["@flags.txt"]])
def test_relative_flags_in_two_working_folders(project, monkeypatch, flags):
    (project / "a.cpp").write_text("#if __has_include(<v.h>)\n#include <v.h>\n#endif\n" + ANSWER)
    for value in (1, 2):
        define(project / f"f{value}/inc/v.h", value)
        (project / f"f{value}/flags.txt").write_text("-Iinc")
    for value in (1, 2, 1):
        monkeypatch.chdir(project / f"f{value}")
        assert answer(sources=project / "a.cpp", cflags=flags) == value


def test_response_files(project):
    (project / "a.cpp").write_text(ANSWER)
    (project / "inner.txt").write_text("-DVALUE=1")
    (project / "outer.txt").write_text(f"@{project}/inner.txt")
    flags = [f"@{project}/outer.txt"]
    assert answer(cflags=flags) == 1
    (project / "inner.txt").write_text("-DVALUE=2")
    assert answer(cflags=flags) == 2
    (project / "outer.txt").write_text("-DVALUE=3")
    assert answer(cflags=flags) == 3


def test_an_assembler_that_is_found_first(project, monkeypatch):
    """g++ takes `as` from PATH; another one may make other code."""
    (project / "a.cpp").write_text("#define VALUE 1\n" + ANSWER)
    assert answer() == 1
    (project / "bin").mkdir()
    script = project / "bin/as"
    script.write_text('#!/bin/sh\nexec /usr/bin/as "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}/bin:{os.environ['PATH']}")
    assert not build("a", "a.cpp").cached
    assert build("a", "a.cpp").cached
    script.write_text('#!/bin/sh\n# another\nexec /usr/bin/as "$@"\n')
    assert not build("a", "a.cpp").cached


def test_a_precompiled_header_that_appears(project):
    (project / "a.cpp").write_text('#include "v.h"\n' + ANSWER)
    define(project / "v.h", 1)
    flags = ["-O3", "-fPIC"]
    assert answer(cflags=flags) == 1
    define(project / "v2.h", 2)
    command = (build("a", "a.cpp", cflags=flags).path.parent / "command.txt").read_text().splitlines()[1].split()
    options = command[1 : command.index("-c")]
    subprocess.run(["g++", *options, "-x", "c++-header", "v2.h", "-o", "v.h.gch"], cwd=project, check=True)
    assert answer(cflags=flags) == 2
    (project / "v.h.gch").unlink()
    assert answer(cflags=flags) == 1


@pytest.mark.parametrize("name", ["a b", "${x}", *in_test_slow(["a,b", "a=b", "ä", "-x"])])
def test_a_cache_in_an_odd_folder(project, monkeypatch, name):
    (project / "a.cpp").write_text('#include "v.h"\n' + ANSWER)
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(project / name))
    for value in (1, 2):
        define(project / "v.h", value)
        assert answer() == value


# --- the linker ---


def archive(folder, value, name="h"):
    folder.mkdir(exist_ok=True)
    (folder / "h.c").write_text(f"int helper(void) {{ return {value}; }}")
    subprocess.run(["gcc", "-fPIC", "-c", "h.c", "-o", "h.o"], cwd=folder, check=True)
    (folder / f"lib{name}.a").unlink(missing_ok=True)
    subprocess.run(["ar", "rcsD", f"lib{name}.a", "h.o"], cwd=folder, check=True)


@pytest.mark.parametrize(
    "flags",
    [
        ["-L{0}", "-lh"],
        ["{0}/libh.a"],
        ["-Wl,--whole-archive,{0}/libh.a,--no-whole-archive"],
        ["{0}/script.ld"],
        ["@{0}/flags.txt"],
        *in_test_slow([["-L", "{0}", "-lh"], ["-L{0}", "-l:libh.a"], ["-Wl,{0}/libh.a"], ["{0}/h.o"]]),
    ],
)
def test_a_library_that_is_linked(project, runs, flags):
    (project / "a.cpp").write_text('extern "C" int helper();\n#define VALUE helper()\n' + ANSWER)
    lib = project / "li b"
    lib.mkdir()
    (lib / "script.ld").write_text("INPUT(libh.a)\n")
    (lib / "flags.txt").write_text(f'"{lib}/libh.a"')
    given = [flag.format(lib) for flag in flags]
    archive(lib, 1)
    assert answer(ldflags=given) == 1
    assert runs() == ["a.cpp", "link"]
    archive(lib, 2)
    assert answer(ldflags=given) == 2
    assert runs() == ["link"]


@pytest.mark.parametrize("flags", [["-flto"], ["-fuse-ld=gold"]])
def test_other_ways_to_link(project, flags):
    if flags == ["-fuse-ld=gold"] and shutil.which("ld.gold") is None:
        pytest.skip("needs ld.gold")
    (project / "a.cpp").write_text('extern "C" int helper();\n#define VALUE helper()\n' + ANSWER)
    for value in (1, 2):
        archive(project / "lib", value)
        assert answer(cflags=["-flto"] * (flags == ["-flto"]), ldflags=[f"-L{project}/lib", "-lh", *flags]) == value


def test_a_thin_library_names_files_that_it_does_not_hold(project):
    lib = project / "lib"
    lib.mkdir()
    (project / "a.cpp").write_text('extern "C" int helper();\n#define VALUE helper()\n' + ANSWER)
    for value in (1, 2, 3):
        (lib / "h.c").write_text(f"int helper(void) {{ return {value}; }}")
        subprocess.run(["gcc", "-fPIC", "-c", "h.c", "-o", "h.o"], cwd=lib, check=True)
        if value == 1:
            subprocess.run(["ar", "rcTD", "libh.a", "h.o"], cwd=lib, check=True)
        assert answer(ldflags=[f"-L{lib}", "-lh"]) == value


def test_a_library_that_appears_earlier(project):
    (project / "a.cpp").write_text('extern "C" int helper();\n#define VALUE helper()\n' + ANSWER)
    archive(project / "two", 2)
    flags = [f"-L{project}/one", f"-L{project}/two", "-lh"]
    assert answer(ldflags=flags) == 2
    archive(project / "one", 1)
    assert answer(ldflags=flags) == 1


def test_library_path(project, monkeypatch):
    (project / "a.cpp").write_text('extern "C" int helper();\n#define VALUE helper()\n' + ANSWER)
    for value in (1, 2):
        archive(project / str(value), value)
        monkeypatch.setenv("LIBRARY_PATH", str(project / str(value)))
        assert answer(ldflags=["-lh"]) == value


def test_a_file_that_a_link_flag_names(project, runs):
    (project / "a.cpp").write_text("#define VALUE 1\n" + ANSWER)
    flags = [f"-Wl,--retain-symbols-file={project}/x.ld"]
    (project / "x.ld").write_text("oneop_plugin\n")
    assert answer(ldflags=flags) == 1
    runs()
    (project / "x.ld").write_text("oneop_plugin\nother\n")
    assert answer(ldflags=flags) == 1
    assert runs() == ["link"]


# --- any of it, at random ---


@pytest.mark.parametrize("seed", [0, *in_test_slow([1, 2])])
def test_random_edits(project, seed):
    """Files appear, change and go at random; the answer is what a fresh compile gives."""
    dice = random.Random(seed)
    folders = ["src", "one", "two/deep", "three"]
    (project / "src").mkdir()
    (project / "src/a.cpp").write_text(
        '#include "v.h"\n#if __has_include(<w.h>)\n#define W 100\n#else\n#define W 0\n#endif\n'
        f"{EXPORT} int oneop_plugin() {{ return VALUE + W; }}\n"
    )
    define(project / "three/v.h", 0)
    options = {"sources": "src/a.cpp", "include_dirs": ["one", "two/deep", "three"]}
    for _ in range(12):
        folder = project / dice.choice(folders)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / dice.choice(["v.h", "v.h", "w.h"])
        if file.exists() and dice.random() < 0.4 and file.parent.name != "three":
            file.unlink()
        elif file.exists() and dice.random() < 0.5:
            keep_times(file, lambda: define(file, dice.randrange(10)))  # noqa: B023 (called at once)
        else:
            define(file, dice.randrange(10))
        found = next(project / one / "v.h" for one in folders if (project / one / "v.h").exists())
        has_w = any((project / one / "w.h").exists() for one in folders[1:])
        assert answer(**options) == int(found.read_text().split()[-1]) + (100 if has_w else 0)
