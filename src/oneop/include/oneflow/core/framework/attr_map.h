// Attributes of a call: AttrMap, MutableAttrMap, ComposedAttrMap.
#ifndef ONEFLOW_CORE_FRAMEWORK_ATTR_MAP_H_
#define ONEFLOW_CORE_FRAMEWORK_ATTR_MAP_H_

#include <memory>
#include <tuple>
#include <vector>

#include "oneflow/core/common/optional.h"
#include "oneflow/core/framework/user_op_conf.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Attributes with the memory behind their names, lists and strings.
class AttrStore {
 public:
  AttrStore() = default;
  AttrStore(const AttrStore&) = delete;
  AttrStore& operator=(const AttrStore&) = delete;
  ~AttrStore() { arena_.Free(); }

  void Clear() {  // what the arena holds goes with the store
    size_ = 0;
    kept_.Drop();
  }
  const oneop_attr* data() const { return more_.empty() ? few_ : more_.data(); }
  int32_t size() const { return size_; }

  const oneop_attr* Find(std::string_view name) const {
    for (int32_t i = 0; i != size_; ++i) {
      if (SameName(data()[i].name, name)) {
        return &data()[i];
      }
    }
    return nullptr;
  }
  // The name must live as long as the store: a literal, or one that was kept.
  template <class T>
  void Put(const char* name, const T& value) {
    oneop_attr* attr = const_cast<oneop_attr*>(Find(name));
    if (attr == nullptr) {
      attr = Add();
    }
    kept_.Drop();
    PutAttr(attr, name, value, &arena_);
  }
  void PutRaw(const oneop_attr& attr) { *Add() = attr; }
  const char* KeepName(std::string_view name) { return arena_.CopyText(name); }
  // Values that were read, until an attribute is set.
  KeptList* kept() const { return &kept_; }

 private:
  static constexpr int32_t kFew = 4;

  oneop_attr* Add() {
    kept_.Drop();
    const int32_t at = size_++;
    if (more_.empty() && at < kFew) {
      return &few_[at];
    }
    if (more_.empty()) {
      more_.assign(few_, few_ + kFew);
    }
    more_.resize(static_cast<size_t>(size_));
    return &more_.back();
  }

  oneop_attr few_[kFew];  // most calls have no more, and so allocate nothing
  std::vector<oneop_attr> more_;
  int32_t size_ = 0;
  Arena arena_;
  mutable KeptList kept_;
};

// A number, or a reference that lives as long as `kept`.
template <class T>
using MaybeAttr = oneflow::Maybe<AttrResult<T>>;
template <class T>
MaybeAttr<T> ReadAttr(const oneop_attr* attr, std::string_view name, KeptList* kept) {
  if (attr == nullptr) {
    return oneflow::Error(ONEOP_ERROR_VALUE, nullptr, 0)
           << "no attribute found. attribute name: " << name;
  }
  if (!IsAttrOf<T>(*attr)) {
    return oneflow::Error(ONEOP_ERROR_TYPE, nullptr, 0)
           << "attribute " << name << " is a " << static_cast<AttrType>(attr->type) << ", not a "
           << AttrTraits<T>::kType;
  }
  return ReadAttrOf<T>(attr, kept);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

// JUST(map.GetAttr<std::string>("a")) is the value itself, as OneFlow: a number, or a reference
// that lives as long as the map and its copies, until an attribute is set.
template <class T>
struct AttrMaybe {
  ::oneop::sdk::MaybeAttr<T> held;
  bool IsOk() const { return held.IsOk(); }
  const Error& error() const { return held.error(); }
  auto OneopTake() {
    auto taken = held.OneopTake();
    if constexpr (std::is_convertible_v<decltype(taken), std::shared_ptr<T>>) {
      return *taken;  // complex numbers and the like
    } else {
      return taken;
    }
  }
};

class AttrMap {
 public:
  AttrMap() = default;
  // A copy of all attributes of a call.
  ONEOP_COLD explicit AttrMap(const oneop_frame* frame)
      : store_(std::make_shared<::oneop::sdk::AttrStore>()) {
    for (int32_t i = 0; i != frame->num_attrs; ++i) {
      store_->PutRaw(*::oneop::sdk::Element(frame->attrs, frame->attr_size, i));
    }
  }

  template <class T>
  AttrMaybe<T> GetAttr(std::string_view name) const {
    return {
        ::oneop::sdk::ReadAttr<T>(Find(name), name, store_ == nullptr ? nullptr : store_->kept())};
  }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  size_t size() const { return store_ == nullptr ? 0 : store_->size(); }
  const ::oneop::sdk::AttrStore* OneopStore() const { return store_.get(); }
  const oneop_attr* OneopData() const { return store_ == nullptr ? nullptr : store_->data(); }
  template <class T>
  void OneopPut(const char* name, const T& value) {
    if (store_ == nullptr) {
      store_ = std::make_shared<::oneop::sdk::AttrStore>();
    }
    store_->Put<T>(name, value);
  }
  const oneop_attr* Find(std::string_view name) const {
    return store_ == nullptr ? nullptr : store_->Find(name);
  }
  // `attrs.find("a") != attrs.end()`
  const oneop_attr* find(std::string_view name) const { return Find(name); }
  const oneop_attr* end() const { return nullptr; }

 private:
  std::shared_ptr<::oneop::sdk::AttrStore> store_;
};

inline AttrMap MakeAttrMapFromUserOpConf(const AttrMap& conf) { return conf; }

class ComposedAttrMap {
 public:
  explicit ComposedAttrMap(const AttrMap& base) : base_(base) {}
  ComposedAttrMap(const AttrMap& prior, const AttrMap& base) : prior_(prior), base_(base) {}
  template <class T>
  AttrMaybe<T> GetAttr(std::string_view name) const {
    return prior_.Has(name) ? prior_.GetAttr<T>(name) : base_.GetAttr<T>(name);
  }
  void ResetPrior(const AttrMap& prior) { prior_ = prior; }

 private:
  AttrMap prior_;
  AttrMap base_;
};

class MutableAttrMap {
 public:
  MutableAttrMap() = default;
  MutableAttrMap(std::initializer_list<const char*> names) : names_(names) {}

  template <class T>
  Maybe<void> SetAttr(const char* name, const T& value) {
    store_.Put<T>(name, value);
    return Maybe<void>::Ok();
  }
  template <class T>
  Maybe<void> SetAttr(const std::string& name, const T& value) {
    store_.Put<T>(store_.KeepName(name), value);
    return Maybe<void>::Ok();
  }
  template <size_t I, class T>
  void SetAttr(const T& value) {
    PutNumbered(I, value);
  }
  // One value for each name given to the constructor; an Optional without value leaves its
  // attribute alone.
  template <class... T>
  void SetAllAttrs(const T&... values) {
    if (sizeof...(values) != names_.size()) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_RUNTIME, {"SetAllAttrs needs one value for each name"});
    }
    size_t i = 0;
    (PutNumbered(i++, values), ...);
  }
  void reset() { store_.Clear(); }
  void clear() { store_.Clear(); }
  const ::oneop::sdk::AttrStore& OneopStore() const { return store_; }

 private:
  template <class T>
  void PutNumbered(size_t i, const T& value) {
    store_.Put<T>(names_.at(i), value);
  }
  template <class T>
  void PutNumbered(size_t i, const Optional<T>& value) {
    if (value.has_value()) {
      PutNumbered(i, *value.value_or_throw());
    }
  }
  void PutNumbered(size_t, const NullOptType&) {}

  std::vector<const char*> names_;
  ::oneop::sdk::AttrStore store_;
};

// `auto& attrs = THREAD_CACHED_MUTABLE_ATTR_MAP("a", "b");`
#define THREAD_CACHED_MUTABLE_ATTR_MAP(...)                             \
  ([]() -> ::oneflow::MutableAttrMap& {                                 \
    static thread_local std::unique_ptr<::oneflow::MutableAttrMap> map; \
    map.reset(new ::oneflow::MutableAttrMap{__VA_ARGS__});              \
    return *map;                                                        \
  }())

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_ATTR_MAP_H_
