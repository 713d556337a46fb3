import ctypes
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oneop._build import cache
from oneop._build.jobs import Job, run_jobs
from oneop._build.library import Library, build, build_inline
from oneop._build.sources import RACY_NS
from oneop.errors import BuildError

EXPORT = 'extern "C" __attribute__((visibility("default")))'


def call(library: Library) -> int:
    return ctypes.CDLL(os.fspath(library)).oneop_plugin()


def write_pair(folder: Path) -> list[str]:
    (folder / "a.cpp").write_text(f'#include "b.h"\n{EXPORT} int oneop_plugin() {{ return b() + ONE; }}\n')
    (folder / "b.h").write_text("#define ONE 1\nint b();\n")
    (folder / "b.cpp").write_text("int b() { return 41; }\n")
    return ["a.cpp", "b.cpp"]


def test_builds_once_and_then_finds_it(project, runs):
    sources = write_pair(project)
    first = build("pair", sources)
    assert sorted(runs()) == ["a.cpp", "b.cpp", "link"]
    assert call(first) == 42
    second = build("pair", sources)
    assert runs() == []
    assert (first.cached, second.cached) == (False, True)
    assert second.path == first.path
    assert second.build_seconds == pytest.approx(first.build_seconds)
    assert str(first) == os.fspath(first) == str(first.path)
    assert first.sources == (project / "a.cpp", project / "b.cpp")


def test_an_entry_tells_how_it_was_made(project):
    library = build("pair", write_pair(project))
    folder = library.path.parent
    assert folder.parent == cache.cache_root() / "library"
    assert library.log_path == folder / "build.log"
    assert "exit status 0" in library.log_path.read_text()
    assert f"-c {project}/a.cpp" in (folder / "command.txt").read_text()
    [entry] = cache.list_entries("library")
    inputs = entry.inputs()
    assert folder.name == f"{entry.name}-{entry.key}"
    contents = [path for path in inputs["units"][0]["contents"] if path.startswith(str(project))]
    assert contents == [f"{project}/a.cpp", f"{project}/b.h"]
    assert "g++" in inputs["units"][0]["compiler"]
    assert inputs["units"][0]["abi"] == "1.9"


def test_only_the_changed_source_is_compiled(project, runs):
    sources = write_pair(project)
    build("pair", sources)
    runs()
    (project / "b.cpp").write_text("int b() { return 1; }\n")
    assert call(build("pair", sources)) == 2
    assert runs() == ["b.cpp", "link"]


def test_a_changed_header_reaches_its_source_only(project, runs):
    sources = write_pair(project)
    build("pair", sources)
    runs()
    (project / "b.h").write_text("#define ONE 2\nint b();\n")
    assert call(build("pair", sources)) == 43
    assert runs() == ["a.cpp", "link"]


def test_a_header_in_an_include_dir_counts(project, runs):
    (project / "inc").mkdir()
    (project / "inc/n.h").write_text("#define N 1\n")
    (project / "a.cpp").write_text(f"#include <n.h>\n{EXPORT} int oneop_plugin() {{ return N; }}\n")
    assert call(build("a", "a.cpp", include_dirs=["inc"])) == 1
    (project / "inc/n.h").write_text("#define N 2\n")
    assert call(build("a", "a.cpp", include_dirs=["inc"])) == 2


def test_an_edit_taken_back_finds_the_earlier_result(project, runs):
    sources = write_pair(project)
    old = (project / "b.cpp").read_text()
    first = build("pair", sources)
    (project / "b.cpp").write_text("int b() { return 1; }\n")
    build("pair", sources)
    runs()
    (project / "b.cpp").write_text(old)
    third = build("pair", sources)
    assert third.cached
    assert third.path == first.path
    assert runs() == []


def test_touching_a_file_rebuilds_nothing(project, runs):
    sources = write_pair(project)
    build("pair", sources)
    runs()
    os.utime(project / "a.cpp", ns=(1, 1))
    assert build("pair", sources).cached
    assert build("pair", sources).cached
    assert runs() == []


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("a flag", {"cflags": ["-DX"]}),
        ("a macro", {"defines": {"X": 1}}),
        ("an include dir", {"include_dirs": ["."]}),
    ],
)
def test_compile_options_are_part_of_the_key(project, runs, what, options):
    sources = write_pair(project)
    first = build("pair", sources)
    runs()
    second = build("pair", sources, **options)
    assert sorted(runs()) == ["a.cpp", "b.cpp", "link"], what
    assert second.path != first.path


def test_link_options_only_link_again(project, runs):
    sources = write_pair(project)
    build("pair", sources)
    runs()
    build("pair", sources, ldflags=["-s"])
    assert runs() == ["link"]


def test_another_compiler_is_another_key(project, tmp_path, monkeypatch):
    sources = write_pair(project)
    first = build("pair", sources)
    other = tmp_path / "other-g++"
    other.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "g++ (Other) 99.1.0" && exit 0\nexec g++ "$@"\n',
    )
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    second = build("pair", sources)
    assert not second.cached
    assert second.path != first.path
    [compiler] = {one["compiler"] for one in read_inputs(second)["units"]}
    assert compiler.splitlines()[0] == "g++ (Other) 99.1.0"


def read_inputs(library: Library) -> dict:
    [entry] = [entry for entry in cache.list_entries("library") if entry.path == library.path.parent]
    return entry.inputs()


def test_cxxflags_setting_comes_before_cflags(project, monkeypatch):
    (project / "a.cpp").write_text(f"{EXPORT} int oneop_plugin() {{ return X; }}\n")
    monkeypatch.setenv("ONEOP_CXXFLAGS", "-DX=1 -UY")
    assert call(build("a", "a.cpp")) == 1
    assert call(build("a", "a.cpp", cflags=["-UX", "-DX=2"])) == 2


def test_force_compiles_everything_again(project, runs):
    sources = write_pair(project)
    first = build("pair", sources)
    runs()
    second = build("pair", sources, force=True)
    assert sorted(runs()) == ["a.cpp", "b.cpp", "link"]
    assert not second.cached
    assert second.path == first.path


def test_several_sources_at_once(project, monkeypatch):
    monkeypatch.setenv("MAX_JOBS", "3")
    for i in range(5):
        (project / f"s{i}.cpp").write_text(f"int v{i} = {i};\n")
    (project / "f.cpp").write_text(
        "extern int v0, v1, v2, v3, v4;\n" + f"{EXPORT} int oneop_plugin() {{ return v0 + v1 + v2 + v3 + v4; }}\n"
    )
    assert call(build("many", [*(f"s{i}.cpp" for i in range(5)), "f.cpp"])) == 10


def test_sources_of_one_name_in_two_folders(project):
    for name in ("x", "y"):
        (project / name).mkdir()
    (project / "x/k.cpp").write_text("int g() { return 5; }\n")
    (project / "y/k.cpp").write_text(f"int g();\n{EXPORT} int oneop_plugin() {{ return g(); }}\n")
    assert call(build("k", ["x/k.cpp", "y/k.cpp"])) == 5


def test_file_macro_is_the_absolute_path(project):
    (project / "a.cpp").write_text(f"{EXPORT} const char* oneop_plugin() {{ return __FILE__; }}\n")
    function = ctypes.CDLL(os.fspath(build("a", "a.cpp"))).oneop_plugin
    function.restype = ctypes.c_char_p
    assert function().decode() == str(project / "a.cpp")


def test_inline_sources(runs):
    first = build_inline("inline", f"{EXPORT} int oneop_plugin() {{ return 7; }}\n")
    assert call(first) == 7
    runs()
    assert build_inline("inline", f"{EXPORT} int oneop_plugin() {{ return 7; }}\n").cached
    assert runs() == []
    second = build_inline(
        "inline", [f"{EXPORT} int oneop_plugin() {{ return g; }}\n".replace("{ r", "{ extern int g; r"), "int g = 8;"]
    )
    assert call(second) == 8


def test_nothing_is_printed(project, capfd):
    sources = write_pair(project)
    build("pair", sources)
    build("pair", sources)
    assert capfd.readouterr() == ("", "")


def test_verbose_prints_commands_to_stderr(project, capfd):
    build("pair", write_pair(project), verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert [line.split()[0] for line in err.splitlines()] == ["g++", "g++", "g++"]


def test_a_terminal_shows_one_status_line_and_wipes_it(project, monkeypatch, capsys):
    monkeypatch.setattr("oneop._build.progress.QUIET_SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    build("pair", write_pair(project))
    shown = capsys.readouterr().err.split("\r")
    lines = [re.sub(r"\d+ s", "N s", line).rstrip() for line in shown]
    # What runs is named; a linker may have ended before the first look at it.
    assert {line for line in lines if "2/2" in line} <= {"building pair 2/2 (N s)", "building pair 2/2, linking (N s)"}
    assert "building pair 2/2 (N s)" in lines
    assert all(len(line) < 80 for line in lines)
    assert "\n" not in "".join(shown)
    assert shown[-2].strip() == shown[-1] == ""
    build("pair", ["a.cpp", "b.cpp"])
    assert capsys.readouterr().err == ""


def test_an_unchanged_library_is_found_by_looking_at_files(project, monkeypatch):
    """Nothing is started, and no file of the library is read: neither sources nor headers nor objects."""
    sources = write_pair(project)
    build("pair", sources)
    time.sleep(RACY_NS / 1e9)  # a file this young is read again
    assert build("pair", sources).cached
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    monkeypatch.setattr("oneop._build.sources.sha_of", lambda path: pytest.fail(f"{path} was read"))
    assert build("pair", sources).cached


def test_threads_build_once(project, runs):
    sources = write_pair(project)
    with ThreadPoolExecutor(4) as pool:
        libraries = list(pool.map(lambda _: build("pair", sources), range(4)))
    assert sorted(runs()) == ["a.cpp", "b.cpp", "link"]
    assert len({library.path for library in libraries}) == 1


def test_cache_dir_is_honoured_and_can_be_cleared(project, own_cache):
    library = build("pair", write_pair(project))
    assert own_cache in library.path.parents
    assert {entry.kind for entry in cache.list_entries()} == {"library", "object"}
    assert cache.clear(kind="library", name="other") == 0
    assert cache.clear() == 3
    assert list(cache.list_entries()) == []
    assert not build("pair", ["a.cpp", "b.cpp"]).cached


def test_defaults_can_be_overridden_and_sanitizers_link(project):
    (project / "a.cpp").write_text(f"{EXPORT} int f(int x) {{ return 2147483647 + x; }}\n")
    build("a", "a.cpp", cflags=["-O0", "-fsanitize=undefined"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"sources": []}, 'library "a": it has no sources\n  expected at least one of .cpp, .cc, .cxx, .cu'),
        ({"sources": ["no.cpp"]}, 'library "a": source {cwd}/no.cpp is not there'),
        (
            {"sources": ["a.c"]},
            'library "a": source {cwd}/a.c is neither C++ nor CUDA\n'
            "  expected a name that ends in .cpp, .cc, .cxx or .cu",
        ),
        ({"sources": ["a.cpp", "./a.cpp"]}, 'library "a": source {cwd}/a.cpp is listed twice'),
        ({"sources": ["a.cpp"], "ods": ["no.td"]}, 'library "a": {cwd}/no.td is not there'),
    ],
)
def test_wrong_arguments(project, arguments, text):
    for name in ("a.c", "a.cpp", "a.td"):
        (project / name).touch()
    with pytest.raises(BuildError) as caught:
        build("a", **arguments)
    assert str(caught.value) == text.replace("{cwd}", str(project))


def test_a_name_that_is_no_file_name(project):
    with pytest.raises(BuildError) as caught:
        build("a/b", [])
    assert str(caught.value) == "library 'a/b': a name is made of letters, digits, '_', '-' and '.'; it names a file"


def test_progress_tells_what_is_compiled(project):
    """The status line names a running job; the jobs end once it has."""
    shown = []
    jobs = [
        Job(
            title=f"compiling {name}.cpp",
            command=("sh", "-c", "until [ -e go ]; do sleep 0.02; done"),
            folder=project,
        )
        for name in ("a", "b")
    ]

    def tick(done, running):
        shown.append((done, tuple(running)))
        if running:
            (project / "go").touch()

    assert [result.code for result in run_jobs(jobs, tick)] == [0, 0]
    assert shown[0][1][0] == "compiling a.cpp"
    assert shown[-1] == (2, ())
