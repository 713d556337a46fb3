// Ops for people who know PyTorch: a schema, functors, a gradient. docs/op_h.md explains it.
//
//   OP("swish(Tensor x, *, float beta=1.0) -> Tensor y")
//       .elementwise<float, double, half, bfloat16>(
//           [](auto x, auto beta) { return x / (1 + exp(-beta * x)); })
//       .gradient("dx = swish_grad(x, dy, beta=beta)");
#ifndef ONEOP_OP_H_
#define ONEOP_OP_H_

#include "oneop/op/builder.h"
#include "oneop/op/functor.h"

// The text is a type of its own, so that it can be read while the library is compiled.
#define ONEOP_OP(schema) ONEOP_OP_TEXT(Define, schema)
// Kernels of an op that another source of this library defines; the schema is repeated.
#define ONEOP_OP_KERNELS(schema) ONEOP_OP_TEXT(Extend, schema)
#define ONEOP_OP_TEXT(Function, schema)                                    \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_op_, __COUNTER__)  \
      __attribute__((unused)) = ::oneop::op::Function(                     \
          [] {                                                             \
            struct Text {                                                  \
              static constexpr std::string_view value() { return schema; } \
            };                                                             \
            return Text();                                                 \
          }(),                                                             \
          __FILE__, __LINE__)
#if !defined(OP)
#define OP ONEOP_OP
#endif
#if !defined(OP_KERNELS)
#define OP_KERNELS ONEOP_OP_KERNELS
#endif

#endif  // ONEOP_OP_H_
