"""The ops of examples/gallery: values, gradients, compiled programs and `oneop check`, against torch."""

import math

import pytest
import torch
from gallery_cases import CASES, GALLERY, Case, program
from hypothesis import given, settings
from hypothesis import strategies as st

from oneop.testing.checker import run_check
from oneop.testing.subject import Hints

UNUSABLE = (0.0, -1.0, math.nan, math.inf)
FOLDERS = sorted({case.folder for case in CASES})
#: How far results may be from those in float64, relative and absolute.
LIMITS = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}
#: The families of checks that take least time.
FAMILIES = ("memory", "inference", "kernels", "reference", "special values")
#: The ops of these folders are tested in `make test`: of elements, of rows, in place, with indices, of several outputs.
#: To compile one takes 3 seconds.
QUICK = ("adam_step", "cross_entropy", "moe_gate", "segment_reduce", "swiglu")


def in_tiers(items, folder_of=lambda item: item):
    """Mark those whose folder is not among the quick ones."""
    return [pytest.param(item, marks=[pytest.mark.slow] * (folder_of(item) not in QUICK)) for item in items]


def of_cases(cases):
    return pytest.mark.parametrize("case", in_tiers(cases, lambda case: case.folder), ids=lambda case: case.name)


every_case = of_cases(CASES)


def x(*shape):
    return torch.ones(shape)


def long(values):
    return torch.tensor(values)


def strided(tensor):
    """The same values with gaps between them."""
    return torch.stack([tensor, tensor], -1)[..., 0]


def assert_close(outputs, expected, limit):
    assert len(outputs) == len(expected)
    for output, other in zip(outputs, expected, strict=True):
        torch.testing.assert_close(output, other.to(output.dtype), rtol=limit, atol=limit)


def gradients_of(case: Case, function, inputs, attrs):
    """Gradients of all floating inputs, for a loss in which every result counts differently."""
    own = [tensor.detach().clone().requires_grad_(tensor.is_floating_point()) for tensor in inputs]
    results = [result for result in case.results(function, own, attrs) if result.is_floating_point()]
    loss = sum(
        (result.double() * torch.linspace(0.5, 1.5, result.numel()).view(result.shape)).sum() for result in results
    )
    wanted = own[:1] if case.folder == "rotary" else [tensor for tensor in own if tensor.requires_grad]
    return torch.autograd.grad(loss, wanted)


@every_case
def test_values(case):
    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(
        rows=st.sampled_from([0, 1, 2, 5, 9]),
        columns=st.sampled_from([1, 2, 3, 8, 31, 33, 70]),
        dtype=st.sampled_from(case.dtypes),
        is_strided=st.booleans(),
        seed=st.integers(0, 99),
    )
    def holds(rows, columns, dtype, is_strided, seed):
        inputs, attrs = case.make(torch.Generator().manual_seed(seed), rows, columns, dtype)
        expected = case.expected(inputs, attrs)
        outputs = case.results(case.op, [strided(t) for t in inputs] if is_strided else inputs, attrs)
        assert_close(outputs, expected, LIMITS[dtype])

    holds()


@of_cases([case for case in CASES if case.is_differentiable])
def test_gradients(case):
    for rows, columns, dtype in ((5, 7, torch.float64), (1, 33, torch.float32), (0, 4, torch.float64)):
        inputs, attrs = case.make(torch.Generator().manual_seed(1), rows, columns, dtype)
        expected = gradients_of(
            case, program(case.folder)[case.name], [t.double() if t.is_floating_point() else t for t in inputs], attrs
        )
        assert_close(gradients_of(case, case.op, inputs, attrs), expected, LIMITS[dtype])


@every_case
def test_compiled(case):
    inputs, attrs = case.make(torch.Generator().manual_seed(2), 4, 6, torch.float32)
    op = case.op
    compiled = torch.compile(lambda *tensors: op(*tensors, **attrs), fullgraph=True, backend="aot_eager")
    assert_close(case.results(compiled, inputs, {}), case.results(op, inputs, attrs), 1e-6)
    if case.is_differentiable:
        assert_close(gradients_of(case, compiled, inputs, {}), gradients_of(case, op, inputs, attrs), 1e-6)
    torch.compiler.reset()


@every_case
def test_threads_change_nothing(case, many_threads):
    inputs, attrs = case.make(torch.Generator().manual_seed(3), 300, 70, torch.float32)
    outputs = case.results(case.op, inputs, attrs)
    torch.set_num_threads(1)
    for output, other in zip(outputs, case.results(case.op, inputs, attrs), strict=True):
        assert torch.equal(output, other)


@pytest.mark.parametrize("folder", in_tiers(FOLDERS))
def test_check(folder):
    """A short form: `oneop check examples/gallery/FOLDER/reference.py` runs all families."""
    families = list(FAMILIES)
    if folder == "causal_conv1d" and torch_skips_zeros():
        families.remove("special values")
    for op in program(folder)["library"].ops:
        report = run_check(op, Hints(), only=families, examples=4)
        assert report.ok, str(report)


def torch_skips_zeros():
    """Say whether torch's convolution takes 0 * inf for 0, as 2.15 does with float64 on arm64: then it is no judge."""
    infinite, zeros = torch.full((3, 2, 11), math.inf).double(), torch.zeros(2, 1, 4).double()
    return not torch.nn.functional.conv1d(infinite, zeros, groups=2).isnan().all()


def test_folders_are_complete():
    folders = sorted(path.name for path in GALLERY.iterdir() if path.is_dir() and path.name != "__pycache__")
    assert folders == FOLDERS
    page = (GALLERY / "README.md").read_text()
    for folder in folders:
        assert f"({folder}/op.cpp)" in page, "list it in README.md"


@pytest.mark.parametrize(
    ("name", "inputs", "attrs"),
    [
        ("cross_entropy", [x(2, 3), long([0, 3])], {}),
        ("segment_sum", [x(2, 3), long([0, -1])], {"segments": 2}),
        ("segment_max", [x(2, 3), long([0, 2])], {"segments": 2}),
        pytest.param("paged_gather", [x(2, 2, 1, 1), long([[2]]), long([1])], {"length": 2}, marks=pytest.mark.slow),
        pytest.param("paged_gather", [x(2, 2, 1, 1), long([[0]]), long([3])], {"length": 2}, marks=pytest.mark.slow),
    ],
)
def test_an_index_outside_is_refused(name, inputs, attrs):
    (case,) = [case for case in CASES if case.name == name]
    with pytest.raises(IndexError):
        case.op(*inputs, **attrs)


@pytest.mark.parametrize("index", [-1, 3, 2**40, -(2**62)])
@pytest.mark.parametrize(
    ("folder", "op", "make"),
    [
        ("cross_entropy", "cross_entropy_grad", lambda i: ([x(2, 3), i(2), x(2), x(2), x(2)], {"ignore_index": -100})),
        ("segment_reduce", "segment_gather", lambda i: ([x(3, 2), i(4)], {"segments": 3})),
        ("segment_reduce", "segment_max_grad", lambda i: ([i(4), torch.zeros(3, 2).long(), x(3, 2)], {})),
        ("moe_gate", "moe_gate_grad", lambda i: ([x(2, 3), x(2, 2), i(2, 2), x(2, 2)], {"renormalize": True})),
        ("moe_gate", "moe_gate_grad", lambda i: ([x(2, 3), x(2, 2), i(2, 2), x(2, 2)], {"renormalize": False})),
    ],
)
def test_gradients_refuse_an_index_outside(folder, op, make, index):
    """They are ops too: nothing outside of the tensors may be read or written."""

    def indices(*shape):
        tensor = torch.zeros(shape, dtype=torch.int64)
        tensor.view(-1)[-1] = index
        return tensor

    inputs, attrs = make(indices)
    with pytest.raises(IndexError):
        getattr(program(folder)["library"], op)(*inputs, **attrs)


@pytest.mark.slow  # of a folder that is not among the quick ones
@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        *(((2, 3), {"temperature": t}, "temperature that is positive") for t in (0.0, -1.0, math.nan, math.inf)),
        *(((2, 3), {"min_p": p}, "expected min_p from 0 to 1") for p in (-0.1, 1.5, math.nan, math.inf)),
        ((2, 0), {}, "expected columns to draw from"),
        ((), {}, "logits and noise of one shape"),
    ],
)
def test_sampling_refuses_what_has_no_meaning(shape, attrs, message):
    with pytest.raises(ValueError, match=message):
        program("sample_min_p")["library"].sample_min_p(x(*shape), x(*shape), **attrs)


def test_swiglu_says_which_axis_is_missing():
    with pytest.raises(ValueError, match="expected two axes at least"):
        program("swiglu")["library"].swiglu(x(4))
