"""CUDA sources compile with nvcc; nothing is run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from sdk_pieces import INCLUDE

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")

SOURCE = """
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/common/nd_index_offset_helper.h"

namespace oneflow {
namespace {

template <typename T>
__global__ void Forward(const int n, const T* x, T* y) {
  CUDA_1D_KERNEL_LOOP(i, n) { y[i] = x[i] > static_cast<T>(0) ? x[i] : static_cast<T>(0); }
}
__global__ void Index(NdIndexOffsetHelper<int64_t, 2> helper, float16* out) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, 4) { out[i] = float16(helper.NdIndexToOffset(i, 0)); }
}
OF_DEVICE_FUNC int Both() { return 1; }

template <typename T>
class Kernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* in = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const int32_t n = in->shape().elem_cnt() * Both();
    RUN_CUDA_KERNEL((Forward<T>), ctx->device_ctx(), n, n, in->dptr<T>(), out->mut_dptr<T>());
    RUN_CUDA_KERNEL((Forward<T>), ctx->stream(), n, n, in->dptr<T>(), out->mut_dptr<T>());
    cudaStream_t stream = ctx->stream()->As<ep::CudaStream>()->cuda_stream();
    Forward<T><<<BlocksNum4ThreadsNum(n), kCudaThreadsNumPerBlock, 0, stream>>>(n, in->dptr<T>(), out->mut_dptr<T>());
    Memset<DeviceType::kCUDA>(ctx->stream(), out->mut_dptr(), 0, 4);
    Memcpy<DeviceType::kCUDA>(ctx->stream(), out->mut_dptr(), in->dptr(), 4);
    AutoMemcpy(ctx->stream(), out, in);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define REGISTER(T)                                                                                \\
  REGISTER_USER_KERNEL("relu").SetCreateFn<Kernel<T>>().SetIsMatchedHob(                           \\
      (user_op::HobDeviceType() == DeviceType::kGPU) && (user_op::HobDataType("out", 0) == GetDataType<T>::value));
REGISTER(float)
REGISTER(half)
REGISTER(nv_bfloat16)

// The macro as 2020 printed it.
#undef RUN_CUDA_KERNEL
#define RUN_CUDA_KERNEL(func, device_ctx_ptr, thread_num, ...)           \\
  func<<<SMBlocksNum4ThreadsNum(thread_num), kCudaThreadsNumPerBlock, 0, \\
         (device_ctx_ptr)->cuda_stream()>>>(__VA_ARGS__)
void Launch(user_op::KernelComputeContext* ctx, float16* out) {
  RUN_CUDA_KERNEL(Index, ctx->device_ctx(), 4, NdIndexOffsetHelper<int64_t, 2>(2, 2), out);
}
void (*launch)(user_op::KernelComputeContext*, float16*) __attribute__((unused)) = Launch;

REGISTER_USER_OP("relu").Input("in").Output("out").Attr<float>("alpha", 0.5)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(ctx->InputShape("in", 0).NumAxes(), 1) << "one axis";
      *ctx->OutputShape("out", 0) = ctx->InputShape("in", 0);
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP_GRAD("relu").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  ctx->FwOp().InputGradBind(user_op::OpArg("in", 0), [&]() { return ctx->FwOp().output_grad("out", 0); });
});

}  // namespace
}  // namespace oneflow
"""


def test_nvcc_compiles_the_headers(tmp_path):
    source = tmp_path / "ops.cu"
    source.write_text(SOURCE)
    flags = ["-std=c++17", "-x", "cu", "-Xcompiler", "-fPIC", f"-I{INCLUDE}"]
    command = ["nvcc", *flags, "-c", str(source), "-o", str(tmp_path / "ops.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "warning" not in result.stderr, result.stderr
    names = subprocess.run(["nm", "-C", tmp_path / "ops.o"], capture_output=True, text=True, check=True).stdout
    assert "W oneop_plugin" in names


@pytest.mark.slow
def test_what_ported_sources_use(tmp_path):
    source = Path(__file__).resolve().parents[1] / "gpu/sources/ported.cu"
    flags = ["-std=c++17", "--expt-relaxed-constexpr", "--extended-lambda", "-DONEOP_PORT=2024", "-arch=sm_90"]
    command = ["nvcc", *flags, f"-I{INCLUDE}", "-c", str(source), "-o", str(tmp_path / "ported.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
