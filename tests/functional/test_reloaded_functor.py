"""A functor is code that runs while torch traces: compiled programs follow when its library is loaded again."""

import pytest
import torch

import oneop
from oneop.registry import isolated

YAML = '- {name: "fn_reloaded", signature: "Double (Tensor x) => FnReloaded", bind_python: True}\n'
CPP = """
#include "oneflow/core/functional/functional.h"
namespace oneflow {{ namespace one {{ namespace functional {{
struct Reloaded {{
  Maybe<double> operator()(const std::shared_ptr<Tensor>& x) const {{ return {factor}; }}
}};
ONEFLOW_FUNCTION_LIBRARY(m) {{ m.add_functor<Reloaded>("FnReloaded"); }}
}}}}}}
"""


def load(folder, factor):
    (folder / "reloaded.yaml").write_text(YAML)
    (folder / "reloaded.cpp").write_text(CPP.format(factor=factor))
    oneop.load(oneop.build("fn_reloaded", [folder / "reloaded.cpp"], functional=[folder / "reloaded.yaml"]))


@pytest.mark.slow
def test_compiled_code_follows(tmp_path):
    with isolated():
        load(tmp_path, 2.0)
        compiled = torch.compile(lambda x: x * oneop._C.fn_reloaded(x), backend="aot_eager")
        x = torch.ones(2)
        assert compiled(x).tolist() == [2.0, 2.0]
        load(tmp_path, 3.0)
        assert (x * oneop._C.fn_reloaded(x)).tolist() == [3.0, 3.0]
        assert compiled(x).tolist() == [3.0, 3.0]
