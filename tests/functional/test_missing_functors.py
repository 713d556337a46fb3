"""Functions of a yaml file that have no functor: told together, and the rest of the library works."""

import pytest
import torch

import oneop
from oneop.errors import OneopError

SOURCE = """
#include "oneflow/core/functional/functional.h"
#include "oneop/op.h"
OP("mf_half(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x / 2; });
OP("mf_other(Tensor x, Tensor z) -> Tensor y").elementwise<float>([](auto x, auto z) { return x * z; });
namespace oneflow::one::functional {
struct Twice {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const { return Call("aten::add.Tensor", x, x); }
};
struct Calls {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const { return functional::MfHidden(x); }
};
// Functors that call by name what there is not, and what fails.
struct SumOf {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const int64_t& dim) const {
    return Call("aten::sum.dim_IntList", x, std::vector<int64_t>{dim}, false);
  }
};
struct CallsNone {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const { return Call("MuNone", x); }
};
ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<Twice>("MfTwice");
  m.add_functor<Calls>("MfCalls");
  m.add_functor<SumOf>("MtSum");
  m.add_functor<CallsNone>("MuCalls");
}
}  // namespace oneflow::one::functional
"""
CALLS_API = """
- {name: "mu_calls", signature: "Tensor (Tensor x) => MuCalls", bind_python: True}
- {name: "mt_sum", signature: "Tensor (Tensor x, Int64 dim) => MtSum", bind_python: True}
"""
FUNCTIONS = {
    "mf_twice": "MfTwice",
    "mf_half": "MfHalf",
    "mf_calls": "MfCalls",
    "mf_other": "MfOther",
    **{f"mf_gone_{i}": f"MfGone{i}" for i in range(12)},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is said when the library is loaded."""
    folder = tmp_path_factory.mktemp("mf")
    source, api = folder / "mf.cpp", folder / "api.yaml"
    source.write_text(SOURCE)
    lines = [
        f'- {{name: "{name}", signature: "Tensor (Tensor x) => {functor}", bind_python: True}}'
        for name, functor in FUNCTIONS.items()
    ]
    lines.append('- {name: "mf_hidden", signature: "Tensor (Tensor x) => MfHidden", bind_python: False}')
    api.write_text("\n".join(lines) + CALLS_API)
    library = oneop.build("mf", [source], functional=[api])
    with pytest.warns(UserWarning, match=r"functions that have no functor, and cannot be called: 14") as told:
        oneop.load(library)
    return told


def test_they_are_told_together(told):
    (text,) = [str(warning.message) for warning in told if "functor" in str(warning.message)]
    assert 'api.yaml:4: mf_other: no functor "MfOther"' in text
    assert 'mf_gone_0: no functor "MfGone0"' in text and "and 4 more" in text

    x = torch.ones(2)
    assert oneop._C.mf_twice(x).tolist() == [2.0, 2.0]
    assert oneop._C.mf_half(x).tolist() == [0.5, 0.5]  # derived from the op
    for call, parts in [
        (oneop._C.mf_gone_3, ['Functor was not found for "MfGone3"', "or define an op of this name", "api.yaml:8"]),
        (oneop._C.mf_other, ['it cannot be derived from op "mf_other"', 'no parameter gives its input "z"']),
        (oneop._C.mf_calls, ['Functor was not found for "MfHidden"']),
    ]:
        with pytest.raises(OneopError) as caught:
            call(x)
        for part in parts:
            assert part in str(caught.value)
        assert str(caught.value).count(f'function "{call.__name__}"') == 1


def test_a_name_that_no_library_has(told):
    with pytest.raises(OneopError, match="please check whether the functor has been registered correctly or not"):
        oneop._C.mu_calls(torch.ones(1))


def test_an_error_of_torch_names_the_function_that_called_it(told):
    """It keeps its class: what torch raises as IndexError is one."""
    assert oneop._C.mt_sum(torch.ones(2, 3), 1).tolist() == [3.0, 3.0]
    for _ in range(2):
        with pytest.raises(IndexError, match=r'Dimension out of range .*\(function "mt_sum"\)'):
            oneop._C.mt_sum(torch.ones(2), 7)
