// Matrix products on the CPU: packed operands, blocks that stay in registers, rows on the host's
// threads. Right for every type; for large matrices of float torch's own are faster.
#ifndef ONEOP_SDK_CPU_GEMM_H_
#define ONEOP_SDK_CPU_GEMM_H_

#include <vector>

#include "oneop/sdk/cpu/limits.h"
#include "oneop/sdk/cpu/nd_loop.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// c (m x n) = alpha * op(a) * op(b) + beta * c, all row-major. With beta 0, c is not read.
// long: its loops share their sizes and strides
template <class T, class A = typename AccumulatorOf<T>::type>
void Gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
          const T* a, const T* b, double beta, T* c) {
  constexpr int64_t kRows = 4, kColumns = 128 / static_cast<int64_t>(sizeof(A));
  if (m == 0 || n == 0) {
    return;
  }
  // Panels of kColumns columns of b, each contiguous, so that the inner loop reads forward.
  const int64_t panels = (n + kColumns - 1) / kColumns;
  std::vector<A> packed(static_cast<size_t>(panels * kColumns * k));
  oneop::parallel_for(0, panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel != end; ++panel) {
      A* to = packed.data() + panel * kColumns * k;
      for (int64_t p = 0; p != k; ++p) {
        for (int64_t j = 0; j != kColumns; ++j) {
          const int64_t column = panel * kColumns + j;
          *to++ = column < n ? static_cast<A>(transpose_b ? b[column * k + p] : b[p * n + column])
                             : A(0);
        }
      }
    }
  });
  const int64_t blocks = (m + kRows - 1) / kRows;
  const int64_t work = kRows * n * (k == 0 ? 1 : k);
  oneop::parallel_for(0, blocks, 1 + kElementsAThread / work, [&](int64_t begin, int64_t end) {
    std::vector<A> rows(static_cast<size_t>(kRows * k));
    for (int64_t block = begin; block != end; ++block) {
      const int64_t first = block * kRows;
      const int64_t count = m - first < kRows ? m - first : kRows;
      for (int64_t p = 0; p != k; ++p) {
        for (int64_t i = 0; i != kRows; ++i) {
          const int64_t row = first + i;
          rows[static_cast<size_t>(p * kRows + i)] =
              i < count ? static_cast<A>(transpose_a ? a[p * m + row] : a[row * k + p]) : A(0);
        }
      }
      for (int64_t panel = 0; panel != panels; ++panel) {
        A sums[kRows][kColumns] = {};
        const A* right = packed.data() + panel * kColumns * k;
        const A* left = rows.data();
        for (int64_t p = 0; p != k; ++p, right += kColumns, left += kRows) {
          for (int64_t i = 0; i != kRows; ++i) {
            for (int64_t j = 0; j != kColumns; ++j) {
              sums[i][j] += left[i] * right[j];
            }
          }
        }
        const int64_t column = panel * kColumns;
        const int64_t width = n - column < kColumns ? n - column : kColumns;
        for (int64_t i = 0; i != count; ++i) {
          T* out = c + (first + i) * n + column;
          for (int64_t j = 0; j != width; ++j) {
            const A scaled = static_cast<A>(alpha) * sums[i][j];
            out[j] = static_cast<T>(
                beta == 0 ? scaled : scaled + static_cast<A>(beta) * static_cast<A>(out[j]));
          }
        }
      }
    }
  });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_GEMM_H_
