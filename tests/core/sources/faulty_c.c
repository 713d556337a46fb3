/* faulty_c.c: the library of plain_c.c with one field changed, as the variable ONEOP_FAULT says:
 * `name=value`. */
#include <stdlib.h>

#include "oneop/abi.h"

#define const /* what it describes can be changed then */
#define oneop_plugin sound_plugin
#include "plain_c.c"
#undef oneop_plugin
#undef const

static int32_t bad_ndim = 1, bad_dtype = ONEOP_DTYPE_FLOAT32, bad_inputs = 2, bad_outputs = 1,
               bad_attrs = 1, bad_count = 1, bad_blob = 3, bad_bound = 3, bad_input = 0,
               bad_shape = 0;
static int64_t bad_size = 3, bad_text = 5, bad_tmp = 0;

static int32_t faulty_infer(void* self, oneop_frame* frame, oneop_status* status) {
  oneop_tensor* y = frame->tensors + frame->num_input_tensors;
  (void)self;
  (void)status;
  y->ndim = bad_ndim;
  y->dtype = bad_dtype;
  y->shape[0] = bad_size;
  if (bad_shape != 0) {
    y->shape = NULL;
  }
  return ONEOP_OK;
}

static int32_t faulty_generate(void* self, oneop_frame* frame, oneop_grad_sink* sink,
                               oneop_status* status) {
  (void)self;
  const oneop_grad_input grad_inputs[] = {{"x", 0, 0}, {"dy", bad_blob == 3 ? 2 : bad_blob, 0}};
  const oneop_grad_output grad_outputs[] = {{"dx", bad_count, 0}};
  oneop_grad_op made = {sizeof made,         bad_inputs,  bad_outputs,  bad_attrs,   "grad",
                        "plain_c_relu_grad", grad_inputs, grad_outputs, frame->attrs};
  int32_t code = sink->add_op(sink, &made, status);
  return code != ONEOP_OK ? code : sink->bind(sink, bad_input, bad_bound, status);
}

static int32_t tmp_size(void* self, oneop_frame* frame, int64_t* bytes, oneop_status* status) {
  (void)self;
  (void)frame;
  (void)status;
  *bytes = bad_tmp;
  return ONEOP_OK;
}

static oneop_attr_def text_def = {sizeof text_def,
                                  ONEOP_ATTR_STRING,
                                  1,
                                  0,
                                  "text",
                                  {"text", ONEOP_ATTR_STRING, 0, {.list = {"hello", 5}}}};

struct field {
  const char* name;
  void* at;
  size_t size;
};
#define FIELD(name) {#name, &name, sizeof name}
static const struct field fields[] = {
    FIELD(library.size),
    FIELD(library.num_ops),
    FIELD(library.num_kernels),
    FIELD(library.num_grads),
    FIELD(library.ops),
    FIELD(library.kernels),
    FIELD(library.grads),
    FIELD(library.num_functions),
    FIELD(library.functions),
    FIELD(library.num_eager_grads),
    FIELD(library.eager_grads),
    FIELD(op.size),
    FIELD(op.name),
    FIELD(op.file),
    FIELD(op.line),
    FIELD(op.num_inputs),
    FIELD(op.num_outputs),
    FIELD(op.num_attrs),
    FIELD(op.inputs),
    FIELD(op.outputs),
    FIELD(op.attrs),
    FIELD(op.flags),
    FIELD(op.infer_logical),
    FIELD(kernel.size),
    FIELD(kernel.op_type_name),
    FIELD(kernel.num_facts),
    FIELD(kernel.facts),
    FIELD(kernel.priority),
    FIELD(kernel.create),
    FIELD(kernel.compute),
    FIELD(kernel.is_matched),
    FIELD(kernel.predicate),
    FIELD(grad.size),
    FIELD(grad.op_type_name),
    FIELD(grad.generate),
    FIELD(x_def.size),
    FIELD(x_def.count),
    FIELD(x_def.name),
    FIELD(y_def.count),
    FIELD(y_def.count_is_minimum),
    FIELD(alpha_def.size),
    FIELD(alpha_def.type),
    FIELD(alpha_def.name),
    FIELD(is_cpu.size),
    FIELD(is_cpu.kind),
    FIELD(is_cpu.value),
    FIELD(is_cpu.arg),
    FIELD(ops[0]),
    FIELD(kernels[0]),
    FIELD(grads[0]),
    FIELD(inputs[0]),
    FIELD(attrs[0]),
    FIELD(facts[0]),
    FIELD(bad_ndim),
    FIELD(bad_dtype),
    FIELD(bad_size),
    FIELD(bad_shape),
    FIELD(bad_inputs),
    FIELD(bad_outputs),
    FIELD(bad_attrs),
    FIELD(bad_count),
    FIELD(bad_blob),
    FIELD(bad_bound),
    FIELD(bad_input),
    FIELD(bad_text),
    FIELD(bad_tmp),
};

__attribute__((visibility("default"))) int32_t field_count(void) {
  return sizeof fields / sizeof *fields;
}
__attribute__((visibility("default"))) const char* field_name(int32_t i) { return fields[i].name; }
__attribute__((visibility("default"))) int32_t field_size(int32_t i) {
  return (int32_t)fields[i].size;
}

__attribute__((visibility("default"))) int32_t oneop_plugin(oneop_handshake* handshake) {
  const char* fault = getenv("ONEOP_FAULT");
  const size_t length = fault == NULL ? 0 : strcspn(fault, "=");
  const int64_t value = fault == NULL ? 0 : strtoll(fault + length + 1, NULL, 10);
  for (size_t i = 0; fault != NULL && i < sizeof fields / sizeof *fields; ++i) {
    if (strlen(fields[i].name) == length && strncmp(fields[i].name, fault, length) == 0) {
      memcpy(fields[i].at, &value, fields[i].size);
      if (strncmp(fault, "bad_", 4) == 0) {
        op.infer_logical = faulty_infer;
      }
      if (strncmp(fault, "bad_text", 8) == 0) {
        text_def.default_value.value.list.count = bad_text;
        attrs[0] = &text_def;
      }
    }
  }
  kernel.infer_tmp_size = tmp_size;
  grad.generate = grad.generate == NULL ? NULL : faulty_generate;
  return sound_plugin(handshake);
}
