"""Complex tensors and attributes: kernels of views have them, other forms say so at compile time."""

import re
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import BuildError

pytestmark = pytest.mark.usefixtures("unoptimized")
OP_H = '#include "oneop/op.h"\n'
HEADER = '#include "oneflow/core/common/complex.h"\n'
SCALE = """OP("cx_scale(Tensor x, *, complex k=1-2j) -> Tensor z").same_shape()
    .kernel<std::complex<float>, std::complex<double>>([](auto x, auto z, oneop::Attrs attrs) {
      const auto k = attrs.get<std::complex<double>>("k");
      for (int64_t i = 0; i < x.numel(); ++i) {
        const std::complex<double> product = std::complex<double>(x[i]) * k;
        z[i] = {static_cast<decltype(x[i].real())>(product.real()), static_cast<decltype(x[i].real())>(product.imag())};
      }
    }).no_grad();"""


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_a_kernel_of_complex_tensors(dtype):
    library = oneop.load_inline("cx_scale", OP_H + HEADER + SCALE)
    x = torch.randn(5, dtype=dtype)
    assert library.cx_scale(x, k=2 + 1j).allclose(x * (2 + 1j))
    assert library.cx_scale(x).allclose(x * (1 - 2j))


FORMS = {"elementwise<{}>([](auto x) {{ return x; }})": "elements", "rows<{}>([](auto x, auto z) {{}})": "rows"}
DTYPES = ["std::complex<float>", "float, std::complex<double>", "float(std::complex<float>)"]


@pytest.mark.parametrize("header", ["#include <complex>\n", HEADER])
def test_functors_compute_with_numbers(header):
    """One source with an op for each form and dtypes: the compiler says it of each of them."""
    ops = [(form.format(dtypes), word) for form, word in FORMS.items() for dtypes in DTYPES]
    text = "".join(
        f'OP("cx_functor{number}(Tensor x) -> Tensor z").same_shape().{form}.no_grad();\n'
        for number, (form, _) in enumerate(ops)
    )
    said = r"functors of (\w+) compute with numbers; for complex tensors write"
    with pytest.raises(BuildError, match=said) as caught:
        oneop.load_inline("cx_functor", OP_H + header + text)
    log = Path(str(caught.value).partition("\n  log: ")[2]).read_text()
    assert re.findall(f"error: static.*{said}", log) == [word for _, word in ops]
    assert all(re.search(rf"cx_functor\S*:{line}:", log) for line in range(3, 3 + len(ops)))


def test_what_lacks_the_header_names_it():
    without = OP_H + "#include <complex>\n"
    with pytest.raises(
        BuildError, match=r"no attribute is read as this type; .* write #include \"oneflow/core/common/complex\.h"
    ):
        oneop.load_inline(
            "cx_attr",
            without + 'OP("cx_attr(Tensor x, *, complex k) -> Tensor z").same_shape().kernel<float>('
            '[](auto x, auto z, oneop::Attrs a) { z[0] = float(a.get<std::complex<double>>("k").real()); });',
        )
    with pytest.raises(
        BuildError, match=r"no tensor has elements of this type; .* write #include \"oneflow/core/common/complex\.h"
    ):
        oneop.load_inline(
            "cx_views",
            without
            + 'OP("cx_views(Tensor x) -> Tensor z").same_shape().kernel<std::complex<float>>([](auto x, auto z) {});',
        )
