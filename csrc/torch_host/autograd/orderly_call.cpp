// orderly_call.cpp: telling the usual call apart, and running it.
#include "torch_host/autograd/orderly_call.h"

#include <cstddef>
#include <cstring>

#include "torch_host/handles/tensor_handles.h"

namespace oneop {
namespace {

// For names, which are short.
bool same_name(const std::string& ours, const char* theirs) {
  const char* mine = ours.c_str();
  while (*mine == *theirs && *mine != 0) {
    ++mine;
    ++theirs;
  }
  return *mine == *theirs;
}

class OrderlyCall {
 public:
  OrderlyCall(const TorchOp& op, const oneop_call& call)
      : op_(op), record_(op), layout_(record_.layout()), call_(call) {}

  // False: nothing has been done.
  bool run(oneop_handle* outputs) {
    // A tensor is no more than its handle, so the caller's can be read where they lie.
    static_assert(sizeof(at::Tensor) == sizeof(oneop_handle));
    const auto* tensors = reinterpret_cast<const at::Tensor*>(call_.inputs);
    OutputTensors made;
    return has_its_tensors() &&
           call_directly(
               op_, *record_, &made,
               [&](size_t i, DirectCall* call) { return call->add_tensor(tensors[i]); },
               [&](PlanKey* key) { return add_attrs(key); },
               [&](DirectCall* call) {
                 run_prepared(call);
                 outputs[0] = give_handle(std::move(made[0]));
               });
  }

 private:
  bool has_its_tensors() const {
    for (int32_t i = 0; i < call_.num_inputs; ++i) {
      if (call_.inputs[i] == nullptr) {
        return false;
      }
    }
    // The names of one call site stay as they are, and so does what the id of a layout stands for.
    const void** note = has_note() ? call_.note : nullptr;
    const void* id = reinterpret_cast<const void*>(layout_.id);
    if (note != nullptr && __atomic_load_n(note, __ATOMIC_RELAXED) == id) {
      return true;
    }
    if (!has_its_names()) {
      return false;
    }
    if (note != nullptr) {
      __atomic_store_n(note, id, __ATOMIC_RELAXED);
    }
    return true;
  }
  bool has_note() const { return call_.size >= offsetof(oneop_call, note) + sizeof call_.note; }
  bool has_its_names() const {
    const OpDef& def = *layout_.op;
    if (static_cast<size_t>(call_.num_inputs) != def.inputs.size() || call_.num_outputs != 1 ||
        def.outputs.size() != 1 || !same_name(def.outputs[0].name, call_.output_names[0])) {
      return false;
    }
    for (int32_t i = 0; i < call_.num_inputs; ++i) {
      if (layout_.inputs[i] == Layout::Input::kList ||
          !same_name(def.inputs[i].name, call_.input_names[i])) {
        return false;
      }
    }
    return !layout_.mutates && layout_.output_counts_arg < 0 && !layout_.returns_list();
  }
  bool add_attrs(PlanKey* key) const {
    int32_t next = 0;
    for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
      const AttrDef& attr = layout_.op->attrs[i];
      if (next == call_.num_attrs || !same_name(attr.name, call_.attrs[next].name)) {
        if (!attr.has_default) {
          return false;
        }
        const PlanKey& words = layout_.attr_default_keys[i];
        key->insert(key->end(), words.begin(), words.end());
        continue;
      }
      const oneop_attr& given = call_.attrs[next++];
      if (attr.is_optional) {
        key->push_back(given.type == ONEOP_ATTR_NONE ? 0 : 1);  // as append_attr_key does
        if (given.type == ONEOP_ATTR_NONE) {
          continue;
        }
      }
      if (is_float(attr.type) && is_float(given.type)) {
        int64_t word;
        std::memcpy(&word, &given.value.f, sizeof word);
        key->push_back(word);
      } else if (attr.type == given.type && is_integer(attr.type)) {
        key->push_back(attr.type == ONEOP_ATTR_BOOL ? given.value.i != 0 : given.value.i);
      } else {
        return false;
      }
    }
    return next == call_.num_attrs;
  }

  const TorchOp& op_;
  const CallRecord record_;
  const Layout& layout_;
  const oneop_call& call_;
};

}  // namespace

bool run_orderly(const TorchOp& op, const oneop_call& call, oneop_handle* outputs) {
  return OrderlyCall(op, call).run(outputs);
}

}  // namespace oneop
