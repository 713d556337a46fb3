// A functor of elements as a loop over tensors: vector instructions, on all threads.
#ifndef ONEOP_OP_ELEMENTWISE_H_
#define ONEOP_OP_ELEMENTWISE_H_

#include "oneop/op/kernel_record.h"
#include "oneop/op/math/functions.h"
#include "oneop/op/narrowing.h"
#include "oneop/op/types.h"
#include "oneop/sdk/parallel.h"

ONEOP_OP_INTERFACE

#if defined(__CUDACC__)
#define ONEOP_IVDEP  // nvcc does not pass it on
#else
// A loop writes element i and reads element i alone, also where input and output are one tensor.
#define ONEOP_IVDEP _Pragma("GCC ivdep")
#endif

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int64_t kGrain = 16384;  // elements for which a thread is worth its start
constexpr int64_t kBlock = 512;    // elements of 16 bits that are converted at a time

template <class R, class T>
ONEOP_BOTH R ResultAs(T value) {
  return static_cast<R>(value);
}
template <class R, class T>
ONEOP_BOTH R ResultAs(Number<T> number) {
  return static_cast<R>(number.value);
}

// How a functor is called: with numbers, which is what `auto` parameters get, or where it does not
// take these with plain values, as [](float x) does.
template <class F, class Ins, class Readers>
struct Invocation;
template <class F, class... A, class... V>
struct Invocation<F, Types<A...>, Types<V...>> {
  static constexpr bool kTakesNumbers =
      std::is_invocable_v<const F&, Number<A>..., typename V::type...>;
  // Asked only then: a generic functor is compiled to find out, and exp(float) is no function here.
  static constexpr bool kTakesPlain =
      std::conjunction_v<std::bool_constant<!kTakesNumbers>,
                         std::is_invocable<const F&, A..., typename V::type...>>;
  static constexpr bool kFits = kTakesNumbers || kTakesPlain;

  // Of the arguments, inputs first, the one that the functor takes as a narrower type, or -1.
  static constexpr int Narrow() {
    using Held = Types<A..., typename V::Held...>;
    if constexpr (kTakesNumbers) {
      return Narrowed<F, 0, Types<>, Types<Number<A>..., typename V::type...>, Held>::kFirst;
    } else {
      return Narrowed<F, 0, Types<>, Types<A..., typename V::type...>, Held>::kFirst;
    }
  }

  ONEOP_BOTH static auto Call(const F& functor, A... elements, typename V::type... attrs) {
    if constexpr (kTakesNumbers) {
      return functor(Number<A>(elements)..., attrs...);
    } else {
      return functor(elements..., attrs...);
    }
  }
  static auto ResultType() {
    if constexpr (kTakesNumbers) {
      return Types<std::invoke_result_t<const F&, Number<A>..., typename V::type...>>();
    } else if constexpr (kTakesPlain) {
      return Types<std::invoke_result_t<const F&, A..., typename V::type...>>();
    } else {
      return Types<void>();
    }
  }
};

// How many results a functor returns.
template <class T>
struct NumResults {
  static constexpr int kCount = 1;
};
template <>
struct NumResults<Types<void>> {
  static constexpr int kCount = 0;
};
template <class... T>
struct NumResults<Types<Results<T...>>> {
  static constexpr int kCount = sizeof...(T);
};

ONEOP_BOTH void PutResults(int64_t, Results<>) {}
template <class First, class... Rest, class R, class... Others>
ONEOP_BOTH void PutResults(int64_t i, const Results<First, Rest...>& value, R* to,
                           Others*... rest) {
  to[i] = ResultAs<R>(value.first);
  PutResults(i, value.rest, rest...);
}
template <class T, class R>
ONEOP_BOTH void PutResults(int64_t i, const T& value, R* to) {
  to[i] = ResultAs<R>(value);
}

// The loop itself, over types in which one can compute: never half or bfloat16.
template <class F, class Outs, class Ins, class Readers>
struct ElementLoop;
template <class F, class... R, class... A, class... V>
struct ElementLoop<F, Types<R...>, Types<A...>, Types<V...>> {
  ONEOP_NOINLINE static void Run(const F& functor, int64_t count, R*... to,
                                 const InMemory<A>*... from, typename V::type... attrs) {
    using Invoked = Invocation<F, Types<A...>, Types<V...>>;
    ONEOP_IVDEP
    for (int64_t i = 0; i < count; ++i) {
      PutResults(i, Invoked::Call(functor, static_cast<A>(from[i])..., attrs...), to...);
    }
  }
};

// One tensor of a call, and room for a block of it where its elements are converted.
template <class T>
struct Operand {
  T* data;
  static constexpr bool kConverts = false;
  struct Room {};
  T* Load(int64_t at, int64_t, Room&) const { return data + at; }
  T* Target(int64_t at, Room&) const { return data + at; }
  void Store(int64_t, int64_t, Room&) const {}
};
template <class T>
struct ConvertedOperand {
  T* data;
  static constexpr bool kConverts = true;
  struct Room {
    Room() {}  // not filled: every block writes before it reads
    float block[kBlock];
  };
  float* Load(int64_t at, int64_t count, Room& room) const {
    Storage<T>::Load(data + at, room.block, count);
    return room.block;
  }
  float* Target(int64_t, Room& room) const { return room.block; }
  void Store(int64_t at, int64_t count, Room& room) const {
    Storage<T>::Store(room.block, data + at, count);
  }
};
template <class T>
using OperandOf = std::conditional_t<Storage<T>::kConverts, ConvertedOperand<T>, Operand<T>>;

// The numbers of the tensors that results go to: outputs, then inputs that are changed in place.
template <class S>
constexpr int ResultTensor(int number) {
  if (number < S::kSchema.num_outputs) {
    return S::kSchema.num_inputs + number;
  }
  int skipped = number - S::kSchema.num_outputs;
  for (int i = 0; i < S::kSchema.num_inputs; ++i) {
    if (S::kSchema.inputs[i].is_mutable && skipped-- == 0) {
      return i;
    }
  }
  return -1;
}

// The loop goes through all tensors at once, so they have one shape and not only one size: the
// function of .infer may say something else.
[[noreturn]] ONEOP_COLD inline void ThrowShapes(const oneop_frame* frame, int32_t number) {
  const bool is_input = number < frame->num_inputs;
  const oneop_arg* arg = is_input ? sdk::ArgAt(frame, frame->inputs, number)
                                  : sdk::ArgAt(frame, frame->outputs, number - frame->num_inputs);
  Refuse({".elementwise takes tensors of one shape, found \"",
          sdk::ArgAt(frame, frame->inputs, 0)->name, "\" of ", ShapeText(*sdk::TensorAt(frame, 0)),
          " and \"", arg->name, "\" of ", ShapeText(*sdk::TensorAt(frame, number)),
          is_input ? "" : "\n  its .infer gives that shape; use .rows or .kernel for others"});
}
inline int64_t CommonCount(const oneop_frame* frame, int32_t num_tensors) {
  const oneop_tensor& first = *sdk::TensorAt(frame, 0);
  for (int32_t i = 1; i < num_tensors; ++i) {
    if (!ONEOP_LIKELY(HaveOneShape(first, *sdk::TensorAt(frame, i)))) {
      ThrowShapes(frame, i);
    }
  }
  return first.elem_cnt;
}

// The work of a kernel on the CPU. `Outs` are the dtypes of the results.
template <class S, class F, class Outs, class Ins, class Readers>
struct ElementwiseWork;
template <class S, class F, class... R, class... A, class... V>
struct ElementwiseWork<S, F, Types<R...>, Types<A...>, Types<V...>> {
  static constexpr bool kHasTypes = true;
  static void Run(const F& functor, oneop_frame* frame) {
    const int64_t count = CommonCount(frame, S::kSchema.num_inputs + S::kSchema.num_outputs);
    sdk::ParallelFor(frame->host, 0, count, kGrain, Range{functor, frame});
  }

 private:
  using Loop = ElementLoop<F, Types<ComputeType<R>...>, Types<ComputeType<A>...>, Types<V...>>;
  static constexpr bool kConverts =
      (Storage<R>::kConverts || ... || false) || (Storage<A>::kConverts || ... || false);

  template <class T>
  static T* DataOf(const oneop_frame* frame, int number) {
    return static_cast<T*>(sdk::TensorAt(frame, number)->data);
  }
  // No lambda: nvcc loses parameter packs that are expanded in one.
  struct Range {
    const F& functor;
    oneop_frame* frame;
    void operator()(int64_t begin, int64_t end) const {
      Over(begin, end, std::index_sequence_for<R...>(), std::index_sequence_for<A...>(),
           std::index_sequence_for<V...>());
    }
    template <size_t... O, size_t... I, size_t... K>
    void Over(int64_t begin, int64_t end, std::index_sequence<O...>, std::index_sequence<I...>,
              std::index_sequence<K...>) const {
      Piece(functor, begin, end, OperandOf<R>{DataOf<R>(frame, ResultTensor<S>(O))}...,
            OperandOf<InMemory<A>>{DataOf<InMemory<A>>(frame, I)}...,
            V::Read(*sdk::Element(frame->attrs, frame->attr_size, K))...);
    }
  };
  static void Piece(const F& functor, int64_t begin, int64_t end, OperandOf<R>... to,
                    OperandOf<InMemory<A>>... from, typename V::type... attrs) {
    if constexpr (!kConverts) {
      Loop::Run(functor, end - begin, (to.data + begin)..., (from.data + begin)..., attrs...);
    } else {
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t count = end - at < kBlock ? end - at : kBlock;
        Block(functor, at, count, to..., from..., attrs..., typename OperandOf<R>::Room()...,
              typename OperandOf<InMemory<A>>::Room()...);
      }
    }
  }
  static void Block(const F& functor, int64_t at, int64_t count, OperandOf<R>... to,
                    OperandOf<InMemory<A>>... from, typename V::type... attrs,
                    typename OperandOf<R>::Room&&... to_room,
                    typename OperandOf<InMemory<A>>::Room&&... from_room) {
    Loop::Run(functor, count, to.Target(at, to_room)..., from.Load(at, count, from_room)...,
              attrs...);
    static_cast<void>((to.Store(at, count, to_room), ...));
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_ELEMENTWISE_H_
