// register.cpp: what ONNX Runtime calls when it loads this library. Which op libraries are loaded
// is said by entries of the session's options: oneop.library.0, oneop.library.1, ... hold paths,
// oneop.library.0.name and so on the names of the libraries, oneop.num_threads a number.
#include <cstdlib>
#include <map>
#include <mutex>

#include "onnx_host/custom_ops.h"

namespace oneop {
namespace {

using ort::api;
using ort::check;
using ort::runtime;

// Empty: there is no such entry.
std::string option(const ort::SessionOptions* options, const std::string& key) {
  int has = 0;
  check(api().has_option(options, key.c_str(), &has));
  if (has == 0) {
    return "";
  }
  size_t size = 0;
  check(api().option(options, key.c_str(), nullptr, &size));
  std::string text(size, '\0');
  check(api().option(options, key.c_str(), text.data(), &size));
  text.resize(size == 0 ? 0 : size - 1);  // a null is counted
  return text;
}

// A library of the same name and path is loaded once in a process; another path replaces it.
void load(const std::string& path, const std::string& name) {
  static auto* mutex = new std::mutex;
  static auto* loaded = new std::map<std::string, std::string>;  // paths by names
  const std::lock_guard<std::mutex> lock(*mutex);
  if ((*loaded)[name] == path) {
    return;
  }
  if (runtime().load(path.c_str(), name.c_str()) != ONEOP_OK) {
    ort::throw_last_error();
  }
  (*loaded)[name] = path;
}

void set_threads(const std::string& text) {
  if (text.empty()) {
    return;
  }
  const int32_t count = static_cast<int32_t>(std::strtol(text.c_str(), nullptr, 10));
  if (runtime().set_num_threads(count) != ONEOP_OK) {
    ort::throw_last_error();
  }
}

void register_ops(ort::SessionOptions* options) {
  int count = 0;
  for (std::string path;
       !(path = option(options, "oneop.library." + std::to_string(count))).empty(); ++count) {
    const std::string name = option(options, "oneop.library." + std::to_string(count) + ".name");
    load(path, name.empty() ? path : name);
  }
  if (count == 0) {
    throw ort::Failure(
        "the session's options name no op library\n"
        "  set the entry oneop.library.0 to its path before this library is registered, or use "
        "oneop.onnx.session_options");
  }
  set_threads(option(options, "oneop.num_threads"));
  ort::Domain* domain = nullptr;  // the sessions of these options need it until they end
  check(api().create_domain("oneop", &domain));
  runtime().list_ops(
      [](void* context, const oneop_op* op, const char* name) {
        ort::take_message(api().add_op(static_cast<ort::Domain*>(context), custom_op(op, name)));
      },
      domain);
  check(api().add_domain(options, domain));
}

}  // namespace
}  // namespace oneop

extern "C" __attribute__((visibility("default"))) oneop::ort::Status* RegisterCustomOps(
    oneop::ort::SessionOptions* options, const oneop::ort::ApiBase* base) {
  if (!oneop::ort::use_functions(*base)) {
    // The first two functions are as old as the interface.
    const auto* table = static_cast<void* const*>(base->table(1));
    const auto create = reinterpret_cast<oneop::ort::Status* (*)(int, const char*)>(table[0]);
    const std::string text =
        std::string("oneop needs ONNX Runtime 1.19 or later, this is ") + base->version();
    return create(oneop::ort::kFail, text.c_str());
  }
  return oneop::ort::guarded([&] { oneop::register_ops(options); });
}
