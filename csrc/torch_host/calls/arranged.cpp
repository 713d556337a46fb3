// arranged.cpp: see arranged.h.
#include "torch_host/calls/arranged.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>

#include "torch_host/memory/small_cache.h"

namespace oneop {
namespace {

constexpr int64_t kMostDims = 8;

// Copies the elements of a strided tensor one after the other, the last dimension fastest. All
// sizes are positive.
template <typename Element>
void copy_elements(const at::Tensor& tensor, void* target) {
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  const int64_t inner = tensor.dim() - 1;
  const int64_t count = sizes[inner];
  const int64_t step = strides[inner];
  int64_t index[kMostDims] = {};
  const auto* row = static_cast<const Element*>(tensor.const_data_ptr());
  auto* next = static_cast<Element*>(target);
  while (true) {
    for (int64_t i = 0; i < count; ++i) {
      next[i] = row[i * step];
    }
    next += count;
    int64_t dim = inner - 1;
    while (dim >= 0 && index[dim] == sizes[dim] - 1) {
      row -= strides[dim] * index[dim];
      index[dim] = 0;
      --dim;
    }
    if (dim < 0) {
      return;
    }
    ++index[dim];
    row += strides[dim];
  }
}

struct Pair {
  int64_t first;
  int64_t second;
};

// Those are copied here, in a fraction of the time that torch's own copy takes to start.
bool is_small(const at::Tensor& tensor) {
  const size_t bytes = tensor.numel() * tensor.itemsize();
  return bytes - 1 < kSmallCacheMaximum &&  // not for 0, which wraps
         tensor.is_cpu() && tensor.dim() >= 1 && tensor.dim() <= kMostDims &&
         tensor.layout() == c10::kStrided && !tensor.is_conj() && !tensor.is_neg() &&
         tensor.itemsize() <= sizeof(Pair) && (tensor.itemsize() & (tensor.itemsize() - 1)) == 0;
}

void copy_small(const at::Tensor& tensor, void* target) {
  switch (tensor.itemsize()) {
    case 1:
      return copy_elements<int8_t>(tensor, target);
    case 2:
      return copy_elements<int16_t>(tensor, target);
    case 4:
      return copy_elements<int32_t>(tensor, target);
    case 8:
      return copy_elements<int64_t>(tensor, target);
    default:
      return copy_elements<Pair>(tensor, target);
  }
}

at::Tensor contiguous_copy(const at::Tensor& tensor) {
  if (!is_small(tensor)) {
    return tensor.contiguous();
  }
  constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
  at::Tensor copy = at::detail::empty_generic(tensor.sizes(), small_cache(), cpu,
                                              tensor.scalar_type(), std::nullopt);
  copy_small(tensor, copy.mutable_data_ptr());
  return copy;
}

[[noreturn]] void refuse_tensor(const Layout& layout, size_t input, const std::string& text) {
  refuse_argument(layout, ", input " + in_quotes(layout.op->inputs[input].name) + ": " + text);
}

// Invariant: of an input that an op changes no two elements share memory, in whatever form a kernel
// takes it; else the order of the writes would decide.
void refuse_overlap(const Layout& layout, size_t input, const at::Tensor& tensor) {
  if (!tensor.is_contiguous() && at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
    refuse_tensor(layout, input,
                  "the op changes it, and several of its elements share memory\n"
                  "  give it a copy: x.clone()");
  }
}

// Whether the storage holds all elements. FSDP, for one, takes the storage of parameters away while
// they are not needed.
bool has_its_memory(const c10::TensorImpl& tensor, bool is_contiguous) {
  const int64_t count = tensor.numel();
  int64_t last = count - 1;
  if (!is_contiguous) {
    last = 0;
    for (size_t i = 0; i < tensor.sizes().size(); ++i) {
      last += (tensor.sizes()[i] - 1) * tensor.strides()[i];
    }
  }
  const auto end = static_cast<size_t>(tensor.storage_offset() + last + 1);
  return count == 0 || end * tensor.itemsize() <= tensor.unsafe_storage().nbytes();
}

// What data_ptr() gives, of a tensor that has its memory.
void* elements_of(const c10::TensorImpl& tensor, bool is_mutable) {
  if (tensor.numel() == 0) {
    return nullptr;
  }
  const c10::Storage& storage = tensor.unsafe_storage();
  void* data = is_mutable ? storage.mutable_data() : const_cast<void*>(storage.data());
  return static_cast<char*>(data) + tensor.storage_offset() * tensor.itemsize();
}

}  // namespace

void check_changed(const Layout& layout, const CallTensors& call) {
  size_t at = 0;
  for (size_t a = 0; a < layout.inputs.size(); ++a) {
    for (int32_t k = 0; k < call.counts[a]; ++k, ++at) {
      if (layout.op->input_traits[a].is_mutable) {
        refuse_overlap(layout, a, *call.tensors[at]);
      }
    }
  }
}

Arranged::Arranged(const Layout& layout, const CallTensors& call) {
  const bool any_strides = layout.op->has_flag(ONEOP_OP_NON_CONTIGUOUS);
  size_t at = 0;
  for (size_t a = 0; a < layout.inputs.size(); ++a) {
    const bool is_mutable = layout.op->input_traits[a].is_mutable;
    const bool on_host = layout.op->inputs[a].on_host;
    for (int32_t k = 0; k < call.counts[a]; ++k, ++at) {
      const at::Tensor& tensor = *call.tensors[at];
      const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
      const bool is_contiguous = impl.is_contiguous();
      if (!has_its_memory(impl, is_contiguous)) {
        refuse_tensor(layout, a,
                      "its storage is smaller than the tensor\n  it was resized or freed");
      }
      if (is_mutable) {
        refuse_overlap(layout, a, tensor);
      }
      if (on_host && !tensor.is_cpu()) {
        add_copy(tensor.to(c10::kCPU).contiguous());
      } else if (any_strides || is_contiguous) {
        data_.push_back(elements_of(impl, is_mutable));
      } else if (!is_mutable && is_small(tensor)) {
        add_small_copy(tensor);
      } else {
        add_copy(contiguous_copy(tensor));
        if (is_mutable) {
          write_back_.emplace_back(&tensor, copies_.size() - 1);
        }
      }
    }
  }
}

void Arranged::add_copy(at::Tensor copy) {
  copies_.push_back(std::move(copy));
  data_.push_back(copies_.back().mutable_data_ptr());
}

void Arranged::add_small_copy(const at::Tensor& tensor) {
  c10::DataPtr memory = small_cache()->allocate(tensor.numel() * tensor.itemsize());
  void* const data = memory.get();
  copy_small(tensor, data);
  blocks_.push_back({std::move(memory), data, nullptr});
  data_.push_back(data);
}

std::shared_ptr<void> Arranged::owner_of(const void* data) {
  for (Block& block : blocks_) {
    if (block.data == data) {
      if (block.shared == nullptr) {
        block.shared = std::make_shared<c10::DataPtr>(std::move(block.memory));
      }
      return block.shared;
    }
  }
  for (const at::Tensor& copy : copies_) {
    if (copy.const_data_ptr() == data) {
      return std::make_shared<at::Tensor>(copy);
    }
  }
  return nullptr;
}

void Arranged::write_back() {
  for (const auto& [tensor, copy] : write_back_) {
    tensor->copy_(copies_[copy]);
  }
}

}  // namespace oneop
