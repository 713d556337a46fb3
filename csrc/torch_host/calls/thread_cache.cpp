// thread_cache.cpp: one pointer in the static TLS block, the rest on the heap.
#include "torch_host/calls/thread_cache.h"

namespace oneop {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local ThreadCache* cache = nullptr;

ThreadCache& make_cache() {
  thread_local std::unique_ptr<ThreadCache> owner;  // frees it when the thread ends
  owner = std::make_unique<ThreadCache>();
  cache = owner.get();
  return *cache;
}

}  // namespace

ThreadCache& thread_cache() { return cache != nullptr ? *cache : make_cache(); }

}  // namespace oneop
