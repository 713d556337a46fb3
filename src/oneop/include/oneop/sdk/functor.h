// Functors: C++ objects behind functions, called with values. And calling a function by its name.
#ifndef ONEOP_SDK_FUNCTOR_H_
#define ONEOP_SDK_FUNCTOR_H_

#include <tuple>

#include "oneop/sdk/functor_types.h"
#include "oneop/sdk/guard.h"
#include "oneop/sdk/recorder.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A functor of this library. The object is made at the first call: a constructor may need the host.
struct FunctorEntry {
  const char* name;
  int32_t num_args;
  const ParamType* params;
  int32_t return_type;
  oneop_function_fn call;
  void* self;
  const char* file;
  int32_t line;
  FunctorEntry* next;
};
inline FunctorEntry* functors = nullptr;

// Several functors may have one name; their parameters tell them apart. Exact types are taken
// first, so that a double never runs the functor for an int.
ONEOP_COLD inline const FunctorEntry* FindFunctor(std::string_view name, const ParamType* params,
                                                  int32_t num_args) {
  for (const FunctorEntry* entry = functors; entry != nullptr; entry = entry->next) {
    bool fits = entry->num_args == num_args && name == entry->name;
    for (int32_t i = 0; fits && i != num_args; ++i) {
      fits = entry->params[i].type == params[i].type &&
             entry->params[i].is_optional == params[i].is_optional;
    }
    if (fits) {
      return entry;
    }
  }
  return nullptr;
}
// Else the one whose parameters take the values best. `is_known`: there is one of this name.
ONEOP_COLD inline const FunctorEntry* FindFunctor(std::string_view name, const oneop_value* args,
                                                  int32_t num_args, bool* is_known) {
  const FunctorEntry* found = nullptr;
  int32_t best = -1;
  for (const FunctorEntry* entry = functors; entry != nullptr; entry = entry->next) {
    if (name != entry->name) {
      continue;
    }
    *is_known = true;
    int32_t total = entry->num_args == num_args ? 0 : -1;
    for (int32_t i = 0; total >= 0 && i != num_args; ++i) {
      const ParamType& param = entry->params[i];
      const int32_t fit = FitOf(param.type, param.is_optional, args[i]);
      total = fit == 0 ? -1 : total + fit;
    }
    if (total > best) {
      best = total;
      found = entry;
    }
  }
  return found;
}

// "(Tensor, Double or None)"
ONEOP_COLD inline std::string ParamsText(const ParamType* params, int32_t count) {
  std::string text = "(";
  for (int32_t i = 0; i != count; ++i) {
    text += i == 0 ? "" : ", ";
    text += ValueTypeOf(params[i].type).name;
    text += params[i].is_optional ? " or None" : "";
  }
  return text + ")";
}
[[noreturn]] ONEOP_COLD inline void ThrowNoFunctor(std::string_view name, const oneop_value* args,
                                                   int32_t num_args) {
  std::string text = Join(
      {"no functor \"", name, "\" takes these ", Digits(num_args), " arguments; registered are"});
  for (const FunctorEntry* entry = functors; entry != nullptr; entry = entry->next) {
    if (name == entry->name) {
      text += "\n  " + ParamsText(entry->params, entry->num_args);
      for (int32_t i = 0; entry->num_args == num_args && i != num_args; ++i) {
        if (FitOf(entry->params[i].type, entry->params[i].is_optional, args[i]) == 0) {
          text += Join({": argument ", Digits(i + 1), " is something else"});
          break;
        }
      }
    }
  }
  ThrowText(ONEOP_ERROR_TYPE, {text});
}

// What a function returns, as a value for the host.
template <class R>
struct ReturnTraits {
  static void Send(R&& returned, oneop_result* result) {
    Arena arena;
    oneop_value value{};
    auto held = returned.OneopTake();
    if (GivesAway(&held, result)) {
      return;
    }
    if constexpr (std::is_same_v<std::decay_t<decltype(held)>,
                                 std::shared_ptr<oneflow::one::Tensor>>) {
      ValueTraits<std::decay_t<decltype(held)>>::Write(held, &value, &arena);
    } else if constexpr (std::is_pointer_v<decltype(held)> || std::is_class_v<decltype(held)>) {
      ValueTraits<std::decay_t<decltype(*held)>>::Write(*held, &value, &arena);
    } else {
      ValueTraits<decltype(held)>::Write(held, &value, &arena);
    }
    result->set(result, &value);
    arena.Free();
  }

 private:
  template <class H>
  static bool GivesAway(H*, oneop_result*) {
    return false;
  }
  // A tensor that nobody else holds: the host takes its reference over.
  static bool GivesAway(std::shared_ptr<oneflow::one::Tensor>* held, oneop_result* result) {
    oneop_handle handle;
    if (*held == nullptr || held->use_count() != 1 || result->size < sizeof(oneop_result) ||
        !(*held)->OneopGive(&handle)) {
      return false;
    }
    result->give(result, handle);
    return true;
  }
};
template <>
struct ReturnTraits<oneflow::Maybe<void>> {
  static void Send(oneflow::Maybe<void>&&, oneop_result*) {}
};

// An argument for the time of a call. The caller holds the tensors, so they are lent; a functor may
// keep one for longer.
template <class T>
struct HeldArg {
  explicit HeldArg(const oneop_value& value) : held(ValueTraits<T>::Read(value)) {}
  T held;
};
template <>
struct HeldArg<std::shared_ptr<oneflow::one::Tensor>> {
  using Pointer = std::shared_ptr<oneflow::one::Tensor>;
  explicit HeldArg(const oneop_value& value)
      : is_lent(value.kind == ONEOP_VALUE_TENSOR),
        held(is_lent ? oneflow::one::Tensor::OneopLend(value.value.tensor)
                     : ValueTraits<Pointer>::Read(value)) {}
  HeldArg(const HeldArg&) = delete;
  HeldArg& operator=(const HeldArg&) = delete;
  ~HeldArg() {
    if (is_lent && held.use_count() > 1) {
      held->OneopKeep();
    }
  }
  bool is_lent;
  Pointer held;
};

template <class F, class Signature>
struct FunctorCall;
// The operator may be one that F inherits from B.
template <class F, class B, class R, class... A>
struct FunctorCall<F, R (B::*)(A...) const> {
  // One that no signature reaches stays out, as the signature does.
  static constexpr bool kIsForeign = (IsForeign<std::decay_t<A>>::value || ...);
  static constexpr int32_t kNumArgs = sizeof...(A);
  static constexpr int32_t kReturnType = ReturnTypeOf<R>::kType;
  static_assert(kIsForeign || ((ParamTypeOf<std::decay_t<A>>::kType.type > 0) && ...),
                "a parameter of this functor has a type that no signature can give: see the "
                "types in docs/functional.md (integers are int32_t or int64_t)");
  static const ParamType* Params() {
    static const ParamType params[] = {ParamTypeOf<std::decay_t<A>>::kType..., {0, false}};
    return params;
  }

  static int32_t Call(void*, const oneop_value* args, int32_t num_args, oneop_result* result,
                      oneop_status* status) {
    try {
      if (num_args != kNumArgs) {
        ThrowText(ONEOP_ERROR_TYPE, {"a functor takes ", Digits(kNumArgs), " arguments, given are ",
                                     Digits(num_args)});
      }
      static const F functor;
      return Run(functor, args, result, std::index_sequence_for<A...>());
    } catch (...) {
      return ReportCurrentException(nullptr, status, {nullptr, 0});
    }
  }

 private:
  template <size_t... I>
  static int32_t Run(const F& functor, const oneop_value* args, oneop_result* result,
                     std::index_sequence<I...>) {
    return RunHeld(functor, result, HeldArg<std::decay_t<A>>(args[I])...);
  }
  static int32_t RunHeld(const F& functor, oneop_result* result,
                         const HeldArg<std::decay_t<A>>&... args) {
    R returned = functor(args.held...);
    if (!returned.IsOk()) {
      Throw(returned.error());
    }
    ReturnTraits<R>::Send(std::move(returned), result);
    return ONEOP_OK;
  }
};
template <class F, class B, class R, class... A>
struct FunctorCall<F, R (B::*)(A...)> : FunctorCall<F, R (B::*)(A...) const> {};

template <class F>
ONEOP_COLD void AddFunctor(std::string_view name, const char* file, int32_t line) {
  using Call = FunctorCall<F, decltype(&F::operator())>;
  if constexpr (!Call::kIsForeign) {
    functors = new FunctorEntry{library.arena.CopyText(name),
                                Call::kNumArgs,
                                Call::Params(),
                                Call::kReturnType,
                                &Call::Call,
                                nullptr,
                                file,
                                line,
                                functors};
  }
}

// --- Calling a function, of this library or of the host's ---

template <class T>
struct ResultBox : oneop_result {
  T held{};
  ResultBox() : oneop_result{sizeof(oneop_result), &Set, &Give} {}
  static void Set(oneop_result* result, const oneop_value* value) {
    static_cast<ResultBox*>(result)->held = ValueTraits<T>::Read(*value);
  }
  static void Give(oneop_result* result, oneop_handle owned) {
    auto tensor = oneflow::one::Tensor::OneopOwn(owned);
    if constexpr (std::is_same_v<T, std::shared_ptr<oneflow::one::Tensor>>) {
      static_cast<ResultBox*>(result)->held = std::move(tensor);
    } else {
      ThrowValue("another result", ONEOP_VALUE_TENSOR);
    }
  }
};

// A function that is not this library's. One of torch's becomes part of the gradient that is being
// made, even where no symbol among its arguments says so.
inline int32_t CallHost(const char* name, const oneop_value* args, int32_t num_args,
                        oneop_result* result, oneop_status* status) {
  Recorder* recorder = CurrentRecorder();
  if (recorder != nullptr && std::strstr(name, "::") != nullptr) {
    return recorder->RecordFunction(name, args, num_args, result, status);
  }
  return Host()->call_function(name, args, num_args, result, status);
}

// Calls it; the result is a T as JUST gives it: a shared_ptr for tensors.
template <class T, class... A>
T CallFunction(const char* name, const A&... args) {
  Arena arena;
  oneop_value values[sizeof...(A) + 1] = {};
  int32_t i = 0;
  (ValueTraits<A>::Write(args, &values[i++], &arena), ...);
  ResultBox<T> box;
  HostStatus status;
  static const ParamType params[] = {ParamTypeOf<A>::kType..., {0, false}};
  const FunctorEntry* functor = FindFunctor(name, params, sizeof...(A));
  if (functor == nullptr) {
    bool is_known = false;
    functor = FindFunctor(name, values, sizeof...(A), &is_known);
    if (functor == nullptr && is_known) {
      ThrowNoFunctor(name, values, sizeof...(A));
    }
  }
  const int32_t code =
      functor != nullptr ? functor->call(functor->self, values, sizeof...(A), &box, &status.status)
                         : CallHost(name, values, sizeof...(A), &box, &status.status);
  arena.Free();
  status.Check(code);
  return std::move(box.held);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FUNCTOR_H_
