"""Every error text has a test: what Python and C++ may say is looked for in the strings of the tests."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"

#: So many words in a row, or all of a shorter text, are what a test has to say of an error.
WORDS_IN_A_ROW = 4

#: Texts that no test provokes, with the reason.
CANNOT_BE_PROVOKED = {
    "functional/stubs.py: a library describes a function wrongly": "an assertion: descriptions are generated",
    "jobs/meeting.py: headers differ and calls do not": "an assertion: headers are made from the calls",
    "sharding/parts.py: has no overload for parts": "the lines before have just made that overload",
    "csrc/torch_host/compute/kernel_sync.cpp: the device is of no more use to this process": (
        "needs a device that fails"
    ),
    "testing/families/streams.py: a result changes after its stream is done something writes to it from elsewhere": (
        "needs a GPU: tests/gpu/test_gpu_check.py"
    ),
    "csrc/torch_host/jobs/job.cpp: a job s program is run by a thread that is not in its gate": "an assertion",
    "csrc/python/module/job_module.cpp: expected a JobEntry": "an assertion: only oneop.jobs calls the function",
}

#: Texts that still lack a test. The list may only shrink: a text that has a test must leave it.
UNTESTED: tuple[str, ...] = (
    "csrc/torch_host/interpreter/trace_hook.cpp: function of a library it cannot be traced",
    "benchmark/sweep.py: elements could be made",
    "csrc/engine/ops/abi_read.h: .size expected at least",
    "csrc/engine/ops/functions.cpp: arguments there are",
    "csrc/engine/frames/kernel_instance.cpp: call another op or one with other attributes from the kernel",
    "csrc/engine/frames/kernel_instance.cpp: its create function gave no kernel",
    "csrc/engine/frames/part.cpp: the description of a part of a call is damaged call the op with DTensors "
    "which make it",
    "csrc/engine/ops/plugin.cpp: refuses this oneop plugin ABI",
    "csrc/engine/registry/op_check.cpp: has the unknown dtype",
    "csrc/engine/registry/op_check.cpp: has the unknown type",
    "csrc/engine/registry/op_check.cpp: which cannot have the length",
    "csrc/engine/registry/registry_content.cpp: has two rules for forward-mode differentiation",
    "csrc/engine/ops/values.cpp: a complex attribute expected 2 numbers found",
    "csrc/engine/plans/grad_blobs.cpp: there is no blob",
    "csrc/engine/plans/grad_collector.cpp: a gradient is bound to a blob that no op makes",
    "csrc/engine/plans/sbp.cpp: SBP entries found",
    "csrc/engine/plans/sbp.cpp: SBP inference expected one signature with an entry for each tensor and mesh dimension",
    "csrc/engine/plans/sbp.cpp: SBP inference splits tensor",
    "csrc/engine/plans/sbp.cpp: give it Split Broadcast or PartialSum",
    "csrc/python/functions/function_result.cpp: a function returns a value that Python has no type for",
    "csrc/python/kernels/python_infer.cpp: an output has too many dimensions",
    "csrc/python/kernels/python_numpy.cpp: it keeps an array that is a view of this call s memory keep a copy x.copy",
    "csrc/python/module/kernel_run.cpp: KernelRun takes contiguous inputs",
    "csrc/torch_host/compute/call_device.cpp: where its inputs are found",
    "csrc/torch_host/handles/generators.cpp: a functor draws with random64 and calls the random",
    "csrc/torch_host/handles/generators.cpp: random numbers are drawn while tensors are traced or "
    "batched outside a function of oneop._C",
    "csrc/torch_host/handles/generators.cpp: this oneop cannot do that with a random generator",
    "csrc/torch_host/handles/torch_arguments.cpp: arguments given are",
    "csrc/torch_host/jobs/job.cpp: a planned input is not contiguous",
    "csrc/torch_host/jobs/job.cpp: expected a float32 number",
    "csrc/torch_host/ops/ivalues.cpp: an attribute has the unexpected type",
    "csrc/torch_host/registration/redefinition.cpp: it is inside a torch mode compile export a dispatch "
    "mode on this or another thread end that first",
    "csrc/torch_host/services/library_call.cpp: has no such output",
    "csrc/engine/calls/services.cpp: scratch memory is available only while a kernel runs",
    "jobs/ranks.py: if it is about a connection or a time-out another rank failed first see its message",
    "jobs/training/session.py: use the same placement in all jobs that share it",
    "runtime/random_calls.py: vmap called random operation while in randomness error mode. Please either "
    "use the same or different randomness flags on vmap or perform the randomness operation out of vmap",
    "sharding/dtensor/running.py: Sharding propagation failed for",
    "sharding/pin_rules.py: B or P oneop.sbp_signatures lists what it has",
    "sharding/symbolic.py: call the op outside torch.compile or on tensors whose sizes are known",
    "testing/families/gradients/first.py: gradcheck",
    "testing/families/gradients/first.py: print torch.autograd.grad",
    "testing/families/inference.py: results the call",
    "testing/families/inference.py: the result is",
    "testing/families/placement.py: a declared SBP signature does not hold",
    "testing/families/programs.py: torch.library.opcheck torch.ops.oneop.",
    "testing/families/repetition.py: print all torch.equal expected result for result in results",
    "testing/memory/guards.py: bytes of scratch memory it asked for",
    "testing/memory/guards.py: reads memory that is not its own or that nobody wrote element",
    "testing/memory/guards.py: unwritten the first at",
)


class Text(NamedTuple):
    """An error text: where it is made, and its constant parts, each a list of words."""

    place: str
    parts: list[list[str]]

    @property
    def key(self) -> str:
        """What names it in the lists of this file: the file, and its longest part."""
        return f"{self.place}: {' '.join(max(self.parts, key=lambda part: len(' '.join(part))))}"


def words_of(text: str) -> list[str]:
    """Return the words of a text, without the marks that differ between a message, an f-string and a pattern."""
    return re.sub(r"[^\w.@*-]+", " ", text.replace("\\", "")).split()


def parts_of(literals: list[str]) -> list[list[str]]:
    """Return the words of each line of some literals, and of what is between the directives of a format."""
    lines = [line for literal in literals for line in re.split(r"\n|%[sRd]", literal)]
    return [words for line in lines if (words := words_of(line))]


def python_texts(text: str, place: str) -> Iterator[Text]:
    """Yield the text of each `raise X("...")` of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            literals = [
                part.value
                for argument in node.exc.args
                for part in ast.walk(argument)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if parts := parts_of(literals):
                yield Text(place, parts)


_LITERAL = r'"((?:\\.|[^"\\\n])*)"'
_MAKERS = re.compile(r"\b(Error|refuse\w*|fail|Misfit|\w+_error|report|PyErr_Format|PyErr_SetString|TORCH_CHECK)\s*\(")


def _end_of_call(text: str, start: int) -> int:
    depth = 1
    for mark in re.compile(rf"{_LITERAL}|[()]").finditer(text, start):
        depth += (mark[0] == "(") - (mark[0] == ")")
        if depth == 0:
            return mark.end()
    return len(text)


def cpp_texts(text: str, place: str) -> Iterator[Text]:
    """Yield the text of each call that makes an error in a C++ file."""
    code = re.sub(r"//[^\n]*", "", text)
    for call in _MAKERS.finditer(code):
        body = code[call.end() : _end_of_call(code, call.end())]
        joined = [
            "".join(re.findall(_LITERAL, run[0])).replace("\\n", "\n").replace('\\"', '"')
            for run in re.finditer(rf"{_LITERAL}(?:\s*{_LITERAL})*", body)
        ]
        # The name of the class comes first; a part of few letters is no text.
        parts = [p for p in parts_of(joined) if len(" ".join(p)) > 12 and not re.fullmatch(r"\w+Error", " ".join(p))]
        if parts:
            yield Text(place, parts)


def is_said(text: Text, said: str) -> bool:
    """Whether enough words in a row of a text are in `said`."""
    longest = max(len(part) for part in text.parts)
    for part in text.parts:
        count = min(WORDS_IN_A_ROW, len(part))
        if count >= min(WORDS_IN_A_ROW, longest):
            rows = (" ".join(part[i : i + count]) for i in range(len(part) - count + 1))
            if any(f" {row} " in said for row in rows):
                return True
    return False


def strings_of_tests() -> str:
    """Return the words of all strings in the tests; this file's lists do not count."""
    strings = []
    for path in sorted(TESTS.rglob("*")):
        if path.suffix == ".py" and path != Path(__file__):
            tree = ast.walk(ast.parse(path.read_text()))
            strings += [node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        elif path.suffix in {".cpp", ".h", ".cu"}:
            strings.append(path.read_text())
    return "|".join(f" {' '.join(words_of(string))} " for string in strings)


def all_texts() -> Iterator[Text]:
    """Yield the texts of the package and of the core."""
    package = ROOT / "src" / "oneop"
    for path in sorted(package.rglob("*.py")):
        yield from python_texts(path.read_text(), str(path.relative_to(package)))
    for path in sorted((ROOT / "csrc").rglob("*")):
        if path.suffix in {".cpp", ".h"}:
            yield from cpp_texts(path.read_text(), str(path.relative_to(ROOT)))


def test_every_text_has_a_test():
    texts = [*all_texts()]
    assert len(texts) > 450  # the collectors still find them
    said = strings_of_tests()
    untested = {text.key for text in texts if not is_said(text, said)}
    new = untested - {*CANNOT_BE_PROVOKED} - {*UNTESTED}
    assert not new, "write a test that provokes and pins each:\n" + "\n".join(sorted(new))
    gone = {*UNTESTED, *CANNOT_BE_PROVOKED} - untested
    assert not gone, "they have tests, or are gone; take them out of the lists:\n" + "\n".join(sorted(gone))


def test_texts_of_python_are_collected():
    source = 'def f(x):\n    raise E(f"op {x}: expected a list of ints, found {x!r}\\n  write [1]")\n    raise E\n'
    (text,) = python_texts(source, "a.py")
    assert text.key == "a.py: expected a list of ints found"
    assert not is_said(text, " expected a tuple of ints ")
    assert is_said(
        text, ' op "f": expected a list of ints, found 3 '.replace('"', "").replace(":", "").replace(",", "")
    )


def test_texts_of_cpp_are_collected():
    source = """
        throw Error("ArgumentError", "op " + in_quotes(f(name)) + " takes no tensors "
                    "of rank " + n);  // "not this"
    """
    (text,) = cpp_texts(source, "a.cpp")
    assert text.key == "a.cpp: takes no tensors of rank"
    assert is_said(text, " takes no tensors of rank ") and not is_said(text, " takes no rank ")
