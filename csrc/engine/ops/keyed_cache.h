// keyed_cache.h: results that were worked out once, found again by a key of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace oneop {

using PlanKey = std::vector<int64_t>;

struct PlanKeyHash {
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = 0x9e3779b97f4a7c15ull;
    for (int64_t word : key) {
      hash ^= static_cast<uint64_t>(word);
      hash *= 0xff51afd7ed558ccdull;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

// Then everything is dropped: shapes that never repeat must not fill the memory.
constexpr size_t kCacheLimit = 4096;

// Its lock is a leaf lock: values are made and destroyed while it is not held, since both may run
// an author's code, which may take the GIL or call ops.
template <typename Value>
class KeyedCache {
 public:
  std::shared_ptr<const Value> find(const PlanKey& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = values_.find(key);
    return known == values_.end() ? nullptr : known->second;
  }

  void insert(const PlanKey& key, std::shared_ptr<const Value> value) {
    Values dropped;  // destroyed after the lock is released, as `value` is
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed_) {
      return;
    }
    if (values_.size() >= kCacheLimit) {
      dropped.swap(values_);
    }
    values_[key].swap(value);
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return values_.size();
  }

  // Drops all, and keeps nothing from now on.
  void close() {
    Values dropped;
    std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    dropped.swap(values_);
  }

 private:
  using Values = std::unordered_map<PlanKey, std::shared_ptr<const Value>, PlanKeyHash>;

  mutable std::mutex mutex_;
  Values values_;
  bool is_closed_ = false;
};

}  // namespace oneop
