// tests/sdk/host/host.cpp: a host without torch. It loads op libraries and drives their callbacks
// with frames that a script on standard input describes, one command a line; the answers go to
// standard output.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "oneop/abi.h"

// Counts what libraries allocate too: the host is linked with -rdynamic.
static long news = 0;
void* operator new(size_t bytes) {
  __atomic_add_fetch(&news, 1, __ATOMIC_RELAXED);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

using Words = std::vector<std::string>;

// --- Services ---

void ParallelFor(int64_t begin, int64_t end, int64_t grain, void (*body)(void*, int64_t, int64_t),
                 void* context) {
  const int64_t middle = begin + (end - begin) / 2;
  if (middle - begin < grain) {
    return body(context, begin, end);
  }
  std::thread other([=] { body(context, begin, middle); });
  body(context, middle, end);
  other.join();
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (char c : text) {
    c == '\n' ? line += "\\n" : line += c;
  }
  return line;
}
std::string Place(const char* file, int32_t line) {
  if (file == nullptr) {
    return "-";
  }
  const char* slash = std::strrchr(file, '/');
  return std::string(slash == nullptr ? file : slash + 1) + ":" + std::to_string(line);
}

void Log(int32_t level, const char* message, int64_t length, const char* file, int32_t line) {
  std::cout << "log " << level << " " << Place(file, line) << " " << std::string(message, length)
            << "\n";
}

// A host of ABI 1.0: it has no functions, and says so by its size.
const oneop_host kHost = [] {
  oneop_host host{};
  host.size = offsetof(oneop_host, retain);
  host.abi_major = ONEOP_ABI_MAJOR;
  host.parallel_for = &ParallelFor;
  host.num_threads = [] { return 2; };
  host.log = &Log;
  return host;
}();

struct Status : oneop_status {
  Status() : oneop_status{sizeof(oneop_status), ONEOP_OK, &Report} {}
  static void Report(oneop_status* status, int32_t kind, const char* message, int64_t length,
                     const char* file, int32_t line) {
    status->kind = kind;
    std::cout << "error " << kind << " " << Place(file, line) << " "
              << OneLine(std::string(message, length)) << "\n";
  }
};

// --- A frame, whose structs are larger than this ABI's, as a later host's would be ---

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

int ItemSize(int32_t dtype) {
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
      case ONEOP_ATTR_LIST_FLOAT:
        List(attr, Numbers<float>(value));
        break;
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

void PrintTensor(const char* word, const oneop_tensor& t, bool values) {
  std::cout << word << " " << t.dtype << " (";
  for (int32_t i = 0; i != t.ndim; ++i) {
    std::cout << (i ? "," : "") << t.shape[i];
  }
  std::cout << ") (";
  for (int32_t i = 0; i != t.ndim; ++i) {
    std::cout << (i ? "," : "") << t.stride[i];
  }
  std::cout << ")" << (t.is_dynamic ? " dynamic" : "");
  for (int64_t i = 0; values && i != t.elem_cnt; ++i) {
    std::cout << " " << Call::Get(t, i);
  }
  std::cout << "\n";
}

std::string AttrText(const oneop_attr& a) {
  std::ostringstream out;
  const auto list = [&](auto* data) {
    for (int64_t i = 0; i != a.value.list.count; ++i) {
      out << (i ? "," : "") << data[i];
    }
  };
  const void* data = a.value.list.data;
  switch (a.type) {
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      out << a.value.f;
      break;
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      out << std::string(static_cast<const char*>(data), a.value.list.count);
      break;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      list(static_cast<const int64_t*>(data));
      break;
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      list(static_cast<const int32_t*>(data));
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      list(static_cast<const float*>(data));
      break;
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      list(static_cast<const double*>(data));
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      for (int64_t i = 0; i != a.value.list.count; ++i) {
        const oneop_span& span = static_cast<const oneop_span*>(data)[i];
        out << (i ? ";" : "");
        for (int64_t k = 0; k != span.count; ++k) {
          out << (k ? "," : "") << static_cast<const int64_t*>(span.data)[k];
        }
      }
      break;
    case ONEOP_ATTR_LIST_STRING:
      for (int64_t i = 0; i != a.value.list.count; ++i) {
        const oneop_span& span = static_cast<const oneop_span*>(data)[i];
        out << (i ? ";" : "") << std::string(static_cast<const char*>(span.data), span.count);
      }
      break;
    default:
      out << a.value.i;
  }
  return out.str();
}

void PrintArgs(const char* word, const oneop_arg_def* const* args, int32_t count) {
  for (int32_t i = 0; i != count; ++i) {
    std::cout << "  " << word << " " << args[i]->name << " " << args[i]->count
              << (args[i]->count_is_minimum ? "+" : "") << (args[i]->is_optional ? " optional" : "")
              << "\n";
  }
}

void Describe(const oneop_library* library) {
  for (int32_t i = 0; i != library->num_ops; ++i) {
    const oneop_op_def* op = library->ops[i];
    std::cout << "op " << op->name << " " << Place(op->file, op->line) << " flags=" << op->flags
              << "\n";
    PrintArgs("input", op->inputs, op->num_inputs);
    PrintArgs("output", op->outputs, op->num_outputs);
    for (int32_t k = 0; k != op->num_attrs; ++k) {
      const oneop_attr_def* a = op->attrs[k];
      std::cout << "  attr " << a->name << " " << a->type;
      if (a->has_default) {
        std::cout << " default " << a->default_value.type << " " << AttrText(a->default_value);
      }
      std::cout << "\n";
    }
    const void* functions[] = {reinterpret_cast<const void*>(op->check_attrs),
                               reinterpret_cast<const void*>(op->infer_logical),
                               reinterpret_cast<const void*>(op->infer_physical),
                               reinterpret_cast<const void*>(op->infer_dtype),
                               reinterpret_cast<const void*>(op->get_sbp),
                               reinterpret_cast<const void*>(op->infer_nd_sbp),
                               reinterpret_cast<const void*>(op->modify_inputs),
                               reinterpret_cast<const void*>(op->modify_outputs)};
    const char* names[] = {"check_attrs", "infer_logical", "infer_physical", "infer_dtype",
                           "get_sbp",     "infer_nd_sbp",  "modify_inputs",  "modify_outputs"};
    for (int k = 0; k != 8; ++k) {
      if (functions[k] != nullptr) {
        std::cout << "  has " << names[k] << "\n";
      }
    }
  }
  for (int32_t i = 0; i != library->num_kernels; ++i) {
    const oneop_kernel_def* k = library->kernels[i];
    std::cout << "kernel " << k->op_type_name << " " << Place(k->file, k->line)
              << " priority=" << k->priority << " flags=" << k->flags
              << (k->create ? "" : " no-create") << (k->create_state ? " state" : "")
              << (k->create_cache ? " cache" : "") << " if " << k->predicate << "\n";
    for (int32_t f = 0; f != k->num_facts; ++f) {
      const oneop_fact* fact = k->facts[f];
      std::cout << "  fact " << fact->kind << " " << fact->value << " "
                << (fact->arg ? fact->arg : "-") << " " << fact->index << " : " << fact->text
                << "\n";
    }
  }
  for (int32_t i = 0; i != library->num_grads; ++i) {
    const oneop_grad_def* g = library->grads[i];
    std::cout << "grad " << g->op_type_name << " " << Place(g->file, g->line) << "\n";
  }
}

// --- Sinks ---

struct GradSink : oneop_grad_sink {
  static int32_t AddOp(oneop_grad_sink*, const oneop_grad_op* op, oneop_status* status) {
    std::cout << "add " << op->op_name << " " << op->op_type_name;
    for (int32_t i = 0; i != op->num_inputs; ++i) {
      std::cout << " " << op->inputs[i].arg << "=" << op->inputs[i].blob;
    }
    std::cout << " ->";
    for (int32_t i = 0; i != op->num_outputs; ++i) {
      std::cout << " " << op->outputs[i].arg << "*" << op->outputs[i].count;
    }
    for (int32_t i = 0; i != op->num_attrs; ++i) {
      std::cout << " " << op->attrs[i].name << ":" << op->attrs[i].type << "="
                << AttrText(op->attrs[i]);
    }
    std::cout << "\n";
    if (std::strcmp(op->op_type_name, "refuse_me") == 0) {
      status->report(status, ONEOP_ERROR_VALUE, "refused", 7, nullptr, 0);
      return ONEOP_ERROR_VALUE;
    }
    return ONEOP_OK;
  }
  static int32_t Bind(oneop_grad_sink*, int32_t input, int32_t blob, oneop_status*) {
    std::cout << "bind " << input << " " << blob << "\n";
    return ONEOP_OK;
  }
  GradSink() : oneop_grad_sink{sizeof(oneop_grad_sink), &AddOp, &Bind, nullptr, nullptr} {}
};

struct SbpSink : oneop_sbp_sink {
  static int32_t Add(oneop_sbp_sink*, const oneop_sbp* s, int32_t count, oneop_status*) {
    std::cout << "sbp";
    for (int32_t i = 0; i != count; ++i) {
      const char* names[] = {"?", "S", "B", "P"};
      std::cout << " " << names[s[i].kind];
      if (s[i].kind == ONEOP_SBP_SPLIT) {
        std::cout << s[i].axis;
      }
    }
    std::cout << "\n";
    return ONEOP_OK;
  }
  SbpSink() : oneop_sbp_sink{sizeof(oneop_sbp_sink), &Add} {}
};

struct InplaceSink : oneop_inplace_sink {
  static int32_t Add(oneop_inplace_sink*, int32_t output, int32_t input, int32_t is_mutable,
                     oneop_status*) {
    std::cout << "inplace " << output << " " << input << " " << is_mutable << "\n";
    return ONEOP_OK;
  }
  InplaceSink() : oneop_inplace_sink{sizeof(oneop_inplace_sink), &Add} {}
};

// --- Commands ---

class Host {
 public:
  int Run() {
    for (std::string line; std::getline(std::cin, line);) {
      Words words;
      std::istringstream stream(line);
      for (std::string word; stream >> word;) {
        words.push_back(word);
      }
      if (!words.empty()) {
        Do(words);
      }
    }
    return 0;
  }

 private:
  void Do(const Words& w) {
    const std::string& verb = w[0];
    if (verb == "lib") {
      Load(w[1], w.size() > 2 ? std::stoul(w[2]) : ONEOP_ABI_MAJOR);
    } else if (verb == "describe") {
      Describe(library_);
    } else if (verb == "op") {
      call_ = std::make_unique<Call>();
      call_->type = w[1];
      call_->name = w.size() > 2 ? w[2] : w[1] + "_0";
      call_->frame.device_type = ONEOP_DEVICE_CPU;
    } else if (verb == "device") {
      call_->frame.device_type = std::stoi(w[1]);
    } else if (verb == "in") {  // in ARG, then a line `t` for each tensor
      call_->inputs.emplace_back();
      call_->inputs.back().arg = {call_->Text(w[1]), static_cast<int32_t>(call_->tensors.size()),
                                  0};
    } else if (verb == "t") {
      BigTensor tensor;
      tensor.tensor = call_->NewTensor(w, 1);
      call_->tensors.push_back(tensor);
      ++call_->inputs.back().arg.count;
    } else if (verb == "strides") {
      for (size_t i = 1; i < w.size(); ++i) {
        call_->tensors.back().tensor.stride[i - 1] = std::stoll(w[i]);
      }
    } else if (verb == "out") {
      call_->AddOutputs(w[1], w.size() > 2 ? std::stoi(w[2]) : 1);
    } else if (verb == "attr") {
      call_->AddAttr(w);
    } else if (verb == "needs" || verb == "has") {
      auto& flags = verb == "needs" ? call_->needs_grad : call_->has_grad;
      for (size_t i = 1; i < w.size(); ++i) {
        flags.push_back(w[i] == "1");
      }
    } else if (verb == "mesh") {  // one dimension; S0, B, P for each tensor
      call_->frame.sbp_dims = 1;
      for (size_t i = 1; i < w.size(); ++i) {
        const int32_t kind = w[i][0] == 'S' ? 1 : w[i][0] == 'B' ? 2 : 3;
        call_->sbp.push_back({kind, kind == 1 ? std::stoi(w[i].substr(1)) : 0});
      }
    } else if (verb == "infer" || verb == "infer_physical" || verb == "infer_dtype" ||
               verb == "check") {
      const oneop_op_def* op = Op();
      const auto fn = verb == "infer"            ? op->infer_logical
                      : verb == "infer_physical" ? op->infer_physical
                      : verb == "infer_dtype"    ? op->infer_dtype
                                                 : op->check_attrs;
      Status status;
      const int32_t code = fn(op->self, call_->Frame(), &status);
      std::cout << verb << " " << code << "\n";
      if (code == ONEOP_OK && verb != "check") {
        PrintOutputs(false);
      }
    } else if (verb == "match") {
      for (int32_t i = 0; i != library_->num_kernels; ++i) {
        if (call_->type != library_->kernels[i]->op_type_name) {
          continue;
        }
        const std::string matched = Matches(library_->kernels[i]);
        std::cout << "match " << matched << " " << library_->kernels[i]->predicate << "\n";
      }
    } else if (verb == "allocations") {  // of the last kernel that ran
      std::cout << "allocations " << allocations_ << "\n";
    } else if (verb == "run") {
      Compute(w.size() > 1 ? std::stoi(w[1]) : 1);
    } else if (verb == "inplace") {
      InplaceSink sink;
      Status status;
      const oneop_kernel_def* kernel = Kernel();
      const int32_t code = kernel->propose_inplace(kernel->self, call_->Frame(), &sink, &status);
      std::cout << "done " << code << "\n";
    } else if (verb == "grad") {
      Grad();
    } else if (verb == "sbp" || verb == "nd_sbp") {
      SbpSink sink;
      Status status;
      const auto fn = verb == "sbp" ? Op()->get_sbp : Op()->infer_nd_sbp;
      const int32_t code = fn(Op()->self, call_->Frame(), &sink, &status);
      std::cout << "done " << code << "\n";
    } else if (verb == "modify_inputs" || verb == "modify_outputs") {
      Modify(verb == "modify_inputs");
    } else {
      std::cout << "unknown command " << verb << "\n";
    }
  }

  void Load(const std::string& path, uint32_t major) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::cout << "error dlopen " << dlerror() << "\n";
      return;
    }
    const auto plugin = reinterpret_cast<oneop_plugin_fn>(dlsym(handle, "oneop_plugin"));
    oneop_handshake handshake{};
    handshake.size = sizeof handshake;
    handshake.host_abi_major = major;
    handshake.host = &kHost;
    const int32_t code = plugin(&handshake);
    library_ = handshake.library;
    std::cout << "lib " << code << " " << handshake.library_abi_major << "."
              << handshake.library_abi_minor << " " << handshake.library_sdk
              << (library_ ? "" : " refused") << "\n";
  }
  const oneop_op_def* Op() const {
    for (int32_t i = 0; i != library_->num_ops; ++i) {
      if (call_->type == library_->ops[i]->name) {
        return library_->ops[i];
      }
    }
    std::cout << "no such op\n" << std::flush;
    std::exit(3);
  }
  std::string Matches(const oneop_kernel_def* kernel) {
    int32_t matched = 1;
    Status status;
    if (kernel->is_matched == nullptr) {
      return "1";
    }
    const int32_t code = kernel->is_matched(kernel->self, call_->Frame(), &matched, &status);
    return code == ONEOP_OK ? std::to_string(matched) : "failed";
  }
  const oneop_kernel_def* Kernel() {
    const oneop_kernel_def* best = nullptr;
    for (int32_t i = 0; i != library_->num_kernels; ++i) {
      const oneop_kernel_def* k = library_->kernels[i];
      if (call_->type != k->op_type_name || Matches(k) != "1") {
        continue;
      }
      if (best == nullptr || k->priority > best->priority) {
        best = k;
      }
    }
    return best;
  }
  void PrintOutputs(bool values) {
    for (size_t i = call_->tensors.size() - call_->frame.num_output_tensors;
         i != call_->tensors.size(); ++i) {
      PrintTensor("out", call_->tensors[i].tensor, values);
    }
  }
  void Compute(int times) {
    const oneop_op_def* op = Op();
    Status status;
    if (op->infer_logical && op->infer_logical(op->self, call_->Frame(), &status)) {
      return;
    }
    if (op->infer_dtype && op->infer_dtype(op->self, call_->Frame(), &status)) {
      return;
    }
    for (size_t i = call_->tensors.size() - call_->frame.num_output_tensors;
         i != call_->tensors.size(); ++i) {
      call_->Allocate(&call_->tensors[i].tensor);
    }
    const oneop_kernel_def* kernel = Kernel();
    if (kernel == nullptr) {
      std::cout << "no kernel\n";
      return;
    }
    int64_t bytes = 0;
    if (kernel->infer_tmp_size &&
        kernel->infer_tmp_size(kernel->self, call_->Frame(), &bytes, &status)) {
      return;
    }
    if (bytes > 0) {
      std::cout << "tmp " << bytes << "\n";
      call_->tmp.dtype = ONEOP_DTYPE_CHAR;
      call_->tmp.ndim = 1;
      call_->tmp.shape = call_->Dims();
      call_->tmp.stride = call_->Dims();
      call_->tmp.shape[0] = bytes;
      call_->Allocate(&call_->tmp);
      call_->frame.tmp_buffer = &call_->tmp;
    }
    void *object = nullptr, *state = nullptr, *cache = nullptr;
    if (kernel->create(kernel->self, call_->Frame(), &object, &status)) {
      return;
    }
    std::cout << "always_compute " << kernel->always_compute(object) << "\n";
    int32_t code = ONEOP_OK;
    if (kernel->create_state) {
      code = kernel->create_state(object, call_->Frame(), &state, &status);
    }
    if (code == ONEOP_OK && kernel->create_cache) {
      code = kernel->create_cache(object, call_->Frame(), &cache, &status);
    }
    for (int i = 0; i != times && code == ONEOP_OK; ++i) {
      oneop_frame* frame = call_->Frame();
      const long before = news;
      code = kernel->compute(object, frame, state, cache, &status);
      allocations_ = news - before;
      if (code == ONEOP_OK) {
        PrintOutputs(true);
      }
    }
    std::cout << "run " << code << "\n";
    if (cache) {
      kernel->destroy_cache(cache);
    }
    if (state) {
      kernel->destroy_state(state);
    }
    kernel->destroy(object);
  }
  void Grad() {
    for (int32_t i = 0; i != library_->num_grads; ++i) {
      const oneop_grad_def* grad = library_->grads[i];
      if (call_->type != grad->op_type_name) {
        continue;
      }
      GradSink sink;
      Status status;
      const int32_t code = grad->generate(grad->self, call_->Frame(), &sink, &status);
      std::cout << "grad " << code << "\n";
    }
  }
  void Modify(bool inputs) {
    const oneop_frame* frame = call_->Frame();
    std::vector<oneop_arg_modifier> modifiers(
        static_cast<size_t>(inputs ? frame->num_input_tensors : frame->num_output_tensors),
        {0, 1, 1, 0});
    Status status;
    const auto fn = inputs ? Op()->modify_inputs : Op()->modify_outputs;
    const int32_t code = fn(Op()->self, call_->Frame(), modifiers.data(), &status);
    std::cout << "modify " << code;
    for (const auto& m : modifiers) {
      std::cout << " " << m.is_mutable << m.requires_grad << m.header_inferred_before_compute;
    }
    std::cout << "\n";
  }

  const oneop_library* library_ = nullptr;
  std::unique_ptr<Call> call_;
  long allocations_ = 0;
};

}  // namespace

int main() { return Host().Run(); }
