// A function of typed views as a kernel.
#ifndef ONEOP_OP_TYPED_KERNEL_H_
#define ONEOP_OP_TYPED_KERNEL_H_

#include "oneop/op/call.h"
#include "oneop/op/kernel_record.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// What an argument of the schema is to a kernel: View<T>, or Views<T> for a list. An input that is
// changed in place can be written to.
template <class S, int kSide, size_t kIndex>
constexpr const TensorArg& ArgOf() {
  return kSide == sdk::kInput ? S::kSchema.inputs[kIndex] : S::kSchema.outputs[kIndex];
}
template <class S, int kSide, size_t kIndex, class T>
struct ArgumentOf {
  static constexpr TensorArg kArg = ArgOf<S, kSide, kIndex>();
  static constexpr bool kIsList = kArg.count != 1 || kArg.count_is_minimum;
  static constexpr bool kIsRead = kSide == sdk::kInput && !kArg.is_mutable;
  using Element = std::conditional_t<kIsRead, const T, T>;
  using type = std::conditional_t<kIsList, Views<Element>, View<Element>>;

  static type Make(const oneop_frame* frame) {
    const oneop_arg* arg = sdk::ArgAt(frame, kSide == sdk::kInput ? frame->inputs : frame->outputs,
                                      static_cast<int32_t>(kIndex));
    if constexpr (kIsList) {
      return Views<Element>(frame, arg);
    } else {
      return View<Element>(arg->count == 0 ? nullptr : sdk::TensorAt(frame, arg->first), arg->name);
    }
  }
};

// The arguments of a kernel of schema S: inputs, then outputs.
template <class S, class Outs, class Ins, class OutNumbers, class InNumbers>
struct ArgumentsOver;
template <class S, class... R, class... A, size_t... O, size_t... I>
struct ArgumentsOver<S, Types<R...>, Types<A...>, std::index_sequence<O...>,
                     std::index_sequence<I...>> {
  using type = Types<ArgumentOf<S, sdk::kInput, I, A>..., ArgumentOf<S, sdk::kOutput, O, R>...>;
};
template <class S, class Outs, class Ins>
struct ArgumentsOf;
template <class S, class... R, class... A>
struct ArgumentsOf<S, Types<R...>, Types<A...>>
    : ArgumentsOver<S, Types<R...>, Types<A...>, std::index_sequence_for<R...>,
                    std::index_sequence_for<A...>> {};

// Whether functor.operator()<T>(args...) can be called: the form of a struct whose operator() is a
// template over the dtype, which then names the rank of each view.
template <class F, class T, class Void, class... Args>
struct TakesType : std::false_type {};
template <class F, class T, class... Args>
struct TakesType<
    F, T,
    std::void_t<decltype(std::declval<const F&>().template operator()<T>(std::declval<Args>()...))>,
    Args...> : std::true_type {};

template <class F, class T, class... Args>
struct Form {
  static constexpr bool kPlain = std::is_invocable_v<const F&, Args...>;
  static constexpr bool kTyped = TakesType<F, T, void, Args...>::value;
  static constexpr bool kFits = kPlain || kTyped;
  static void Run(const F& functor, Args... args) {
    if constexpr (kTyped) {
      functor.template operator()<T>(static_cast<Args>(args)...);
    } else {
      functor(static_cast<Args>(args)...);
    }
  }
};

// T is the dtype of a uniform signature. A kernel leaves out what it does not need, from the end:
// (views, Attrs, Call&), (views, Call&), (views, Attrs), (views); or it takes (Call&) alone.
template <class F, class T, class Arguments>
struct TypedWork;
template <class F, class T, class... Arg>
struct TypedWork<F, T, Types<Arg...>> {
  using Full = Form<F, T, typename Arg::type..., Attrs, Call&>;
  using WithCall = Form<F, T, typename Arg::type..., Call&>;
  using WithAttrs = Form<F, T, typename Arg::type..., Attrs>;
  using Views = Form<F, T, typename Arg::type...>;
  using Alone = Form<F, T, Call&>;

  static constexpr int Choose() {
    if constexpr (Full::kFits) {
      return 0;
    } else if constexpr (WithCall::kFits) {
      return 1;
    } else if constexpr (WithAttrs::kFits) {
      return 2;
    } else if constexpr (Views::kFits) {
      return 3;
    } else {
      return Alone::kFits ? 4 : -1;
    }
  }
  static constexpr int kForm = Choose();
  static constexpr bool kFits = kForm >= 0;
  static constexpr bool kHasTypes = kForm != 4;

  static void Run(const F& functor, oneop_frame* frame) {
    Call call(frame);
    if constexpr (kForm == 0) {
      Full::Run(functor, Arg::Make(frame)..., Attrs(frame), call);
    } else if constexpr (kForm == 1) {
      WithCall::Run(functor, Arg::Make(frame)..., call);
    } else if constexpr (kForm == 2) {
      WithAttrs::Run(functor, Arg::Make(frame)..., Attrs(frame));
    } else if constexpr (kForm == 3) {
      Views::Run(functor, Arg::Make(frame)...);
    } else {
      Alone::Run(functor, call);
    }
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_TYPED_KERNEL_H_
