"""`oneop bench`: what is measured, saved, compared and drawn. Nothing here depends on how fast the machine is."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop.benchmark import bench, compare
from oneop.benchmark.plot import svg
from oneop.benchmark.result import BenchResult, load, time_text
from oneop.cli.main import main
from oneop.errors import ArgumentError
from oneop.registry import isolated


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


@pytest.fixture
def op():
    op = oneop.define("bench_square(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: x * x)
    op.register_kernel("cpu", dtypes=torch.float32, priority=-1)(lambda x: np.square(x))
    op.register_grad(lambda ctx, dy: 2 * ctx.x * dy)
    oneop.testing.reference(op)(torch.square)
    return op


def test_contenders_and_match(op):
    result = bench(op, sizes=(10, 1000), seconds=0.01)
    assert result.sizes() == [10, 1000] and result.ok
    here = Path(__file__).name
    forward = {row.what: row for row in result.rows if row.direction == "forward" and row.elements == 10}
    assert {name.split(":")[0] for name in forward} == {"op", "reference", f"numpy {here}", "copy"}
    assert len(forward) == 5
    assert forward["op"].matches and forward["reference"].matches is None
    assert forward["op"].nbytes == 80 and forward["op"].bandwidth > 0
    backward = {row.what for row in result.rows if row.direction == "backward"}
    assert backward == {"op", "reference", "copy"}
    assert len(result.table()) == len(result.rows)


def test_wrong_result_is_marked(op):
    oneop.testing.reference(op)(lambda x: x)
    result = bench(op, sizes=(10,), seconds=0.01)
    assert not result.ok
    assert "✗ differs" in result.table()[0]


def test_a_reference_of_another_dtype_does_not_match(op):
    oneop.testing.reference(op)(lambda x: op(x).double())
    assert not bench(op, sizes=(10,), seconds=0.01).ok


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_match_a_reference_of_several_ops(dtype):
    op = oneop.define("bench_low(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", language="torch")(lambda x: (x.float() / (1 + x.float().abs())).to(x.dtype))
    assert bench(op, reference=lambda x: x / (1 + x.abs()), sizes=(1000,), dtype=dtype, seconds=0.01).ok
    assert not bench(op, reference=lambda x: x / (2 + x.abs()), sizes=(1000,), dtype=dtype, seconds=0.01).ok
    assert not bench(op, reference=lambda x: op(x).float(), sizes=(1000,), dtype=dtype, seconds=0.01).ok


def test_16_bits_against_itself():
    op = oneop.define("bench_narrow(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", language="torch", dtypes=(torch.bfloat16, torch.float32))(lambda x: x * 2)
    assert bench(op, reference=op, sizes=(100,), dtype=torch.bfloat16, seconds=0.01).ok


def test_products_count_operations():
    op = oneop.define("bench_mm(Tensor x, Tensor w) -> Tensor y", infer="a k, k b -> a b", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x, w: x @ w)
    result = bench(op, reference=torch.mm, sizes=(64,), seconds=0.01)
    assert result.find("forward", "op", 64).flops == 2 * 8**3
    assert result.machine["flops_per_second"] > 1e6


def test_declared_operations_go_first():
    op = oneop.define(
        "bench_counted(Tensor x, Tensor w) -> Tensor y", infer="a k, k b -> a b", flops=lambda x, w: 7 * x.numel()
    )
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x, w: x @ w)
    op.register_grad(lambda ctx, dy: (op(dy, ctx.w.T), op(ctx.x.T, dy)))
    for reference in (None, torch.mm):
        result = bench(op, reference=reference, sizes=(64,), seconds=0.01)
        assert result.find("forward", "op", 64).flops == 7 * 64
        assert result.find("backward", "op", 64).flops == 14 * 64


def test_operations_of_a_reference_backward():
    op = oneop.define("bench_uncounted(Tensor x, Tensor w) -> Tensor y", infer="a k, k b -> a b")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x, w: x @ w)
    op.register_grad(lambda ctx, dy: (op(dy, ctx.w.T), op(ctx.x.T, dy)))
    result = bench(op, reference=torch.mm, sizes=(64,), seconds=0.01)
    assert result.find("backward", "op", 64).flops == 2 * 2 * 8**3


def test_saved_and_compared(op, tmp_path, capsys):
    result = bench(op, sizes=(10,), seconds=0.01)
    result = replace(result, rows=tuple(replace(row, spread=0.0) for row in result.rows))  # as on a quiet machine
    result.save(tmp_path / "one.json")
    assert load(tmp_path / "one.json")[0] == BenchResult(**{**vars(result), "rows": result.rows})
    slower = [replace(row, seconds=row.seconds * 10) for row in result.rows]
    lines = compare([result], [BenchResult(**{**vars(result), "rows": tuple(slower)})])
    assert lines[0][-2:] == ["10.00 x", "slower"]
    assert main(["bench", "--compare", str(tmp_path / "one.json"), str(tmp_path / "one.json")]) == 0
    assert "1.00 x" in capsys.readouterr().out
    (tmp_path / "other.json").write_text(json.dumps({"format": 0}))
    with pytest.raises(ArgumentError, match="is no result of `oneop bench --save`"):
        load(tmp_path / "other.json")


def test_plot_is_svg(op):
    root = ET.fromstring(svg(bench(op, sizes=(10, 100), seconds=0.01)))
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 5
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 10


def test_times_have_a_unit():
    assert [time_text(seconds) for seconds in (2.0, 2e-3, 2e-6, 2e-9)] == ["2 s", "2 ms", "2 us", "2 ns"]
    assert time_text(999.9e-6) == "1 ms"


def test_a_device_without_kernels(op):
    with pytest.raises(ArgumentError, match='op "bench_square": has no kernel for cuda\n  expected one of: cpu'):
        bench(op, device="cuda")


def test_every_output_is_compared():
    op = oneop.define("bench_two(Tensor x) -> (Tensor y, Tensor z)", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: (x + 1, x + 2))
    assert bench(op, reference=lambda x: (x + 1, x + 2), sizes=(10,), seconds=0.01).ok
    assert not bench(op, reference=lambda x: (x + 1, x + 3), sizes=(10,), seconds=0.01).ok
    assert not bench(op, reference=lambda x: x + 1, sizes=(10,), seconds=0.01).ok


def test_the_dtype_that_is_asked_for(op):
    other = oneop.define("bench_any(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    other.register_kernel("cpu", language="torch")(lambda x: x + 1)
    result = bench(other, sizes=(10,), dtype=torch.float16, seconds=0.01)
    assert result.dtype == "float16" and result.find("forward", "op", 10).nbytes == 2 * 2 * 10
    with pytest.raises(
        ArgumentError, match='op "bench_square": takes no float64 input on cpu\n  expected one of: float32'
    ):
        bench(op, dtype=torch.float64)
