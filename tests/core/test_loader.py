"""Loading libraries: once, again, rebuilt, wrong."""

import copy
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import oneop
from oneop import sysconfig
from oneop._build.library import abi_version
from oneop.errors import AbiError, LoadError

PLAIN_C = Path(__file__).parent / "sources" / "plain_c.c"
TIMES = """
    class Times final : public user_op::OpKernel {
      void Compute(KernelComputeContext* ctx) const override {
        for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<float>(ctx, "y")[i] = BY * In<float>(ctx, "x")[i]; }
      }
    };
    REGISTER_USER_OP("i_times").Input("x").Output("y").NoGrad()%s.SetTensorDescInferFn(Same);
    REGISTER_USER_KERNEL("i_times").SetCreateFn<Times>().SetIsMatchedHob(ON_CPU);
"""


def compile_c(path, *flags, source=PLAIN_C):
    command = ["gcc", "-shared", "-fPIC", "-O1", f"-I{sysconfig.get_include()}", *flags, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def times(n):
    return oneop.ops.i_times(torch.ones(1)).item() == n


def test_a_library_in_plain_c(isolated, tmp_path):
    library = oneop.load(compile_c(tmp_path / "plain.so"))
    assert library.ops == ("plain_c_relu", "plain_c_relu_grad") and library.name == "plain"
    x = torch.tensor([-2.0, 3.0], requires_grad=True)
    y = library.plain_c_relu(x, alpha=0.5)
    y.sum().backward()
    assert y.tolist() == [-1, 3] and x.grad.tolist() == [0.5, 1]
    with pytest.raises(oneop.errors.OpValueError, match=r"alpha must not be negative\n  at .*plain_c.c:"):
        library.plain_c_relu(x, alpha=-1)


def test_loading_twice_is_harmless(inline, tmp_path):
    built = inline(TIMES % "", build_only=True, defines={"BY": 3})
    first = oneop.load(built)
    assert oneop.load(built) is first
    assert oneop.load(built.path) is first  # by path, and from a copy of it
    assert oneop.config.load_library(shutil.copy(built.path, tmp_path / "copy.so")) is first
    (tmp_path / "link.so").symlink_to(built.path)
    assert oneop.load(tmp_path / "link.so") is first
    assert times(3)


def test_a_rebuilt_library_replaces_itself(inline):
    inline(TIMES % "", defines={"BY": 3})
    held = oneop.ops.i_times
    assert times(3)
    inline(TIMES % "", defines={"BY": 4})
    assert times(4) and held(torch.ones(1)) == 4 and held is oneop.ops.i_times
    inline(TIMES % "", defines={"BY": 3})  # back again
    assert times(3)
    assert len(oneop.get_op("i_times").kernels) == 1


def test_with_another_schema(inline):
    inline(TIMES % "", defines={"BY": 3})
    held = oneop.ops.i_times
    held(torch.ones(1))
    inline(TIMES % '.Attr<float>("more", 1)', defines={"BY": 'ctx->Attr<float>("more")'})
    assert oneop.ops.i_times(torch.ones(1), more=7.0) == 7
    assert held(torch.ones(1), more=8.0) == 8
    assert "float more=1" in str(torch.ops.oneop.i_times.default._schema)
    inline((TIMES % "").replace('.Input("x")', '.Input("x").Input("z")'), defines={"BY": 5})
    assert oneop.ops.i_times(torch.ones(1), torch.ones(1)) == 5
    with pytest.raises(oneop.errors.ArgumentError, match='input "z": expected exactly 1 tensor, found none'):
        held(torch.ones(1))


def test_rebuilt_at_the_same_path(inline, tmp_path):
    path = tmp_path / "ops.so"
    for by in (3, 4, 3):
        built = inline(TIMES % "", build_only=True, defines={"BY": by})
        path.unlink(missing_ok=True)
        shutil.copy(built.path, path)
        oneop.config.load_library(path)
        assert times(by)


def test_a_gradient_from_before_a_schema_change_is_refused(inline):
    source = """
        REGISTER_USER_OP("i_op").Input("x").Output("y").SetTensorDescInferFn(Same);
        REGISTER_USER_OP("i_back").Input("x").Output("y")MORE.SetTensorDescInferFn(Same);
        KERNEL(Copy, { for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i]; } })
        REGISTER_FOR("i_op", Copy, float, "x")
        REGISTER_FOR("i_back", Copy, float, "x")
        REGISTER_USER_OP_GRAD("i_op").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
          ctx->DefineOp("g", [&](BackwardOpBuilder& builder) {
            return builder.OpTypeName("i_back").InputBind("x", ctx->FwOp().output_grad("y", 0)).Output("y").Build();
          });
          ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("g").output("y", 0); });
        });
    """
    inline(source.replace("MORE", ""))
    x = torch.ones(3, requires_grad=True)
    y = oneop.ops.i_op(x)
    inline(source.replace("MORE", '.Attr<std::string>("s", "t")'))
    with pytest.raises(RuntimeError, match='backward op "i_back" was redefined with other arguments after the forward'):
        y.sum().backward()
    oneop.ops.i_op(x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_reloading_after_isolation(inline):
    built = inline(TIMES % "", build_only=True, defines={"BY": 3})
    for _ in range(2):
        with oneop.registry.isolated():
            oneop.load(built)
            assert times(3)
        assert "i_times" not in oneop.list_ops()


def test_missing_file(tmp_path):
    with pytest.raises(LoadError) as raised:
        oneop.load(tmp_path / "no.so")
    assert str(raised.value) == (
        f"cannot load the op library {tmp_path}/no.so\n  there is no such file\n"
        "  build it with oneop.build(name, sources)"
    )
    assert isinstance(raised.value, OSError)


def test_not_a_library(tmp_path):
    (tmp_path / "text.so").write_text("hello")
    with pytest.raises(LoadError) as raised:
        oneop.load(tmp_path / "text.so")
    first, second = str(raised.value).split("\n")
    assert first == f"cannot load the op library {tmp_path}/text.so"
    assert "file too short" in second or "invalid ELF header" in second


def test_a_library_of_something_else(tmp_path):
    (tmp_path / "other.c").write_text("int f(void) { return 1; }\n")
    path = compile_c(tmp_path / "other.so", source=tmp_path / "other.c")
    with pytest.raises(LoadError) as raised:
        oneop.load(path)
    assert str(raised.value) == (
        f"{path} is not an op library: it does not export oneop_plugin\n"
        '  include "oneflow/core/framework/framework.h" in one of its sources'
    )


@pytest.mark.parametrize(
    "major, advice",
    [(2, "update oneop, or rebuild the library with this one"), (0, "rebuild the library with this oneop")],
)
def test_another_abi(isolated, tmp_path, major, advice):
    path = compile_c(tmp_path / "plain.so", f"-DTEST_ABI_MAJOR={major}")
    with pytest.raises(AbiError) as raised:
        oneop.load(path)
    has = abi_version()
    built_for = f"{major}.{has.split('.')[1]}"
    assert str(raised.value) == (
        f"{path} was built with plain C for plugin ABI {built_for}, this oneop has {has}\n  {advice}"
    )
    assert "plain_c_relu" not in oneop.list_ops()
    assert oneop.load(compile_c(tmp_path / "good.so")).ops  # a good one is taken after that


def test_what_is_loaded(inline):
    library = inline(TIMES % "", defines={"BY": 3})
    assert "i_times" in dir(library) and library.i_times is oneop.ops.i_times
    assert copy.copy(library) == library and copy.deepcopy(library) == library
    with pytest.raises(AttributeError) as raised:
        library.i_time  # noqa: B018
    assert str(raised.value) == 'library "inline_ops" has no op "i_time"; it has: i_times'


def test_options_need_sources(tmp_path):
    with pytest.raises(TypeError, match=r"load\(\) takes cflags only together with sources"):
        oneop.load(tmp_path / "x.so", cflags=["-O0"])
