// part.h: where one device's part of a call lies: its place in the mesh, the placements of all
// tensors, their whole shapes, and the shapes of the device's outputs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/frames/frame.h"

namespace oneop {

// It travels as numbers, through schemas and keys alike:
//   dims, mesh sizes (dims), coordinate (dims), tensors,
//   (kind, axis) for each tensor and dimension,
//   for each tensor: dtype, ndim, whole sizes; for each output: ndim, sizes of the part.
// Built by oneop.sharding.parts; dtypes are numbers of the host.
class Part {
 public:
  // `dtype_of` makes the ABI's code from a dtype's number. Throws ArgumentError.
  Part(std::vector<int64_t> words, int32_t (*dtype_of)(int64_t));
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const std::vector<int64_t>& words() const { return words_; }
  // Shape and dtype of each output on this device.
  const std::vector<std::pair<std::vector<int64_t>, int32_t>>& outputs() const { return outputs_; }
  // Sets the outputs of the frame and what callbacks may ask. The part must outlive the frame.
  void fill(Frame* frame) const;
  // The number of the shard of the first output; equal on devices that have the same shard.
  int64_t shard() const;

 private:
  std::vector<int64_t> words_;
  std::vector<int64_t> mesh_;
  std::vector<int64_t> coordinate_;
  std::vector<oneop_sbp> sbp_;  // dims entries for each tensor
  std::vector<std::vector<int64_t>> whole_;
  std::vector<oneop_tensor> logical_;
  std::vector<std::pair<std::vector<int64_t>, int32_t>> outputs_;
};

}  // namespace oneop
