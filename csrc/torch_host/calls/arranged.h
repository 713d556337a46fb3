// arranged.h: the input tensors of a call as kernels want them.
#pragma once

#include "torch_host/calls/calls.h"

namespace oneop {

// Contiguous, unless the op takes any strides, and in host memory where the op wants that. The
// tensors that are not so are copied; those that the kernel changes are written back at the end.
class Arranged {
 public:
  Arranged(const Layout& layout, const CallTensors& call);
  Arranged(const Arranged&) = delete;
  Arranged& operator=(const Arranged&) = delete;

  c10::SmallVector<void*, 12>& data() { return data_; }
  // What keeps the memory of a copy; null where `data` is of none.
  std::shared_ptr<void> owner_of(const void* data);
  void write_back();

 private:
  // The memory of a small copy. To make a tensor of it would cost more than the copying.
  struct Block {
    c10::DataPtr memory;
    void* data;
    std::shared_ptr<c10::DataPtr> shared;  // `memory`, once somebody else keeps it too
  };

  void add_copy(at::Tensor copy);
  void add_small_copy(const at::Tensor& tensor);

  c10::SmallVector<void*, 12> data_;
  OutputTensors copies_;
  c10::SmallVector<Block, 2> blocks_;
  c10::SmallVector<std::pair<const at::Tensor*, size_t>, 2> write_back_;
};

// Raises for an input that the op changes and whose elements share memory: for kernels that take
// the tensors themselves.
void check_changed(const Layout& layout, const CallTensors& call);

}  // namespace oneop
