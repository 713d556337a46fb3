"""Op modules: folders with a definition, an API and kernels."""

import textwrap

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import BuildError, KernelNotFoundError, LoadError, RegistrationError

CPP_DEF = """
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

REGISTER_USER_OP("user_relu_forward")
  .Attr<std::string>("device_sub_tag", "py")
  .Attr<float>("slope", 0.0)
  .Input("x")
  .Output("y")
  .SetTensorDescInferFn([](user_op::InferContext *ctx) -> Maybe<void> {
    *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
    *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
    return Maybe<void>::Ok();
  });

REGISTER_USER_OP("user_relu_backward")
  .Input("y")
  .Input("dy")
  .Output("dx")
  .Attr<std::string>("device_sub_tag", "py")
  .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
    *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("dy", 0);
    return Maybe<void>::Ok();
  });

REGISTER_USER_OP_GRAD("user_relu_forward")
  .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
    const auto name = ctx->FwOp().op_name() + "_grad";
    ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName("user_relu_backward")
          .InputBind("y", ctx->FwOp().output("y", 0))
          .InputBind("dy", ctx->FwOp().output_grad("y", 0))
          .Output("dx")
          .Build();
    });
    ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &name]() -> const std::string& {
      return ctx->GetOp(name).output("dx", 0);
    });
  });

}  // namespace
}  // namespace oneflow
"""
PY_API = """
import oneop as flow

def user_relu_forward(x):
    op = flow.user_op_builder("myrelu").Op("user_relu_forward").Input("x", [x]).Output("y").Build()
    return op.InferAndTryRun().SoleOutputBlob()
"""
PY_KERNEL = """
import numpy as np

def forward(args):
    (x,) = args
    return (x > 0) * x

def backward(args):
    (y, dy) = args
    return (y > 0) * dy
"""
PY_DEF = """
import oneop

forward = oneop.define("user_relu_forward(Tensor x) -> Tensor y", infer="elementwise")
backward = oneop.define("user_relu_backward(Tensor y, Tensor dy) -> Tensor dx", infer="elementwise")

@forward.register_grad
def grad(ctx, dy):
    return backward(ctx.y, dy)
"""


@pytest.fixture
def folder(tmp_path):
    """A function that writes a module and returns the folder it is in; it is read-only then."""

    def write(**files):
        module = tmp_path / "user_relu"
        module.mkdir(exist_ok=True)
        module.chmod(0o755)
        for ending, text in files.items():
            suffix = ".cpp" if ending.startswith("cpp") else ".py"
            (module / f"user_relu_{ending}{suffix}").write_text(textwrap.dedent(text))
        module.chmod(0o555)
        return tmp_path

    yield write
    if (tmp_path / "user_relu").exists():
        (tmp_path / "user_relu").chmod(0o755)


def check_relu(relu):
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = relu(x)
    torch.testing.assert_close(y.detach() + 0.0, torch.tensor([0.0, 2.0]))
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([0.0, 1.0]))


def test_step_by_step(folder):
    path = folder(cpp_def=CPP_DEF, py_api=PY_API, py_kernel=PY_KERNEL)
    module = oneop.experimental.custom_op_module("user_relu", str(path))
    assert module.py_api().cpp_def().py_kernel().build_load() is module
    check_relu(module.api.user_relu_forward)
    kernel = oneop.get_op("user_relu_forward").kernels[0]
    assert kernel.language == "numpy" and kernel.others == ('device_sub_tag == "py"',)
    assert kernel.source.file == str(path / "user_relu" / "user_relu_py_kernel.py")


def test_the_working_folder_is_the_default(folder, monkeypatch):
    monkeypatch.chdir(folder(cpp_def=CPP_DEF, py_api=PY_API, py_kernel=PY_KERNEL))
    module = oneop.experimental.custom_op_module("user_relu")
    check_relu(module.py_api().cpp_def().py_kernel().build_load().api.user_relu_forward)


def test_at_once_and_the_folder_stays_as_it_was(folder):
    path = folder(cpp_def=CPP_DEF, py_api=PY_API, py_kernel=PY_KERNEL) / "user_relu"
    before = {file.name: file.stat().st_mtime_ns for file in path.iterdir()}
    module = oneop.load_module(path)
    check_relu(module.api.user_relu_forward)
    assert {file.name: file.stat().st_mtime_ns for file in path.iterdir()} == before
    built = module.library.path
    assert oneop.load_module(path).library.path == built  # from the cache


def test_a_definition_in_python(folder):
    path = folder(**{"def": PY_DEF, "py_kernel": PY_KERNEL})
    module = oneop.load_module(path / "user_relu")
    assert sorted(vars(module.api)) == ["user_relu_backward", "user_relu_forward"]
    check_relu(module.api.user_relu_forward)
    again = oneop.experimental.custom_op_module("user_relu", path).py_def().py_kernel().build_load()
    assert again.name == "user_relu"
    check_relu(oneop.ops.user_relu_forward)


def test_a_changed_kernel_is_used(folder):
    files = {"def": PY_DEF, "py_kernel": PY_KERNEL}
    oneop.load_module(folder(**files) / "user_relu")
    changed = "def forward(args):\n    return args[0] + args[0]\n"
    oneop.load_module(folder(**files | {"py_kernel": changed}) / "user_relu")
    assert oneop.ops.user_relu_forward(torch.ones(1)).item() == 2


def test_attributes(folder):
    kernel = """
    def forward(args, attrs):
        (x,) = args
        assert attrs["device_sub_tag"] == "py"
        return x * x.dtype.type(attrs["slope"])
    """
    oneop.load_module(folder(cpp_def=CPP_DEF, py_kernel=kernel) / "user_relu")
    assert oneop.ops.user_relu_forward(torch.ones(1), slope=3.0).item() == 3


def test_another_sub_tag_means_another_kernel(folder):
    oneop.load_module(folder(cpp_def=CPP_DEF, py_kernel=PY_KERNEL) / "user_relu")
    with pytest.raises(KernelNotFoundError, match='does not hold: device_sub_tag == "py"'):
        oneop.ops.user_relu_forward(torch.ones(1), device_sub_tag="")


def test_the_kernel_gets_a_tuple_of_arrays(folder):
    kernel = """
    import numpy as np

    def forward(args):
        assert type(args) is tuple and type(args[0]) is np.ndarray
        return [args[0]]
    """
    oneop.load_module(folder(**{"def": PY_DEF, "py_kernel": kernel}) / "user_relu")
    np.testing.assert_array_equal(oneop.ops.user_relu_forward(torch.arange(3.0)).numpy(), np.arange(3.0))


def test_what_is_missing(folder, tmp_path):
    with pytest.raises(LoadError, match=r"the folder .*no_such is not there"):
        oneop.experimental.custom_op_module("no_such", tmp_path)
    path = folder(py_kernel=PY_KERNEL)
    module = oneop.experimental.custom_op_module("user_relu", path)
    with pytest.raises(LoadError, match=r"the folder has: user_relu_py_kernel.py"):
        module.cpp_def()
    with pytest.raises(LoadError, match=r"call .py_api\(\) before .api"):
        module.api  # noqa: B018
    with pytest.raises(LoadError, match=r"nothing in .* defines its ops"):
        oneop.load_module(path / "user_relu")
    with pytest.raises(NotImplementedError, match="run on the cpu only"):
        module.gpu_kernel()
    with pytest.raises(RegistrationError, match='there is no op "user_relu_forward"'):
        module.py_kernel().build_load()
    with pytest.raises(RegistrationError, match="neither forward"):
        oneop.load_module(folder(**{"def": PY_DEF, "py_kernel": "x = 1"}) / "user_relu")


def test_errors_keep_their_place(folder):
    with pytest.raises(BuildError, match=r"user_relu_cpp_def.cpp"):
        oneop.load_module(folder(cpp_def="int main( {", py_kernel=PY_KERNEL) / "user_relu")
