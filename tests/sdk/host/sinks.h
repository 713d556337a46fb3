// tests/sdk/host/sinks.h: what libraries report into, printed as it comes.
#ifndef TESTS_SDK_HOST_SINKS_H_
#define TESTS_SDK_HOST_SINKS_H_

#include <cstring>
#include <iostream>

#include "print.h"

namespace test_host {

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

}  // namespace test_host

#endif  // TESTS_SDK_HOST_SINKS_H_
