"""`oneop check --hosts`: one library in every host that is installed."""

import pytest

torch = pytest.importorskip("torch")

from host_cases import library  # noqa: E402

import oneop  # noqa: E402
from oneop.testing.checker import choose_families, run_check  # noqa: E402
from oneop.testing.subject import Hints  # noqa: E402

ASKS_HOST = """
REGISTER_USER_OP("hosts_asks").Input("x").Output("y").NoGrad().SetTensorDescInferFn(
    [](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
      *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
      return Maybe<void>::Ok();
    });
class AsksHost final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const auto where = reinterpret_cast<uintptr_t>(ctx->oneop_frame_ptr()->host) >> 3;
    for (int64_t i = 0; i < y->shape().elem_cnt(); ++i) {
      y->mut_dptr<float>()[i] = static_cast<float>(where & 0xfffff);
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("hosts_asks").SetCreateFn<AsksHost>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) & (user_op::HobDataType("x", 0) == DataType::kFloat));
"""


def outcome_of(op, examples=8):
    (outcome,) = run_check(op, Hints(), only=["hosts"], examples=examples).outcomes
    return outcome


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("leaky_relu", "leaky_relu"),
        ("op_h", "oph_softmax"),
        ("op_h", "oph_swish"),
        ("op_h", "oh_clip"),
        ("op_h", "oph_add_"),
        ("host_ops", "host_sine"),
        ("swiglu", "swiglu"),
    ],
)
def test_the_same_bits_everywhere(name, op):
    oneop.load(library(name), package="checked")  # other tests load other builds of these ops
    outcome = outcome_of(f"checked__{op}")
    assert outcome.status == "passed" and outcome.cases > 0, outcome


def test_it_is_run_when_it_is_asked_for():
    assert "hosts" not in choose_families(None, ()) and choose_families("hosts", ()) == ["hosts"]


def test_a_difference_is_told():
    with oneop.registry.isolated():
        text = f'#include "oneflow/core/framework/framework.h"\nnamespace oneflow {{{ASKS_HOST}}}\n'
        oneop.load_inline("hosts_asks", text)
        outcome = outcome_of("hosts_asks")
    assert outcome.status == "failed"
    assert "numpy and torch give different bits: result 0" in outcome.failure.message


def test_ops_in_python_are_left_out():
    with oneop.registry.isolated():
        oneop.define("hosts_python(Tensor x) -> Tensor y", infer="elementwise").register_kernel("cpu")(lambda x: x)
        assert "other hosts load libraries alone" in outcome_of("hosts_python").note


def test_the_command(capsys):
    from oneop.cli.main import main

    path = str(library("leaky_relu").path)
    assert main(["check", "--hosts", path, "--examples", "4"]) == 0
    assert capsys.readouterr().out.count("passed   hosts") == 3
