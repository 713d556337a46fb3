// ort_abi.h: what oneop uses of ONNX Runtime's C interface, in its own words. That interface is
// versioned and only grows: a function keeps its place in the table, a field its place in the
// struct. No header of ONNX Runtime is needed to build this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oneop::ort {

// The version that is asked for. 1.17 and 1.18 have all functions below, but do not keep the dtypes
// that infer_shapes sets.
constexpr uint32_t kVersion = 19;

// Objects of ONNX Runtime, which are seen by their addresses alone.
struct Status;
struct Value;
struct Domain;  // of custom ops
struct SessionOptions;
struct KernelInfo;     // a node, while its kernel is made
struct KernelContext;  // a running node
struct InferContext;   // a node, while shapes are inferred
struct TensorInfo;     // dtype and shape
struct TypeInfo;       // of a value, which may be no tensor
struct NodeAttr;
struct CustomOp;

constexpr int kFail = 1;  // the code of all our failures

// Kinds of a node's attributes, as read_attr takes them.
enum AttrKind : int { kInt = 1, kInts = 2, kFloat = 3, kFloats = 4, kString = 5 };

// Dtypes of tensors, which are those of ONNX.
enum Dtype : int {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3fn = 17,
  kFloat8E4M3fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2fnuz = 20
};

// The functions: name here, place in the table, version that brought it, result, parameters. Those
// that return a Status give null for success.
#define ONEOP_ORT_FUNCTIONS(FUNCTION)                                                              \
  FUNCTION(create_status, 0, 1, Status*, (int code, const char* message))                          \
  FUNCTION(status_message, 2, 1, const char*, (const Status*))                                     \
  FUNCTION(create_domain, 26, 1, Status*, (const char* name, Domain** made))                       \
  FUNCTION(add_op, 27, 1, Status*, (Domain*, const CustomOp*))                                     \
  FUNCTION(add_domain, 28, 1, Status*, (SessionOptions*, Domain*))                                 \
  FUNCTION(tensor_data, 51, 1, Status*, (Value*, void** data))                                     \
  FUNCTION(tensor_of_type, 55, 1, Status*, (const TypeInfo*, const TensorInfo** info))             \
  FUNCTION(create_info, 57, 1, Status*, (TensorInfo * *made))                                      \
  FUNCTION(set_dtype, 58, 1, Status*, (TensorInfo*, int dtype))                                    \
  FUNCTION(set_sizes, 59, 1, Status*, (TensorInfo*, const int64_t* sizes, size_t count))           \
  FUNCTION(dtype, 60, 1, Status*, (const TensorInfo*, int* dtype))                                 \
  FUNCTION(rank, 61, 1, Status*, (const TensorInfo*, size_t* count))                               \
  FUNCTION(sizes, 62, 1, Status*, (const TensorInfo*, int64_t* sizes, size_t count))               \
  FUNCTION(tensor_info, 65, 1, Status*, (const Value*, TensorInfo** made))                         \
  FUNCTION(node_float, 85, 1, Status*, (const KernelInfo*, const char* name, float* value))        \
  FUNCTION(node_int, 86, 1, Status*, (const KernelInfo*, const char* name, int64_t* value))        \
  FUNCTION(node_string, 87, 1, Status*,                                                            \
           (const KernelInfo*, const char* name, char* text, size_t* size))                        \
  FUNCTION(num_inputs, 88, 1, Status*, (const KernelContext*, size_t* count))                      \
  FUNCTION(num_outputs, 89, 1, Status*, (const KernelContext*, size_t* count))                     \
  FUNCTION(input, 90, 1, Status*, (const KernelContext*, size_t index, const Value** value))       \
  FUNCTION(output, 91, 1, Status*,                                                                 \
           (KernelContext*, size_t index, const int64_t* sizes, size_t count, Value** value))      \
  FUNCTION(release_status, 93, 1, void, (Status*))                                                 \
  FUNCTION(release_type, 98, 1, void, (TypeInfo*))                                                 \
  FUNCTION(release_info, 99, 1, void, (TensorInfo*))                                               \
  FUNCTION(node_floats, 162, 8, Status*,                                                           \
           (const KernelInfo*, const char* name, float* values, size_t* count))                    \
  FUNCTION(node_ints, 163, 8, Status*,                                                             \
           (const KernelInfo*, const char* name, int64_t* values, size_t* count))                  \
  FUNCTION(node_input_count, 230, 14, Status*, (const KernelInfo*, size_t* count))                 \
  FUNCTION(node_output_count, 231, 14, Status*, (const KernelInfo*, size_t* count))                \
  FUNCTION(node_input_type, 234, 14, Status*, (const KernelInfo*, size_t index, TypeInfo** type))  \
  FUNCTION(node_output_type, 235, 14, Status*, (const KernelInfo*, size_t index, TypeInfo** type)) \
  FUNCTION(has_option, 237, 14, Status*, (const SessionOptions*, const char* key, int* has))       \
  FUNCTION(option, 238, 14, Status*,                                                               \
           (const SessionOptions*, const char* key, char* text, size_t* size))                     \
  FUNCTION(infer_num_inputs, 267, 17, Status*, (const InferContext*, size_t* count))               \
  FUNCTION(infer_input, 268, 17, Status*, (const InferContext*, size_t index, TensorInfo** info))  \
  FUNCTION(infer_attr, 269, 17, Status*,                                                           \
           (const InferContext*, const char* name, const NodeAttr** attr))                         \
  FUNCTION(set_infer_output, 270, 17, Status*,                                                     \
           (const InferContext*, size_t index, const TensorInfo* info))                            \
  FUNCTION(set_symbols, 271, 17, Status*, (TensorInfo*, const char** names, size_t count))         \
  FUNCTION(read_attr, 272, 17, Status*,                                                            \
           (const NodeAttr*, int kind, void* data, size_t bytes, size_t* written))

// What the exported function of a library of custom ops is given.
struct ApiBase {
  const void* (*table)(uint32_t version);  // null: this ONNX Runtime is older
  const char* (*version)();
};

// Whether an argument of a custom op is one tensor or several.
enum Arity : int { kRequired = 0, kOptional = 1, kVariadic = 2 };

// A custom op. Fields in their order; behind them the version that brought them.
struct CustomOp {
  uint32_t version;
  void* (*create_kernel)(const CustomOp*, const void* api, const KernelInfo*);
  const char* (*name)(const CustomOp*);
  const char* (*provider)(const CustomOp*);  // null: the CPU
  int (*input_dtype)(const CustomOp*, size_t index);
  size_t (*input_count)(const CustomOp*);
  int (*output_dtype)(const CustomOp*, size_t index);
  size_t (*output_count)(const CustomOp*);
  void (*compute)(void* kernel, KernelContext*);
  void (*destroy)(void* kernel);
  int (*input_arity)(const CustomOp*, size_t index);   // 8
  int (*output_arity)(const CustomOp*, size_t index);  // 8
  int (*input_memory)(const CustomOp*, size_t index);  // 13
  int (*least_inputs)(const CustomOp*);                // 14, these four of variadic arguments
  int (*inputs_are_alike)(const CustomOp*);
  int (*least_outputs)(const CustomOp*);
  int (*outputs_are_alike)(const CustomOp*);
  Status* (*create_kernel_v2)(const CustomOp*, const void* api, const KernelInfo*,
                              void** kernel);               // 16
  Status* (*compute_v2)(void* kernel, KernelContext*);      // 16
  Status* (*infer_shapes)(const CustomOp*, InferContext*);  // 17
  int (*first_version)(const CustomOp*);                    // 17
  int (*last_version)(const CustomOp*);                     // 17
  void* unused[4];                                          // 18
};

}  // namespace oneop::ort
