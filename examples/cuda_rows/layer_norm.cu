// Layer norm over the last axis. The backward kernel reads x and dy once: each block keeps the sums
// for gamma and beta of all the rows it works on, in its registers or, for long rows, in shared
// memory.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/cuda_graph_support.h"
#include "rows.cuh"

namespace oneflow {

namespace {

constexpr int kMaxBlocks = 1024;  // of the backward kernel; each leaves one row of sums

REGISTER_USER_OP("row_layer_norm")
    .Input("x")
    .Input("gamma")
    .Input("beta")
    .Output("y")
    .Output("mean")
    .Output("inv_std")
    .Attr("epsilon", UserOpAttrType::kAtDouble, 1e-5)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_GE_OR_RETURN(x.NumAxes(), 1);
      CHECK_GE_OR_RETURN(x.At(x.NumAxes() - 1), 1);  // the mean of nothing
      const Shape params({x.At(x.NumAxes() - 1)});
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("gamma", 0), params);
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("beta", 0), params);
      DimVector rows(x.dim_vec().begin(), x.dim_vec().end() - 1);
      *ctx->Shape4ArgNameAndIndex("y", 0) = x;
      *ctx->Shape4ArgNameAndIndex("mean", 0) = Shape(rows);
      *ctx->Shape4ArgNameAndIndex("inv_std", 0) = Shape(rows);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("mean", 0) = DataType::kFloat;
      *ctx->Dtype4ArgNameAndIndex("inv_std", 0) = DataType::kFloat;
      return Maybe<void>::Ok();
    })
    // They are there for the backward op, which knows nothing of gradients that come back to them.
    .SetOutputArgModifyFn([](const user_op::GetOutputArgModifier& modifier_of,
                             const user_op::UserOpConfWrapper&) -> Maybe<void> {
      modifier_of("mean", 0)->set_requires_grad(false);
      modifier_of("inv_std", 0)->set_requires_grad(false);
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP("row_layer_norm_grad")
    .Input("x")
    .Input("gamma")
    .Input("mean")
    .Input("inv_std")
    .Input("dy")
    .Output("dx")
    .Output("dgamma")
    .Output("dbeta")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_GE_OR_RETURN(x.NumAxes(), 1);
      CHECK_GE_OR_RETURN(x.At(x.NumAxes() - 1), 1);
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("gamma", 0), Shape({x.At(x.NumAxes() - 1)}));
      const DimVector rows(x.dim_vec().begin(), x.dim_vec().end() - 1);
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("mean", 0), Shape(rows));
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("inv_std", 0), Shape(rows));
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("dy", 0), x);
      for (const char* name : {"mean", "inv_std"}) {
        CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex(name, 0), DataType::kFloat);
      }
      for (const char* name : {"gamma", "dy"}) {
        CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex(name, 0),
                           *ctx->Dtype4ArgNameAndIndex("x", 0));
      }
      *ctx->Shape4ArgNameAndIndex("dx", 0) = x;
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      for (const char* name : {"dgamma", "dbeta"}) {
        *ctx->Shape4ArgNameAndIndex(name, 0) = *ctx->Shape4ArgNameAndIndex("gamma", 0);
        *ctx->Dtype4ArgNameAndIndex(name, 0) = *ctx->Dtype4ArgNameAndIndex("gamma", 0);
      }
      return Maybe<void>::Ok();
    });

template <typename T, int kSize, int kPacks, int kThreads>
__global__ void __launch_bounds__(kThreads)
    LayerNorm(int cols, float epsilon, const T* x, const T* gamma, const T* beta, T* y, float* mean,
              float* inv_std) {
  const int num_packs = cols / kSize;
  rows::Row<T, kSize, kPacks> row;
  row.Load(x + static_cast<int64_t>(blockIdx.x) * cols, num_packs, 0);
  float sum = 0;
  row.ForEach([&](float& value) { sum += value; });
  const float center = rows::SumOfBlock(sum) / cols;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (static_cast<int>(threadIdx.x + p * blockDim.x) < num_packs) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        row.values[p][i] -= center;
        squares += row.values[p][i] * row.values[p][i];
      }
    }
  }
  const float scale = rsqrtf(rows::SumOfBlock(squares) / cols + epsilon);
  rows::Row<T, kSize, kPacks> weight;
  rows::Row<T, kSize, kPacks> bias;
  weight.Load(gamma, num_packs, 0);
  bias.Load(beta, num_packs, 0);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      row.values[p][i] = row.values[p][i] * scale * weight.values[p][i] + bias.values[p][i];
    }
  }
  row.Store(y + static_cast<int64_t>(blockIdx.x) * cols, num_packs);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = center;
    inv_std[blockIdx.x] = scale;
  }
}

// The sums of one block, each used by one thread only.
template <int kSize, int kPacks, bool kInShared>
struct Sums {
  float values[kPacks][kSize];
  __device__ void Start(float*) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        values[p][i] = 0;
      }
    }
  }
  __device__ float& At(int p, int i) { return values[p][i]; }
};
template <int kSize, int kPacks>
struct Sums<kSize, kPacks, true> {
  float* shared;
  // Neighbouring threads use neighbouring words.
  __device__ void Start(float* memory) {
    shared = memory + threadIdx.x;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        At(p, i) = 0;
      }
    }
  }
  __device__ float& At(int p, int i) { return shared[(p * kSize + i) * blockDim.x]; }
};

// Where so many threads hold so many numbers the registers do not suffice.
template <int kSize, int kPacks, int kThreads>
constexpr bool kSumsInShared = kSize * kPacks > 8 && kThreads > 256;

// `sums` has two rows for each block: its part of dgamma and of dbeta.
template <typename T, int kSize, int kPacks, int kThreads>
__global__ void __launch_bounds__(kThreads)
    LayerNormGrad(int64_t count, int cols, const T* x, const T* gamma, const float* mean,
                  const float* inv_std, const T* dy, T* dx, float* sums) {
  extern __shared__ float memory[];
  const int num_packs = cols / kSize;
  constexpr bool kInShared = kSumsInShared<kSize, kPacks, kThreads>;
  Sums<kSize, kPacks, kInShared> gamma_sums;
  Sums<kSize, kPacks, kInShared> beta_sums;
  gamma_sums.Start(memory);
  beta_sums.Start(memory + kSize * kPacks * blockDim.x);
  for (int64_t r = blockIdx.x; r < count; r += gridDim.x) {
    rows::Row<T, kSize, kPacks> normal;  // x, centred and scaled
    rows::Row<T, kSize, kPacks> grad;
    normal.Load(x + r * cols, num_packs, 0);
    grad.Load(dy + r * cols, num_packs, 0);
    const float center = mean[r];
    const float scale = inv_std[r];
    float sum = 0;
    float product = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int at = threadIdx.x + p * blockDim.x;
      if (at < num_packs) {
        const auto weight = cuda::LoadPack<kSize>(gamma + at * kSize);  // from the cache
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          const float value = (normal.values[p][i] - center) * scale;
          const float given = grad.values[p][i];
          gamma_sums.At(p, i) += given * value;
          beta_sums.At(p, i) += given;
          const float weighted = given * static_cast<float>(weight.values[i]);
          sum += weighted;
          product += weighted * value;
          normal.values[p][i] = value;
          grad.values[p][i] = weighted;
        }
      }
    }
    const float mean_grad = rows::SumOfBlock(sum) / cols;
    const float mean_product = rows::SumOfBlock(product) / cols;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        grad.values[p][i] =
            scale * (grad.values[p][i] - mean_grad - normal.values[p][i] * mean_product);
      }
    }
    grad.Store(dx + r * cols, num_packs);
  }
  float* own = sums + static_cast<int64_t>(blockIdx.x) * 2 * cols;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int at = threadIdx.x + p * blockDim.x;
    if (at < num_packs) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        own[at * kSize + i] = gamma_sums.At(p, i);
        own[cols + at * kSize + i] = beta_sums.At(p, i);
      }
    }
  }
}

// Adds up the rows of `sums`: 32 columns for each block, its 32 warps take turns with the rows.
template <typename T>
__global__ void AddSums(int blocks, int cols, const float* sums, T* dgamma, T* dbeta) {
  __shared__ float parts[32][33];
  const int64_t width = int64_t{2} * cols;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  float sum = 0;
  for (int b = threadIdx.y; b < blocks && column < width; b += 32) {
    sum += sums[b * width + column];
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = cuda::WarpAllReduce<cuda::SumOp>(parts[threadIdx.x][threadIdx.y]);
  const int64_t own = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.y;
  if (threadIdx.x == 0 && own < width) {
    (own < cols ? dgamma[own] : dbeta[own - cols]) = static_cast<T>(sum);
  }
}

int64_t ColsOf(const user_op::Tensor* x) { return x->shape().At(x->shape().NumAxes() - 1); }

template <typename T>
class LayerNormKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    const T* gamma = ctx->Tensor4ArgNameAndIndex("gamma", 0)->dptr<T>();
    const T* beta = ctx->Tensor4ArgNameAndIndex("beta", 0)->dptr<T>();
    T* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    float* mean = ctx->Tensor4ArgNameAndIndex("mean", 0)->mut_dptr<float>();
    float* inv_std = ctx->Tensor4ArgNameAndIndex("inv_std", 0)->mut_dptr<float>();
    const int64_t cols = ColsOf(x);
    const auto epsilon = static_cast<float>(ctx->Attr<double>("epsilon"));
    rows::ForRowLength<T>(
        cols, rows::IsAligned({in, gamma, beta, out}),
        [&](auto size, auto packs, auto most, int threads) {
          LayerNorm<T, size(), packs(), most()>
              <<<x->shape().elem_cnt() / cols, threads, 0, ctx->device_ctx()->cuda_stream()>>>(
                  cols, epsilon, in, gamma, beta, out, mean, inv_std);
        });
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

template <typename T>
class LayerNormGradKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    const T* gamma = ctx->Tensor4ArgNameAndIndex("gamma", 0)->dptr<T>();
    const float* mean = ctx->Tensor4ArgNameAndIndex("mean", 0)->dptr<float>();
    const float* inv_std = ctx->Tensor4ArgNameAndIndex("inv_std", 0)->dptr<float>();
    const T* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<T>();
    T* dx = ctx->Tensor4ArgNameAndIndex("dx", 0)->mut_dptr<T>();
    T* dgamma = ctx->Tensor4ArgNameAndIndex("dgamma", 0)->mut_dptr<T>();
    T* dbeta = ctx->Tensor4ArgNameAndIndex("dbeta", 0)->mut_dptr<T>();
    float* sums = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->mut_dptr<float>();
    const int64_t cols = ColsOf(x);
    const int64_t count = x->shape().elem_cnt() / cols;
    cudaStream_t stream = ctx->device_ctx()->cuda_stream();
    if (count == 0) {  // sums of no rows
      OF_CUDA_CHECK(cudaMemsetAsync(dgamma, 0, sizeof(T) * cols, stream));
      OF_CUDA_CHECK(cudaMemsetAsync(dbeta, 0, sizeof(T) * cols, stream));
      return;
    }
    int blocks = 0;
    rows::ForRowLength<T>(
        cols, rows::IsAligned({in, gamma, dy, dx}),
        [&](auto size, auto packs, auto most, int threads) {
          const auto kernel = &LayerNormGrad<T, size(), packs(), most()>;
          const int shared = kSumsInShared<size(), packs(), most()>
                                 ? int{2 * sizeof(float)} * size() * packs() * threads
                                 : 0;
          blocks =
              static_cast<int>(std::min<int64_t>(count, BlocksAtOnce(kernel, threads, shared)));
          kernel<<<blocks, threads, shared, stream>>>(count, cols, in, gamma, mean, inv_std, dy, dx,
                                                      sums);
        });
    AddSums<T>
        <<<(2 * cols + 31) / 32, dim3(32, 32), 0, stream>>>(blocks, cols, sums, dgamma, dbeta);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }

  // As many as the device runs at the same time.
  template <typename Kernel>
  static int BlocksAtOnce(Kernel kernel, int threads, int shared) {
    int device = 0;
    int processors = 1;
    int each = 1;
    OF_CUDA_CHECK(cudaGetDevice(&device));
    OF_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    if (shared > 0) {
      OF_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    }
    OF_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared));
    return std::min(kMaxBlocks, processors * std::max(each, 1));
  }
};

#define REGISTER_LAYER_NORM_KERNELS(dtype)                                           \
  REGISTER_USER_KERNEL("row_layer_norm")                                             \
      .SetCreateFn<LayerNormKernel<dtype>>()                                         \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("x", 0) == GetDataType<dtype>::value)); \
  REGISTER_USER_KERNEL("row_layer_norm_grad")                                        \
      .SetCreateFn<LayerNormGradKernel<dtype>>()                                     \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("x", 0) == GetDataType<dtype>::value))  \
      .SetInferTmpSizeFn([](user_op::InferContext* ctx) -> size_t {                  \
        const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);                        \
        const int64_t cols = x.At(x.NumAxes() - 1);                                  \
        const int64_t count = cols == 0 ? 0 : x.elem_cnt() / cols;                   \
        return std::min<int64_t>(count, kMaxBlocks) * 2 * cols * sizeof(float);      \
      });

REGISTER_LAYER_NORM_KERNELS(float)
REGISTER_LAYER_NORM_KERNELS(half)
REGISTER_LAYER_NORM_KERNELS(nv_bfloat16)

REGISTER_USER_OP_GRAD("row_layer_norm")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto name = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("row_layer_norm_grad")
            .InputBind("x", ctx->FwOp().input("x", 0))
            .InputBind("gamma", ctx->FwOp().input("gamma", 0))
            .InputBind("mean", ctx->FwOp().output("mean", 0))
            .InputBind("inv_std", ctx->FwOp().output("inv_std", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("dx")
            .Output("dgamma")
            .Output("dbeta")
            .Build();
      });
      const auto bind = [&](const char* input, const char* grad) {
        ctx->FwOp().InputGradBind(user_op::OpArg(input, 0), [&ctx, &name, grad]() {
          return ctx->GetOp(name).output(grad, 0);
        });
      };
      bind("x", "dx");
      bind("gamma", "dgamma");
      bind("beta", "dbeta");
    });

}  // namespace

}  // namespace oneflow
