// registry.cpp: lookup, and publication of registrations.
#include "engine/registry/registry.h"

#include "engine/ops/error.h"

namespace oneop {

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

Registry::Change Registry::prepare(const LibraryDefs& defs) {
  Change change;
  change.content = *snapshot();
  for (const std::string& name : add_library(defs, &change.content)) {
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
  for (const std::string& name : list_differences(*now, content)) {
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
