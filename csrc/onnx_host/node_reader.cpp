// node_reader.cpp: ONNX Runtime tells of an attribute only by whether it can be read as a kind.
#include <utility>

#include "onnx_host/node_call.h"

namespace oneop {
namespace {

using ort::Failure;
using ort::take_message;

Item list_of(const std::vector<int64_t>& values) {
  Item list;
  list.kind = Item::kList;
  for (int64_t value : values) {
    list.items.push_back(Item::of(value));
  }
  return list;
}

Item list_of(const std::vector<float>& values) {
  Item list;
  list.kind = Item::kList;
  for (float value : values) {
    list.items.push_back(Item::of(static_cast<double>(value)));
  }
  return list;
}

class KernelReader final : public NodeReader {
 public:
  explicit KernelReader(const ort::KernelInfo* info) : info_(info) {}

 protected:
  bool read_raw(const char* name, Item* item) const override {
    int64_t integer = 0;
    const std::string reason = take_message(ort::api().node_int(info_, name, &integer));
    if (reason.empty()) {
      *item = Item::of(integer);
      return true;
    }
    if (reason == reason_without(name)) {
      return false;
    }
    float real = 0;
    if (take_message(ort::api().node_float(info_, name, &real)).empty()) {
      *item = Item::of(static_cast<double>(real));
      return true;
    }
    if (read_text(name, item)) {
      return true;
    }
    // Attributes of other kinds may read as empty lists.
    if (!(read_list(name, ort::api().node_ints, item) && !item->items.empty()) &&
        !(read_list(name, ort::api().node_floats, item) && !item->items.empty())) {
      item->kind = Item::kOther;
    }
    return true;
  }

 private:
  // What is said of an attribute that the node has not: it is asked for one that no node has.
  std::string reason_without(const std::string& name) const {
    static const std::string nobodys = "oneop__no_such_attribute";
    int64_t integer = 0;
    std::string reason = take_message(ort::api().node_int(info_, nobodys.c_str(), &integer));
    const size_t at = reason.find(nobodys);
    return at == reason.npos ? reason : reason.replace(at, nobodys.size(), name);
  }

  bool read_text(const char* name, Item* item) const {
    size_t size = 0;
    if (!take_message(ort::api().node_string(info_, name, nullptr, &size)).empty()) {
      return false;
    }
    std::string text(size, '\0');
    ort::check(ort::api().node_string(info_, name, text.data(), &size));
    text.resize(size == 0 ? 0 : size - 1);  // a null is counted
    *item = Item::of(std::move(text));
    return true;
  }

  template <typename T>
  bool read_list(const char* name,
                 ort::Status* (*read)(const ort::KernelInfo*, const char*, T*, size_t*),
                 Item* item) const {
    size_t count = 0;
    if (!take_message(read(info_, name, nullptr, &count)).empty()) {
      return false;
    }
    std::vector<T> values(count);
    ort::check(read(info_, name, values.data(), &count));
    *item = list_of(values);
    return true;
  }

  const ort::KernelInfo* const info_;
};

class InferReader final : public NodeReader {
 public:
  explicit InferReader(const ort::InferContext* context) : context_(context) {}

 protected:
  bool read_raw(const char* name, Item* item) const override {
    const ort::NodeAttr* attr = nullptr;
    if (!take_message(ort::api().infer_attr(context_, name, &attr)).empty()) {
      return false;
    }
    int64_t integer = 0;
    float real = 0;
    size_t bytes = 0;
    if (take_message(ort::api().read_attr(attr, ort::kInt, &integer, sizeof integer, &bytes))
            .empty()) {
      *item = Item::of(integer);
    } else if (take_message(ort::api().read_attr(attr, ort::kFloat, &real, sizeof real, &bytes))
                   .empty()) {
      *item = Item::of(static_cast<double>(real));
    } else if (const auto ints = read_list<int64_t>(attr, ort::kInts); !ints.empty()) {
      *item = list_of(ints);
    } else if (const auto floats = read_list<float>(attr, ort::kFloats); !floats.empty()) {
      *item = list_of(floats);
    } else {
      std::vector<char> text = read_list<char>(attr, ort::kString);
      if (!text.empty() && text.back() == '\0') {  // some versions count one behind the text
        text.pop_back();
      }
      *item = Item::of(std::string(text.begin(), text.end()));
    }
    return true;
  }

 private:
  template <typename T>
  static std::vector<T> read_list(const ort::NodeAttr* attr, int kind) {
    size_t bytes = 0;
    T none{};
    take_message(ort::api().read_attr(attr, kind, &none, 0, &bytes));  // says how many
    std::vector<T> values(bytes / sizeof(T));
    if (!values.empty()) {
      ort::check(ort::api().read_attr(attr, kind, values.data(), bytes, &bytes));
    }
    return values;
  }

  const ort::InferContext* const context_;
};

}  // namespace

bool NodeReader::read(const char* name, bool is_text, Item* item) const {
  if (!read_raw(name, item)) {
    return false;
  }
  if (item->kind == Item::kText && !is_text) {
    const std::string text = std::move(item->text);
    *item = {};
    if (!read_json(text, item)) {
      throw Failure("node attribute \"" + std::string(name) + "\": expected JSON, found " + text);
    }
  }
  return true;
}

std::unique_ptr<NodeReader> reader_of(const ort::KernelInfo* info) {
  return std::make_unique<KernelReader>(info);
}

std::unique_ptr<NodeReader> reader_of(const ort::InferContext* context) {
  return std::make_unique<InferReader>(context);
}

}  // namespace oneop
