"""What does not fit is refused when an op is called: no wrong answer, and no memory of others."""

import re
import subprocess
from pathlib import Path

import pytest
import torch

import oneop
from oneop._build.compiler import default_flags, find_cxx

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"


@pytest.fixture(scope="module")
def bad():
    return oneop.load("op_h_refusals", [HERE / "refusals.cpp"])


def refused(text):
    return pytest.raises(oneop.OneopError, match=text)


@pytest.mark.parametrize("form", ["elements", "rows", "views", "call"])
@pytest.mark.parametrize("name, found", [("int8", "int8"), ("double", "float64")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_dtypes_of_inference_are_those_that_the_kernel_writes(bad, form, name, found, dtype):
    wanted = "uint8" if form == "call" else str(dtype).removeprefix("torch.")
    with refused(rf'output "y": the kernel takes elements of {wanted}, found {found}'):
        getattr(bad, f"ohr_{form}_{name}")(torch.ones(2, 3).to(dtype))


def test_dtypes_of_lists(bad):
    floats = [torch.ones(3)] * 20
    result = bad.ohr_list(floats)
    assert result.dtype == torch.float64 and result.tolist() == [1, 1, 1]
    assert bad.ohr_list(floats, torch.ones(3, dtype=torch.int64)).dtype == torch.float64
    with refused(r'input "xs": the kernel takes elements of float32, found float64'):
        bad.ohr_list([torch.ones(3), torch.ones(3).double()])
    with refused(r'input "b": the kernel takes elements of int64, found float32'):
        bad.ohr_list(floats, torch.ones(3))
    assert [result.dtype for result in bad.ohr_set(torch.ones(4))] == [torch.float32, torch.int64]


def test_shapes_of_elements(bad):
    with refused(r'.elementwise takes tensors of one shape, found "x" of \(2, 3\) and "y" of \(3, 2\)') as caught:
        bad.ohr_swapped(torch.ones(2, 3))
    assert str(caught.value).count('op "ohr_swapped"') == 1
    assert bad.ohr_swapped(torch.ones(2, 2)).shape == (2, 2)


@pytest.mark.parametrize(
    "xs, b, c, names", [(2, 3, None, ("xs", "b")), (2, None, 3, ("xs", "c")), (2, 2, 1, ("xs", "c"))]
)
def test_same_shape_is_that_of_all_inputs(bad, xs, b, c, names):
    given = [torch.ones(size) if size is not None else None for size in (b, c)]
    with refused(rf'^op "ohr_same": expected inputs of one shape, found "{names[0]}" of .* and "{names[1]}" of'):
        bad.ohr_same([torch.ones(xs)], *given)
    with refused(r'expected inputs of one shape, found "xs" of \(2,\) and "xs" of \(3,\)'):
        bad.ohr_same([torch.ones(2), torch.ones(3)])
    assert bad.ohr_same([torch.ones(2)], None, torch.ones(2)).shape == (2,)


def test_inference_sets_every_output(bad):
    with refused(r'op "ohr_unset": its .infer function did not set output "y"'):
        bad.ohr_unset(torch.ones(2))
    with refused(r'op "ohr_unset": its .infer function did not set output "z"'):
        bad.ohr_unset(torch.ones(2), first=True)
    with refused(r'its .infer function did not set output "ys", tensor 1'):
        bad.ohr_unset_list([torch.ones(2), torch.ones(2)])


def test_outputs_with_too_many_axes(bad):
    with refused(r'its axes "... -> ... 1 1 1 1 1" give an output more than 32 axes'):
        bad.ohr_many_axes(torch.ones([1] * 30))
    assert bad.ohr_long(torch.ones(1, device="meta")).shape == (1, 1_000_000)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "x, w",
    [((2, 8), (3,)), ((2, 8), (9,)), ((2, 8), ()), ((2, 8), (2, 3)), ((2, 2, 8), (2, 2)), ((8,), ()), ((8,), (3, 8))],
)
def test_rows_of_inputs_have_one_length(bad, dtype, x, w):
    shapes = re.escape(f'input "w" of shape {w} has no rows beside the first input\'s {x}')
    with refused(shapes):
        bad.ohr_add(torch.ones(x, dtype=dtype), torch.ones(w, dtype=dtype))


def test_rows_that_fit(bad):
    x = torch.randn(3, 3)
    assert torch.equal(bad.ohr_add(x, x[0]), x + x[0])
    assert torch.equal(bad.ohr_add(x, x), x + x)
    assert bad.ohr_add(torch.tensor(1.0), torch.tensor(2.0)).item() == 3
    # With a line of axes an input may have another length, and is what the line says in every call.
    for k in (1, 3, 7):
        w, s = torch.randn(k), torch.randn(3)
        torch.testing.assert_close(bad.ohr_weighted(x, w, s), x * w.sum() * s[:, None])
    assert torch.allclose(bad.ohr_totals(x), x.sum(-1))
    with refused(r'output "y" of shape \(4,\) has no rows beside the first input\'s \(2, 4\)'):
        bad.ohr_columns(torch.ones(2, 4))


def test_functions_of_rows_compare_lengths(bad):
    x = torch.randn(2, 40)
    torch.testing.assert_close(bad.ohr_dot(x, x[0]), x @ x[0])
    assert torch.equal(bad.ohr_map(x, x[0]), x + x[0])
    with refused(r"its functor gives dot\(\) rows of different lengths: 40 and 3"):
        bad.ohr_dot(x, torch.ones(3))
    with refused(r"its functor gives map\(\) rows of different lengths: 40 and 41"):
        bad.ohr_map(x, torch.ones(41))


STRIDED = {
    "transposed": torch.arange(6.0).reshape(2, 3).t(),
    "expanded": torch.arange(3.0).expand(4, 3),
    "one element": torch.ones(1).expand(1000),
    "sliced": torch.arange(24.0).reshape(4, 6)[::2, ::3],
    "vector": torch.arange(6.0)[::2],
}


@pytest.mark.parametrize("how", [0, 1, 2])
@pytest.mark.parametrize("name", STRIDED)
def test_memory_is_not_walked_through_where_it_is_not_contiguous(bad, how, name):
    with refused(r'tensor "x": the kernel walks through it with \[\], begin\(\) or end\(\), and it is not contiguous'):
        bad.ohr_walk(STRIDED[name], how=how)


@pytest.mark.parametrize("how", [0, 1])
@pytest.mark.parametrize("x", [torch.arange(6.0).reshape(2, 3), torch.ones(4, 1)[:, :, None], torch.ones(0, 3).t()])
def test_what_is_contiguous_is_walked_through(bad, how, x):
    assert torch.equal(bad.ohr_walk(x, how=how), 2 * x)
    assert torch.equal(bad.ohr_walk(torch.ones(1, 3).expand(1, 3)[:, :1], how=how), torch.full((1, 1), 2.0))


@pytest.mark.parametrize(
    "how, text",
    [
        (0, r'tensor "x": the kernel takes a View with 3 axes, found 1'),
        (1, r'tensor "x": the kernel asks for axis 3 of a View with 1 axis'),
        (2, r'tensor "x": the kernel asks for axis -4 of a View with 1 axis'),
        (3, r'tensor "b": the kernel uses an optional tensor that was not given'),
        (4, r'tensor "b": the kernel uses an optional tensor that was not given'),
        (5, r'tensor "b": the kernel uses an optional tensor that was not given'),
        (6, r'tensor "b": the kernel uses an optional tensor that was not given'),
        (8, r'tensor "b": the kernel uses an optional tensor that was not given'),
        (9, r'tensor "b": the kernel uses an optional tensor that was not given'),
    ],
)
def test_views_know_their_axes(bad, how, text):
    with refused(text):
        bad.ohr_rank(torch.ones(2), how=how)
    assert bad.ohr_rank(torch.ones(2), how=7).item() == 0


def test_lists_of_views_know_their_length(bad):
    with refused(r'tensor list "xs": the kernel asks for tensor 2 of 2'):
        bad.ohr_beyond([torch.ones(1)] * 2)


@pytest.mark.parametrize("count", [-5, -(2**63), 2**61, 2**63 - 1])
def test_scratch_of_impossible_sizes(bad, count):
    with refused(rf"the kernel asks for scratch memory of {count} elements of 8 bytes"):
        bad.ohr_scratch(torch.ones(1).double(), count=count)
    bad.ohr_scratch(torch.ones(1).double(), count=0)


@pytest.mark.parametrize(
    "name, held, beyond",
    [
        ("int", [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 2**32 + 5]),
        ("uint8", [0, 255], [256, 261, -1]),
        ("uint64", [0, 2**63 - 1], [-1]),
        ("bool", [0, 1], [2, -1]),
        ("long", [2**63 - 1, -(2**63)], []),
        ("real", [2**40, -7], []),
        ("float", [1.5, float("inf")], [1e39, -1e300]),
    ],
)
def test_attributes_are_not_cut_off(bad, name, held, beyond):
    op = getattr(bad, f"ohr_as_{name}")
    x = torch.zeros(1, dtype=torch.float64)
    for value in held:
        assert op(x, k=value).item() == float(value)
    for value in beyond:
        with refused(rf'op "ohr_as_{name}".*attribute "k" is .*, which does not fit the type that the code asks for'):
            op(x, k=value)


def test_attributes_of_32_bits_have_32_bits(bad):
    tenth = torch.tensor(0.1).double().item()  # not 0.1
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    assert bad.ohr_float32(x)[0].item() == tenth + tenth
    assert bad.ohr_float32(x, k=0.2, j=0.2)[0].item() == 2 * torch.tensor(0.2).double().item()
    assert bad.ohr_float32_rows(x)[0].item() == tenth
    assert bad.ohr_as_double_of_32(x.detach(), k=0.1)[0].item() == tenth


def test_attributes_fit_the_ops_of_a_gradient(bad):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    bad.ohr_wide(x, k=3, a=2.0).sum().backward()
    assert x.grad.tolist() == [6, 6]
    with refused(r'attribute "k" is 4294967301, which does not fit the attribute of type int32 of op "ohr_small"'):
        bad.ohr_wide(x, k=2**32 + 5).sum().backward()
    with refused(r'attribute "a" is 1e\+200, which does not fit the attribute of type float32 of op "ohr_small"'):
        bad.ohr_wide(x, a=1e200).sum().backward()


def test_bytes_of_bools(bad):
    byte = torch.tensor([0, 1, 2, 255] * 9, dtype=torch.uint8)
    c, a = byte.view(torch.bool), torch.arange(36.0) + 1
    y, *of_elements = bad.ohr_bools(c, a)
    assert torch.equal(y, torch.where(byte != 0, a, -a))
    for n, same in [of_elements, bad.ohr_bool_rows(c.view(4, 9)), bad.ohr_bool_views(c)]:
        assert torch.equal(n.flatten(), (byte != 0).int())
        assert torch.equal(same.flatten().view(torch.uint8), (byte != 0).to(torch.uint8))


KERNEL = '#include "oneop/op.h"\nusing namespace oneop;\nOP("f(Tensor x) -> Tensor y").same_shape().kernel<float>('


@pytest.mark.parametrize(
    "kernel, text",
    [
        ("[](auto x, auto y) { y[0] = x(0, 0, 0); }", "write const auto m = oneop::view<2>(x) and then m(i, j)"),
        ("[](auto x, auto y) { y[0] = x(); }", "write const auto m = oneop::view<2>(x) and then m(i, j)"),
        ("[](auto x, auto y) { y[0] = x(0); }", "an auto view has any number of axes, so indices need the number"),
        ("[](View<const float, 2> x, auto y) { y[0] = x(0); }", "give m(i, j) as many indices as the view has axes"),
        ("[](auto x, auto y) { y[0] = view<2>(x)(0, 0, 0); }", "give m(i, j) as many indices as the view has axes"),
    ],
)
def test_indices_are_counted_by_the_compiler(tmp_path, kernel, text):
    (tmp_path / "f.cpp").write_text(f"{KERNEL}{kernel});\n")
    compiler = find_cxx()
    command = [*compiler.command, *default_flags(compiler), "-fsyntax-only", f"-I{INCLUDE}", str(tmp_path / "f.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and text in done.stderr, done.stderr


@pytest.mark.parametrize("name, args", [("set", ()), ("shape", ()), ("items", ([None],)), ("items", ([None, None],))])
def test_a_dtype_of_no_input(bad, name, args):
    with refused(r'no input is given that output "y" could take its dtype from\n  give one, or name a dtype in .infer'):
        getattr(bad, f"ohr_no_{name}")(*args)
    given = torch.ones(2)
    assert getattr(bad, f"ohr_no_{name}")([given] if args else given).dtype == torch.float32
