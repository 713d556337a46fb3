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
  const OutputTensors& copies() const { return copies_; }
  void write_back();

 private:
  void add_copy(at::Tensor copy);

  c10::SmallVector<void*, 12> data_;
  OutputTensors copies_;
  c10::SmallVector<std::pair<const at::Tensor*, size_t>, 2> write_back_;
};

// Raises for an input that the op changes and whose elements share memory: for kernels that take
// the tensors themselves.
void check_changed(const Layout& layout, const CallTensors& call);

// A contiguous copy. Small tensors in host memory are copied here, in a fraction of the time that
// torch's own copy takes to start.
at::Tensor contiguous_copy(const at::Tensor& tensor);

}  // namespace oneop
