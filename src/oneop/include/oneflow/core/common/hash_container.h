// HashMap and HashSet. Not part of framework.h: <unordered_map> is slow to parse.
#ifndef ONEFLOW_CORE_COMMON_HASH_CONTAINER_H_
#define ONEFLOW_CORE_COMMON_HASH_CONTAINER_H_

#include <unordered_map>
#include <unordered_set>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {

template <class Key, class T, class Hash = std::hash<Key>>
using HashMap = std::unordered_map<Key, T, Hash>;
template <class Key, class Hash = std::hash<Key>>
using HashSet = std::unordered_set<Key, Hash>;

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_HASH_CONTAINER_H_
