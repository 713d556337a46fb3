// Loops over tensors of several dimensions, each with its own strides, on the host's threads.
#ifndef ONEOP_SDK_CPU_ND_LOOP_H_
#define ONEOP_SDK_CPU_ND_LOOP_H_

#include "oneflow/core/common/shape_vec.h"
#include "oneop/sdk/parallel.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

constexpr int64_t kElementsAThread = 32768;

// fn(begin, end) over the elements of a plain loop.
template <class F>
void ParallelElements(int64_t count, const F& fn) {
  oneop::parallel_for(0, count, kElementsAThread, fn);
}

// N tensors that are walked together. Strides count elements; one of 0 repeats.
template <int N>
struct NdLoop {
  int64_t ndim = 0;
  int64_t dims[ONEOP_MAX_DIMS];
  int64_t strides[N][ONEOP_MAX_DIMS];

  int64_t Count() const {
    int64_t count = 1;
    for (int64_t i = 0; i != ndim; ++i) {
      count *= dims[i];
    }
    return count;
  }
  void Add(int64_t extent, const int64_t (&steps)[N]) {
    if (ndim == ONEOP_MAX_DIMS) {
      ThrowText(ONEOP_ERROR_VALUE, {"a loop has too many dimensions"});
    }
    dims[ndim] = extent;
    for (int k = 0; k != N; ++k) {
      strides[k][ndim] = steps[k];
    }
    ++ndim;
  }
  // Drops dimensions of one element, and joins those that lie one after the other in all tensors.
  void Simplify() {
    int64_t kept = 0;
    for (int64_t i = 0; i != ndim; ++i) {
      if (dims[i] == 1) {
        continue;
      }
      bool joins = kept != 0;
      for (int k = 0; joins && k != N; ++k) {
        joins = strides[k][kept - 1] == strides[k][i] * dims[i];
      }
      if (joins) {
        dims[kept - 1] *= dims[i];
      } else {
        dims[kept++] = dims[i];
      }
      for (int k = 0; k != N; ++k) {
        strides[k][kept - 1] = strides[k][i];
      }
    }
    ndim = kept;
  }
  // fn(offsets, count, steps) for each piece of a row along the last dimension.
  template <class F>
  void Run(const F& fn) {
    const int64_t count = Count();
    if (count == 0) {
      return;
    }
    Simplify();
    if (ndim == 0) {
      Add(1, {});
    }
    const int64_t row = dims[ndim - 1];
    int64_t steps[N];
    for (int k = 0; k != N; ++k) {
      steps[k] = strides[k][ndim - 1];
    }
    ParallelElements(count, [&](int64_t begin, int64_t end) {
      int64_t index[ONEOP_MAX_DIMS];
      int64_t offsets[N] = {};
      int64_t rest = begin;
      for (int64_t i = ndim; i-- > 0; rest /= dims[i]) {
        index[i] = rest % dims[i];
        for (int k = 0; k != N; ++k) {
          offsets[k] += index[i] * strides[k][i];
        }
      }
      while (begin != end) {
        int64_t piece = row - index[ndim - 1];
        piece = piece < end - begin ? piece : end - begin;
        fn(static_cast<const int64_t (&)[N]>(offsets), piece,
           static_cast<const int64_t (&)[N]>(steps));
        begin += piece;
        index[ndim - 1] += piece;
        for (int k = 0; k != N; ++k) {
          offsets[k] += piece * steps[k];
        }
        for (int64_t i = ndim - 1; i > 0 && index[i] == dims[i]; --i) {
          index[i] = 0;
          ++index[i - 1];
          for (int k = 0; k != N; ++k) {
            offsets[k] += strides[k][i - 1] - dims[i] * strides[k][i];
          }
        }
      }
    });
  }
};

[[noreturn]] inline void ThrowNoBroadcast(int64_t extent, int64_t to) {
  ThrowText(ONEOP_ERROR_VALUE,
            {"a dimension of ", Digits(extent), " elements cannot be broadcast to ", Digits(to)});
}
// The strides of a contiguous tensor of `dims`, repeated along the dimensions in which `to` is
// larger; `to` may have more dimensions in front. Each dimension of the tensor has 1 element or
// those of `to`, so that all of it is read and nothing else; dimensions that `to` lacks have 1.
inline void BroadcastStrides(int64_t ndim, const int64_t* dims, int64_t to_ndim, const int64_t* to,
                             int64_t* strides) {
  if (to_ndim > ONEOP_MAX_DIMS) {
    ThrowText(ONEOP_ERROR_VALUE, {"a loop has too many dimensions"});
  }
  for (int64_t i = 0; i < ndim - to_ndim; ++i) {
    if (dims[i] != 1) {
      ThrowNoBroadcast(dims[i], 1);
    }
  }
  int64_t step = 1;
  for (int64_t i = to_ndim; i-- > 0;) {
    const int64_t own = i - (to_ndim - ndim);
    const int64_t extent = own < 0 ? 1 : dims[own];
    if (extent != 1 && extent != to[i]) {
      ThrowNoBroadcast(extent, to[i]);
    }
    strides[i] = extent == 1 ? 0 : step;
    step *= extent;
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_ND_LOOP_H_
