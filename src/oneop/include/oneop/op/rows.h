// A functor of rows as a kernel: each row of the first input with what belongs to it, on all
// threads.
#ifndef ONEOP_OP_ROWS_H_
#define ONEOP_OP_ROWS_H_

#include "oneop/op/axes.h"
#include "oneop/op/elementwise.h"
#include "oneop/op/narrowing.h"
#include "oneop/op/row.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int64_t kRowGrain = 8192;  // elements for which a thread is worth its start

// Where the rows of a tensor are.
struct RowLayout {
  char* data;
  int64_t length;
  int64_t step;  // elements from one row to the next; 0: all share one
};

// What a tensor is beside the first input. kRow: it has the same axes but for the last, which is
// the row. kElement: the last axis is missing, and each row has one element. kShared: one axis or
// none, given whole to every row.
enum class RowKind { kRow, kElement, kShared, kNone };

inline bool SameAxes(const AxesRule::Tensor& a, const AxesRule::Tensor& b, int count) {
  for (int i = 0; i < count; ++i) {
    if (a.axes[i] != b.axes[i]) {
      return false;
    }
  }
  return true;
}
// By the names of the axes, so that it is the same for every call. A line that ends with `...` has
// a last axis without a name: then only a tensor with the very same axes has rows.
inline RowKind KindByAxes(const AxesRule& rule, int32_t number) {
  const AxesRule::Tensor& first = rule.tensors[0];
  const AxesRule::Tensor& tensor = rule.tensors[number];
  const int leading = first.count - 1;
  const bool is_open = first.count != 0 && first.axes[leading] == AxesRule::kEllipsis;
  const bool ends_open = tensor.count != 0 && tensor.axes[tensor.count - 1] == AxesRule::kEllipsis;
  if (tensor.count == first.count && first.count != 0 && is_open == ends_open &&
      SameAxes(tensor, first, leading)) {
    return RowKind::kRow;
  }
  if (!is_open && tensor.count == leading && SameAxes(tensor, first, leading)) {
    return RowKind::kElement;
  }
  return tensor.count <= 1 && !tensor.has_ellipsis() ? RowKind::kShared : RowKind::kNone;
}
// Without a line of axes. The functor is written for one kind of each input, and nothing says
// which, so an input has rows of the first one's length, or is one such row. Outputs are what
// .infer says.
inline RowKind KindByShape(const oneop_tensor& tensor, const oneop_tensor& first, bool is_output) {
  if (tensor.ndim == first.ndim) {
    return RowKind::kRow;
  }
  return is_output ? (tensor.ndim == first.ndim - 1 ? RowKind::kElement : RowKind::kNone)
                   : (tensor.ndim == 1 ? RowKind::kShared : RowKind::kNone);
}

// Whether the axes before the last are those of the first input.
inline bool HasLeading(const oneop_tensor& tensor, const oneop_tensor& first) {
  for (int32_t i = 0; i < first.ndim - 1; ++i) {
    if (tensor.shape[i] != first.shape[i]) {
      return false;
    }
  }
  return true;
}
inline int64_t RowLength(const oneop_tensor& tensor) {
  return tensor.ndim == 0 ? 1 : tensor.shape[tensor.ndim - 1];
}

[[noreturn]] ONEOP_COLD inline void ThrowRows(const oneop_frame* frame, int32_t number) {
  const bool is_input = number < frame->num_inputs;
  const oneop_arg* arg = is_input ? sdk::ArgAt(frame, frame->inputs, number)
                                  : sdk::ArgAt(frame, frame->outputs, number - frame->num_inputs);
  const oneop_tensor& first = *sdk::TensorAt(frame, 0);
  Refuse({is_input ? "input \"" : "output \"", arg->name, "\" of shape ",
          ShapeText(*sdk::TensorAt(frame, number)), " has no rows beside the first input's ",
          ShapeText(first),
          is_input
              ? "\n  it needs the same shape, or the last axis alone; for others the op needs a "
                "line of axes, such as .infer(\"... n, k -> ... n\")"
              : "\n  it needs the same axes but for the last, or these without the last"});
}

// Of tensor `number` of the frame; plain tensors alone have rows, so arguments are counted so too.
// Everything that rows are read by is compared with the shapes here, once for each call.
inline RowLayout LayoutOf(const oneop_frame* frame, const AxesRule* axes, int32_t number) {
  const oneop_tensor& tensor = *sdk::TensorAt(frame, number);
  const oneop_tensor& first = *sdk::TensorAt(frame, 0);
  const bool is_output = number >= frame->num_inputs;
  const RowKind kind =
      axes != nullptr ? KindByAxes(*axes, number) : KindByShape(tensor, first, is_output);
  const int64_t length = kind == RowKind::kRow      ? RowLength(tensor)
                         : kind == RowKind::kShared ? tensor.elem_cnt
                                                    : 1;
  // Several rows cannot all write to one.
  const bool fits = kind == RowKind::kRow ? tensor.ndim == first.ndim && HasLeading(tensor, first)
                    : kind == RowKind::kElement
                        ? tensor.ndim == first.ndim - 1 && HasLeading(tensor, first)
                        : kind == RowKind::kShared && (!is_output || first.ndim <= 1);
  const bool is_long_enough = is_output || axes != nullptr || length == RowLength(first);
  if (!ONEOP_LIKELY(fits && is_long_enough)) {
    ThrowRows(frame, number);
  }
  return {static_cast<char*>(tensor.data), length, kind == RowKind::kShared ? 0 : length};
}

// A row in a type in which one can compute; `room` is where converted elements go.
template <class T>
struct RowOperand {
  using N = Number<ComputeType<T>>;
  RowLayout layout;
  explicit RowOperand(const RowLayout& its_layout) : layout(its_layout) {}

  static constexpr bool kConverts = Storage<T>::kConverts;
  static constexpr bool kIsBool = std::is_same_v<T, bool>;
  int64_t RoomLength() const { return kConverts || kIsBool ? layout.length : 0; }
  T* At(int64_t row) const { return reinterpret_cast<T*>(layout.data) + row * layout.step; }
  Row<const N> Read(int64_t row, float* room) const {
    if constexpr (kConverts) {
      Storage<T>::Load(At(row), room, layout.length);
      return {reinterpret_cast<const N*>(room), layout.length};
    } else if constexpr (kIsBool) {  // see InMemory
      const auto* bytes = reinterpret_cast<const unsigned char*>(At(row));
      bool* bools = reinterpret_cast<bool*>(room);
      for (int64_t i = 0; i < layout.length; ++i) {
        bools[i] = bytes[i] != 0;
      }
      return {reinterpret_cast<const N*>(bools), layout.length};
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

// The attribute that the functor takes as a narrower type, or -1.
template <class F, class Outs, class Ins, class Readers>
constexpr int kNarrowInRows = -1;
template <class F, class... R, class... A, class... V>
constexpr int kNarrowInRows<F, Types<R...>, Types<A...>, Types<V...>> =
    Narrowed<F, sizeof...(A),
             Types<Row<const Number<ComputeType<A>>>..., Row<Number<ComputeType<R>>>...>,
             Types<typename V::type...>, Types<typename V::Held...>>::kFirst;

// With a line of axes it is known before any call which tensors have rows.
ONEOP_COLD inline void CheckRowAxes(const OpRecord& op) {
  for (int t = 1; op.axes != nullptr && t < op.axes->num_tensors; ++t) {
    const RowKind kind = KindByAxes(*op.axes, t);
    if (kind == RowKind::kNone ||
        (kind == RowKind::kShared && t >= op.axes->num_inputs && op.axes->tensors[0].count > 1)) {
      const Schema& schema = *op.schema;
      op.Mistake(
          {"by its axes \"", op.axes->text, "\" tensor \"",
           t < schema.num_inputs ? schema.inputs[t].name
                                 : schema.outputs[t - schema.num_inputs].name,
           "\" has no rows beside the first input's\n  .rows takes tensors with the same axes "
           "but for the last, with these alone, or inputs of one axis"});
    }
  }
}

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
    RowLayout layouts[kNumTensors];
    for (int32_t i = 0; i != kNumTensors; ++i) {
      layouts[i] = LayoutOf(frame, kept.op->axes, i);
    }
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < first.ndim; ++i) {
      rows *= first.shape[i];
    }
    const int64_t length = first.ndim == 0 ? 1 : first.shape[first.ndim - 1];
    const int64_t grain = kRowGrain / (length < 1 ? 1 : length) + 1;
    sdk::ParallelFor(frame->host, 0, rows, grain, Range{kept, frame, layouts});
  }
  static constexpr bool kHasTypes = true;

 private:
  // No lambda, and no constructor in the packs: nvcc would lose them.
  static constexpr int32_t kNumInputs = sizeof...(A);
  static constexpr int32_t kNumTensors = sizeof...(A) + sizeof...(R);
  struct Range {
    const Kept& kept;
    oneop_frame* frame;
    const RowLayout* layouts;
    void operator()(int64_t begin, int64_t end) const {
      Over(begin, end, std::index_sequence_for<R...>(), std::index_sequence_for<A...>(),
           std::index_sequence_for<V...>());
    }
    template <class Operand>
    Operand At(int32_t number) const {
      return Operand(layouts[number]);
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
