// tests/sdk/host/call.h: a call, with structs larger than this ABI's, as a later host's would be.
#ifndef TESTS_SDK_HOST_CALL_H_
#define TESTS_SDK_HOST_CALL_H_

#include <cstring>
#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "services.h"

namespace test_host {

using Words = std::vector<std::string>;

struct BigTensor {
  oneop_tensor tensor{};
  int64_t later[2] = {-1, -1};
};
struct BigAttr {
  oneop_attr attr{};
  int64_t later = -1;
};
struct BigArg {
  oneop_arg arg{};
  int64_t later = -1;
};

inline int ItemSize(int32_t dtype) {
  switch (dtype) {
    case ONEOP_DTYPE_FLOAT32:
    case ONEOP_DTYPE_INT32:
      return 4;
    case ONEOP_DTYPE_FLOAT64:
    case ONEOP_DTYPE_INT64:
      return 8;
    case ONEOP_DTYPE_FLOAT16:
    case ONEOP_DTYPE_BFLOAT16:
      return 2;
    default:
      return 1;
  }
}

struct Call {
  std::string type, name;
  std::deque<std::string> texts;  // stable addresses
  std::deque<std::vector<char>> buffers;
  std::vector<BigArg> inputs, outputs;
  std::vector<BigTensor> tensors;
  std::vector<BigAttr> attrs;
  std::vector<uint8_t> needs_grad, has_grad;
  std::vector<oneop_sbp> sbp;
  oneop_tensor tmp{};
  oneop_frame frame{};

  const char* Text(const std::string& text) {
    texts.push_back(text);
    return texts.back().c_str();
  }
  void* Buffer(size_t bytes) {
    buffers.emplace_back(bytes + 16);
    return buffers.back().data();
  }
  int64_t* Dims() { return static_cast<int64_t*>(Buffer(sizeof(int64_t) * ONEOP_MAX_DIMS)); }

  void Allocate(oneop_tensor* tensor) {
    tensor->elem_cnt = 1;
    for (int32_t i = 0; i != tensor->ndim; ++i) {
      tensor->elem_cnt *= tensor->shape[i];
    }
    tensor->data = Buffer(static_cast<size_t>(tensor->elem_cnt) * ItemSize(tensor->dtype));
  }
  // DTYPE DIMS... : VALUES...
  oneop_tensor NewTensor(const Words& words, size_t at) {
    oneop_tensor tensor{};
    tensor.dtype = std::stoi(words[at++]);
    tensor.shape = Dims();
    tensor.stride = Dims();
    for (; at < words.size() && words[at] != ":"; ++at) {
      tensor.shape[tensor.ndim++] = std::stoll(words[at]);
    }
    int64_t step = 1;
    for (int32_t i = tensor.ndim; i-- > 0; step *= tensor.shape[i]) {
      tensor.stride[i] = step;
    }
    tensor.device_type = frame.device_type;
    Allocate(&tensor);
    for (int64_t i = 0; i != tensor.elem_cnt && ++at < words.size(); ++i) {
      Set(tensor, i, std::stod(words[at]));
    }
    return tensor;
  }
  static void Set(const oneop_tensor& t, int64_t i, double v) {
    switch (t.dtype) {
      case ONEOP_DTYPE_FLOAT32:
        static_cast<float*>(t.data)[i] = static_cast<float>(v);
        break;
      case ONEOP_DTYPE_FLOAT64:
        static_cast<double*>(t.data)[i] = v;
        break;
      case ONEOP_DTYPE_INT32:
        static_cast<int32_t*>(t.data)[i] = static_cast<int32_t>(v);
        break;
      case ONEOP_DTYPE_INT64:
        static_cast<int64_t*>(t.data)[i] = static_cast<int64_t>(v);
        break;
      default:
        static_cast<int8_t*>(t.data)[i] = static_cast<int8_t>(v);
    }
  }
  static double Get(const oneop_tensor& t, int64_t i) {
    switch (t.dtype) {
      case ONEOP_DTYPE_FLOAT32:
        return static_cast<float*>(t.data)[i];
      case ONEOP_DTYPE_FLOAT64:
        return static_cast<double*>(t.data)[i];
      case ONEOP_DTYPE_INT32:
        return static_cast<int32_t*>(t.data)[i];
      case ONEOP_DTYPE_INT64:
        return static_cast<double>(static_cast<int64_t*>(t.data)[i]);
      default:
        return static_cast<int8_t*>(t.data)[i];
    }
  }

  template <class T>
  void List(oneop_attr* attr, const std::vector<T>& values) {
    void* data = Buffer(sizeof(T) * values.size());
    if (!values.empty()) {
      std::memcpy(data, values.data(), sizeof(T) * values.size());
    }
    attr->value.list = {data, static_cast<int64_t>(values.size())};
  }
  template <class T>
  static std::vector<T> Numbers(const std::string& text) {  // 1,2,3
    std::vector<T> numbers;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
      numbers.push_back(static_cast<T>(std::stod(word)));
    }
    return numbers;
  }
  void AddAttr(const Words& words) {  // attr NAME TYPE VALUES...
    attrs.emplace_back();
    oneop_attr* attr = &attrs.back().attr;
    attr->name = Text(words[1]);
    attr->type = std::stoi(words[2]);
    const std::string value = words.size() > 3 ? words[3] : "";
    switch (attr->type) {
      case ONEOP_ATTR_FLOAT:
      case ONEOP_ATTR_DOUBLE:
        attr->value.f = std::stod(value);
        break;
      case ONEOP_ATTR_STRING:
      case ONEOP_ATTR_BYTES:
        attr->value.list = {Text(value), static_cast<int64_t>(value.size())};
        break;
      case ONEOP_ATTR_SHAPE:
      case ONEOP_ATTR_LIST_INT64:
        List(attr, Numbers<int64_t>(value));
        break;
      case ONEOP_ATTR_LIST_INT32:
      case ONEOP_ATTR_LIST_DTYPE:
        List(attr, Numbers<int32_t>(value));
        break;
      case ONEOP_ATTR_LIST_BOOL: {
        std::vector<uint8_t> items;
        for (int64_t item : Numbers<int64_t>(value)) {
          items.push_back(item != 0);
        }
        List(attr, items);
        break;
      }
      case ONEOP_ATTR_LIST_FLOAT:
        List(attr, Numbers<float>(value));
        break;
      case ONEOP_ATTR_LIST_DOUBLE:
      case ONEOP_ATTR_COMPLEX_DOUBLE:
        List(attr, Numbers<double>(value));
        break;
      case ONEOP_ATTR_LIST_SHAPE: {
        std::vector<oneop_span> spans;
        for (size_t i = 3; i < words.size(); ++i) {
          oneop_attr one{};
          List(&one, Numbers<int64_t>(words[i]));
          spans.push_back(one.value.list);
        }
        List(attr, spans);
        break;
      }
      case ONEOP_ATTR_LIST_STRING: {
        std::vector<oneop_span> spans;
        for (size_t i = 3; i < words.size(); ++i) {
          spans.push_back({Text(words[i]), static_cast<int64_t>(words[i].size())});
        }
        List(attr, spans);
        break;
      }
      default:
        attr->value.i = std::stoll(value);
    }
  }

  // Outputs start as a copy of the first input.
  void AddOutputs(const std::string& arg, int32_t count) {
    outputs.emplace_back();
    outputs.back().arg = {Text(arg), static_cast<int32_t>(tensors.size()), count};
    for (int32_t i = 0; i != count; ++i) {
      BigTensor out;
      out.tensor.shape = Dims();
      out.tensor.stride = Dims();
      if (!tensors.empty()) {
        const oneop_tensor& first = tensors[0].tensor;
        out.tensor.dtype = first.dtype;
        out.tensor.ndim = first.ndim;
        out.tensor.is_dynamic = first.is_dynamic;
        std::memcpy(out.tensor.shape, first.shape, sizeof(int64_t) * first.ndim);
        std::memcpy(out.tensor.stride, first.stride, sizeof(int64_t) * first.ndim);
      }
      out.tensor.device_type = frame.device_type;
      tensors.push_back(out);
      ++frame.num_output_tensors;
    }
  }

  oneop_frame* Frame() {
    frame.size = sizeof frame;
    frame.tensor_size = sizeof(BigTensor);
    frame.attr_size = sizeof(BigAttr);
    frame.arg_size = sizeof(BigArg);
    frame.host = &kHost;
    frame.op_type_name = type.c_str();
    frame.op_name = name.c_str();
    frame.inputs = inputs.empty() ? nullptr : &inputs[0].arg;
    frame.outputs = outputs.empty() ? nullptr : &outputs[0].arg;
    frame.tensors = tensors.empty() ? nullptr : &tensors[0].tensor;
    frame.attrs = attrs.empty() ? nullptr : &attrs[0].attr;
    frame.num_inputs = static_cast<int32_t>(inputs.size());
    frame.num_outputs = static_cast<int32_t>(outputs.size());
    frame.num_attrs = static_cast<int32_t>(attrs.size());
    frame.num_input_tensors = static_cast<int32_t>(tensors.size()) - frame.num_output_tensors;
    frame.parallel_num = 1;
    frame.input_needs_grad = needs_grad.empty() ? nullptr : needs_grad.data();
    frame.output_has_grad = has_grad.empty() ? nullptr : has_grad.data();
    frame.sbp = sbp.empty() ? nullptr : sbp.data();
    return &frame;
  }
};

// --- Printing ---

}  // namespace test_host

#endif  // TESTS_SDK_HOST_CALL_H_
