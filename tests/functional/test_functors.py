"""What functors may use: calls in place, promotion of types, sequences, random generators."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import oneop

HERE = Path(__file__).parent / "more"


@pytest.fixture(scope="module", autouse=True)
def library():
    return oneop.load(oneop.build("more_functors", sources=[HERE / "functors.cpp"], functional=[HERE / "api.yaml"]))


def test_the_description_is_the_docstring():
    assert oneop._C.more_twice.__doc__ == "Twice x.\n\nmore_twice: Tensor (Tensor x)"


def test_in_place():
    x = torch.randn(6)
    wanted, pointer = 2 * x, x.data_ptr()
    y = oneop._C.more_twice_(x)
    assert y is x and x.data_ptr() == pointer
    torch.testing.assert_close(x, wanted)


def test_in_place_on_a_view_and_with_gradients():
    leaf = torch.randn(4, 3, requires_grad=True)
    x = leaf * 1
    oneop._C.more_twice_(x[1])
    (x * torch.arange(12.0).reshape(4, 3)).sum().backward()
    wanted = torch.arange(12.0).reshape(4, 3)
    wanted[1] *= 2
    torch.testing.assert_close(leaf.grad, wanted)
    with pytest.raises(RuntimeError, match="a leaf that requires a gradient cannot be changed in place"):
        oneop._C.more_twice_(leaf)


def test_what_cannot_be_written_in_place():
    out = torch.empty(2, 3)
    assert oneop._C.more_twice_into(torch.ones(2, 3), out) is out
    assert out.eq(2).all()
    with pytest.raises(RuntimeError) as caught:
        oneop._C.more_twice_into(torch.ones(3), out)
    assert (
        'op "more_twice": output "y" cannot be written in place: the tensor given is a kFloat of shape (2,3), '
        "the result a kFloat of shape (3)"
    ) in str(caught.value)
    with pytest.raises(RuntimeError, match=r"the tensor given is a kDouble of shape \(3\), the result a kFloat"):
        oneop._C.more_twice_into(torch.ones(3), torch.empty(3, dtype=torch.float64))


DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
]  # fmt: skip


@pytest.mark.parametrize("first", DTYPES)
def test_promotion_is_that_of_torch(first):
    for second in DTYPES:
        found = oneop._C.more_promoted(torch.ones(2, dtype=first), torch.ones(2, dtype=second))
        assert [x.dtype for x in found] == [torch.promote_types(first, second)] * 2


def test_promotion_to_a_lowest_type():
    x, y = torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.float64)
    found = oneop._C.more_promoted(x, y, common=False, lowest=torch.float32)
    assert [one.dtype for one in found] == [torch.float32, torch.float64]
    assert [one.dtype for one in oneop._C.more_promoted(x, y, common=False)] == [torch.int32, torch.float64]


def test_sequences():
    x, y = torch.randn(5), torch.randn(5)
    torch.testing.assert_close(oneop._C.more_sequence(x, y, False), 2 * (x + y))
    torch.testing.assert_close(oneop._C.more_sequence(x, y, True), 4 * (x + y))


def test_random_generators():
    p = torch.full((100,), 0.5)
    generator = torch.Generator().manual_seed(7)
    found = oneop._C.more_noise(p, generator=generator)
    torch.testing.assert_close(found, torch.bernoulli(p, generator=torch.Generator().manual_seed(7)))
    assert not torch.equal(oneop._C.more_noise(p, generator=generator), found)
    torch.manual_seed(3)
    found = oneop._C.more_noise(p)
    torch.manual_seed(3)
    torch.testing.assert_close(found, torch.bernoulli(p))


def test_seeds_and_bits():
    generator = torch.Generator()
    first = oneop._C.more_draw(generator, 11)
    assert generator.initial_seed() == 11
    second = oneop._C.more_draw(generator)
    assert first != second
    assert [oneop._C.more_draw(generator, 11), oneop._C.more_draw(generator)] == [first, second]
    with pytest.raises(TypeError) as caught:
        oneop._C.more_draw(5)
    assert "argument 'generator' must be torch.Generator, not <class 'int'>" in str(caught.value)


def test_layouts_and_memory_formats():
    assert oneop._C.more_kinds() == "0 1"
    assert oneop._C.more_kinds(torch.sparse_coo, torch.channels_last) == "1 2"
    with pytest.raises(TypeError, match=r"argument 'format' must be torch.memory_format, not <class 'int'>"):
        oneop._C.more_kinds(torch.strided, 2)


def test_axes_from_the_end():
    x = torch.empty(2, 3, 4)
    assert [oneop._C.more_axis(x, dim) for dim in (0, 2, -1, -3)] == [0, 2, 2, 0]
    with pytest.raises(RuntimeError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        oneop._C.more_axis(x, 3)


def test_a_function_from_before_the_compiler_was_imported(library):
    """Programs keep functions: `from oneop._C import f` comes before torch.compile imports its compiler."""
    code = f"""
import sys, torch, oneop
oneop.load({str(library.path)!r})
kept = oneop._C.more_twice
assert "torch._dynamo" not in sys.modules
x = torch.ones(3)
compiled = torch.compile(lambda x: kept(x), backend="eager", fullgraph=True)
assert torch.equal(compiled(x), kept(x))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
