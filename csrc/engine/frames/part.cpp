// part.cpp: reading parts, and letting kernels ask.
#include "engine/frames/part.h"

#include "engine/ops/error.h"

namespace oneop {
namespace {

class Reader {
 public:
  explicit Reader(const std::vector<int64_t>& words) : words_(words) {}
  int64_t next() {
    if (at_ >= words_.size()) {
      fail();
    }
    return words_[at_++];
  }
  std::vector<int64_t> list(int64_t count) {
    if (count < 0 || count > static_cast<int64_t>(words_.size() - at_)) {
      fail();
    }
    const auto first = words_.begin() + static_cast<int64_t>(at_);
    at_ += count;
    return {first, first + count};
  }
  bool at_end() const { return at_ == words_.size(); }
  [[noreturn]] static void fail() {
    throw Error("ArgumentError",
                "the description of a part of a call is damaged: call the op with DTensors, which "
                "make it");
  }

 private:
  const std::vector<int64_t>& words_;
  size_t at_ = 0;
};

}  // namespace

Part::Part(std::vector<int64_t> words, int32_t (*dtype_of)(int64_t)) : words_(std::move(words)) {
  Reader reader(words_);
  const int64_t dims = reader.next();
  mesh_ = reader.list(dims);
  coordinate_ = reader.list(dims);
  const int64_t tensors = reader.next();
  for (int64_t i = 0; i < tensors * dims; ++i) {
    const auto kind = static_cast<int32_t>(reader.next());
    sbp_.push_back({kind, static_cast<int32_t>(reader.next())});
  }
  std::vector<int32_t> dtypes;
  for (int64_t i = 0; i < tensors; ++i) {
    dtypes.push_back(dtype_of(reader.next()));
    const int64_t ndim = reader.next();
    whole_.push_back(reader.list(ndim));
  }
  for (int64_t i = 0; i < tensors; ++i) {
    oneop_tensor meta{};
    meta.shape = whole_[i].data();
    meta.stride = meta.shape;  // a desc has none
    meta.ndim = static_cast<int32_t>(whole_[i].size());
    meta.dtype = dtypes[i];
    meta.elem_cnt = 1;
    for (int64_t size : whole_[i]) {
      meta.elem_cnt *= size;
    }
    logical_.push_back(meta);
  }
  while (!reader.at_end()) {
    const int64_t ndim = reader.next();
    outputs_.emplace_back(reader.list(ndim), 0);
  }
  if (outputs_.size() > static_cast<size_t>(tensors)) {
    Reader::fail();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].second = dtypes[tensors - outputs_.size() + i];
  }
}

void Part::fill(Frame* frame) const {
  const oneop_frame& given = frame->get();
  const size_t tensors = given.num_input_tensors + given.num_output_tensors;
  if (logical_.size() != tensors ||
      outputs_.size() != static_cast<size_t>(given.num_output_tensors)) {
    Reader::fail();
  }
  oneop_frame* abi = frame->abi();
  abi->sbp_dims = static_cast<int32_t>(mesh_.size());
  abi->sbp = sbp_.data();
  abi->logical_tensors = logical_.data();
  abi->parallel_num = 1;
  abi->parallel_id = 0;
  for (size_t d = 0; d < mesh_.size(); ++d) {
    abi->parallel_num *= static_cast<int32_t>(mesh_[d]);
    abi->parallel_id =
        abi->parallel_id * static_cast<int32_t>(mesh_[d]) + static_cast<int32_t>(coordinate_[d]);
  }
  frame->set_outputs(outputs_);
}

int64_t Part::shard() const {
  int64_t shard = 0;
  if (outputs_.empty()) {
    return shard;
  }
  const size_t first = (logical_.size() - outputs_.size()) * mesh_.size();
  for (size_t d = 0; d < mesh_.size(); ++d) {
    if (sbp_[first + d].kind == ONEOP_SBP_SPLIT) {
      shard = shard * mesh_[d] + coordinate_[d];
    }
  }
  return shard;
}

}  // namespace oneop
