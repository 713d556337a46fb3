// The router on the GPU: a warp, or a block for many experts, has a row and looks for its best
// expert k times, each time for the best of those that come after the last one.
//
// An expert that is not there, in the gradient, adds to nothing.
#include "../numbers.cuh"

using namespace oneop;

// An expert and its logit. All logits have one order: larger ones first, a NaN before any number,
// and of equal ones the earlier expert.
template <class C>
struct Candidate {
  C value;
  int expert;
};
template <class C>
__device__ __forceinline__ bool IsBefore(const Candidate<C>& a, const Candidate<C>& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a.value > b.value || (a_is_nan && !b_is_nan)) {
    return true;
  }
  return (a.value == b.value || (a_is_nan && b_is_nan)) && a.expert < b.expert;
}

struct Choose {
  template <class L, class W, class E, class K>
  ONEOP_BOTH void operator()(L logits, W weights, E experts, K, bool renormalize) const {
#if defined(__CUDA_ARCH__)
    using N = typename L::Element;
    using C = typename N::type;
    using Best = Candidate<C>;
    // Comes after all others, and is none of them.
    const Best none{static_cast<C>(-__builtin_inf()), 0x7fffffff};
    const int64_t k = experts.size();
    Best last = none;
    N top(0), total(0);
    for (int64_t j = 0; j < k; ++j) {
      Best best = none;
      walk(
          [&](int64_t i, N v) {
            const Best other{v.value, static_cast<int>(i)};
            if ((j == 0 || IsBefore(last, other)) && IsBefore(other, best)) {
              best = other;
            }
          },
          logits);
      last = joined(logits, best, none, [](Best a, Best b) { return IsBefore(b, a) ? b : a; });
      top = j == 0 ? N(last.value) : top;
      total = total + exp(N(last.value) - top);
      experts[j] = Number<int64_t>(last.expert);
    }
    if (!renormalize) {
      total = sum(logits, [=](N v) { return exp(v - top); });
    }
    for (int64_t j = L::Group::rank(); j < k; j += L::Group::size()) {
      weights[j] = exp(logits[experts.data()[j]] - top) / total;  // this thread wrote it, too
    }
#endif
  }
};

// The gradient: a part of a warp, `lanes` threads, has a row of `columns` logits, each of them
// every so-many-th pack.
template <class T>
struct ChooseGrad {
  using C = gallery::Compute<T>;
  const T* logits;
  const T* weights;
  const int64_t* experts;
  const T* dweights;
  T* dlogits;
  int64_t rows, columns, k;
  int lanes;  // a power of 2
  bool renormalize;

  template <class Join>
  __device__ __forceinline__ C Joined(C value, const Join& join) const {
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
      value = join(value, device::ShuffleXor(value, mask));
    }
    return value;
  }
  template <int kSize, class F>
  __device__ __forceinline__ void ForPacks(int64_t row, int lane, const F& fn) const {
    for (int64_t at = lane * kSize; at < columns; at += lanes * kSize) {
      fn(at, gallery::Load<kSize, C>(logits + row * columns + at));
    }
  }
  // All threads of a warp come here: those of rows past the end too, which write nothing.
  template <int kSize>
  __device__ __forceinline__ void RunRow(int64_t number, int lane) const {
    const int64_t row = number < rows ? number : rows - 1;
    const auto plus = [](C a, C b) { return a + b; };
    C inner = 0;
    for (int64_t j = lane; j < k; j += lanes) {
      inner += static_cast<C>(weights[row * k + j]) * static_cast<C>(dweights[row * k + j]);
    }
    inner = Joined(inner, plus);
    C top = 0, scale = 0;
    if (!renormalize) {
      top = static_cast<C>(-__builtin_inf());
      ForPacks<kSize>(row, lane, [&](int64_t, const auto& v) {
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          top = gallery::Largest(top, v.at[i]);
        }
      });
      top = Joined(top, [](C a, C b) { return gallery::Largest(a, b); });
      C total = 0;
      ForPacks<kSize>(row, lane, [&](int64_t, const auto& v) {
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          total += gallery::Exp<false>(v.at[i] - top);
        }
      });
      scale = -inner / Joined(total, plus);
    }
    const C shift = renormalize ? inner : C(0);
    for (int64_t base = 0; base < columns; base += lanes * kSize) {
      const int64_t at = base + lane * kSize;
      const bool is_inside = number < rows && at < columns;
      device::Values<C, kSize> result = Start<kSize>(row, is_inside ? at : 0, top, scale);
      AddParts<kSize>(row, lane, at, shift, result);
      if (is_inside) {
        gallery::Store<kSize>(dlogits + row * columns + at, result);
      }
    }
  }

 private:
  // The gradient without the experts that were chosen.
  template <int kSize>
  __device__ __forceinline__ device::Values<C, kSize> Start(int64_t row, int64_t at, C top,
                                                            C scale) const {
    device::Values<C, kSize> result{};
    if (!renormalize) {
      result = gallery::Load<kSize, C>(logits + row * columns + at);
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        result.at[i] = scale * gallery::Exp<false>(result.at[i] - top);
      }
    }
    return result;
  }
  // Each thread reads one of the chosen experts and hands it to the others of its row.
  template <int kSize>
  __device__ __forceinline__ void AddParts(int64_t row, int lane, int64_t at, C shift,
                                           device::Values<C, kSize>& result) const {
    constexpr unsigned kAll = 0xffffffffu;
    for (int64_t first = 0; first < k; first += lanes) {
      int64_t own = -1;
      C part = 0;
      if (first + lane < k) {
        const int64_t j = row * k + first + lane;
        own = experts[j];
        part = static_cast<C>(weights[j]) * (static_cast<C>(dweights[j]) - shift);
      }
      // A place among the columns fits 32 bits; one that is not there is no pack's.
      const int expert = own >= 0 && own < columns ? static_cast<int>(own) : -1;
      const int count = static_cast<int>(k - first < lanes ? k - first : lanes);
      for (int j = 0; j < count; ++j) {
        const int other = __shfl_sync(kAll, expert, j, lanes);
        const C of_other = __shfl_sync(kAll, part, j, lanes);
        const int place = other < 0 ? -1 : other - static_cast<int>(at);
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          result.at[i] += i == place ? of_other : C(0);
        }
      }
    }
  }
};
constexpr int kGradThreads = 256;
template <int kSize, class Work>
__global__ void __launch_bounds__(kGradThreads) RunChooseGrad(const Work work) {
  const int64_t rows_of_block = kGradThreads / work.lanes;
  const int64_t step = rows_of_block * gridDim.x;
  // The first row of the block: a bound that all of its threads share.
  for (int64_t row = rows_of_block * blockIdx.x; row < work.rows; row += step) {
    work.template RunRow<kSize>(row + threadIdx.x / work.lanes,
                                static_cast<int>(threadIdx.x) % work.lanes);
  }
}

struct MoeGateGrad {
  template <class T>
  void operator()(View<const T> logits, View<const T> weights, View<const int64_t> experts,
                  View<const T> dweights, View<T> dlogits, Attrs attrs, Call& call) const {
    using D = gallery::Stored<T>;
    constexpr int kSize = gallery::kPack<D>;
    const int64_t columns = logits.size(-1), k = weights.size(-1);
    ChooseGrad<D> work{gallery::DataOf(logits),
                       gallery::DataOf(weights),
                       experts.data(),
                       gallery::DataOf(dweights),
                       gallery::DataOf(dlogits),
                       gallery::RowsOf(logits.numel(), columns),
                       columns,
                       k,
                       device::kWarp,
                       attrs.get<bool>("renormalize")};
    if (work.rows == 0) {
      return;
    }
    const bool is_packed =
        gallery::ArePacked<16>(columns * int64_t{sizeof(D)}, work.logits, work.dlogits);
    const int64_t packs = is_packed ? columns / kSize : columns;
    while (work.lanes / 2 >= packs && work.lanes > 1) {
      work.lanes /= 2;
    }
    const unsigned blocks = device::GridFor(work.rows, kGradThreads / work.lanes);
    if (is_packed) {
      RunChooseGrad<kSize><<<blocks, kGradThreads, 0, call.cuda_stream()>>>(work);
    } else {
      RunChooseGrad<1><<<blocks, kGradThreads, 0, call.cuda_stream()>>>(work);
    }
    device::CheckLaunch();
  }
};

OP_KERNELS(
    "moe_gate(Tensor logits, *, int k, bool renormalize=True) -> (Tensor weights, Tensor experts)")
    .cuda_rows<Outputs<float, int64_t>(float), Outputs<double, int64_t>(double),
               Outputs<half, int64_t>(half), Outputs<bfloat16, int64_t>(bfloat16)>(Choose());

OP_KERNELS(
    "moe_gate_grad(Tensor logits, Tensor weights, Tensor experts, Tensor dweights, *, "
    "bool renormalize) -> Tensor dlogits")
    .cuda_kernel<float(float, float, int64_t, float), double(double, double, int64_t, double),
                 half(half, half, int64_t, half), bfloat16(bfloat16, bfloat16, int64_t, bfloat16)>(
        MoeGateGrad())
    .cuda_graph();
