// Singleton<T> and Global<T>: the one object of a type. Services of the SDK (ThreadPool) are made
// at the first request; others are null until New.
#ifndef ONEFLOW_CORE_COMMON_SINGLETON_H_
#define ONEFLOW_CORE_COMMON_SINGLETON_H_

#include <type_traits>
#include <utility>

#include "oneflow/core/common/check.h"

namespace oneflow ONEOP_HIDDEN {

template <class T, class Kind = void>
class Singleton {
 public:
  static T* Get() { return *Slot(); }
  template <class... A>
  static T* New(A&&... args) {
    CHECK(Get() == nullptr) << "the object exists already";
    *Slot() = new T(std::forward<A>(args)...);
    return Get();
  }
  static void SetAllocated(T* object) {
    Delete();
    *Slot() = object;
  }
  static void Delete() {
    delete *Slot();
    *Slot() = nullptr;
  }

 private:
  static T** Slot() {
    static T* object = First();
    return &object;
  }
  static T* First() {
    if constexpr (HasService<T>::value) {
      return new T();
    } else {
      return nullptr;
    }
  }
  template <class U, class = void>
  struct HasService : std::false_type {};
  template <class U>
  struct HasService<U, std::void_t<typename U::OneopService>> : std::true_type {};
};

template <class T, class Kind = void>
using Global = Singleton<T, Kind>;

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SINGLETON_H_
