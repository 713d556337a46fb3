/* An op library in a program in C: it is loaded, its ops are listed, one is called, then its
 * backward.
 *
 *     cc main.c -I INCLUDE -o main liboneop_runtime.so && ./main LIBRARY
 */
#include <stdio.h>
#include <stdlib.h>

#include "oneop/runtime.h"

enum { N = 4, MAX_BLOBS = 16 };

static const oneop_runtime* oneop;

static void fail(const char* act) {
  fprintf(stderr, "%s: %s: %s\n", act, oneop->last_error_class(), oneop->last_error());
  exit(1);
}

static void print_op(void* context, const oneop_op* op, const char* name) {
  const oneop_op_def* def = oneop->definition(op);
  (void)context;
  printf("op %s: %d inputs, %d outputs, %d attributes%s\n", name, def->num_inputs, def->num_outputs,
         def->num_attrs, oneop->has_gradient(op) ? ", differentiable" : "");
}

/* Runs an op on tensors, and makes the output tensors. */
static void call(const oneop_op* op, const oneop_request* request, oneop_tensor* outputs) {
  void* data[MAX_BLOBS];
  oneop_plan* plan = oneop->prepare(op, request);
  int32_t i, k, count;
  if (plan == NULL) fail("prepare");
  count = oneop->num_outputs(plan);
  for (i = 0; i < request->num_inputs; ++i) data[i] = request->inputs[i].data;
  for (i = 0; i < count; ++i) {
    const oneop_tensor* meta = oneop->output(plan, i);
    outputs[i] = *meta; /* its shape belongs to the plan, so it is copied */
    outputs[i].shape = malloc(sizeof(int64_t) * (size_t)(meta->ndim + 1));
    for (k = 0; k < meta->ndim; ++k) outputs[i].shape[k] = meta->shape[k];
    outputs[i].stride = NULL;
    outputs[i].data = malloc(sizeof(double) * (size_t)meta->elem_cnt);
    data[request->num_inputs + i] = outputs[i].data;
  }
  if (oneop->run(plan, data, NULL, NULL) != ONEOP_OK) fail("run");
  oneop->release_plan(plan);
}

/* The gradient of the call: blobs are x, y, dy, then what the steps make. */
static void differentiate(const oneop_op* op, const oneop_request* request, oneop_tensor* blobs) {
  oneop_grad* grad = oneop->differentiate(op, request, NULL);
  int32_t s, i;
  const float* dx;
  if (grad == NULL) fail("differentiate");
  for (s = 0; s < oneop->num_steps(grad); ++s) {
    const oneop_step* step = oneop->step(grad, s);
    oneop_tensor inputs[MAX_BLOBS];
    oneop_request next = {0};
    printf("step %d: %s\n", s, step->name);
    if (step->op == NULL) continue; /* an op of a framework, which this program does not have */
    for (i = 0; i < step->num_inputs; ++i) inputs[i] = blobs[step->inputs[i]];
    next.size = sizeof next;
    next.num_inputs = step->num_inputs;
    next.inputs = inputs;
    next.input_counts = step->input_counts;
    next.output_counts = step->output_counts;
    next.num_attrs = step->num_attrs;
    next.attrs = step->attrs;
    call(step->op, &next, &blobs[step->first_output]);
  }
  dx = blobs[oneop->grad_of_input(grad, 0)].data;
  for (i = 0; i < N; ++i) printf("dx[%d] = %g\n", i, dx[i]);
  oneop->release_grad(grad);
}

int main(int argc, char** argv) {
  float x[N] = {-2, -1, 1, 2};
  float dy[N] = {1, 1, 1, 1};
  int64_t shape[1] = {N};
  oneop_tensor blobs[MAX_BLOBS] = {{0}};
  oneop_request request = {0};
  oneop_attr alpha = {0};
  const oneop_op* op;
  int32_t i;
  oneop = oneop_get_runtime(ONEOP_RUNTIME_MAJOR);
  if (argc != 2 || oneop == NULL) return 2;
  if (oneop->load(argv[1], "leaky_relu") != ONEOP_OK) fail("load");
  oneop->list_ops(&print_op, NULL);
  op = oneop->find_op("leaky_relu");
  if (op == NULL) fail("find_op");

  alpha.name = "alpha";
  alpha.type = ONEOP_ATTR_DOUBLE;
  alpha.value.f = 0.25;
  blobs[0].data = x;
  blobs[0].shape = shape;
  blobs[0].ndim = 1;
  blobs[0].dtype = ONEOP_DTYPE_FLOAT32;
  request.size = sizeof request;
  request.num_inputs = 1;
  request.inputs = blobs;
  request.num_attrs = 1;
  request.attrs = &alpha;
  call(op, &request, &blobs[1]);
  for (i = 0; i < N; ++i) printf("y[%d] = %g\n", i, ((float*)blobs[1].data)[i]);
  blobs[2] = blobs[1];
  blobs[2].data = dy;
  differentiate(op, &request, blobs);

  blobs[0].dtype = ONEOP_DTYPE_INT32; /* what a mistake looks like */
  if (oneop->prepare(op, &request) == NULL) printf("%s\n", oneop->last_error_class());
  return 0;
}
