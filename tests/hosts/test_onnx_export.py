"""Models with ops of libraries, exported by torch and run by ONNX Runtime: the same bits as in torch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")

from host_cases import library  # noqa: E402

import oneop  # noqa: E402
import oneop.onnx  # noqa: E402
from oneop.errors import MissingDependencyError  # noqa: E402

LIBRARIES = ("leaky_relu", "op_h", "arguments", "forms")
pytestmark = pytest.mark.filterwarnings("ignore")  # the exporter's own


class Model(torch.nn.Module):
    def forward(self, x, mask):
        ops = oneop.ops
        y = ops.exported__leaky_relu(x, alpha=0.1)
        y, _ = ops.exported__oph_softmax(y)
        _, squares = ops.exported__t_parts(y)
        total = ops.exported__oph_total([y, x], None, weights=[2, -1])
        several = ops.exported__t_multiples(total, output_counts=[3, 1])
        chosen = ops.exported__oph_choose(mask, total, squares)
        clipped = ops.exported__oh_clip(total, low=-0.1, high=None)
        scaled = [ops.exported__oh_scalar(total, k=k, j=j) for k, j in [(True, None), (1, 1.0), (2.5, 2)]]
        text = ops.exported__t_attrs(total[0], s="grün", d=0.1, ss=["a", ""], fs=[0.1], dtype=torch.float64)
        return total, squares, several[0] + several[3], chosen, clipped, *scaled, text


@pytest.fixture(scope="module")
def table():
    for name in LIBRARIES:
        oneop.load(library(name), package="exported")
    return oneop.onnx.translation_table()


def inputs_of(rows):
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, 8, generator=generator)
    return x, x > 0


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_an_exported_model_gives_the_bits_of_torch(table, tmp_path, is_dynamic):
    model, rows = Model(), 5
    shapes = ({0: "n"}, {0: "n"}) if is_dynamic else None
    program = torch.onnx.export(
        model, inputs_of(rows), dynamo=True, custom_translation_table=table, dynamic_shapes=shapes, verbose=False
    )
    program.save(tmp_path / "model.onnx")
    options = oneop.onnx.session_options([library(name) for name in LIBRARIES], num_threads=1)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", options, ["CPUExecutionProvider"])
    names = [argument.name for argument in session.get_inputs()]
    for count in (rows, 1, 9) if is_dynamic else (rows,):
        arguments = inputs_of(count)
        feeds = dict(zip(names, (argument.numpy() for argument in arguments), strict=True))
        for ours, theirs in zip(session.run(None, feeds), model(*arguments), strict=True):
            assert ours.dtype == theirs.numpy().dtype and np.array_equal(
                ours.view(np.uint8), theirs.numpy().view(np.uint8)
            )


def test_what_is_not_in_the_table(table):
    names = {target.__name__ for target in table}
    assert torch.ops.oneop.exported__leaky_relu.default in table and names
    assert torch.ops.oneop.exported__oph_add_.default not in table  # changes its input
    with oneop.registry.isolated():
        oneop.define("onnx_python(Tensor x) -> Tensor y", infer="elementwise").register_kernel("cpu")(lambda x: x)
        assert torch.ops.oneop.onnx_python.default not in oneop.onnx.translation_table()


def test_what_is_missing_is_named(monkeypatch):
    import importlib.util
    import sys

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxscript" else found(name))
    with pytest.raises(
        MissingDependencyError,
        match=r"translation_table needs what torch\.onnx\.export uses, and there is no onnxscript",
    ):
        oneop.onnx.translation_table()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingDependencyError, match="session_options needs onnxruntime, which is not installed"):
        oneop.onnx.session_options([library("leaky_relu")])
