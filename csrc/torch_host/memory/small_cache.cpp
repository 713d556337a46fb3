// small_cache.cpp: free lists of small blocks, one for each size and thread.
#include "torch_host/memory/small_cache.h"

#include <cstdlib>
#include <cstring>

namespace oneop {
namespace {

constexpr size_t kAlignment = 64;  // as torch's CPU allocator
constexpr int kClasses = 7;        // 64, 128, ... 4096 bytes
constexpr int kKept = 32;          // blocks of one class that a thread keeps
static_assert(kAlignment << (kClasses - 1) == kSmallCacheMaximum);

// Stands before the data, in a line of its own so that the data is aligned.
struct alignas(kAlignment) Block {
  Block* next;
  int size_class;

  void* data() { return this + 1; }
};
static_assert(sizeof(Block) == kAlignment);

// Blocks may be freed by another thread than the one that asked for them: each list takes what
// comes.
struct Lists {
  Block* first[kClasses];
  int count[kClasses];
  bool is_registered;  // for Cleaner
  bool is_closed;      // the thread ends
};
thread_local Lists lists;  // no constructor and no destructor: it is there until the thread is gone
// Where this thread's lists are. As in thread_cache.cpp one pointer stands in the static TLS block,
// which is read without a call.
__attribute__((tls_model("initial-exec"))) thread_local Lists* own_lists = nullptr;

Lists& lists_of_thread() {
  if (own_lists == nullptr) {
    own_lists = &lists;
  }
  return *own_lists;
}

struct Cleaner {
  ~Cleaner() {
    lists.is_closed = true;
    for (Block*& block :
         lists.first) {  // left empty: a later destructor of the thread may call an op
      while (block != nullptr) {
        Block* next = block->next;
        std::free(block);
        block = next;
      }
    }
  }
};

void register_cleaner() {
  thread_local Cleaner cleaner;
  (void)&cleaner;
  lists.is_registered = true;
}

void release_block(void* context) {
  auto* block = static_cast<Block*>(context);
  Lists& mine = lists_of_thread();
  const int c = block->size_class;
  if (mine.is_closed || mine.count[c] == kKept) {
    std::free(block);
    return;
  }
  if (!mine.is_registered) {
    register_cleaner();
  }
  block->next = mine.first[c];
  mine.first[c] = block;
  ++mine.count[c];
}

class SmallCache final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes > kSmallCacheMaximum) {
      return c10::GetAllocator(c10::kCPU)->allocate(bytes);
    }  // resize_
    int c = 0;
    while ((kAlignment << c) < bytes) {
      ++c;
    }
    Lists& mine = lists_of_thread();
    Block* block = mine.first[c];
    if (block != nullptr) {
      mine.first[c] = block->next;
      --mine.count[c];
    } else {
      block = make(c);
    }
    return {block->data(), block, &release_block, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    std::memcpy(dest, src, count);
  }

 private:
  static Block* make(int size_class) {
    void* memory = nullptr;
    const size_t bytes = sizeof(Block) + (kAlignment << size_class);
    TORCH_CHECK(posix_memalign(&memory, kAlignment, bytes) == 0, "not enough memory for ", bytes,
                " bytes");
    auto* block = static_cast<Block*>(memory);
    block->size_class = size_class;
    return block;
  }
};

}  // namespace

c10::Allocator* small_cache() {
  static SmallCache* cache = new SmallCache;  // tensors may outlive main()
  return cache;
}

}  // namespace oneop
