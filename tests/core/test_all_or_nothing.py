"""A library that cannot be loaded changes nothing: neither the registries, nor torch, nor the functions."""

import subprocess

import pytest
import torch

import oneop
from oneop.errors import DuplicateOpError, RegistrationError
from quick_python import command

OP = 'REGISTER_USER_OP("{0}").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);\n'
KERNEL = """KERNEL(K_{0}, {{
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {{ Out<T>(ctx, "y")[i] = {1} * In<T>(ctx, "x")[i]; }}
}})
"""
BOTH = KERNEL + OP + 'REGISTER_FOR("{0}", K_{0}, float, "x")\n'
#: Words of torch's schema language and of Python; torch's parser takes some of them as the name of an op.
WORDS = ["Tensor", "assert", "inf", "nan", "print", "self", "def", "None", "with", "match"]


def state():
    core = oneop.runtime.core.core()
    return core.op_names(), core.function_names(), core.pending(), sorted(dir(torch.ops.oneop))


@pytest.fixture(scope="module")
def accepted_by_torch():
    """The words that torch's own parser takes: found in a process of its own, so that nothing is left."""
    code = f"""
import torch
library = torch.library.Library("o", "DEF")
for name in {WORDS}:
    try:
        library.define(f"{{name}}(Tensor x) -> Tensor")
        getattr(torch.ops.o, name)
        print(name)
    except Exception:
        pass
"""
    program = subprocess.run([*command(), "-c", code], capture_output=True, text=True, check=True)
    return program.stdout.split()


# Each is a library of its own. Among the quick tests: a type, a keyword, and a word that torch's parser takes.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in ("Tensor", "assert", "print"))) for name in WORDS],
)
def test_a_name_that_torch_cannot_parse(inline, accepted_by_torch, name):
    before = state()
    text = BOTH.format("i_first", 1) + BOTH.format(name, 1) + BOTH.format("i_last", 1)
    if name not in accepted_by_torch:
        for _ in range(2):  # the second attempt fails in the same way
            with pytest.raises(RegistrationError, match=f'op "{name}": the name .*\n'):
                inline(text, name=f"bad_{name}")
            assert state() == before
    else:
        inline(text, name=f"good_{name}")
        assert oneop.ops.i_last(torch.ones(1)).item() == 1


def test_a_name_that_torch_has_already(inline):
    with torch.library._scoped_library("oneop", "FRAGMENT") as library:
        library.define("i_taken(Tensor x) -> Tensor")
        before = state()
        for _ in range(2):
            with pytest.raises(DuplicateOpError) as caught:
                inline(BOTH.format("i_before", 1) + BOTH.format("i_taken", 1))
            lines = str(caught.value).splitlines()
            assert lines[0] == 'op "i_taken": torch.library has an op oneop::i_taken already'
            assert lines[1] == "  op names are global: rename one of them" and len(lines) == 3
            assert state() == before
        with pytest.raises(oneop.errors.OpNotFoundError):
            oneop.get_op("i_before")
    inline(BOTH.format("i_before", 2) + BOTH.format("i_taken", 3))
    assert oneop.ops.i_before(torch.ones(1)).item() == 2 and oneop.ops.i_taken(torch.ones(1)).item() == 3


def test_a_failed_reload_leaves_the_old_version_at_work(inline):
    inline(BOTH.format("i_kept", 2))
    x = torch.ones(2)
    assert oneop.ops.i_kept(x).tolist() == [2, 2]
    changed = BOTH.format("i_kept", 3).replace('.Input("x")', '.Input("x").Attr<double>("by", 1.0)')
    with pytest.raises(RegistrationError):
        inline(changed + BOTH.format("assert", 1))
    assert oneop.ops.i_kept(x).tolist() == [2, 2] and torch.ops.oneop.i_kept(x).tolist() == [2, 2]
    with pytest.raises(oneop.errors.ArgumentError):
        oneop.ops.i_kept(x, by=2.0)
    inline(changed)
    assert oneop.ops.i_kept(x, by=2.0).tolist() == [3, 3] and torch.ops.oneop.i_kept(x, by=1.0).tolist() == [3, 3]


def test_a_failed_definition_in_python(isolated):
    before = state()
    with pytest.raises(oneop.OneopError):
        oneop.define("assert(Tensor x) -> Tensor y", infer="elementwise")
    assert state() == before
    op = oneop.define("p_fine(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x * 2)
    assert oneop.ops.p_fine(torch.ones(1)).item() == 2


def test_flags_are_part_of_what_torch_is_told(inline):
    """The tags that torch.compile goes by follow the definition although the schema's text is the same."""

    def tags(addition):
        inline(BOTH.format("i_flags", 1).replace(".NoGrad()", ".NoGrad()" + addition))
        return torch.ops.oneop.i_flags.default.tags

    assert torch.Tag.nondeterministic_seeded not in tags("")
    assert torch.Tag.nondeterministic_seeded in tags(".Random()")
    assert torch.Tag.nondeterministic_seeded not in tags("")
    assert torch.Tag.needs_exact_strides in tags(".SupportNonContiguous()")
