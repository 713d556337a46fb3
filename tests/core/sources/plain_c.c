/* plain_c.c: an op library in C, on the ABI alone. Proves that no C++ is needed on the library's
 * side. */
#include <stddef.h>
#include <string.h>

#include "oneop/abi.h"

static int32_t infer(void* self, oneop_frame* frame, oneop_status* status) {
  (void)self;
  (void)frame;
  (void)status;
  return ONEOP_OK; /* an output starts as a copy of the first input */
}

static int32_t fail(oneop_status* status, const char* message) {
  status->report(status, ONEOP_ERROR_VALUE, message, (int64_t)strlen(message), __FILE__, __LINE__);
  return ONEOP_ERROR_VALUE;
}

static int32_t create(void* self, oneop_frame* frame, void** kernel, oneop_status* status) {
  (void)frame;
  (void)status;
  *kernel = self;
  return ONEOP_OK;
}

static int32_t compute(void* kernel, oneop_frame* frame, void* state, const void* cache,
                       oneop_status* status) {
  (void)kernel;
  (void)state;
  (void)cache;
  const float alpha = (float)frame->attrs[0].value.f;
  const float* x = (const float*)frame->tensors[0].data;
  float* y = (float*)frame->tensors[1].data;
  const int64_t n = frame->tensors[1].elem_cnt;
  if (alpha < 0) {
    return fail(status, "alpha must not be negative");
  }
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] > 0 ? x[i] : alpha * x[i];
  }
  return ONEOP_OK;
}

static int32_t compute_grad(void* kernel, oneop_frame* frame, void* state, const void* cache,
                            oneop_status* status) {
  (void)kernel;
  (void)state;
  (void)cache;
  (void)status;
  const float alpha = (float)frame->attrs[0].value.f;
  const float* x = (const float*)frame->tensors[0].data;
  const float* dy = (const float*)frame->tensors[1].data;
  float* dx = (float*)frame->tensors[2].data;
  const int64_t n = frame->tensors[2].elem_cnt;
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = x[i] > 0 ? dy[i] : alpha * dy[i];
  }
  return ONEOP_OK;
}

static int32_t generate(void* self, oneop_frame* frame, oneop_grad_sink* sink,
                        oneop_status* status) {
  (void)self;
  const oneop_grad_input inputs[] = {{"x", 0, 0}, {"dy", 2, 0}};
  const oneop_grad_output outputs[] = {{"dx", 1, 0}};
  oneop_grad_op op = {sizeof op,           2,      1,       1,           "grad",
                      "plain_c_relu_grad", inputs, outputs, frame->attrs};
  int32_t code = sink->add_op(sink, &op, status);
  if (code != ONEOP_OK) {
    return code;
  }
  return sink->bind(sink, 0, 3, status);
}

static int self_marker;
static const oneop_arg_def x_def = {sizeof x_def, 1, 0, 0, "x"};
static const oneop_arg_def dy_def = {sizeof dy_def, 1, 0, 0, "dy"};
static const oneop_arg_def y_def = {sizeof y_def, 1, 0, 0, "y"};
static const oneop_arg_def dx_def = {sizeof dx_def, 1, 0, 0, "dx"};
static const oneop_attr_def alpha_def = {
    sizeof alpha_def, ONEOP_ATTR_FLOAT, 1, 0, "alpha", {"alpha", ONEOP_ATTR_FLOAT, 0, {.f = 0.01}}};
static const oneop_arg_def* const inputs[] = {&x_def, &dy_def};
static const oneop_arg_def* const outputs[] = {&y_def, &dx_def};
static const oneop_attr_def* const attrs[] = {&alpha_def};

static oneop_op_def op = {.size = sizeof op,
                          .name = "plain_c_relu",
                          .file = __FILE__,
                          .line = 1,
                          .num_inputs = 1,
                          .num_outputs = 1,
                          .num_attrs = 1,
                          .inputs = inputs,
                          .outputs = outputs,
                          .attrs = attrs,
                          .infer_logical = infer};
static oneop_op_def grad_op = {.size = sizeof op,
                               .name = "plain_c_relu_grad",
                               .file = __FILE__,
                               .line = 2,
                               .num_inputs = 2,
                               .num_outputs = 1,
                               .num_attrs = 1,
                               .inputs = inputs,
                               .outputs = outputs + 1,
                               .attrs = attrs,
                               .infer_logical = infer};

static const oneop_fact is_cpu = {sizeof is_cpu, ONEOP_FACT_DEVICE, ONEOP_DEVICE_CPU, 0,
                                  NULL,          "device is cpu"};
static const oneop_fact* const facts[] = {&is_cpu};

static int32_t is_matched(void* self, oneop_frame* frame, int32_t* matched, oneop_status* status) {
  (void)self;
  (void)status;
  *matched =
      frame->device_type == ONEOP_DEVICE_CPU && frame->tensors[0].dtype == ONEOP_DTYPE_FLOAT32;
  return ONEOP_OK;
}

static oneop_kernel_def kernel = {.size = sizeof kernel,
                                  .op_type_name = "plain_c_relu",
                                  .file = __FILE__,
                                  .line = 3,
                                  .num_facts = 1,
                                  .facts = facts,
                                  .predicate = "float32 on cpu",
                                  .self = &self_marker,
                                  .is_matched = is_matched,
                                  .create = create,
                                  .compute = compute};
static oneop_kernel_def grad_kernel = {.size = sizeof kernel,
                                       .op_type_name = "plain_c_relu_grad",
                                       .file = __FILE__,
                                       .line = 4,
                                       .num_facts = 1,
                                       .facts = facts,
                                       .predicate = "float32 on cpu",
                                       .self = &self_marker,
                                       .is_matched = is_matched,
                                       .create = create,
                                       .compute = compute_grad};
static oneop_grad_def grad = {.size = sizeof grad,
                              .line = 5,
                              .op_type_name = "plain_c_relu",
                              .file = __FILE__,
                              .generate = generate};

static const oneop_op_def* const ops[] = {&op, &grad_op};
static const oneop_kernel_def* const kernels[] = {&kernel, &grad_kernel};
static const oneop_grad_def* const grads[] = {&grad};
static const oneop_library library = {sizeof library, 2, 2, 1, ops, kernels, grads};

#ifndef TEST_ABI_MAJOR
#define TEST_ABI_MAJOR ONEOP_ABI_MAJOR
#endif

__attribute__((visibility("default"))) int32_t oneop_plugin(oneop_handshake* handshake) {
  handshake->library_abi_major = TEST_ABI_MAJOR;
  handshake->library_abi_minor = ONEOP_ABI_MINOR;
  handshake->library_sdk = "plain C";
  handshake->library = &library;
  return ONEOP_OK;
}
