// node_call.h: a node as a call of an op.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onnx_host/attr_values.h"
#include "onnx_host/item.h"
#include "onnx_host/ort.h"

namespace oneop {

// Where a node's attributes are read: while its kernel is made, or while shapes are inferred.
class NodeReader {
 public:
  virtual ~NodeReader() = default;
  // False: the node has no such attribute. Throws ort::Failure for a kind that is not taken.
  // `is_text`: a text is taken as it is, else it is JSON.
  bool read(const char* name, bool is_text, Item* item) const;

 protected:
  virtual bool read_raw(const char* name, Item* item) const = 0;
};

std::unique_ptr<NodeReader> reader_of(const ort::KernelInfo* info);
std::unique_ptr<NodeReader> reader_of(const ort::InferContext* context);

// How many outputs every node of an op has: those that are not optional.
int num_required(const oneop_op_def& def);

// What a node says of a call beside its tensors.
class NodeCall {
 public:
  NodeCall(const oneop_op* op, const NodeReader& reader);

  const oneop_op* op() const { return op_; }
  const oneop_op_def& def() const { return def_; }
  // The outputs of the node if it says so, else of those that every node has.
  size_t num_outputs() const;
  // Works a call out, for inputs like these. The caller owns the plan. Throws ort::Failure.
  oneop_plan* prepare(const std::vector<ort::Spec>& specs, size_t num_outputs,
                      bool infer_only) const;

 private:
  void check_counts(const char* name, const std::vector<int32_t>& counts, int32_t num_args) const;

  const oneop_op* op_;
  const oneop_op_def& def_;
  std::vector<std::unique_ptr<OwnedAttr>> owned_;
  std::vector<oneop_attr> attrs_;
  std::vector<int32_t> input_counts_;  // empty: the node does not say
  std::vector<int32_t> output_counts_;
};

}  // namespace oneop
