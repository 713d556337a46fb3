// plugin.cpp: the host's side of the plugin ABI.
#include "engine/ops/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "engine/ops/functions.h"
#include "engine/ops/host.h"

namespace oneop {
namespace {

ArgDef read_arg(const oneop_arg_def* def) {
  const oneop_arg_def abi = take(def);
  ArgDef arg;
  arg.name = text(abi.name);
  arg.count = abi.count;
  arg.count_is_minimum = abi.count_is_minimum != 0;
  arg.is_optional = abi.is_optional != 0;
  arg.on_host = abi.on_host != 0;
  arg.dynamic_axes = abi.dynamic_axes;
  arg.has_gaps = abi.has_gaps != 0;
  return arg;
}

AttrDef read_attr(const oneop_attr_def* def) {
  const oneop_attr_def abi = take(def);
  AttrDef attr;
  attr.name = text(abi.name);
  attr.type = abi.type;
  attr.has_default = abi.has_default != 0;
  attr.is_optional = (abi.flags & ONEOP_ATTRDEF_OPTIONAL) != 0;
  attr.is_positional = (abi.flags & ONEOP_ATTRDEF_POSITIONAL) != 0;
  attr.list_size = abi.list_size;
  if (attr.has_default) {
    attr.default_value = AttrValue::copy_of(abi.default_value);
  }
  return attr;
}

std::shared_ptr<OpDef> read_op(const oneop_op_def* def, const std::string& library) {
  auto op = std::make_shared<OpDef>();
  op->abi = take(def);
  op->name = text(op->abi.name);
  op->source = {text(op->abi.file), op->abi.line, library};
  op->flags = op->abi.flags;
  const std::string what = "op " + in_quotes(op->name) + ", ";
  const int32_t num_inputs = checked_count(op->abi.num_inputs, op->abi.inputs, what + "num_inputs");
  for (int32_t i = 0; i < num_inputs; ++i) {
    op->inputs.push_back(read_arg(op->abi.inputs[i]));
  }
  const int32_t num_outputs =
      checked_count(op->abi.num_outputs, op->abi.outputs, what + "num_outputs");
  for (int32_t i = 0; i < num_outputs; ++i) {
    op->outputs.push_back(read_arg(op->abi.outputs[i]));
  }
  const int32_t num_attrs = checked_count(op->abi.num_attrs, op->abi.attrs, what + "num_attrs");
  for (int32_t i = 0; i < num_attrs; ++i) {
    op->attrs.push_back(read_attr(op->abi.attrs[i]));
  }
  return op;
}

std::shared_ptr<KernelDef> read_kernel(const oneop_kernel_def* def, const std::string& library) {
  auto kernel = std::make_shared<KernelDef>();
  kernel->abi = take(def);
  kernel->op_type_name = text(kernel->abi.op_type_name);
  kernel->source = {text(kernel->abi.file), kernel->abi.line, library};
  kernel->flags = kernel->abi.flags;
  kernel->priority = kernel->abi.priority;
  kernel->predicate = text(kernel->abi.predicate);
  const int32_t num_facts =
      checked_count(kernel->abi.num_facts, kernel->abi.facts,
                    "a kernel of op " + in_quotes(kernel->op_type_name) + ", num_facts");
  for (int32_t i = 0; i < num_facts; ++i) {
    const oneop_fact abi = take(kernel->abi.facts[i]);
    kernel->facts.push_back({abi.kind, abi.value, abi.index, text(abi.arg), text(abi.text)});
    if (abi.kind == ONEOP_FACT_DEVICE && abi.value == ONEOP_DEVICE_CUDA) {
      kernel->language = "cuda";
    }
  }
  return kernel;
}

std::shared_ptr<GradDef> read_grad(const oneop_grad_def* def, const std::string& library,
                                   const std::string& package) {
  auto grad = std::make_shared<GradDef>();
  grad->package = package;
  grad->abi = take(def);
  grad->op_type_name = text(grad->abi.op_type_name);
  grad->source = {text(grad->abi.file), grad->abi.line, library};
  return grad;
}

// The second gradient of an op goes to the first one.
void add_eager_grad(std::shared_ptr<GradDef> eager, std::vector<std::shared_ptr<GradDef>>* grads) {
  for (const auto& grad : *grads) {
    if (grad->op_type_name == eager->op_type_name && grad->eager == nullptr) {
      grad->eager = std::move(eager);
      return;
    }
  }
  grads->push_back(std::move(eager));  // alone, or one too many, which the registry refuses
}

std::string version(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

// Kernels and gradients of ops that the library does not define are for ops of others: these keep
// their names.
void put_in_package(const std::string& package, LibraryDefs* defs) {
  std::set<std::string> own;
  for (const auto& op : defs->ops) {
    own.insert(op->name);
  }
  const auto rename = [&](std::string* name) {
    if (own.count(*name) != 0) {
      *name = packaged_name(package, *name);
    }
  };
  for (const auto& op : defs->ops) {
    rename(&op->name);
  }
  for (const auto& kernel : defs->kernels) {
    rename(&kernel->op_type_name);
  }
  for (const auto& grad : defs->grads) {
    rename(&grad->op_type_name);
    if (grad->eager != nullptr) {
      auto eager = std::make_shared<GradDef>(*grad->eager);
      eager->op_type_name = grad->op_type_name;
      grad->eager = std::move(eager);
    }
  }
}

LibraryDefs read_description(const oneop_library& abi, const std::string& library,
                             const std::string& package) {
  if (abi.mistake != nullptr) {
    throw Error("RegistrationError", text(abi.mistake));
  }
  LibraryDefs defs;
  defs.library = library;
  const int32_t num_ops = checked_count(abi.num_ops, abi.ops, "oneop_library.num_ops");
  for (int32_t i = 0; i < num_ops; ++i) {
    defs.ops.push_back(read_op(abi.ops[i], library));
  }
  const int32_t num_kernels =
      checked_count(abi.num_kernels, abi.kernels, "oneop_library.num_kernels");
  for (int32_t i = 0; i < num_kernels; ++i) {
    defs.kernels.push_back(read_kernel(abi.kernels[i], library));
  }
  const int32_t num_grads = checked_count(abi.num_grads, abi.grads, "oneop_library.num_grads");
  for (int32_t i = 0; i < num_grads; ++i) {
    defs.grads.push_back(read_grad(abi.grads[i], library, package));
  }
  const int32_t num_eager_grads =
      checked_count(abi.num_eager_grads, abi.eager_grads, "oneop_library.num_eager_grads");
  for (int32_t i = 0; i < num_eager_grads; ++i) {
    add_eager_grad(read_grad(abi.eager_grads[i], library, package), &defs.grads);
  }
  const int32_t num_functions =
      checked_count(abi.num_functions, abi.functions, "oneop_library.num_functions");
  for (int32_t i = 0; i < num_functions; ++i) {
    defs.functions.push_back(read_function(abi.functions[i], library));
  }
  if (!package.empty()) {
    put_in_package(package, &defs);
  }
  return defs;
}

}  // namespace

LibraryDefs read_library(const std::string& path, const std::string& library,
                         const std::string& package) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error("LoadError", "cannot load the op library " + path + "\n  " + text(dlerror()));
  }
  // The library stays open: kernels, plans and gradients hold pointers into it.
  const auto plugin = reinterpret_cast<oneop_plugin_fn>(dlsym(handle, "oneop_plugin"));
  if (plugin == nullptr) {
    throw Error("LoadError",
                path +
                    " is not an op library: it does not export oneop_plugin\n  include "
                    "\"oneflow/core/framework/framework.h\" in one of its sources");
  }
  oneop_handshake handshake{};
  handshake.size = sizeof handshake;
  handshake.host_abi_major = ONEOP_ABI_MAJOR;
  handshake.host_abi_minor = ONEOP_ABI_MINOR;
  handshake.host = host().services();
  const int32_t code = plugin(&handshake);
  if (handshake.library_abi_major != ONEOP_ABI_MAJOR) {
    const bool newer = handshake.library_abi_major > ONEOP_ABI_MAJOR;
    throw Error("AbiError",
                path + " was built with " + text(handshake.library_sdk) + " for plugin ABI " +
                    version(handshake.library_abi_major, handshake.library_abi_minor) +
                    ", this oneop has " + version(ONEOP_ABI_MAJOR, ONEOP_ABI_MINOR) + "\n  " +
                    (newer ? "update oneop, or rebuild the library with this one"
                           : "rebuild the library with this oneop"));
  }
  if (code != ONEOP_OK || handshake.library == nullptr) {
    throw Error("AbiError", path + ", built with " + text(handshake.library_sdk) +
                                ", refuses this oneop (plugin ABI " +
                                version(ONEOP_ABI_MAJOR, ONEOP_ABI_MINOR) + ")");
  }
  try {
    return read_description(take(handshake.library), library, package);
  } catch (const Error& error) {
    if (std::strcmp(error.cls(), "AbiError") != 0) {
      throw;
    }
    throw Error("AbiError", path + ": " + error.what());
  }
}

}  // namespace oneop
