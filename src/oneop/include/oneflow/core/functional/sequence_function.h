// sequence_function(f).then(g).then_if(condition, h).call(x, y): functions one after the other.
#ifndef ONEFLOW_CORE_FUNCTIONAL_SEQUENCE_FUNCTION_H_
#define ONEFLOW_CORE_FUNCTIONAL_SEQUENCE_FUNCTION_H_

#include "oneflow/core/functional/function_library.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

// The first function takes what call is given; each further one the tensor that came out.
template <class First>
class SequenceFunction {
 public:
  explicit SequenceFunction(First first) : first_(std::move(first)) {}

  template <class Next>
  auto then(Next next) const {
    const auto both = [first = first_, next = std::move(next)](const auto&... args) {
      return Both(first, next, args...);
    };
    return SequenceFunction<decltype(both)>(both);
  }
  template <class Next>
  auto then_if(bool condition, Next next) const {
    return then([condition, next = std::move(next)](const std::shared_ptr<Tensor>& x) {
      return condition ? Maybe<Tensor>(next(x)) : Maybe<Tensor>(x);
    });
  }
  template <class... A>
  Maybe<Tensor> call(const A&... args) const {
    return first_(args...);
  }

 private:
  template <class Next, class... A>
  static Maybe<Tensor> Both(const First& first, const Next& next, const A&... args) {
    const std::shared_ptr<Tensor> x = JUST(first(args...));
    return next(x);
  }
  First first_;
};

template <class First>
SequenceFunction<First> sequence_function(First first) {
  return SequenceFunction<First>(std::move(first));
}

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#if defined(ONEOP_PORT)
#include <functional>
namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {
// By the signature of the first function, as gradients write it.
template <class Signature>
using SequenceFunction = one::SequenceFunction<std::function<Signature>>;
}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN
#endif

#endif  // ONEFLOW_CORE_FUNCTIONAL_SEQUENCE_FUNCTION_H_
