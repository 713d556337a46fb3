"""`oneop port --check` and `oneop port FILE... -o PROJECT` on a small checkout of our own; the references."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
from small_checkout import write_checkout

from oneop.cli.main import main
from oneop.errors import ArgumentError, BuildError, LoadError
from oneop.ods import read_checkout, read_ops
from oneop.port.checkout import definitions_of
from oneop.port.definitions import definitions_text, functions_called
from oneop.port.objects import Compiled, Objects, _look_into, link
from oneop.port.references import REFERENCES
from oneop.port.references.table import differentiate, grad_of
from oneop.port.trial import Trial, check_ops
from quick_python import command, executable

USER = Path("oneflow/user")
SRC = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def quick_children(monkeypatch):
    """The processes that check ops are forks of one that has imported torch."""
    monkeypatch.setattr(sys, "executable", executable())


@pytest.fixture
def checkout(tmp_path):
    return write_checkout(tmp_path / "flow")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A checkout, and the folder where its objects are kept: those that one test compiles another uses."""
    folder = tmp_path_factory.mktemp("compiled")
    return write_checkout(folder / "flow"), folder / "work"


@pytest.mark.slow
def test_ops_of_a_checkout_against_torch(compiled, capfd):
    checkout, work = compiled
    (checkout / USER / "kernels/bad_kernel.cpp").write_text("int f() { return NeverDeclared(); }\n")
    status = main(["port", "--check", str(checkout), "--work", str(work), "--json"])
    told = json.loads(capfd.readouterr().out)
    assert status == 0 and told["ops"] == ["square", "square_grad"]  # not "absent", whose function nobody defines
    assert list(told["failed"]) == ["user_kernels_bad_kernel"]
    reports = {report["op"]: report for report in told["reports"]}
    assert [reports[op]["verdict"] for op in told["ops"]] == ["right", "right"]
    assert reports["square"]["families"]["gradient"] == "passed"
    # Only what changed is compiled again, and a wrong result is seen.
    objects = {path.name: path.stat().st_mtime_ns for path in (work / "objects").iterdir()}
    kernels = checkout / USER / "kernels/twice.cpp"
    kernels.write_text(kernels.read_text().replace("2 * x", "3 * x"))
    status = main(["port", "--check", str(checkout), "--work", str(work), "--op", "square_grad"])
    out = capfd.readouterr().out
    assert status == 1 and "1 wrong" in out and "differs from the reference" in out
    again = {path.name: path.stat().st_mtime_ns for path in (work / "objects").iterdir()}
    assert {name for name in again if again[name] != objects.get(name)} == {"user_kernels_twice.o"}


def test_an_op_that_the_checkout_lacks(compiled, capfd):
    checkout, work = compiled
    assert main(["port", "--check", str(checkout), "--work", str(work), "--op", "relu"]) == 2
    assert "has no kernel of relu" in capfd.readouterr().err


CALLS = """
import torch, ported_square
x = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
y = ported_square.library.square(x)
y.backward()
print(y.item(), x.grad.item())
"""


@pytest.mark.parametrize(
    "words, output",
    [(["-c", CALLS], "9.0 6.0\n"), pytest.param(["-m", "pytest", "-q"], "2 passed", marks=pytest.mark.slow)],
    ids=["calls", "its tests"],
)
def test_a_project_of_sources(checkout, tmp_path, capfd, words, output):
    project = tmp_path / "ported_square"
    files = [str(checkout / USER / name) for name in ("ops/square_op.cpp", "kernels/square_kernel.cpp")]
    assert main(["port", *files, "-o", str(project), "--reference", "square=torch.square"]) == 0
    package = project / "src/ported_square"
    assert {path.name for path in package.iterdir()} == {
        "__init__.py",
        "include",
        "ported_square.td",
        "reference.py",
        "square_kernel.cpp",
        "square_op.cpp",
        "twice.cpp",  # of the header that the kernel includes
    }
    assert (package / "include/oneflow/user/kernels/twice.h").is_file()
    assert "square_grad" in (package / "reference.py").read_text()
    path = os.pathsep.join([str(package.parent), str(SRC)])
    program = [*command(), *words]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(program, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and output in done.stdout, done.stdout + done.stderr


def test_definitions_written_again_are_the_same(checkout, tmp_path):
    ops = definitions_of(checkout)
    (tmp_path / "again.td").write_text(definitions_text(ops))
    again = read_ops(tmp_path / "again.td")
    for op, copy in zip(ops, again, strict=True):
        for field in ("name", "cpp_class", "inputs", "outputs", "attrs", "flags"):
            assert getattr(op, field) == getattr(copy, field)
        assert copy.has_trait("NoGrad") == op.has_trait("NoGrad")


def test_functions_that_sources_call():
    text = '- name: "a"\n  signature: "Tensor (Tensor x) => A"\n\n- name: "b"\n  signature: "Tensor (Tensor x) => B"\n'
    assert functions_called(text, ["return functional::B(x);"]) == text[text.index('- name: "b"') :]


def test_objects_that_need_what_is_not_there_are_left_out(tmp_path):
    def compiled(name, defines, needs):
        return Compiled(path=Path(name), defines=frozenset(defines), needs=frozenset(needs))

    objects = Objects(
        compiled=[compiled("a", "a", ""), compiled("b", "b", "a"), compiled("c", "c", "x"), compiled("d", "", "c")]
    )
    assert [each.path.name for each in objects.that_fit()] == ["a", "b"]
    (tmp_path / "no.o").write_text("no object")
    with pytest.raises(BuildError, match=r"nm cannot read .*no\.o"):
        _look_into(tmp_path / "no.o")
    with pytest.raises(BuildError, match=r"the objects of some\.so do not link"):
        link([tmp_path / "no.o"], tmp_path / "some.so", ["g++"])


def test_a_library_that_does_not_load(tmp_path, capfd):
    (tmp_path / "no.so").write_text("no library")
    with pytest.raises(LoadError, match="does not load; what is wrong stands above"):
        check_ops(Trial(root="here", library=tmp_path / "no.so", ops=[]))


@pytest.mark.slow
def test_an_op_that_ends_its_process_or_never_ends(tmp_path, monkeypatch):
    # A stand-in for the process that checks: two of its ops end it, each in another way.
    (tmp_path / "stand_in.py").write_text(
        "import json, os, sys, time\n"
        "names = sys.argv[3:]\n"
        "if names[0] == '--list':\n"
        "    print(json.dumps({'todo': list('abcdef')})); sys.exit()\n"
        "print('some words', flush=True)\n"
        "for name in names:\n"
        "    if name == 'b': os.abort()\n"
        "    if name == 'e': time.sleep(60)\n"
        "    text = f'{os.getpid()} {len(names)}'\n"
        "    print(json.dumps({'op': name, 'verdict': 'right', 'text': text}), flush=True)\n"
    )
    module = import_module("oneop.port.trial")
    monkeypatch.setattr(module, "CHECK_SECONDS", 2)
    monkeypatch.setattr(module, "CHECK_MODULE", "stand_in")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for batch, jobs in ((6, 1), (1, 4), (4, 2)):
        trial = Trial(root="here", library=tmp_path, ops=[])
        seen = []
        check_ops(trial, batch=batch, jobs=jobs, progress=lambda done, total, op, seen=seen: seen.append((done, total)))
        verdicts = [report.verdict for report in trial.reports]
        assert [report.op for report in trial.reports] == list("abcdef") and seen[-1] == (6, 6)
        assert verdicts == ["right", "ended the process", "right", "right", "ended the process", "right"]
        assert trial.reports[1].text == "exit status -6" and "more than" in trial.reports[4].text
        if batch == 1:
            processes = {report.text for report in trial.reports if report.verdict == "right"}
            assert len(processes) == 4 and all(text.endswith(" 1") for text in processes)


def test_references_of_backward_ops():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    dy = torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert torch.allclose(REFERENCES["square_grad"].function(x, dy), 2 * x * dy)
    assert torch.allclose(grad_of(torch.pow, 1, 2)(x, x, dy), dy * x**x * x.log())
    assert differentiate(torch.ones_like, x, dy).tolist() == [0, 0]  # constant
    assert differentiate(torch.abs, torch.tensor([-2, 3]), torch.tensor([1, 1])).tolist() == [-1, 1]
    entry = REFERENCES["broadcast_fmod"]
    assert entry.serves([x, None]) and not entry.serves([[x.bool()], x])
    assert not REFERENCES["adaptive_avg_pool1d"].serves([x.int()])


def test_bad_arguments(checkout, tmp_path, capfd):
    other = write_checkout(tmp_path / "other") / USER / "ops/square_op.cpp"
    own = checkout / USER / "ops/square_op.cpp"
    reader = tmp_path / "some_reader.cpp"
    reader.write_text("")
    bad = checkout / USER / "ops/bad_op.cpp"
    bad.write_text('#include "oneflow/core/nowhere.h"\n')
    words = tmp_path / "words.cpp"
    words.write_text("this is not c++\n")
    out = ["-o", tmp_path / "made_ops"]
    cases = {
        (): "expected FILE... and -o PROJECT, --survey PATH or --check PATH",
        ("--check", tmp_path): "is no checkout of OneFlow: it has no folder",
        (own,): "a project needs both: oneop port FILE... -o PROJECT",
        (own, "-o", tmp_path / "torch"): "cannot be the name of a project",
        (own, "-o", checkout): "is there already",
        (own, *out, "--reference", "square"): "--reference: expected OP=FUNCTION, as in relu=torch.relu",
        (tmp_path / "no.cpp", *out): "there is no file",
        (reader, *out): "cannot be ported: it reads or decodes data",
        (own, other, *out): "the files are of several checkouts: port those of one at a time",
        (bad, *out): "does not compile: it needs header oneflow/core/nowhere.h",
        (words, *out): "words.cpp does not compile",
        (
            own,
            *out,
            "--reference",
            "nosuch=torch.relu",
        ): '--reference: the files have no op "nosuch"; their ops are square',
        (own, *out, "--reference", "square=torch.nosuch"): "there is no such function: module 'torch' has no attribute",
        (own, *out, "--reference", "square=numpy.square"): "expected one of torch's, as in relu=torch.relu",
        (own, *out, "--reference", "square=torch.float32"): "expected a function, found dtype",
    }
    for arguments, text in cases.items():
        status = main(["port", *map(str, arguments)])
        told = capfd.readouterr()
        assert status != 0 and text in told.out + told.err, (arguments, told)
        assert not (tmp_path / "made_ops").exists()


def test_arguments_that_are_refused_before_anything_is_compiled(checkout, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(import_module("oneop.port.trial"), "build_library", None)
    monkeypatch.setattr(import_module("oneop.port.survey"), "survey", None)
    check, survey = ["--check", checkout], ["--survey", checkout]
    cases = {
        (*check, "--op", "nosuch"): '--op: no reference is known of an op "nosuch"',
        (*check, "--op", "square", "--op", "sqare"): "did you mean square",
        (*check, "--op", "square", "--batch", "0"): "--batch: expected a number from 1, found 0",
        (*check, "--examples", "0"): "--examples: expected a number from 1, found 0",
        (*check, "-j", "0"): "--jobs: expected a number from 1, found 0",
        (*survey, "-j", "-3"): "--jobs: expected a number from 1, found -3",
        (*survey, "-I", tmp_path / "nonexist"): "-I: there is no folder",
        (*survey, "--op", "square"): "--op goes with --check PATH",
    }
    for arguments, text in cases.items():
        status = main(["port", *map(str, arguments)])
        told = capfd.readouterr()
        assert status == 2 and text in told.out + told.err, (arguments, told)


def test_reading_the_definitions_of_a_checkout(checkout, tmp_path):
    """Groups that macros choose: all of them are read, and a file that is left out as a whole says so."""
    folder = checkout / "oneflow/ir/include/OneFlow"
    names = [op.name for op in read_checkout(checkout)]
    assert names == ["square", "square_grad", "absent"]
    ops = (folder / "OneFlowOps.td").read_text()
    (folder / "Some.td").write_text(f"#ifdef GET_SOME_DEFINITIONS\n{ops}\n#endif // GET_SOME_DEFINITIONS\n")
    (folder / "OneFlowOps.td").write_text(
        '#ifdef GET_SOME_DEFINITIONS\ninclude "OneFlow/Some.td"\n#endif\n'
        "#ifndef REMOVE_ONEFLOW_MLIR_ONLY_OP_DEFINITIONS\ndef OfMlir : Nowhere;\n#endif\n"
    )
    assert [op.name for op in read_checkout(checkout)] == names
    for _ in range(2):  # also where the file was read before
        with pytest.warns(UserWarning, match=r"defines no op: what it has is left out .*GET_SOME_DEFINITIONS"):
            assert read_ops(folder / "Some.td") == ()
    assert len(read_ops(folder / "Some.td", defines=["GET_SOME_DEFINITIONS"])) == 3
    (tmp_path / "classes.td").write_text("class Mine;\n")
    assert read_ops(tmp_path / "classes.td") == ()  # nothing to say
    with pytest.raises(ArgumentError, match=r"expected a checkout of OneFlow 0\.8 or newer"):
        read_checkout(tmp_path)
