/* clang-format off */
/* oneop/abi.h: the boundary between an op library and its host.
 *
 * Pure C. No C++ type, exception or allocator crosses it. The rules that let it grow without
 * breaking binaries:
 *
 *   - A library exports exactly one symbol, `oneop_plugin`. Its argument, `oneop_handshake`, never
 *     changes.
 *   - Every other struct begins with its `size`, or its distance is given by the struct that points
 *     to it. New fields go to the end. A reader looks at a field only if `size` covers it.
 *   - The major version changes when an old binary could misread something, the minor version when
 *     something is added.
 *   - Memory belongs to the side that made it. What a library describes lives as long as the
 *     library; what a call frame points to lives as long as the call.
 *   - A callback returns ONEOP_OK or the error kind it has reported. Exceptions stop at the edge.
 */
/* clang-format on */
#ifndef ONEOP_ABI_H_
#define ONEOP_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONEOP_ABI_MAJOR 1
#define ONEOP_ABI_MINOR 9
#define ONEOP_MAX_DIMS 32 /* room behind the `shape` and `stride` of an output during inference */

/* ---- Codes. A number, once given, keeps its meaning. ---- */

/* oneop_tensor.dtype, and attributes of type data type */
enum {
  ONEOP_DTYPE_INVALID = 0,
  ONEOP_DTYPE_CHAR = 1, /* raw bytes, as in a scratch buffer */
  ONEOP_DTYPE_FLOAT32 = 2,
  ONEOP_DTYPE_FLOAT64 = 3,
  ONEOP_DTYPE_INT8 = 4,
  ONEOP_DTYPE_INT32 = 5,
  ONEOP_DTYPE_INT64 = 6,
  ONEOP_DTYPE_UINT8 = 7,
  ONEOP_DTYPE_FLOAT16 = 9,
  ONEOP_DTYPE_BFLOAT16 = 11,
  ONEOP_DTYPE_BOOL = 12,
  ONEOP_DTYPE_UINT16 = 13,
  ONEOP_DTYPE_UINT32 = 14,
  ONEOP_DTYPE_UINT64 = 15,
  ONEOP_DTYPE_INT16 = 17,
  ONEOP_DTYPE_COMPLEX32 = 19,
  ONEOP_DTYPE_COMPLEX64 = 20,
  ONEOP_DTYPE_COMPLEX128 = 21,
  ONEOP_DTYPE_FLOAT8_E4M3FN = 32,
  ONEOP_DTYPE_FLOAT8_E5M2 = 33,
  ONEOP_DTYPE_FLOAT8_E4M3FNUZ = 34,
  ONEOP_DTYPE_FLOAT8_E5M2FNUZ = 35
};

/* device_type */
enum {
  ONEOP_DEVICE_INVALID = 0,
  ONEOP_DEVICE_CPU = 1,
  ONEOP_DEVICE_CUDA = 2,
  ONEOP_DEVICE_META = 4
};

/* oneop_attr.type; the comment says where the value is */
enum {
  ONEOP_ATTR_NONE = 0,            /* since 1.5: an optional attribute without a value */
  ONEOP_ATTR_INT32 = 1,           /* i */
  ONEOP_ATTR_INT64 = 2,           /* i */
  ONEOP_ATTR_BOOL = 3,            /* i: 0 or 1 */
  ONEOP_ATTR_FLOAT = 4,           /* f, a number of 32 bits */
  ONEOP_ATTR_DOUBLE = 5,          /* f */
  ONEOP_ATTR_STRING = 6,          /* list of char */
  ONEOP_ATTR_SHAPE = 7,           /* list of int64_t */
  ONEOP_ATTR_DTYPE = 8,           /* i */
  ONEOP_ATTR_LIST_INT32 = 9,      /* list of int32_t */
  ONEOP_ATTR_LIST_INT64 = 10,     /* list of int64_t */
  ONEOP_ATTR_LIST_FLOAT = 11,     /* list of float */
  ONEOP_ATTR_LIST_DTYPE = 12,     /* list of int32_t */
  ONEOP_ATTR_LIST_SHAPE = 13,     /* list of oneop_span of int64_t */
  ONEOP_ATTR_LIST_STRING = 14,    /* list of oneop_span of char */
  ONEOP_ATTR_COMPLEX_DOUBLE = 18, /* list of two double */
  ONEOP_ATTR_BYTES = 20,          /* list of char */
  ONEOP_ATTR_LIST_DOUBLE = 21,    /* since 1.6: list of double */
  ONEOP_ATTR_LIST_BOOL = 22,      /* since 1.9: list of uint8_t, 0 or 1 */
  /* Since 1.9. The type of a definition alone: its values, the default too, are of type INT64,
   * DOUBLE, BOOL or COMPLEX_DOUBLE, which says of what kind the number is. */
  ONEOP_ATTR_SCALAR = 23
};

/* what a callback returns, and oneop_status.kind */
enum {
  ONEOP_OK = 0,
  ONEOP_ERROR_RUNTIME = 1,
  ONEOP_ERROR_TYPE = 2,
  ONEOP_ERROR_VALUE = 3,
  ONEOP_ERROR_INDEX = 4,
  ONEOP_ERROR_NOT_IMPLEMENTED = 5,
  ONEOP_ERROR_CHECK = 6 /* a CHECK of the author's failed */
};

/* oneop_sbp.kind */
enum {
  ONEOP_SBP_UNSET = 0,
  ONEOP_SBP_SPLIT = 1,
  ONEOP_SBP_BROADCAST = 2,
  ONEOP_SBP_PARTIAL_SUM = 3
};

/* oneop_op_def.flags */
enum {
  ONEOP_OP_NO_GRAD = 1u << 0,
  ONEOP_OP_CPU_ONLY = 1u << 1,
  ONEOP_OP_NON_CONTIGUOUS = 1u
      << 2,                      /* kernels take any strides; otherwise inputs arrive contiguous */
  ONEOP_OP_RANDOM = 1u << 3,     /* two calls with the same arguments may differ */
  ONEOP_OP_SIDE_EFFECT = 1u << 4 /* compilers keep calls, in order, though nobody uses results */
};

/* oneop_kernel_def.flags */
enum {
  ONEOP_KERNEL_CUDA_GRAPH = 1u << 0,
  /* The kernel may ask where it runs: parallel_id, sbp, logical_tensors. A library whose code
   * never asks leaves it out, and its calls on parts of tensors need not be told. */
  ONEOP_KERNEL_ASKS_PLACEMENT = 1u << 1,
  /* These three since 1.8. The same call gives the same bits each time, at least where the frame
   * requires it. */
  ONEOP_KERNEL_DETERMINISTIC = 1u << 2,
  /* It may not, not even where the frame requires it. */
  ONEOP_KERNEL_NONDETERMINISTIC = 1u << 3,
  /* The bits of a row of the result depend neither on how many rows there are nor on the others,
   * at least where the frame requires it. A row is what the op's SBP signatures split. */
  ONEOP_KERNEL_BATCH_INVARIANT = 1u << 4
};

/* oneop_frame.required: what the program asks of kernels (since 1.8) */
enum { ONEOP_REQUIRE_DETERMINISTIC = 1u << 0, ONEOP_REQUIRE_BATCH_INVARIANT = 1u << 1 };

/* ---- Values ---- */

typedef struct oneop_span {
  const void* data;
  int64_t count;
} oneop_span;

typedef struct oneop_attr {
  const char* name;
  int32_t type;
  int32_t reserved;
  union {
    int64_t i;
    double f;
    oneop_span list;
  } value;
} oneop_attr;

typedef struct oneop_sbp {
  int32_t kind;
  int32_t axis; /* of a split */
} oneop_sbp;

typedef struct oneop_tensor {
  void* data;      /* null during inference, and where there are no elements */
  int64_t* shape;  /* ndim extents */
  int64_t* stride; /* in elements */
  int64_t elem_cnt;
  int32_t ndim;
  int32_t dtype;
  int32_t device_type;
  int32_t device_index;
  /* Of an output. Inference says by any other number than 0 that the sizes it gives are the largest
   * that are possible. Since 1.9 kernels find here a bit for each axis of that kind. They write the
   * sizes they have made into `shape` before they return; the elements then lie densely in that
   * shape from `data` on. Every other `shape` is the host's and must not be written to. */
  int32_t is_dynamic;
  int32_t reserved;
} oneop_tensor;

/* An argument of the op and where its tensors are: tensors[first] .. tensors[first + count - 1]. An
 * optional argument that was not given has count 0. */
typedef struct oneop_arg {
  const char* name;
  int32_t first;
  int32_t count;
} oneop_arg;

/* How a callback fails: it calls report() once, which copies the text, and returns the kind. */
typedef struct oneop_status {
  uint32_t size;
  int32_t kind;
  void (*report)(struct oneop_status* status, int32_t kind, const char* message, int64_t length,
                 const char* file, int32_t line);
} oneop_status;

/* ---- Functions: calls with values of any kind (since 1.1) ---- */

/* oneop_value.kind; the comment says where the value is */
enum {
  ONEOP_VALUE_NONE = 0,
  ONEOP_VALUE_TENSOR = 1,     /* tensor */
  ONEOP_VALUE_TENSORS = 2,    /* list of oneop_handle */
  ONEOP_VALUE_INT = 3,        /* i */
  ONEOP_VALUE_FLOAT = 4,      /* f */
  ONEOP_VALUE_BOOL = 5,       /* i */
  ONEOP_VALUE_COMPLEX = 6,    /* c: real and imaginary part */
  ONEOP_VALUE_STRING = 7,     /* list of char */
  ONEOP_VALUE_INTS = 8,       /* list of int64_t; shapes and bools too */
  ONEOP_VALUE_FLOATS = 9,     /* list of double */
  ONEOP_VALUE_STRINGS = 10,   /* list of oneop_span of char */
  ONEOP_VALUE_SHAPES = 11,    /* list of oneop_span of int64_t */
  ONEOP_VALUE_DTYPE = 12,     /* i */
  ONEOP_VALUE_DTYPES = 13,    /* list of int64_t */
  ONEOP_VALUE_DEVICE = 14,    /* list of two int64_t: device type and index */
  ONEOP_VALUE_SCALARS = 15,   /* list of oneop_value */
  ONEOP_VALUE_GENERATOR = 16, /* tensor: a handle of a random generator; since 1.3 */
  /* Since 1.3, in oneop_grad_sink.add_call only. */
  ONEOP_VALUE_BLOB = 17, /* i: its number */
  ONEOP_VALUE_BLOBS = 18 /* list of int64_t; -1: not given */
};

/* oneop_function_arg.type: the types of functional_api.yaml that have a meaning here */
enum {
  ONEOP_TYPE_VOID = 0,
  ONEOP_TYPE_TENSOR = 1,
  ONEOP_TYPE_TENSOR_TUPLE = 2,
  ONEOP_TYPE_SCALAR = 3,
  ONEOP_TYPE_INT32 = 4,
  ONEOP_TYPE_INT64 = 5,
  ONEOP_TYPE_FLOAT = 6,
  ONEOP_TYPE_DOUBLE = 7,
  ONEOP_TYPE_BOOL = 8,
  ONEOP_TYPE_STRING = 9,
  ONEOP_TYPE_INT32_LIST = 10,
  ONEOP_TYPE_INT64_LIST = 11,
  ONEOP_TYPE_FLOAT_LIST = 12,
  ONEOP_TYPE_DOUBLE_LIST = 13,
  ONEOP_TYPE_BOOL_LIST = 14,
  ONEOP_TYPE_STRING_LIST = 15,
  ONEOP_TYPE_SCALAR_LIST = 16,
  ONEOP_TYPE_DTYPE = 17,
  ONEOP_TYPE_DTYPE_LIST = 18,
  ONEOP_TYPE_SHAPE = 19,
  ONEOP_TYPE_SHAPE_LIST = 20,
  ONEOP_TYPE_DEVICE = 21,
  ONEOP_TYPE_GENERATOR = 22, /* these three since 1.3 */
  ONEOP_TYPE_LAYOUT = 23,
  ONEOP_TYPE_MEMORY_FORMAT = 24
};

/* what oneop_host.generator does */
enum {
  ONEOP_GENERATOR_SEED = 0,     /* gives the seed */
  ONEOP_GENERATOR_SET_SEED = 1, /* takes one */
  ONEOP_GENERATOR_NEW_SEED = 2, /* takes one that nobody chose, and gives it */
  ONEOP_GENERATOR_RANDOM = 3    /* gives the next 64 random bits */
};

/* what oneop_host.state does */
enum {
  ONEOP_STATE_GRAD_ENABLED = 0,      /* gives whether this thread records calls for autograd */
  ONEOP_STATE_SET_GRAD_ENABLED = 1,  /* takes it */
  ONEOP_STATE_IS_LEAF = 2,           /* gives whether no call of autograd's made the tensor */
  ONEOP_STATE_SET_REQUIRES_GRAD = 3, /* takes whether the tensor wants a gradient */
  ONEOP_STATE_STORAGE_OFFSET = 4     /* gives where the tensor begins in its storage, in elements */
};

/* A tensor of the host, counted by retain and release. An odd one stands for a tensor that does not
 * exist yet: it is the address of a oneop_symbol plus one. */
typedef void* oneop_handle;

typedef struct oneop_value {
  int32_t kind;
  int32_t reserved;
  union {
    int64_t i;
    double f;
    double c[2];
    oneop_handle tensor;
    oneop_span list;
  } value;
} oneop_value;

/* An op called with tensors. `inputs` and `outputs` name the argument of each tensor; those of one
 * argument are neighbours. A null handle is an optional input that is not given. */
typedef struct oneop_call {
  uint32_t size;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attrs;
  const char* op_type_name;
  const void* op; /* from find_op; null: by name */
  const char* const* input_names;
  const oneop_handle* inputs;
  const char* const* output_names;
  const oneop_attr* attrs; /* those that are set; a number takes the type of the attribute */
  /* Null, or where the host notes what it found out about the names of a call that is made again
   * and again; zero at first. Since 1.3. */
  const void** note;
  /* Since 1.4. The device of a call without tensors, ONEOP_DEVICE_INVALID: the host chooses. Where
   * the call has tensors it must be theirs. */
  int32_t device_type;
  int32_t device_index;
} oneop_call;

struct oneop_result;

/* What an odd handle stands for: a call on it is recorded by the one who made it. */
typedef struct oneop_symbol {
  uint32_t size;
  int32_t references;
  void (*destroy)(struct oneop_symbol* symbol);
  int32_t (*record)(struct oneop_symbol* symbol, const oneop_call* call, oneop_handle* outputs,
                    oneop_status* status);
  const oneop_tensor* (*meta)(struct oneop_symbol* symbol,
                              oneop_status* status); /* null after reporting an error */
  int32_t requires_grad;
  int32_t reserved;
  /* Since 1.3. The same for a function of torch's, with the arguments of call_function. */
  int32_t (*record_function)(struct oneop_symbol* symbol, const char* name, const oneop_value* args,
                             int32_t num_args, struct oneop_result* result, oneop_status* status);
} oneop_symbol;

/* Where a function puts what it returns; set() copies, and retains tensors. */
typedef struct oneop_result {
  uint32_t size;
  void (*set)(struct oneop_result* result, const oneop_value* value);
  /* The same for one tensor, whose reference goes over to the result. Since 1.3. */
  void (*give)(struct oneop_result* result, oneop_handle owned);
} oneop_result;

/* ---- Services of the host ---- */

struct oneop_frame;

typedef struct oneop_host {
  uint32_t size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  /* Runs body(context, b, e) over pieces of [begin, end) of at least `grain` elements on the host's
   * thread pool and waits. The body must not throw. */
  void (*parallel_for)(int64_t begin, int64_t end, int64_t grain,
                       void (*body)(void* context, int64_t b, int64_t e), void* context);
  int32_t (*num_threads)(void);
  /* level: 0 debug, 1 info, 2 warning, 3 error */
  void (*log)(int32_t level, const char* message, int64_t length, const char* file, int32_t line);
  /* Scratch memory on the frame's device that lives until the kernel returns; null after reporting
   * an error. */
  void* (*scratch)(const struct oneop_frame* frame, int64_t bytes, oneop_status* status);
  /* Since 1.1. Tensor handles; they and the calls below may be used on any thread. */
  void (*retain)(oneop_handle tensor);
  void (*release)(oneop_handle tensor);
  /* Fills in a view that lives as long as the handle; its shape and stride must not be written to.
   */
  int32_t (*view)(oneop_handle tensor, oneop_tensor* out, oneop_status* status);
  int32_t (*requires_grad)(oneop_handle tensor);
  /* An op for oneop_call.op; it stays valid forever. Null after reporting an error. */
  const void* (*find_op)(const char* op_type_name, oneop_status* status);
  /* Runs an op; `outputs` gets num_outputs handles that the caller owns. */
  int32_t (*dispatch)(const oneop_call* call, oneop_handle* outputs, oneop_status* status);
  /* A function of any loaded library by its C++ name, or of torch: `aten::mul.Tensor`. */
  int32_t (*call_function)(const char* name, const oneop_value* args, int32_t num_args,
                           oneop_result* result, oneop_status* status);
  /* Since 1.3. A random generator; null is the default one of the cpu. */
  int32_t (*generator)(oneop_handle generator, int32_t act, uint64_t* value, oneop_status* status);
  /* Since 1.4. As view, but fills in ndim, dtype and device alone: while torch traces with sizes
   * that are symbols, whoever asks for sizes ties the program to them. */
  int32_t (*describe)(oneop_handle tensor, oneop_tensor* out, oneop_status* status);
  /* Since 1.7. What autograd keeps of a tensor, or of the calling thread: then it is null. */
  int32_t (*state)(oneop_handle tensor, int32_t act, int64_t* value, oneop_status* status);
  /* Since 1.7. Copies the elements of a tensor, in the order of their indices, to memory of the
   * caller's that holds `bytes`. Refused where torch traces: there are no elements then. */
  int32_t (*read)(oneop_handle tensor, void* to, int64_t bytes, oneop_status* status);
} oneop_host;

/* What a callback looked at; the library sets, the host clears. It makes caches exact: what nobody
 * read cannot matter. */
typedef struct oneop_reads {
  uint32_t size;
  int32_t shapes; /* of any tensor */
  int32_t dtypes; /* of any tensor */
  int32_t reserved;
  uint64_t attrs; /* bit i: attribute number i; bit 63: some attribute from 63 on */
} oneop_reads;

/* ---- A call ---- */

/* What every callback sees. The host prepares it; a library only reads it, except that inference
 * writes ndim, shape, stride, dtype and is_dynamic of the output tensors. Outputs start as a copy
 * of the first input. */
typedef struct oneop_frame {
  uint32_t size;
  uint32_t tensor_size; /* bytes from one element to the next, so that these structs can grow too */
  uint32_t attr_size;
  uint32_t arg_size;
  const oneop_host* host;
  const char* op_type_name;
  const char* op_name;
  const oneop_arg* inputs;
  const oneop_arg* outputs;
  oneop_tensor* tensors;    /* those of the inputs, then those of the outputs */
  const oneop_attr* attrs;  /* all attributes of the op, defaults filled in */
  oneop_tensor* tmp_buffer; /* null where the kernel asked for none */
  void* stream;             /* of the device: a cudaStream_t */
  int32_t num_inputs;       /* arguments, not tensors */
  int32_t num_outputs;
  int32_t num_attrs;
  int32_t num_input_tensors;
  int32_t num_output_tensors;
  int32_t device_type;
  int32_t device_index;
  int32_t parallel_id; /* 0 of 1 where nothing is sharded */
  int32_t parallel_num;
  int32_t sbp_dims;                    /* dimensions of the device mesh; 0: not sharded */
  const oneop_tensor* logical_tensors; /* null: the same as tensors */
  const oneop_sbp* sbp;            /* sbp_dims entries for each tensor; null where sbp_dims is 0 */
  const uint8_t* input_needs_grad; /* gradients only: one flag for each input tensor */
  const uint8_t* output_has_grad;  /* gradients only: one flag for each output tensor */
  oneop_reads* reads;              /* null: nobody asks */
  void* host_data;
  uint32_t required; /* since 1.8: ONEOP_REQUIRE_... */
  uint32_t reserved;
} oneop_frame;

/* ---- Answers that are lists: the library calls the host ---- */

/* One SBP signature: an entry for each tensor of the frame, in order. */
typedef struct oneop_sbp_sink {
  uint32_t size;
  int32_t (*add)(struct oneop_sbp_sink* sink, const oneop_sbp* signature, int32_t count,
                 oneop_status* status);
} oneop_sbp_sink;

/* Written by modify_inputs / modify_outputs, one for each tensor of that side; the host fills in
 * the usual values first. */
typedef struct oneop_arg_modifier {
  int32_t is_mutable;
  int32_t requires_grad;
  int32_t header_inferred_before_compute;
  int32_t reserved;
} oneop_arg_modifier;

/* `output` and `input` are tensor numbers, each within its own side. */
typedef struct oneop_inplace_sink {
  uint32_t size;
  int32_t (*add)(struct oneop_inplace_sink* sink, int32_t output, int32_t input, int32_t is_mutable,
                 oneop_status* status);
} oneop_inplace_sink;

/* Blobs of a gradient graph are numbered: the forward inputs, the forward outputs, the gradients of
 * the forward outputs, then the outputs of the backward ops in the order in which those are added.
 */
typedef struct oneop_grad_input {
  const char* arg;
  int32_t blob;
  int32_t reserved;
} oneop_grad_input;

typedef struct oneop_grad_output {
  const char* arg;
  int32_t count;
  int32_t reserved;
} oneop_grad_output;

typedef struct oneop_grad_op {
  uint32_t size;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attrs;
  const char* op_name;
  const char* op_type_name;
  const oneop_grad_input* inputs; /* one for each tensor; repeated names are a variadic argument */
  const oneop_grad_output* outputs;
  const oneop_attr* attrs; /* those that are set */
} oneop_grad_op;

typedef struct oneop_grad_sink {
  uint32_t size;
  int32_t (*add_op)(struct oneop_grad_sink* sink, const oneop_grad_op* op, oneop_status* status);
  /* Blob -1 (since 1.1): the input has no gradient, and that is meant so. */
  int32_t (*bind)(struct oneop_grad_sink* sink, int32_t input, int32_t blob, oneop_status* status);
  /* Since 1.3. Adds a call of torch's, `aten::mul.Tensor`, whose tensors are blobs; num_outputs is
   * set to the number of blobs that it makes. */
  int32_t (*add_call)(struct oneop_grad_sink* sink, const char* name, const oneop_value* args,
                      int32_t num_args, int32_t* num_outputs, oneop_status* status);
  /* Since 1.3. Shape, dtype and device of a blob, without data; lives as long as the sink. Null
   * after reporting an error. */
  const oneop_tensor* (*describe)(struct oneop_grad_sink* sink, int32_t blob, oneop_status* status);
} oneop_grad_sink;

/* ---- What a library describes ---- */

typedef struct oneop_arg_def {
  uint32_t size;
  int32_t count; /* tensors of this argument */
  int32_t count_is_minimum;
  int32_t is_optional; /* then 0 tensors are right too */
  const char* name;
  int32_t on_host; /* since 1.2: an input that kernels of every device read in host memory */
  /* Since 1.9, zero before; of an output. Bit i: its size along axis i depends on data. See
   * oneop_tensor.is_dynamic. */
  uint32_t dynamic_axes;
  /* Since 1.9: callers may leave out items of this list. The frame has those that are
   * given; the attribute `<name>_given`, a list of bool, says at which places they stand. Empty:
   * all are given. */
  int32_t has_gaps;
  int32_t reserved;
} oneop_arg_def;

/* oneop_attr_def.flags */
enum {
  ONEOP_ATTRDEF_OPTIONAL = 1,  /* the value may be ONEOP_ATTR_NONE, in calls and as the default */
  ONEOP_ATTRDEF_POSITIONAL = 2 /* calls may give it by position, after the inputs */
};

typedef struct oneop_attr_def {
  uint32_t size;
  int32_t type;
  int32_t has_default;
  uint32_t flags; /* since 1.5, zero before */
  const char* name;
  oneop_attr default_value;
  int32_t list_size; /* since 1.9: the length that a list must have; 0: any */
  int32_t reserved;
} oneop_attr_def;

typedef int32_t (*oneop_infer_fn)(void* self, oneop_frame* frame, oneop_status* status);
typedef int32_t (*oneop_sbp_fn)(void* self, oneop_frame* frame, oneop_sbp_sink* sink,
                                oneop_status* status);
typedef int32_t (*oneop_modify_fn)(void* self, oneop_frame* frame, oneop_arg_modifier* modifiers,
                                   oneop_status* status);

typedef struct oneop_op_def {
  uint32_t size;
  uint32_t flags;
  const char* name;
  const char* file;
  int32_t line;
  int32_t num_inputs;
  int32_t num_outputs;
  int32_t num_attrs;
  const oneop_arg_def* const* inputs;
  const oneop_arg_def* const* outputs;
  const oneop_attr_def* const* attrs;
  void* self;                    /* given back to the callbacks; any of them may be null */
  oneop_infer_fn check_attrs;    /* sees no tensors */
  oneop_infer_fn infer_logical;  /* shapes, and often dtypes */
  oneop_infer_fn infer_physical; /* null: the logical one */
  oneop_infer_fn infer_dtype;
  oneop_sbp_fn get_sbp;
  oneop_sbp_fn
      infer_nd_sbp; /* reads hints in frame->sbp; adds one signature of sbp_dims entries a tensor */
  oneop_modify_fn modify_inputs;
  oneop_modify_fn modify_outputs;
  const char* doc; /* since 1.4 */
  /* Since 1.8. How many arithmetic operations a call of these shapes takes; null: nobody said. It
   * sees inputs and outputs as they are inferred, without data. */
  int32_t (*count_operations)(void* self, oneop_frame* frame, double* operations,
                              oneop_status* status);
  /* Since 1.9. Along which axis a batch lies, for each tensor of the frame, -1: there is none.
   * Those of inputs are given, those of outputs are written; null: nobody said. */
  int32_t (*infer_batch_axes)(void* self, oneop_frame* frame, int64_t* axes, oneop_status* status);
} oneop_op_def;

/* A part of a kernel's predicate that the host can show and explain. All parts must hold;
 * is_matched decides. */
enum { ONEOP_FACT_DEVICE = 1, ONEOP_FACT_DTYPE = 2, ONEOP_FACT_OTHER = 3 };

typedef struct oneop_fact {
  uint32_t size;
  int32_t kind;
  int32_t value; /* the device type or dtype that the tensor must have */
  int32_t index; /* of the tensor within its argument, for a dtype */
  const char* arg;
  const char* text; /* the condition as written, e.g. `data_type("out", 0) == kFloat` */
} oneop_fact;

typedef struct oneop_kernel_def {
  uint32_t size;
  uint32_t flags;
  const char* op_type_name;
  const char* file;
  int32_t line;
  int32_t priority;
  int32_t num_facts;
  int32_t reserved;
  const oneop_fact* const* facts;
  const char* predicate; /* the whole condition as text */
  void* self;
  int32_t (*is_matched)(void* self, oneop_frame* frame, int32_t* matched,
                        oneop_status* status); /* null: always */
  int32_t (*infer_tmp_size)(void* self, oneop_frame* frame, int64_t* bytes,
                            oneop_status* status); /* null: 0 */
  int32_t (*propose_inplace)(void* self, oneop_frame* frame, oneop_inplace_sink* sink,
                             oneop_status* status);
  int32_t (*create)(void* self, oneop_frame* frame, void** kernel, oneop_status* status);
  void (*destroy)(void* kernel);
  int32_t (*always_compute)(void* kernel); /* even when all outputs are empty */
  /* Null where the kernel keeps none. State lives with the kernel, is passed to each compute and
   * may change. A cache is made once for each combination of shapes, dtypes and attributes and does
   * not change. */
  int32_t (*create_state)(void* kernel, oneop_frame* frame, void** state, oneop_status* status);
  void (*destroy_state)(void* state);
  int32_t (*create_cache)(void* kernel, oneop_frame* frame, void** cache, oneop_status* status);
  void (*destroy_cache)(void* cache);
  int32_t (*compute)(void* kernel, oneop_frame* frame, void* state, const void* cache,
                     oneop_status* status);
} oneop_kernel_def;

typedef struct oneop_grad_def {
  uint32_t size;
  int32_t line;
  const char* op_type_name;
  const char* file;
  void* self;
  int32_t (*generate)(void* self, oneop_frame* frame, oneop_grad_sink* sink, oneop_status* status);
} oneop_grad_def;

/* oneop_function_arg.flags */
enum {
  ONEOP_ARG_KEYWORD_ONLY = 1u << 0,
  ONEOP_ARG_OPTIONAL = 1u << 1, /* None is a value; it is the default */
  ONEOP_ARG_HAS_DEFAULT = 1u << 2
};

typedef struct oneop_function_arg {
  uint32_t size;
  uint32_t flags;
  int32_t type;
  int32_t list_size; /* of a list that a single number stands for; 0: it does not */
  const char* name;
  oneop_value default_value;
} oneop_function_arg;

typedef int32_t (*oneop_function_fn)(void* self, const oneop_value* args, int32_t num_args,
                                     oneop_result* result, oneop_status* status);

/* One signature of a function. Several of one name are tried in order. */
typedef struct oneop_function_def {
  uint32_t size;
  int32_t line;
  const char* file;
  const char* name;     /* in Python */
  const char* cpp_name; /* for call_function */
  const char* text;     /* the signature as written */
  int32_t bind_python;
  int32_t return_type;
  int32_t num_args;
  int32_t num_return_names; /* a named tuple */
  const oneop_function_arg* const* args;
  const char* const* return_names;
  void* self;
  /* Null: there is no functor, and calls are refused; since 1.7 `self` may then be a text that says
   * why. */
  oneop_function_fn call;
  const char* doc; /* since 1.3 */
} oneop_function_def;

typedef struct oneop_library {
  uint32_t size;
  int32_t num_ops;
  int32_t num_kernels;
  int32_t num_grads;
  const oneop_op_def* const* ops;
  const oneop_kernel_def* const* kernels;
  const oneop_grad_def* const* grads;
  int32_t num_functions; /* since 1.1 */
  int32_t reserved;
  const oneop_function_def* const* functions;
  /* Since 1.3. Second gradients, of ops that have one in `grads` too. The host runs that one, and
   * compares them when it is asked to check the op. */
  int32_t num_eager_grads;
  int32_t reserved2;
  const oneop_grad_def* const* eager_grads;
  /* Null, or what is wrong with the registrations; the host refuses the library then. */
  const char* mistake;
} oneop_library;

/* ---- The one exported symbol ---- */

/* Frozen forever. The host fills in its half and calls; the library fills in its own, and
 * `library` if it can serve this host. Each side then judges the other's version. */
typedef struct oneop_handshake {
  uint32_t size;
  uint32_t host_abi_major;
  uint32_t host_abi_minor;
  uint32_t library_abi_major;
  uint32_t library_abi_minor;
  uint32_t reserved;
  const oneop_host* host;
  const char* library_sdk; /* e.g. "oneop 0.1.0", for messages */
  const oneop_library* library;
} oneop_handshake;

typedef int32_t (*oneop_plugin_fn)(oneop_handshake* handshake);

#ifdef __cplusplus
}
#endif

#endif /* ONEOP_ABI_H_ */
