"""Ops that carry their package: two packages with the same names in one process, and two versions of one package."""

import shutil
from pathlib import Path

import pytest
import torch

import oneop
from oneop._build.library import build
from oneop.errors import ArgumentError, LoadError, OpNotFoundError
from oneop.registry import isolated

SOURCE = r"""
#include "oneflow/core/framework/framework.h"
using namespace oneflow;

template <int factor>
struct Times final : user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    double* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<double>();
    FOR_RANGE(int64_t, i, 0, x->shape().elem_cnt()) { y[i] = factor * x->dptr<double>()[i]; }
  }
};
#define DEFINE(name) \
  REGISTER_USER_OP(name).Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
DEFINE("scaled");
DEFINE("scaled_grad");
REGISTER_USER_KERNEL("scaled").SetCreateFn<Times<FACTOR>>().SetIsMatchedHob(user_op::HobTrue());
REGISTER_USER_KERNEL("scaled_grad").SetCreateFn<Times<FACTOR>>().SetIsMatchedHob(user_op::HobTrue());
REGISTER_USER_OP_GRAD("scaled").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  ctx->DefineOp("dx", [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("scaled_grad").InputBind("x", ctx->FwOp().output_grad("y", 0)).Output("y").Build();
  });
  ctx->FwOp().InputGradBind({"x", 0}, [&] { return ctx->GetOp("dx").output("y", 0); });
});
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A library that doubles and one that triples, both with the op "scaled", as two packages ship them."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "scaled.cpp").write_text(SOURCE)
    paths = {}
    for name, factor in (("twice", 2), ("thrice", 3)):
        (folder / name).mkdir()
        made = build("scaled", [folder / "scaled.cpp"], defines={"FACTOR": factor})
        paths[name] = Path(shutil.copyfile(made.path, folder / name / "ops.so"))
    return paths


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def value_and_gradient(op):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = op(x)
    y.sum().backward()
    return y.tolist()[0], x.grad.tolist()[0]


def test_two_packages_with_the_same_op(files):
    twice, thrice = (oneop.load(files[name], package=name) for name in ("twice", "thrice"))
    assert twice.ops == ("twice__scaled", "twice__scaled_grad") and twice.package == "twice"
    assert value_and_gradient(oneop.ops.twice.scaled) == (2, 2)
    assert value_and_gradient(oneop.ops.thrice.scaled) == (3, 3)  # the gradient's op too is the package's own
    assert value_and_gradient(thrice.scaled) == (3, 3)
    assert value_and_gradient(torch.ops.oneop.twice__scaled) == (2, 2)
    compiled = torch.compile(
        lambda x: oneop.ops.twice.scaled(x) + thrice.scaled(x), backend="aot_eager", fullgraph=True
    )
    assert value_and_gradient(compiled) == (5, 5)
    with pytest.raises(OpNotFoundError) as caught:
        oneop.ops.scaled  # noqa: B018
    assert str(caught.value) == (
        'op "scaled" is in several packages: thrice twice\n  say which one you mean: oneop.ops.packages.thrice.scaled'
    )


def test_short_names_where_they_are_unambiguous(files):
    oneop.load(files["twice"], package="twice")
    assert oneop.ops.scaled is oneop.ops.twice.scaled is oneop.ops.packages.twice.scaled
    assert oneop.get_op("scaled").name == "twice__scaled"
    oneop.load(files["thrice"])  # an op of this very name comes first
    assert value_and_gradient(oneop.ops.scaled) == (3, 3)
    assert value_and_gradient(oneop.ops.twice.scaled) == (2, 2)


def test_what_a_package_lists(files):
    library = oneop.load(files["twice"], package="twice")
    assert dir(oneop.ops.twice) == ["scaled", "scaled_grad"] and "twice" in dir(oneop.ops.packages)
    assert repr(oneop.ops.twice) == "<ops of package twice: scaled, scaled_grad>"
    assert "scaled" in dir(library)
    for ask, text in [
        (lambda: oneop.ops.twice.other, 'package "twice" has no op "other"; it has: scaled, scaled_grad'),
        (lambda: library.other, 'library "ops" has no op "other"; it has: scaled, scaled_grad'),
        (lambda: oneop.ops.packages.nobody, 'no package "nobody" with ops is loaded; there are: '),
    ]:
        with pytest.raises(AttributeError) as caught:
            ask()
        assert str(caught.value).startswith(text)


def test_two_versions_of_one_package(files):
    oneop.load(files["twice"], package="pack")
    assert oneop.load(files["twice"], package="pack").package == "pack"  # the same again
    with pytest.raises(LoadError) as caught:
        oneop.load(files["thrice"], package="pack")
    assert str(caught.value) == (
        'package "pack" is loaded already, from another file\n'
        f"  loaded: {files['twice']}\n"
        f"  asked for: {files['thrice']}\n"
        "  a process has one version of a package; install one of them only, or load one under another name"
    )
    assert value_and_gradient(oneop.ops.pack.scaled) == (2, 2)


def test_one_file_in_two_packages(files):
    oneop.load(files["twice"], package="left")
    oneop.load(files["twice"], package="right")
    assert value_and_gradient(oneop.ops.left.scaled) == value_and_gradient(oneop.ops.right.scaled) == (2, 2)


@pytest.mark.parametrize("package", ["a-b", "a__b", "1a", "a.b", None])
def test_names_of_packages(files, package):
    with pytest.raises(ArgumentError) as caught:
        oneop.load(files["twice"], package=package)
    assert str(caught.value) == (
        f"load: package is an identifier without two underscores in a row, as my_ops; found {package!r}"
    )
