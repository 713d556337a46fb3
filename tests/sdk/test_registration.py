"""What a library describes: ops, arguments, attributes, kernels, and that it exports one symbol."""

import subprocess

import pytest
from sdk_pieces import ABI, EXTRA, SAME, call, kernel, unit

plain_symbols = pytest.mark.skipif(any("sanitize" in flag for flag in EXTRA), reason="a sanitizer adds symbols")

RELU_OP = unit('REGISTER_USER_OP("relu").Input("in").Output("out")' + SAME + ";")
RELU_KERNEL = unit(
    """
template <DeviceType device_type, typename T>
class ReluKernel final : public user_op::OpKernel {
 public:
  ReluKernel() = default;
  ~ReluKernel() = default;

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i != in->shape().elem_cnt(); ++i) {
      out->mut_dptr<T>()[i] = std::max(in->dptr<T>()[i], T(0));
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define REGISTER_RELU_KERNEL(device, dtype)                                   \\
  REGISTER_USER_KERNEL("relu")                                                \\
      .SetCreateFn<ReluKernel<device, dtype>>()                               \\
      .SetIsMatchedHob((user_op::HobDeviceType() == device) &                 \\
                       (user_op::HobDataType("out", 0) == GetDataType<dtype>::value));
REGISTER_RELU_KERNEL(DeviceType::kCPU, float)
REGISTER_RELU_KERNEL(DeviceType::kCPU, double)
"""
)


def test_a_library_of_two_files_runs(builder, drive):
    library = builder.library(RELU_OP, RELU_KERNEL)
    script = [*call("relu", -1, 2, -3, 4, shape=(2, 2)), "run", *call("relu", -1, 2, dtype="double"), "run"]
    lines = drive(library, *script)
    assert [line for line in lines if line.startswith("out")] == ["out 2 (2,2) (2,1) 0 2 0 4", "out 3 (2) (1) 0 2"]


def test_description(builder, drive):
    lines = drive(builder.library(RELU_OP, RELU_KERNEL), "describe")
    assert lines[:4] == ["op relu ops0.cpp:4 flags=0", "  input in 1", "  output out 1", "  has infer_logical"]
    predicate = '(device_type == kCPU && data_type("out", 0) == kFloat)'
    assert lines[4:7] == [
        f"kernel relu ops1.cpp:26 priority=0 flags=0 if {predicate}",
        "  fact 1 1 - 0 : device_type == kCPU",
        '  fact 2 2 out 0 : data_type("out", 0) == kFloat',
    ]


ARITIES = unit(
    """
REGISTER_USER_OP("many").Input("a").Input("b", 5).InputWithMinimum("c", 2).OptionalInput("d").OptionalInput("e", 3)
    .OptionalInputWithMininum("f", 4).OptionalInputWithMinimum("g", 6)
    .Output("h").Output("i", 2).OutputWithMinimum("j", 3).OptionalOutput("k").OptionalOutput("l", 2)
    .OptionalOutputWithMininum("m", 2).OptionalOutputWithMinimum("n", 2).SetOutputBufferNum(1);
REGISTER_CPU_ONLY_USER_OP("cpu").Output("out");
REGISTER_NO_GRAD_USER_OP("no_grad").Output("out");
REGISTER_NO_GRAD_CPU_ONLY_USER_OP("both").Output("out").SupportNonContiguous();
"""
)


def test_arguments_and_flags(builder, drive):
    lines = drive(builder.library(ARITIES), "describe")
    words = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  ")]
    assert words[:14] == [
        "a 1", "b 5", "c 2+", "d 1 optional", "e 3 optional", "f 4+ optional", "g 6+ optional",
        "h 1", "i 2", "j 3+", "k 1 optional", "l 2 optional", "m 2+ optional", "n 2+ optional",
    ]  # fmt: skip
    flags = [line.split()[-1] for line in lines if line.startswith("op")]
    assert flags == ["flags=0", "flags=2", "flags=1", "flags=7"]


EVERY_SETTER = unit(
    """
REGISTER_USER_OP("all").Input("in").Output("out")
    .SetLogicalTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged<user_op::InferContext>)
    .SetPhysicalTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged<user_op::InferContext>)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType<user_op::InferContext>)
    .SetCheckAttrFn(user_op::CheckAttrFnUtil::NoCheck)
    .SetGetSbpFn(user_op::GetSbpFnUtil::DefaultBroadcastToBroadcast)
    .SetNdSbpInferFn([](user_op::InferNdSbpFnContext*) -> Maybe<void> { return Maybe<void>::Ok(); })
    .SetSbpSignatureInferFn([](user_op::InferSbpSignatureFnContext*) -> Maybe<void> { return Maybe<void>::Ok(); })
    .SetInputArgModifyFn([](user_op::GetInputArgModifier, const user_op::UserOpConfWrapper&) {})
    .SetOutputArgModifyFn([](const user_op::GetOutputArgModifier&, const user_op::UserOpConfWrapper&) -> Maybe<void> {
      return Maybe<void>::Ok();
    })
    .SetDeviceAndStreamInferFn([](user_op::DeviceAndStreamInferContext* ctx) -> Maybe<Symbol<Stream>> {
      Symbol<Device> device = ctx->InputTensorDevice4ArgNameAndIndex("in", 0);
      *ctx->OutputTensorDevice4ArgNameAndIndex("out", 0) = device;
      return Stream::New(device, StreamType::kCompute);
    })
    .SetOutputBlobTimeShapeInferFn([](user_op::InferOutputBlobTimeShapeFnContext*) { return Maybe<void>::Ok(); })
    .SetBatchAxisInferFn([](user_op::BatchAxisContext*) { return Maybe<void>::Ok(); })
    .SetComputeComplexityFn([](user_op::ComputeComplexityFnContext*) -> Maybe<double> { return 1.0; });
"""
)


def test_every_setter_is_accepted(builder, drive):
    lines = drive(builder.library(EVERY_SETTER), "describe", *call("all", 1, 2), "infer", "infer_physical", "check")
    assert [line.split()[1] for line in lines if line.startswith("  has")] == [
        "check_attrs", "infer_logical", "infer_physical", "infer_dtype", "get_sbp", "infer_nd_sbp", "modify_inputs",
        "modify_outputs", "count_operations", "infer_batch_axes",
    ]  # fmt: skip
    assert lines[-5:] == ["infer 0", "out 2 (2) (1)", "infer_physical 0", "out 2 (2) (1)", "check 0"]


def test_a_kernel_without_a_create_function_is_described_as_such(builder, drive):
    source = unit('REGISTER_USER_KERNEL("x").SetInferTmpSizeFn([](const user_op::InferContext*) { return 1024; });')
    assert drive(builder.library(source), "describe") == ["kernel x ops0.cpp:4 priority=0 flags=0 no-create if true"]


def test_a_host_of_another_major_version_gets_no_library(builder, drive):
    library = builder.library(RELU_OP, RELU_KERNEL)
    done = subprocess.run(drive.host, input=f"lib {library} 2", capture_output=True, text=True, check=True)
    assert done.stdout == f"lib 0 {ABI} oneop 0.1.0 refused\n"


def exported(library) -> list[str]:
    out = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return [line.split(maxsplit=2)[1:] for line in out.splitlines()]


def skip_if_static(library):
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    if "libstdc++" not in needed and "libc++" not in needed:
        pytest.skip("this compiler links the C++ runtime statically")


@plain_symbols
def test_one_exported_symbol(builder):
    skip_if_static(builder.library(RELU_OP, RELU_KERNEL))
    # With no flag at all, the only other symbols are instantiations of std templates that the compiler left over.
    from_std = ("std::", "__gnu_cxx::", "operator new(unsigned long, void*)", "operator delete(void*, void*)")
    for flags in ((), ("-O3",)):
        symbols = exported(builder.library(RELU_OP, RELU_KERNEL, flags=flags))
        assert [name for _, name in symbols if not any(word in name for word in from_std)] == ["oneop_plugin"]
        assert not [name for kind, name in symbols if kind == "u"], "unique symbols are shared by all libraries"


@plain_symbols
def test_no_symbol_is_needed_but_those_of_the_standard_libraries(builder):
    library = builder.library(RELU_OP, RELU_KERNEL)
    skip_if_static(library)
    out = subprocess.run(["nm", "-Du", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in out.splitlines()]
    allowed = ("GLIBC", "GLIBCXX", "CXXABI", "GCC", "_ITM_", "__gmon_start__", "__cxa_finalize")
    assert not [name for name in names if not any(word in name for word in allowed)]


def test_two_libraries_with_the_same_classes_do_not_meet(builder, drive):
    # Without an unnamed namespace, so that the classes have one name in both libraries.
    def source(factor: int) -> str:
        body = kernel("scale", f"out_tensor->mut_dptr<float>()[0] = {factor} * in_tensor->dptr<float>()[0];", "Scale")
        op = 'REGISTER_USER_OP("scale").Input("in").Output("out")' + SAME + ";\n"
        return f'#include "oneflow/core/framework/framework.h"\nnamespace oneflow {{\n{op}{body}}}\n'

    two, three = builder.library(source(2)), builder.library(source(3))
    lines = drive(two, *call("scale", 1), "run", f"lib {three}", "describe", *call("scale", 1), "run")
    assert [line for line in lines if line.startswith("out")] == ["out 2 (1) (1) 2", "out 2 (1) (1) 3"]
    assert len([line for line in lines if line.startswith("op ")]) == 1
