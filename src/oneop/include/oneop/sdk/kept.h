// Values that are made when they are first asked for and stay as long as their owner: descs of
// tensors, attributes that are not numbers. Any thread of a call may ask.
#ifndef ONEOP_SDK_KEPT_H_
#define ONEOP_SDK_KEPT_H_

#include <optional>

#include "oneflow/core/framework/attr_value.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

struct Kept {
  virtual ~Kept() = default;
  Kept* next = nullptr;
  const void* key = nullptr;
  const void* type = nullptr;
};
template <class T>
struct KeptValue final : Kept {
  template <class Make>
  explicit KeptValue(const Make& make) : value(make()) {}
  T value;
  static constexpr char kType = 0;  // its address tells the type
};

class KeptList {
 public:
  KeptList() = default;
  KeptList(const KeptList&) = delete;
  KeptList& operator=(const KeptList&) = delete;
  ~KeptList() { Drop(); }

  // The T of this key, made by `make` the first time. Of two threads that ask at once both get the
  // same.
  template <class T, class Make>
  T& Keep(const void* key, const Make& make) {
    const void* const type = &KeptValue<T>::kType;
    Kept* head = __atomic_load_n(&head_, __ATOMIC_ACQUIRE);
    Kept* kept = Find(head, nullptr, key, type);
    if (kept == nullptr) {
      kept = new KeptValue<T>(make);
      kept->key = key;
      kept->type = type;
      kept = Add(kept, head);
    }
    return static_cast<KeptValue<T>*>(kept)->value;
  }
  // What was returned before is gone.
  void Drop() {
    if (head_ != nullptr) {
      DropAll();
    }
  }
  void Swap(KeptList* other) { std::swap(head_, other->head_); }

 private:
  static Kept* Find(Kept* from, const Kept* end, const void* key, const void* type) {
    for (; from != end; from = from->next) {
      if (from->key == key && from->type == type) {
        return from;
      }
    }
    return nullptr;
  }
  ONEOP_COLD Kept* Add(Kept* made, Kept* head) {
    made->next = head;
    while (!__atomic_compare_exchange_n(&head_, &made->next, made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
      if (Kept* earlier = Find(made->next, head, made->key, made->type)) {
        delete made;
        return earlier;
      }
      head = made->next;
    }
    return made;
  }
  ONEOP_COLD void DropAll() {
    while (head_ != nullptr) {
      Kept* next = head_->next;
      delete head_;
      head_ = next;
    }
  }

  Kept* head_ = nullptr;
};

// How an attribute is handed out. A number is a value; a list, a string or a shape is a reference
// that stays valid as long as what it was asked of, so that `const int64_t* p =
// ctx->Attr<std::vector<int64_t>>("l").data()` can be used in later statements.
template <class T>
constexpr bool kAttrByValue = std::is_trivially_copyable_v<T> && !std::is_same_v<T, oneflow::Shape>;
template <class T>
using AttrResult = std::conditional_t<kAttrByValue<T>, T, const T&>;

template <class T>
AttrResult<T> ReadAttrOf(const oneop_attr* attr, KeptList* kept) {
  if constexpr (kAttrByValue<T>) {
    return AttrTraits<T>::Get(*attr);
  } else {
    return kept->Keep<T>(attr, [attr] { return AttrTraits<T>::Get(*attr); });
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_KEPT_H_
