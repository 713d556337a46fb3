/* oneop/runtime.h: op libraries in a program of its own.
 *
 * The runtime is a shared library without torch and without Python. A program loads op libraries
 * into it, asks what a call gives, runs it on memory of its own, and gets the steps of a gradient.
 *
 *     const oneop_runtime* oneop = oneop_get_runtime(ONEOP_RUNTIME_MAJOR);
 *     oneop->load("libmyops.so", "myops");
 *
 * It is versioned as oneop/abi.h is: another major version gets no table; fields and functions are
 * only added, at the end, and who reads one looks at `size` first.
 *
 * A function that can fail returns ONEOP_OK or one of the error kinds of abi.h, or null; then
 * last_error() has the text until this thread's next call fails. All functions may be called by any
 * thread. No C++ exception leaves the runtime.
 */
#ifndef ONEOP_RUNTIME_H_
#define ONEOP_RUNTIME_H_

#include "oneop/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ONEOP_RUNTIME_MAJOR 1
#define ONEOP_RUNTIME_MINOR 2

typedef struct oneop_runtime oneop_runtime; /* the table of functions, below */
typedef struct oneop_op oneop_op;           /* a name in the registry; it stays valid forever */
typedef struct oneop_plan oneop_plan;       /* a call worked out once: outputs, kernel, scratch */
typedef struct oneop_grad oneop_grad;       /* the steps that differentiate one call */

/* A call without its data. */
typedef struct oneop_request {
  uint32_t size;
  int32_t num_inputs; /* tensors, in the order of the op's inputs */
  int32_t num_attrs;
  int32_t device_type;          /* ONEOP_DEVICE_INVALID: that of the inputs, or the cpu */
  const oneop_tensor* inputs;   /* shape, ndim, dtype and device; `stride` null: contiguous */
  const int32_t* input_counts;  /* tensors of each input; null: one each */
  const int32_t* output_counts; /* tensors of each output; null: as few as there may be */
  const oneop_attr* attrs;      /* those that are set */
  int32_t device_index;
  int32_t reserved;
  int32_t num_input_counts;  /* since 1.2: how many counts there are; 0: as the op has inputs, */
  int32_t num_output_counts; /* and outputs. An op that was replaced may have others by now */
} oneop_request;

/* One step of a gradient: a call of an op, or of an op of the framework that the caller runs.
 * Blobs are numbered as in abi.h: inputs and outputs of the differentiated call, gradients of these
 * outputs, then what the steps make. */
typedef struct oneop_step {
  uint32_t size;
  int32_t num_inputs; /* blobs in all */
  int32_t num_outputs;
  int32_t first_output; /* the blob of the first one */
  const char* name;     /* of the op; `aten::mul.Tensor` of the framework's */
  const oneop_op* op;   /* null: the framework's */
  const int32_t* inputs;
  /* Of an op: what a oneop_request needs beside its tensors. */
  const int32_t* input_counts;
  const int32_t* output_counts;
  const oneop_attr* attrs; /* all of them */
  int32_t num_attrs;
  /* Of the framework: its arguments; tensors are ONEOP_VALUE_BLOB and ONEOP_VALUE_BLOBS. */
  int32_t num_args;
  const oneop_value* args;
} oneop_step;

/* What the program knows of its framework's ops; a gradient that calls one asks. */
typedef struct oneop_framework {
  uint32_t size;
  uint32_t reserved;
  void* self;
  /* How many tensors a call returns: -1 where its inputs decide, -2 where there is no such op. */
  int32_t (*num_outputs)(void* self, const char* name, const oneop_value* args, int32_t num_args);
  /* Calls add(sink, shape, ndim, dtype) for each tensor that the call returns for inputs like
   * these, which are the blobs of its arguments, one after the other. */
  int32_t (*infer)(void* self, const char* name, const oneop_value* args, int32_t num_args,
                   const oneop_tensor* inputs, int32_t num_inputs,
                   void (*add)(void* sink, const int64_t* shape, int32_t ndim, int32_t dtype),
                   void* sink, oneop_status* status);
} oneop_framework;

struct oneop_runtime {
  uint32_t size;
  uint32_t major;
  uint32_t minor;
  uint32_t reserved;

  /* ---- errors ---- */
  const char* (*last_error)(void);
  const char* (*last_error_class)(void); /* as in Python: "ArgumentError" */

  /* ---- the process ---- */
  /* Threads that parallel_for uses, the caller's included; at first the number of processors. */
  int32_t (*set_num_threads)(int32_t count);
  void (*set_seed)(uint64_t seed); /* of the generator that random ops draw from */
  /* The table must live as long as the process. */
  void (*set_framework)(const oneop_framework* framework);
  /* Memory for scratch on a device that is no cpu: alloc is called with its index and a stream, and
   * what it gave is freed with the same stream once the kernel has been started. */
  void (*set_device_memory)(void* (*alloc)(int32_t device_index, int64_t bytes, void* stream),
                            void (*free_block)(int32_t device_index, void* block, void* stream));

  /* ---- libraries and ops ---- */
  /* A library of the same name replaces an earlier one. All or nothing. */
  int32_t (*load)(const char* path, const char* name);
  void (*list_ops)(void (*visit)(void* context, const oneop_op* op, const char* name),
                   void* context);
  const oneop_op* (*find_op)(const char* name);
  /* Inputs, outputs, attributes and flags as the library wrote them; null: not registered any
   * more. Lives as long as the process. */
  const oneop_op_def* (*definition)(const oneop_op* op);
  int32_t (*has_gradient)(const oneop_op* op);

  /* ---- calls ---- */
  /* Shapes and dtypes of the outputs only, without a kernel. */
  oneop_plan* (*infer)(const oneop_op* op, const oneop_request* request);
  oneop_plan* (*prepare)(const oneop_op* op, const oneop_request* request);
  void (*release_plan)(oneop_plan* plan);
  int32_t (*num_outputs)(const oneop_plan* plan);
  const oneop_tensor* (*output)(const oneop_plan* plan, int32_t index);
  int64_t (*scratch_bytes)(const oneop_plan* plan);
  /* Runs the kernel: `data` has the addresses of the inputs, then of the outputs, each as the plan
   * describes it. `scratch` null: the runtime's own. `stream` is the device's, a cudaStream_t. A
   * plan may run in several threads at once. */
  int32_t (*run)(const oneop_plan* plan, void* const* data, void* scratch, void* stream);

  /* ---- gradients ---- */
  /* `needs_grad` has a flag for each input tensor; null: all that can have one. */
  oneop_grad* (*differentiate)(const oneop_op* op, const oneop_request* request,
                               const uint8_t* needs_grad);
  void (*release_grad)(oneop_grad* grad);
  int32_t (*num_blobs)(const oneop_grad* grad);
  int32_t (*num_steps)(const oneop_grad* grad);
  const oneop_step* (*step)(const oneop_grad* grad, int32_t index);
  int32_t (*grad_of_input)(const oneop_grad* grad, int32_t input); /* its blob; -1: it has none */

  /* ---- for hosts in other languages ---- */
  /* As prepare, with the values of all attributes as words that the runtime has written. */
  oneop_plan* (*prepare_words)(const oneop_op* op, const oneop_request* request,
                               const int64_t* words, int64_t num_words);
  uint64_t (*epoch)(void); /* another number after each change of any op */

  /* Since 1.1. As run, for ops that have outputs whose size depends on data (is_dynamic of
   * output()): `shapes` has for each output tensor room for its sizes, or null. Memory must be
   * there for the largest, which output() describes; elements lie densely in the shape that comes
   * back. */
  int32_t (*run_dynamic)(const oneop_plan* plan, void* const* data, void* scratch, void* stream,
                         int64_t* const* shapes);
};

/* Null for a major version that this runtime is not. The table lives as long as the process. */
const oneop_runtime* oneop_get_runtime(uint32_t major);

#ifdef __cplusplus
}
#endif

#endif /* ONEOP_RUNTIME_H_ */
