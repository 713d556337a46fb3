// registry.cpp: validation, replacement and publication of registrations.
#include "engine/ops/registry.h"

#include <algorithm>
#include <set>

#include "engine/ops/error.h"
#include "engine/ops/frame.h"

namespace oneop {
namespace {

[[noreturn]] void refuse(const Source& source, const std::string& text) {
  throw Error("RegistrationError", text + "\n  at " + source.text());
}

// Of one argument. A call with more would take seconds to describe.
constexpr int32_t kMaxTensors = 1 << 16;

bool is_identifier(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_args(const OpDef& op, const std::vector<ArgDef>& args, const char* side,
                std::set<std::string>* taken) {
  for (const ArgDef& arg : args) {
    const std::string where = "op " + in_quotes(op.name) + ": " + side + " " + in_quotes(arg.name);
    if (!is_identifier(arg.name)) {
      refuse(op.source, where + " is not an identifier");
    }
    if (!taken->insert(schema_name(arg.name)).second) {
      refuse(op.source, where + " has a name that is taken by another input, output or attribute");
    }
    if (arg.count < (arg.count_is_minimum ? 0 : 1) || arg.count > kMaxTensors) {
      refuse(op.source, where + " cannot have " + std::to_string(arg.count) + " tensors");
    }
  }
}

void check_gap_attrs(const OpDef& op) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t attr = op.gap_attr(i);
    if (op.inputs[i].has_gaps &&
        (attr < 0 || op.attrs[attr].type != ONEOP_ATTR_LIST_BOOL || op.attrs[attr].is_optional)) {
      refuse(op.source, "op " + in_quotes(op.name) + ": input " + in_quotes(op.inputs[i].name) +
                            " may have items that are None, and needs the attribute " +
                            in_quotes(op.inputs[i].name + "_given") + ", a list of bool");
    }
  }
}

void check_list_size(const OpDef& op, const AttrDef& attr, const std::string& where) {
  if (attr.list_size < 0 || (attr.list_size > 0 && !is_list_type(attr.type))) {
    refuse(op.source, where + " is a " + attr_type_name(attr.type) +
                          ", which cannot have the length " + std::to_string(attr.list_size));
  }
  if (attr.has_default && !attr.takes_length(attr.default_value)) {
    refuse(op.source, where + " is a " + attr.type_text() + ", its default has the length " +
                          std::to_string(attr.default_value.list_length()));
  }
}

void check_definition(const OpDef& op) {
  if (!is_identifier(op.name)) {
    refuse(op.source, "op " + in_quotes(op.name) + ": the name is not an identifier");
  }
  if (op.name.compare(0, 2, "__") == 0 || op.name == "name" || op.name == "_dir") {
    refuse(op.source, "op " + in_quotes(op.name) + ": the name means something else in torch.ops");
  }
  std::set<std::string> taken;
  const bool needs_tensor = std::any_of(op.inputs.begin(), op.inputs.end(),
                                        [](const ArgDef& arg) { return !arg.is_optional; });
  check_args(op, op.inputs, "input", &taken);
  check_args(op, op.outputs, "output", &taken);
  check_gap_attrs(op);
  for (const AttrDef& attr : op.attrs) {
    const std::string where = "op " + in_quotes(op.name) + ": attribute " + in_quotes(attr.name);
    if (!is_identifier(attr.name)) {
      refuse(op.source, where + " is not an identifier");
    }
    if (!taken.insert(attr_schema_name(attr.name)).second) {
      refuse(op.source, where + " has a name that is taken by another input, output or attribute");
    }
    if (attr.name == "device" && !needs_tensor) {
      refuse(op.source,
             where + " has a name that is taken: ops that may be called without tensors have a " +
                 in_quotes(attr.name));
    }
    if (attr.name == "output_counts" && op.has_open_outputs()) {
      refuse(op.source,
             where + " has a name that is taken: ops with a varying number of outputs have an " +
                 in_quotes(attr.name));
    }
    if (!is_attr_type(attr.type)) {
      refuse(op.source, where + " has the unknown type " + std::to_string(attr.type));
    }
    if (attr.is_positional && &attr != op.attrs.data() && !(&attr - 1)->is_positional) {
      refuse(op.source, where + " is given by position, and comes after one that is not");
    }
    check_list_size(op, attr, where);
    if (attr.has_default && !attr.takes_type(attr.default_value.type)) {
      refuse(op.source, where + " is a " + attr_type_name(attr.type) + ", its default is a " +
                            attr_type_name(attr.default_value.type));
    }
    if (attr.type == ONEOP_ATTR_DTYPE && attr.has_default && attr.default_value.i != 0 &&
        !is_dtype(static_cast<int32_t>(attr.default_value.i))) {
      refuse(op.source, where + " has the unknown dtype " + std::to_string(attr.default_value.i) +
                            " as its default");
    }
  }
}

void check_kernel(const KernelDef& kernel) {
  const std::string where = "a kernel of op " + in_quotes(kernel.op_type_name);
  if (kernel.abi.create == nullptr || kernel.abi.compute == nullptr) {
    refuse(kernel.source, where + " has no create function: add .SetCreateFn<YourKernel>()");
  }
}

void check_grad(const GradDef& grad) {
  if (grad.abi.generate == nullptr && grad.rule == nullptr) {
    refuse(grad.source, "the gradient of op " + in_quotes(grad.op_type_name) +
                            " has no generator: add .SetBackwardOpConfGenFn(fn)");
  }
}

}  // namespace

namespace {}  // namespace

void check_op(OpDef* op) {
  check_definition(*op);
  read_arg_traits(op);
  for (const ArgDef& output : op->outputs) {
    op->flags |= output.dynamic_axes != 0 ? kDynamicOutputs : 0;
  }
  if (op->has_dynamic_outputs()) {  // parts of them would have sizes that the others do not know
    op->abi.get_sbp = nullptr;
    op->abi.infer_nd_sbp = nullptr;
  }
}

Registry& Registry::global() {
  static Registry* registry =
      new Registry;  // never destroyed: graphs and threads may outlive main()
  return *registry;
}

OpSlot* Registry::slot_of(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<OpSlot>& slot = slots_[name];
  if (slot == nullptr) {
    slot = std::make_unique<OpSlot>(name, static_cast<int32_t>(slots_.size()));
  }
  return slot.get();
}

void Registry::add_record(const std::string& name, Change* change) {
  const Snapshot& content = change->content;
  OpSlot* slot = slot_of(name);
  const auto op = content.ops.find(name);
  if (op == content.ops.end()) {
    change->records.emplace_back(slot, nullptr);
    return;
  }
  auto record = std::make_shared<OpRecord>(op->second);
  if (const auto kernels = content.kernels.find(name); kernels != content.kernels.end()) {
    record->kernels = kernels->second;
  }
  if (const auto grad = content.grads.find(name); grad != content.grads.end()) {
    record->grad = grad->second;
  }
  if (const auto forward = content.forwards.find(name); forward != content.forwards.end()) {
    record->forward = forward->second;
  }
  change->records.emplace_back(slot, std::move(record));
}

namespace {

// Drops what the library said before of the ops that it speaks of again, and notes their names.
void drop_old(const LibraryDefs& defs, Registry::Snapshot* next, std::set<std::string>* touched) {
  const auto is_old = [&](const Source& source) { return source.library == defs.library; };
  std::set<std::string> kernels_again;
  for (const auto& kernel : defs.kernels) {
    kernels_again.insert(kernel->op_type_name);
  }
  for (const auto& op : defs.ops) {
    kernels_again.insert(op->name);
  }
  for (const std::string& name : kernels_again) {
    auto& kernels = next->kernels[name];
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                 [&](const auto& kernel) { return is_old(kernel->source); }),
                  kernels.end());
    const auto grad = next->grads.find(name);
    if (grad != next->grads.end() && is_old(grad->second->source)) {
      next->grads.erase(grad);
    }
    const auto forward = next->forwards.find(name);
    if (forward != next->forwards.end() && is_old(forward->second->source)) {
      next->forwards.erase(forward);
    }
    touched->insert(name);
  }
}

// Adds the library's ops. Throws DuplicateOpError for one that another library has.
void add_ops(const LibraryDefs& defs, Registry::Snapshot* next) {
  std::set<std::string> named;
  for (const auto& op : defs.ops) {
    const auto old = next->ops.find(op->name);
    if (!named.insert(op->name).second ||
        (old != next->ops.end() && old->second->source.library != defs.library)) {
      throw Error("DuplicateOpError",
                  "op " + in_quotes(op->name) + " is registered twice\n  first:  " +
                      next->ops[op->name]->source.text() + "\n  second: " + op->source.text() +
                      "\n  op names are global: rename one of them");
    }
    next->ops[op->name] = op;
  }
}

// Adds gradients and forward-mode rules. Throws RegistrationError for a second one of an op.
void add_derivatives(const LibraryDefs& defs, Registry::Snapshot* next,
                     std::set<std::string>* touched) {
  const auto is_old = [&](const Source& source) { return source.library == defs.library; };
  std::set<std::string> graded;
  for (const auto& grad : defs.grads) {
    check_grad(*grad);
    const auto old = next->grads.find(grad->op_type_name);
    if (!graded.insert(grad->op_type_name).second ||
        (old != next->grads.end() && !is_old(old->second->source))) {
      throw Error("RegistrationError", "op " + in_quotes(grad->op_type_name) +
                                           " has two gradients\n  first:  " +
                                           next->grads[grad->op_type_name]->source.text() +
                                           "\n  second: " + grad->source.text());
    }
    next->grads[grad->op_type_name] = grad;
    touched->insert(grad->op_type_name);
  }
  for (const auto& forward : defs.forwards) {
    const auto old = next->forwards.find(forward->op_type_name);
    if (old != next->forwards.end() && !is_old(old->second->source)) {
      throw Error("RegistrationError",
                  "op " + in_quotes(forward->op_type_name) +
                      " has two rules for forward-mode differentiation\n  first:  " +
                      old->second->source.text() + "\n  second: " + forward->source.text());
    }
    next->forwards[forward->op_type_name] = forward;
    touched->insert(forward->op_type_name);
  }
}

// Adds the names under which two maps have other definitions; a definition never changes.
template <class Map>
void add_differences(const Map& before, const Map& after, std::set<std::string>* names) {
  const auto add_missing = [names](const Map& map, const Map& other) {
    for (const auto& entry : map) {
      const auto match = other.find(entry.first);
      if (match == other.end() || match->second != entry.second) {
        names->insert(entry.first);
      }
    }
  };
  add_missing(before, after);
  add_missing(after, before);
}

}  // namespace

Registry::Change Registry::prepare(const LibraryDefs& defs) {
  Change change;
  change.content = *snapshot();
  std::set<std::string> touched;
  // What the library says again replaces what it said before.
  drop_old(defs, &change.content, &touched);
  add_ops(defs, &change.content);
  for (const auto& kernel : defs.kernels) {
    check_kernel(*kernel);
    change.content.kernels[kernel->op_type_name].push_back(kernel);
    touched.insert(kernel->op_type_name);
  }
  add_derivatives(defs, &change.content, &touched);
  for (const std::string& name : touched) {
    add_record(name, &change);
  }
  for (const auto& op : defs.ops) {
    change.defined.push_back(slot_of(op->name));
  }
  return change;
}

Registry::Change Registry::prepare(const Snapshot& content) {
  Change change;
  change.content = content;
  const std::shared_ptr<const Snapshot> now = snapshot();
  std::set<std::string> names;
  add_differences(now->ops, content.ops, &names);
  add_differences(now->kernels, content.kernels, &names);
  add_differences(now->grads, content.grads, &names);
  add_differences(now->forwards, content.forwards, &names);
  for (const std::string& name : names) {
    if (now->ops.count(name) == 0 && content.ops.count(name) == 0) {
      continue;  // kernels or a gradient of an op that there is not
    }
    add_record(name, &change);
    if (content.ops.count(name) != 0) {
      change.defined.push_back(slot_of(name));
    }
  }
  return change;
}

void Registry::commit(Change* change) noexcept {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(content_, change->content);
  }
  for (auto& [slot, record] : change->records) {
    record = std::const_pointer_cast<OpRecord>(slot->exchange(std::move(record)));
  }
  epoch_.fetch_add(1, std::memory_order_release);
}

std::string Registry::resolve(const std::string& name, const std::string& package) const {
  std::vector<std::string> packages;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!package.empty() && content_.ops.count(packaged_name(package, name)) != 0) {
      return packaged_name(package, name);
    }
    if (content_.ops.count(name) != 0) {
      return name;
    }
    for (const auto& op : content_.ops) {
      const size_t end = op.first.find("__");
      if (end != std::string::npos && op.first.compare(end + 2, std::string::npos, name) == 0) {
        packages.push_back(op.first.substr(0, end));
      }
    }
  }
  if (packages.size() > 1) {
    std::string text = "op " + in_quotes(name) + " is in several packages:";
    for (const std::string& owner : packages) {
      text += " " + owner;
    }
    throw Error("OpNotFoundError", text + "\n  say which one you mean: oneop.ops.packages." +
                                       packages[0] + "." + name);
  }
  return packages.empty() ? name : packaged_name(packages[0], name);
}

RecordPtr Registry::get(const std::string& name) const {
  const OpSlot* slot = find_slot(name);
  RecordPtr record = slot == nullptr ? nullptr : slot->record();
  if (record == nullptr) {
    const std::vector<std::string> names = op_names();
    throw Error("OpNotFoundError",
                "no op " + in_quotes(name) + " is registered" + did_you_mean(name, names) +
                    "\n  see oneop.list_ops() for the " + std::to_string(names.size()) +
                    " that are, or load its library: oneop.load(path)");
  }
  return record;
}

OpSlot* Registry::find_slot(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto slot = slots_.find(name);
  return slot == slots_.end() ? nullptr : slot->second.get();
}

std::vector<std::string> Registry::op_names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& op : content_.ops) {
    names.push_back(op.first);
  }
  return names;
}

std::vector<std::string> Registry::pending() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& kernels : content_.kernels) {
    if (content_.ops.count(kernels.first) != 0) {
      continue;
    }
    for (const auto& kernel : kernels.second) {
      lines.push_back("kernel of unknown op " + in_quotes(kernels.first) + " at " +
                      kernel->source.text());
    }
  }
  for (const auto& grad : content_.grads) {
    if (content_.ops.count(grad.first) == 0) {
      lines.push_back("gradient of unknown op " + in_quotes(grad.first) + " at " +
                      grad.second->source.text());
    }
  }
  return lines;
}

std::shared_ptr<const Registry::Snapshot> Registry::snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::make_shared<const Snapshot>(content_);
}

}  // namespace oneop
