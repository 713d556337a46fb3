// Access to vectors and maps that gives a Maybe where an element may be missing.
#ifndef ONEFLOW_CORE_COMMON_CONTAINER_UTIL_H_
#define ONEFLOW_CORE_COMMON_CONTAINER_UTIL_H_

#include <vector>

#include "oneflow/core/common/hash_container.h"
#include "oneflow/core/common/maybe.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Numbers and pointers are given by value, everything else by reference.
template <class T>
using ScalarOrConstRef =
    std::conditional_t<oneflow::IsScalarType<T>::value || std::is_pointer_v<T>, T, const T&>;

inline oneflow::Error NoSuchElement(size_t index, size_t size) {
  return oneflow::Error(ONEOP_ERROR_INDEX, nullptr, 0)
         << "element " << index << " of a list of " << size;
}
inline oneflow::Error NoSuchKey() {
  return oneflow::Error(ONEOP_ERROR_VALUE, nullptr, 0) << "a map has no such key";
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

template <class Vector>
Maybe<::oneop::sdk::ScalarOrConstRef<typename Vector::value_type>> VectorAt(const Vector& vector,
                                                                            size_t index) {
  if (!ONEOP_LIKELY(index < vector.size())) {
    return ::oneop::sdk::NoSuchElement(index, vector.size());
  }
  return vector[index];
}
template <class Vector>
Maybe<typename Vector::value_type&> VectorAt(Vector& vector, size_t index) {
  if (!ONEOP_LIKELY(index < vector.size())) {
    return ::oneop::sdk::NoSuchElement(index, vector.size());
  }
  return vector[index];
}
// A vector<bool> has no elements to refer to.
inline Maybe<bool> VectorAt(const std::vector<bool>& vector, size_t index) {
  if (!ONEOP_LIKELY(index < vector.size())) {
    return ::oneop::sdk::NoSuchElement(index, vector.size());
  }
  return static_cast<bool>(vector[index]);
}
inline Maybe<bool> VectorAt(std::vector<bool>& vector, size_t index) {
  return VectorAt(static_cast<const std::vector<bool>&>(vector), index);
}

template <class Map, class Key>
Maybe<::oneop::sdk::ScalarOrConstRef<typename Map::mapped_type>> MapAt(const Map& map,
                                                                       const Key& key) {
  const auto found = map.find(key);
  if (found == map.end()) {
    return ::oneop::sdk::NoSuchKey();
  }
  return found->second;
}
template <class Map, class Key>
Maybe<typename Map::mapped_type&> MapAt(Map& map, const Key& key) {
  const auto found = map.find(key);
  if (found == map.end()) {
    return ::oneop::sdk::NoSuchKey();
  }
  return found->second;
}
template <class Map, class Key, class U>
::oneop::sdk::ScalarOrConstRef<typename Map::mapped_type> MapAt(const Map& map, const Key& key,
                                                                const U& otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

// The elements as text, with `separator` between them.
template <class Range>
std::string Join(const Range& range, const std::string& separator) {
  std::string text;
  bool is_first = true;
  for (const auto& element : range) {
    text.append(is_first ? "" : separator);
    ::oneop::sdk::AppendValue(&text, element);
    is_first = false;
  }
  return text;
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_CONTAINER_UTIL_H_
