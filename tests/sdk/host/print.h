// tests/sdk/host/print.h: tensors, attributes and whole libraries as text.
#ifndef TESTS_SDK_HOST_PRINT_H_
#define TESTS_SDK_HOST_PRINT_H_

#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "call.h"

namespace test_host {

inline void PrintTensor(const char* word, const oneop_tensor& t, bool values) {
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

inline std::string AttrText(const oneop_attr& a) {
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
    case ONEOP_ATTR_LIST_BOOL:
      for (int64_t i = 0; i != a.value.list.count; ++i) {
        out << (i ? "," : "") << static_cast<int>(static_cast<const uint8_t*>(data)[i]);
      }
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      list(static_cast<const float*>(data));
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
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

inline void PrintArgs(const char* word, const oneop_arg_def* const* args, int32_t count) {
  for (int32_t i = 0; i != count; ++i) {
    std::cout << "  " << word << " " << args[i]->name << " " << args[i]->count
              << (args[i]->count_is_minimum ? "+" : "") << (args[i]->is_optional ? " optional" : "")
              << "\n";
  }
}

inline void Describe(const oneop_library* library) {
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
                               reinterpret_cast<const void*>(op->modify_outputs),
                               reinterpret_cast<const void*>(op->count_operations),
                               reinterpret_cast<const void*>(op->infer_batch_axes)};
    const char* names[] = {
        "check_attrs",  "infer_logical", "infer_physical", "infer_dtype",      "get_sbp",
        "infer_nd_sbp", "modify_inputs", "modify_outputs", "count_operations", "infer_batch_axes"};
    for (int k = 0; k != 10; ++k) {
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

}  // namespace test_host

#endif  // TESTS_SDK_HOST_PRINT_H_
