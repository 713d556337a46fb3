// What this op library registers, and the one symbol that it exports.
#ifndef ONEOP_SDK_LIBRARY_H_
#define ONEOP_SDK_LIBRARY_H_

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string_view>

#include "oneop/sdk/config.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A growing array of pointers that can be handed to the host as it is. Never freed: a description
// lives as long as the library.
struct PointerList {
  const void** data;
  int32_t count;
  int32_t capacity;

  ONEOP_COLD void Add(const void* pointer) {
    if (count == capacity) {
      capacity = capacity == 0 ? 4 : 2 * capacity;
      void* grown = std::realloc(static_cast<void*>(data), sizeof(void*) * capacity);
      if (grown == nullptr) {
        throw std::bad_alloc();
      }
      data = static_cast<const void**>(grown);
    }
    data[count++] = pointer;
  }
};

// True before the host reads the library's description if some code in it asks where a kernel runs.
// Such functions are templates: what nobody calls is not instantiated, and sets nothing.
inline bool asks_placement = false;
template <class T>
struct AsksPlacement {
  static const bool noted;
};
template <class T>
const bool AsksPlacement<T>::noted = (asks_placement = true);

// Memory for the lists and strings of attribute values. The one of the library stays; those of a
// call are freed with it.
class Arena {
 public:
  constexpr Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ONEOP_COLD void* Allocate(size_t bytes) {
    Block* block = static_cast<Block*>(std::malloc(sizeof(Block) + bytes));
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    block->next = blocks_;
    blocks_ = block;
    return block + 1;
  }
  ONEOP_COLD const void* Copy(const void* data, size_t bytes) {
    void* copy = Allocate(bytes);
    if (bytes != 0) {
      std::memcpy(copy, data, bytes);
    }
    return copy;
  }
  ONEOP_COLD const char* CopyText(std::string_view text) {
    char* copy = static_cast<char*>(Allocate(text.size() + 1));
    if (!text.empty()) {
      std::memcpy(copy, text.data(), text.size());
    }
    copy[text.size()] = '\0';
    return copy;
  }
  // The pieces, one after the other.
  ONEOP_COLD const char* Join(std::initializer_list<std::string_view> pieces) {
    size_t length = 0;
    for (std::string_view piece : pieces) {
      length += piece.size();
    }
    char* text = static_cast<char*>(Allocate(length + 1));
    char* end = text;
    for (std::string_view piece : pieces) {
      if (!piece.empty()) {
        std::memcpy(end, piece.data(), piece.size());
      }
      end += piece.size();
    }
    *end = '\0';
    return text;
  }
  void Free() {
    while (blocks_ != nullptr) {
      Block* next = blocks_->next;
      std::free(blocks_);
      blocks_ = next;
    }
  }

 private:
  struct alignas(16) Block {
    Block* next;
  };
  Block* blocks_ = nullptr;
};

// REGISTER_OP_HOST_MEMORY_INPUT
struct HostInput {
  const char* op;
  const char* arg;
  const char* file;
  int32_t line;
  const HostInput* next;
};

// Filled by the static constructors of the author's files, in any order, so it must be
// constant-initialised itself.
struct Library {
  PointerList ops;
  PointerList kernels;
  PointerList grads;
  PointerList eager_grads;  // OpExprGradFunction; see SortGrads
  PointerList functions;
  const HostInput* host_inputs;
  void (*link_functions)();  // fills in `functions`
  void (*finish)();          // completes and checks what "oneop/op.h" registered
  Arena arena;
  const oneop_host* host;
  oneop_library description;
};

inline Library library{};

// The host runs the gradients in `grads`, and an op with both kinds uses the one of
// REGISTER_USER_OP_GRAD. So those for eager mode go there too, and stay where they are only if the
// op has one.
ONEOP_COLD inline void SortGrads() {
  const PointerList eager = library.eager_grads;
  const int32_t num_graph = library.grads.count;
  library.eager_grads = PointerList{};
  for (int32_t i = 0; i != eager.count; ++i) {
    const auto* grad = static_cast<const oneop_grad_def*>(eager.data[i]);
    PointerList* list = &library.grads;
    for (int32_t k = 0; k != num_graph; ++k) {
      const auto* other = static_cast<const oneop_grad_def*>(library.grads.data[k]);
      if (std::strcmp(other->op_type_name, grad->op_type_name) == 0) {
        list = &library.eager_grads;
      }
    }
    list->Add(grad);
  }
}

// A kernel that takes a pointer of the device for one of the host brings the process down, so a
// name that fits nothing must not go unnoticed.
ONEOP_COLD inline void MarkHostInputs() {
  for (const HostInput* host = library.host_inputs; host != nullptr; host = host->next) {
    bool found = false;
    for (int32_t i = 0; i != library.ops.count; ++i) {
      const auto* op = static_cast<const oneop_op_def*>(library.ops.data[i]);
      for (int32_t k = 0; k != op->num_inputs && std::strcmp(op->name, host->op) == 0; ++k) {
        if (std::strcmp(op->inputs[k]->name, host->arg) == 0) {
          const_cast<oneop_arg_def*>(op->inputs[k])->on_host = 1;
          found = true;
        }
      }
    }
    if (!found) {
      char line[16];
      std::snprintf(line, sizeof line, "%d", host->line);
      library.description.mistake = library.arena.Join(
          {"REGISTER_OP_HOST_MEMORY_INPUT: this library has no op \"", host->op,
           "\" with an input \"", host->arg, "\"\n  at ", host->file, ":", line});
    }
  }
}

ONEOP_COLD inline int32_t Describe(oneop_handshake* handshake) {
  handshake->library_abi_major = ONEOP_ABI_MAJOR;
  handshake->library_abi_minor = ONEOP_ABI_MINOR;
  handshake->library_sdk = ONEOP_SDK_VERSION;
  handshake->library = nullptr;
  if (handshake->host_abi_major != ONEOP_ABI_MAJOR) {
    return ONEOP_OK;
  }
  if (library.link_functions != nullptr && library.functions.count == 0) {
    library.link_functions();
  }
  if (library.finish != nullptr && library.description.size == 0) {
    library.finish();
  }
  MarkHostInputs();
  for (int32_t i = 0; asks_placement && i != library.kernels.count; ++i) {
    auto* kernel = static_cast<oneop_kernel_def*>(const_cast<void*>(library.kernels.data[i]));
    kernel->flags |= ONEOP_KERNEL_ASKS_PLACEMENT;
  }
  if (library.description.size == 0) {
    SortGrads();
  }
  // Every caller writes the same values, so it does not matter how many do.
  oneop_library* out = &library.description;
  out->size = sizeof(oneop_library);
  out->num_ops = library.ops.count;
  out->num_kernels = library.kernels.count;
  out->num_grads = library.grads.count;
  out->ops = reinterpret_cast<const oneop_op_def* const*>(library.ops.data);
  out->kernels = reinterpret_cast<const oneop_kernel_def* const*>(library.kernels.data);
  out->grads = reinterpret_cast<const oneop_grad_def* const*>(library.grads.data);
  out->num_functions = library.functions.count;
  out->functions = reinterpret_cast<const oneop_function_def* const*>(library.functions.data);
  out->num_eager_grads = library.eager_grads.count;
  out->eager_grads = reinterpret_cast<const oneop_grad_def* const*>(library.eager_grads.data);
  library.host = handshake->host;
  handshake->library = out;
  return ONEOP_OK;
}

// What a REGISTER_* macro defines; its initialiser is the chain of calls that follows the macro.
struct Registered {
  template <class Builder>
  Registered(const Builder&) {}  // NOLINT: implicit on purpose
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

extern "C" __attribute__((used, visibility("default"))) inline int32_t oneop_plugin(
    oneop_handshake* handshake) {
  return ::oneop::sdk::Describe(handshake);
}

#endif  // ONEOP_SDK_LIBRARY_H_
