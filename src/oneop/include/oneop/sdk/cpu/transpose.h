// Moving elements of any type: permuted dimensions, and boxes cut out of larger tensors.
#ifndef ONEOP_SDK_CPU_TRANSPOSE_H_
#define ONEOP_SDK_CPU_TRANSPOSE_H_

#include <algorithm>
#include <cstring>

#include "oneop/sdk/cpu/nd_loop.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Copies the elements of a loop over (to, from).
template <class T>
void CopyElements(NdLoop<2>* loop, T* to, const T* from) {
  loop->Run([&](const int64_t (&at)[2], int64_t count, const int64_t (&steps)[2]) {
    T* out = to + at[0];
    const T* in = from + at[1];
    if (steps[0] == 1 && steps[1] == 1) {
      std::memcpy(static_cast<void*>(out), static_cast<const void*>(in),
                  static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i != count; ++i) {
      out[i * steps[0]] = in[i * steps[1]];
    }
  });
}

struct Bytes16 {
  uint64_t part[2];
};
// Elements are moved by their size alone.
inline void CopyElementsOfSize(NdLoop<2>* loop, size_t size, void* to, const void* from) {
  switch (size) {
    case 1:
      return CopyElements(loop, static_cast<uint8_t*>(to), static_cast<const uint8_t*>(from));
    case 2:
      return CopyElements(loop, static_cast<uint16_t*>(to), static_cast<const uint16_t*>(from));
    case 4:
      return CopyElements(loop, static_cast<uint32_t*>(to), static_cast<const uint32_t*>(from));
    case 8:
      return CopyElements(loop, static_cast<uint64_t*>(to), static_cast<const uint64_t*>(from));
    case 16:
      return CopyElements(loop, static_cast<Bytes16*>(to), static_cast<const Bytes16*>(from));
    default:
      ThrowText(ONEOP_ERROR_TYPE,
                {"elements of ", Digits(static_cast<int64_t>(size)), " bytes cannot be copied"});
  }
}

// Each dimension stands in it once: then the result has all elements, and no others.
template <class Permutation>
void CheckPermutation(int64_t ndim, const Permutation& permutation) {
  static_assert(ONEOP_MAX_DIMS <= 64, "one bit for each dimension");
  uint64_t seen = 0;
  for (int64_t i = 0; i != ndim; ++i) {
    const int64_t axis = static_cast<int64_t>(permutation[i]);
    if (ndim > ONEOP_MAX_DIMS || axis < 0 || axis >= ndim || (seen >> axis & 1) != 0) {
      ThrowText(ONEOP_ERROR_VALUE, {"a permutation of ", Digits(ndim), " dimensions has ",
                                    Digits(axis), " at ", Digits(i)});
    }
    seen |= uint64_t{1} << axis;
  }
}
// Dimension i of the result is dimension permutation[i] of the source.
template <class Permutation>
NdLoop<2> PermuteLoop(int64_t ndim, const int64_t* dims, const Permutation& permutation) {
  int64_t from[ONEOP_MAX_DIMS], to[ONEOP_MAX_DIMS];
  CheckPermutation(ndim, permutation);
  int64_t step = 1;
  for (int64_t i = ndim; i-- > 0; step *= dims[i]) {
    from[i] = step;
  }
  step = 1;
  for (int64_t i = ndim; i-- > 0; step *= dims[permutation[i]]) {
    to[i] = step;
  }
  NdLoop<2> loop;
  for (int64_t i = 0; i != ndim; ++i) {
    loop.Add(dims[permutation[i]], {to[i], from[permutation[i]]});
  }
  return loop;
}

// A box lies inside its tensor.
inline void CheckBox(int64_t dim, int64_t at, int64_t extent) {
  if (at < 0 || extent < 0 || at > dim || extent > dim - at) {
    ThrowText(ONEOP_ERROR_VALUE, {"a box of ", Digits(extent), " elements at ", Digits(at),
                                  " is not in a dimension of ", Digits(dim)});
  }
}
// A box of `extent` from one tensor to another; the offsets of its first element are added.
inline NdLoop<2> BoxLoop(int64_t ndim, const int64_t* to_dims, const int64_t* to_at,
                         const int64_t* from_dims, const int64_t* from_at, const int64_t* extent,
                         int64_t* to_offset, int64_t* from_offset) {
  NdLoop<2> loop;
  int64_t to_steps[ONEOP_MAX_DIMS], from_steps[ONEOP_MAX_DIMS];
  int64_t to = 1, from = 1;
  *to_offset = *from_offset = 0;
  const bool is_empty = std::find(extent, extent + ndim, 0) != extent + ndim;  // wherever it is
  for (int64_t i = ndim; i-- > 0;) {
    if (!is_empty) {
      CheckBox(to_dims[i], to_at[i], extent[i]);
      CheckBox(from_dims[i], from_at[i], extent[i]);
    }
    to_steps[i] = to;
    from_steps[i] = from;
    *to_offset += to_at[i] * to;
    *from_offset += from_at[i] * from;
    to *= to_dims[i];
    from *= from_dims[i];
  }
  for (int64_t i = 0; i != ndim; ++i) {
    loop.Add(extent[i], {to_steps[i], from_steps[i]});
  }
  return loop;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_TRANSPOSE_H_
