"""What a user reads when a compiler fails. Texts of the compiler itself are g++'s."""

import re
import shutil

import pytest

from oneop._build.cuda import arch_flags, find_toolkit
from oneop._build.diagnose import diagnose
from oneop._build.library import build
from oneop.errors import BuildError


def failure(*arguments, **options):
    with pytest.raises(BuildError) as caught:
        build(*arguments, **options)
    return str(caught.value)


def log_of(name, cache):
    [log] = (cache / "failed").glob(f"{name}-*/build.log")
    return log


def test_first_error_its_line_and_the_log(project, own_cache):
    (project / "bad.cpp").write_text("int ok;\nint f() { return missing; }\nint g() { return gone; }\nint h = lost;\n")
    text = failure("bad", "bad.cpp")
    log = log_of("bad", own_cache)
    assert text == (
        'library "bad": compiling bad.cpp failed\n'
        f"  {project}/bad.cpp:2: 'missing' was not declared in this scope\n"
        "    2 | int f() { return missing; }\n"
        "  and 2 more errors\n"
        f"  log: {log}"
    )
    assert "lost" in log.read_text()
    (project / "bad.cpp").write_text("int ok;\n")
    build("bad", "bad.cpp")
    assert not log.exists()


def test_an_error_in_a_template_names_the_line_that_asked_for_it(project, own_cache):
    (project / "bad.h").write_text("template <class T> int f(T t) { return t.size(); }\n")
    (project / "bad.cpp").write_text('#include "bad.h"\nint g() {\n  return f(3);\n}\n')
    lines = failure("bad", "bad.cpp").splitlines()
    assert re.match(r"  .*bad\.h:1: .*'size'", lines[1])
    assert lines[3:5] == [f"  from {project}/bad.cpp:3", "    3 |   return f(3);"]


@pytest.mark.parametrize(
    "functor, line",
    [
        ('.elementwise<float>([](auto x) { return "text"; })', 4),
        (".elementwise<float>([](auto x) { return &x; })", 4),
        (".elementwise<std::complex<float>>([](auto x) { return x; })", 4),
        (".elementwise<char*>([](auto x) { return x; })", 4),
        ('.rows<float>([](auto x, auto y) { map(y, [](auto) { return "text"; }, x); })', 4),
    ],
)
def test_a_functor_that_does_not_fit_is_named(project, own_cache, functor, line):
    text = f'#include <complex>\n#include "oneop/op.h"\nOP("tf_bad(Tensor x) -> Tensor y")\n    {functor}.no_grad();\n'
    (project / "bad.cpp").write_text(text)
    said = failure("bad", "bad.cpp", portable=True)  # so the functions of the SDK are not compiled beside it
    assert f"bad.cpp:{line}" in said and len(said.splitlines()) < 10


CLANG = """a.h:1:5: error: no member named 'size' in 'int'
a.h:9:3: note: in instantiation of function template specialization 'g<int>' requested here
b.cpp:3:7: note: in instantiation of function template specialization 'f<int>' requested here
b.cpp:8:1: error: other
c.cpp:1:1: note: in instantiation of function template specialization 'h<int>' requested here
"""
GCC = """b.cpp:3:7:   required from here
a.h:1:5: warning: an earlier one
a.h:4:5: error: one of no template
"""


@pytest.mark.parametrize(
    "output, origin",
    [(CLANG, ("b.cpp", 3)), (GCC, ("", 0)), (GCC.replace("warning: an", "in 'constexpr'"), ("b.cpp", 3))],
)
def test_where_an_error_comes_from(output, origin):
    said = diagnose(output)
    assert (said.from_file, said.from_line) == origin


def test_missing_header(project, own_cache):
    (project / "bad.cpp").write_text('#include "nowhere.h"\n')
    assert failure("bad", "bad.cpp") == (
        'library "bad": compiling bad.cpp failed\n'
        f"  {project}/bad.cpp:1: nowhere.h: No such file or directory\n"
        '    1 | #include "nowhere.h"\n'
        "  hint: add the folder of the file to include_dirs\n"
        f"  log: {log_of('bad', own_cache)}"
    )


def test_undefined_symbol_is_found_at_link(project, own_cache):
    (project / "bad.cpp").write_text("int g();\nint f() { return g(); }\n")
    assert re.sub(r"\+0x[0-9a-f]+", "+0x1", failure("bad", "bad.cpp")) == (
        'library "bad": linking failed\n'
        "  bad.cpp:(.text+0x1): undefined reference to `g()'\n"
        "  hint: define it in one of the sources, or name its library in ldflags\n"
        f"  log: {log_of('bad', own_cache)}"
    )


def test_the_good_objects_of_a_failed_build_are_kept(project, runs):
    (project / "good.cpp").write_text("int x;\n")
    (project / "bad.cpp").write_text("int x\n#error late\n")
    assert "bad.cpp:" in failure("both", ["good.cpp", "bad.cpp"])
    runs()
    (project / "bad.cpp").write_text("int y;\n")
    build("both", ["good.cpp", "bad.cpp"])
    assert runs() == ["bad.cpp", "link"]


@pytest.mark.parametrize(
    ("output", "file", "line", "text"),
    [
        ("/p/a.cu(3): error: no q\n\n1 error detected\n", "/p/a.cu", 3, "no q"),
        ("/p/a.cu(3): error #20: bad thing\n", "/p/a.cu", 3, "bad thing"),
        ("In file included from x:1:\n/p/a.cpp:7:2: fatal error: stop\n", "/p/a.cpp", 7, "stop"),
        ("a.cpp:7:2: error: one\nb.cpp:1:1: error: two\n", "a.cpp", 7, "one"),
        ("nvcc fatal   : Unsupported gpu\n", "", 0, "nvcc fatal   : Unsupported gpu"),
        ("", "", 0, "the compiler said nothing"),
    ],
)
def test_outputs_that_are_understood(output, file, line, text):
    found = diagnose(output)
    assert (found.file, found.line, found.text) == (file, line, text)


def fake_compiler(folder, answer, name="fake"):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return str(path)


def test_no_compiler(project, monkeypatch):
    (project / "a.cpp").touch()
    monkeypatch.setenv("PATH", str(project))
    assert failure("a", "a.cpp") == (
        "no C++ compiler: none of g++, clang++ and c++ is on PATH\n"
        "  install one (Debian: apt install g++, conda: conda install cxx-compiler), or set CXX to its path"
    )


def test_cxx_that_is_not_there(project, monkeypatch):
    (project / "a.cpp").touch()
    monkeypatch.setenv("CXX", "/no/such/g++")
    assert failure("a", "a.cpp") == "CXX=/no/such/g++: /no/such/g++ is not there or cannot be run"


def test_old_compiler(project, monkeypatch):
    (project / "a.cpp").touch()
    old = fake_compiler(project, "g++ (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)")
    monkeypatch.setenv("CXX", old)
    assert failure("a", "a.cpp") == (
        f"CXX={old}: gcc 4.8.5 is too old, 9 or newer is needed\n"
        "  install a newer one, or set CXX to it, as in CXX=g++-12"
    )


def test_a_program_that_is_no_compiler(project, monkeypatch):
    (project / "a.cpp").touch()
    odd = fake_compiler(project, "frobnicate 1.0")
    monkeypatch.setenv("CXX", odd)
    assert failure("a", "a.cpp") == (
        f"CXX={odd}: expected g++ or clang++, found frobnicate 1.0\n  set CXX to one of these, as in CXX=g++"
    )


@pytest.mark.parametrize("variable", ["CXX", "CC", "ONEOP_CXXFLAGS"])
def test_a_quote_that_is_not_closed(project, monkeypatch, variable):
    (project / "a.cpp").touch()
    monkeypatch.setenv(variable, "g++ -DX='1")
    assert failure("a", "a.cpp") == f"{variable}=g++ -DX='1: no closing quotation\n  each quote needs its partner"


def test_a_long_name(project):
    (project / "a.cpp").touch()
    assert failure("a" * 300, "a.cpp") == (f"library '{'a' * 40}'...: a name has at most 180 characters; found 300")
    source = project / ("b" * 250 + ".cpp")
    source.touch()
    assert build("a" * 180, source).path.is_file()
    assert build("a" * 180, source).cached


def test_a_relative_cache_stays_where_it_was(project, monkeypatch):
    (project / "a.cpp").touch()
    (project / "elsewhere").mkdir()
    monkeypatch.setenv("ONEOP_CACHE_DIR", "kept-here")
    first = build("a", "a.cpp")
    assert first.path.is_relative_to(project / "kept-here")
    monkeypatch.chdir(project / "elsewhere")
    assert build("a", project / "a.cpp").path == first.path


def test_a_compiler_that_runs_out_of_space(project, tmp_path, monkeypatch):
    (project / "a.cpp").touch()
    script = tmp_path / "full-g++"
    script.write_text(
        '#!/bin/sh\ncase "$*" in *" -c "*) '
        'echo "a.s: fatal error: cannot write: No space left on device" >&2; exit 1;; esac\n'
        'exec g++ "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    text = failure("a", "a.cpp")
    assert "  hint: the disk is full: make room, or set TMPDIR and ONEOP_CACHE_DIR to another one\n" in text


def test_files_may_not_grow(project, start):
    """A limit of the shell, which ends a compiler with a signal and a write of oneop with an error."""
    (project / "a.cpp").write_text("int x[100000] = {1};\n")
    code = (
        "import resource, signal; from oneop._build.library import build; from oneop.errors import BuildError\n"
        "import oneop._build.make\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (NUMBER, NUMBER))\n"
        "try: build('a', 'a.cpp')\nexcept BuildError as error: print(error)\n"
    )
    for limit in (0, 2000, 100_000):
        out, err = start(code.replace("NUMBER", str(limit)), is_limited=True).communicate(timeout=120)
        assert err == "", limit
        assert out.startswith(("cannot write to the build cache", 'library "a": ')), (limit, out)
        assert len(out.splitlines()) < 12
    assert build("a", "a.cpp").path.is_file()


def test_cc_leads_to_its_sibling(project, monkeypatch):
    (project / "a.cpp").write_text("int x;\n")
    fake_compiler(project, "g++-77 (Odd) 5.1.0", name="g++-77")
    monkeypatch.setenv("CC", str(project / "gcc-77"))
    assert "gcc 5.1.0 is too old" in failure("a", "a.cpp")
    monkeypatch.setenv("CC", str(project / "gcc-78"))
    assert failure("a", "a.cpp") == (
        f"CC={project}/gcc-78: its C++ compiler {project}/g++-78 is not there\n"
        "  set CXX to a C++ compiler, as in CXX=g++"
    )


def test_no_nvcc(project, monkeypatch):
    (project / "a.cu").touch()
    monkeypatch.setenv("CUDA_HOME", "/no/such/cuda")
    assert failure("a", "a.cu") == ("CUDA_HOME=/no/such/cuda: /no/such/cuda/bin/nvcc is not there or cannot be run")


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


@needs_nvcc
def test_cuda_source_builds_and_links_cudart(project):
    (project / "k.cu").write_text(
        "__global__ void k(float* x) { *x = 1; }\n"
        'extern "C" __attribute__((visibility("default"))) int f() { k<<<1, 1>>>(nullptr); return 3; }\n'
    )
    library = build("k", "k.cu", cuda_cflags=["-arch=sm_80"])
    assert build("k", "k.cu", cuda_cflags=["-arch=sm_80"]).cached
    assert "-lcudart" in (library.path.parent / "command.txt").read_text()


@needs_nvcc
def test_arch_list(monkeypatch):
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0 9.0a;Hopper")
    assert arch_flags(find_toolkit()) == (
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_90,code=compute_90",
    )
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;fast")
    with pytest.raises(BuildError) as caught:
        arch_flags(find_toolkit())
    assert str(caught.value) == (
        "TORCH_CUDA_ARCH_LIST=8.0;fast: 'fast' is no architecture\n"
        '  expected numbers such as "8.0;9.0+PTX", or names: Volta, Turing, Ampere, Ada, Hopper, Blackwell'
    )
