// A functor of rows as a kernel: each row of the first input with what belongs to it, on all
// threads.
#ifndef ONEOP_OP_ROWS_H_
#define ONEOP_OP_ROWS_H_

#include "oneop/op/axes.h"
#include "oneop/op/elementwise.h"
#include "oneop/op/row.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int64_t kRowGrain = 8192;  // elements for which a thread is worth its start

// Where the rows of a tensor are. A row is the last axis; a tensor of one axis is a row that all
// share, and one without the last axis has an element for each row.
struct RowLayout {
  char* data;
  int64_t length;
  int64_t step;  // elements from one row to the next; 0: all share one
};

ONEOP_COLD inline void ThrowRows(const oneop_frame* frame, const oneop_tensor& tensor,
                                 const oneop_tensor& first) {
  Refuse(frame, {"a tensor of shape ", ShapeText(tensor), " has no rows beside the first input's ",
                 ShapeText(first),
                 "\n  it needs the same axes, the same without the last, or the last one alone"});
}

// Whether `leading` axes are those of the first input.
inline bool HasLeading(const oneop_tensor& tensor, const oneop_tensor& first, int32_t leading) {
  for (int32_t i = 0; i != leading; ++i) {
    if (tensor.shape[i] != first.shape[i]) {
      return false;
    }
  }
  return true;
}

inline RowLayout LayoutOf(const oneop_frame* frame, const AxesRule* axes, int32_t number) {
  const oneop_tensor& tensor = *sdk::TensorAt(frame, number);
  const oneop_tensor& first = *sdk::TensorAt(frame, 0);
  const int32_t leading = first.ndim - 1;
  char* data = static_cast<char*>(tensor.data);
  if (tensor.ndim == first.ndim && first.ndim > 0 && HasLeading(tensor, first, leading)) {
    const int64_t length = tensor.shape[leading];
    return {data, length, length};
  }
  // With axes it is known which of the two a tensor of one axis is beside a matrix.
  const bool is_shared = axes != nullptr && axes->tensors[number].count == 1 &&
                         axes->tensors[number].axes[0] != axes->tensors[0].axes[0];
  const bool may_be_shared = tensor.ndim <= 1 && (axes == nullptr || is_shared);
  if (!may_be_shared && tensor.ndim == leading && HasLeading(tensor, first, leading)) {
    return {data, 1, 1};
  }
  if (!may_be_shared) {
    ThrowRows(frame, tensor, first);
  }
  return {data, tensor.elem_cnt, 0};
}

// A row in a type in which one can compute; `room` is where converted elements go.
template <class T>
struct RowOperand {
  using N = Number<ComputeType<T>>;
  RowLayout layout;
  RowOperand(const oneop_frame* frame, const AxesRule* axes, int32_t number)
      : layout(LayoutOf(frame, axes, number)) {}

  static constexpr bool kConverts = Storage<T>::kConverts;
  int64_t RoomLength() const { return kConverts ? layout.length : 0; }
  T* At(int64_t row) const { return reinterpret_cast<T*>(layout.data) + row * layout.step; }
  Row<const N> Read(int64_t row, float* room) const {
    if constexpr (kConverts) {
      Storage<T>::Load(At(row), room, layout.length);
      return {reinterpret_cast<const N*>(room), layout.length};
    } else {
      return {reinterpret_cast<const N*>(At(row)), layout.length};
    }
  }
  Row<N> Write(int64_t row, float* room) const {
    return {reinterpret_cast<N*>(kConverts ? static_cast<void*>(room) : At(row)), layout.length};
  }
  void Finish(int64_t row, const float* room) const {
    if constexpr (kConverts) {
      Storage<T>::Store(room, At(row), layout.length);
    }
  }
};

template <class F, class Outs, class Ins, class Readers>
constexpr bool kTakesRows = false;
template <class F, class... R, class... A, class... V>
constexpr bool kTakesRows<F, Types<R...>, Types<A...>, Types<V...>> =
    std::is_invocable_v<const F&, Row<const Number<ComputeType<A>>>...,
                        Row<Number<ComputeType<R>>>..., typename V::type...>;

template <class F, class Outs, class Ins, class Readers>
struct RowsWork;
template <class F, class... R, class... A, class... V>
struct RowsWork<F, Types<R...>, Types<A...>, Types<V...>> {
  struct Kept {  // what KernelRecord::functor points to
    F functor;
    const OpRecord* op;
  };
  static void Run(const Kept& kept, oneop_frame* frame) {
    const oneop_tensor& first = *sdk::TensorAt(frame, 0);
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < first.ndim; ++i) {
      rows *= first.shape[i];
    }
    const int64_t length = first.ndim == 0 ? 1 : first.shape[first.ndim - 1];
    const int64_t grain = kRowGrain / (length < 1 ? 1 : length) + 1;
    sdk::ParallelFor(frame->host, 0, rows, grain, Range{kept, frame});
  }

 private:
  // No lambda, and no constructor in the packs: nvcc would lose them.
  static constexpr int32_t kNumInputs = sizeof...(A);
  struct Range {
    const Kept& kept;
    oneop_frame* frame;
    void operator()(int64_t begin, int64_t end) const {
      Over(begin, end, std::index_sequence_for<R...>(), std::index_sequence_for<A...>(),
           std::index_sequence_for<V...>());
    }
    template <class Operand>
    Operand At(int32_t number) const {
      return Operand(frame, kept.op->axes, number);
    }
    template <size_t... O, size_t... I, size_t... K>
    void Over(int64_t begin, int64_t end, std::index_sequence<O...>, std::index_sequence<I...>,
              std::index_sequence<K...>) const {
      Piece(kept.functor, begin, end, At<RowOperand<R>>(kNumInputs + O)..., At<RowOperand<A>>(I)...,
            V::Read(*sdk::Element(frame->attrs, frame->attr_size, K))...);
    }
  };
  // Frees itself when the functor throws too.
  struct Rooms {
    explicit Rooms(int64_t length) : data(length == 0 ? nullptr : new float[length]) {}
    ~Rooms() { delete[] data; }
    Rooms(const Rooms&) = delete;
    Rooms& operator=(const Rooms&) = delete;
    float* data;
    int64_t used = 0;
    float* Take(int64_t length) {
      used += length;
      return data == nullptr ? nullptr : data + used - length;
    }
  };
  static void Piece(const F& functor, int64_t begin, int64_t end, RowOperand<R>... to,
                    RowOperand<A>... from, typename V::type... attrs) {
    Rooms rooms((to.RoomLength() + ... + 0) + (from.RoomLength() + ... + 0));
    float* const to_rooms[] = {rooms.Take(to.RoomLength())..., nullptr};
    float* const from_rooms[] = {rooms.Take(from.RoomLength())..., nullptr};
    for (int64_t row = begin; row < end; ++row) {
      One(functor, row, to_rooms, from_rooms, std::index_sequence_for<R...>(),
          std::index_sequence_for<A...>(), to..., from..., attrs...);
    }
  }
  template <size_t... O, size_t... I>
  static void One(const F& functor, int64_t row, float* const* to_rooms, float* const* from_rooms,
                  std::index_sequence<O...>, std::index_sequence<I...>, RowOperand<R>... to,
                  RowOperand<A>... from, typename V::type... attrs) {
    functor(from.Read(row, from_rooms[I])..., to.Write(row, to_rooms[O])..., attrs...);
    static_cast<void>((to.Finish(row, to_rooms[O]), ...));
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_ROWS_H_
