// Ops that do nothing but call one primitive, for test_primitives.py.
#include "oneflow/core/ep/include/primitive/add.h"
#include "oneflow/core/ep/include/primitive/broadcast_elementwise_binary.h"
#include "oneflow/core/ep/include/primitive/broadcast_elementwise_unary.h"
#include "oneflow/core/ep/include/primitive/cast.h"
#include "oneflow/core/ep/include/primitive/constant_pad.h"
#include "oneflow/core/ep/include/primitive/copy_nd.h"
#include "oneflow/core/ep/include/primitive/elementwise_unary.h"
#include "oneflow/core/ep/include/primitive/fill.h"
#include "oneflow/core/ep/include/primitive/matmul.h"
#include "oneflow/core/ep/include/primitive/permute.h"
#include "oneflow/core/ep/include/primitive/softmax.h"
#include "oneflow/core/ep/include/primitive/where.h"
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using namespace ep::primitive;
using user_op::InferContext;
using user_op::KernelComputeContext;

const user_op::Tensor* In(KernelComputeContext* ctx, const char* name) {
  return ctx->Tensor4ArgNameAndIndex(name, 0);
}
user_op::Tensor* Out(KernelComputeContext* ctx) { return ctx->Tensor4ArgNameAndIndex("out", 0); }
size_t Count(const user_op::Tensor* tensor) { return tensor->shape_view().elem_cnt(); }

// The memory of an input. Of the one that attribute `in_place` names it is that of the output,
// which gets its elements.
const void* Of(KernelComputeContext* ctx, const char* name) {
  if (ctx->Attr<std::string>("in_place") != name) {
    return In(ctx, name)->dptr();
  }
  const size_t bytes = Count(Out(ctx)) * GetSizeOfDataType(Out(ctx)->data_type());
  CHECK_EQ(bytes, Count(In(ctx, name)) * GetSizeOfDataType(In(ctx, name)->data_type()));
  std::memcpy(Out(ctx)->mut_dptr(), In(ctx, name)->dptr(), bytes);
  return Out(ctx)->mut_dptr();
}

// The output has the shape in attribute `shape` and the type in `dtype`.
Maybe<void> InferFromAttrs(InferContext* ctx) {
  ctx->SetOutputShape("out", 0, ctx->Attr<Shape>("shape"));
  ctx->SetOutputDType("out", 0, ctx->Attr<DataType>("dtype"));
  return Maybe<void>::Ok();
}
#define PRIMITIVE_OP(name, inputs)                                          \
  REGISTER_NO_GRAD_USER_OP("prim_" #name)                                   \
  inputs.Output("out")                                                      \
      .Attr<Shape>("shape")                                                 \
      .Attr<DataType>("dtype")                                              \
      .Attr<int32_t>("op")                                                  \
      .Attr<double>("a", 0.0)                                               \
      .Attr<double>("b", 0.0)                                               \
      .Attr<std::vector<int32_t>>("list", {})                               \
      .Attr<std::vector<int32_t>>("more", {})                               \
      .Attr<std::string>("in_place", "")                                    \
      .Attr<int64_t>("n", 0)                                                \
      .SetTensorDescInferFn(InferFromAttrs);                                \
  struct Kernel_##name final : user_op::OpKernel {                          \
    void Compute(KernelComputeContext* ctx) const override;                 \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; } \
  };                                                                        \
  REGISTER_USER_KERNEL("prim_" #name)                                       \
      .SetCreateFn<Kernel_##name>()                                         \
      .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);       \
  void Kernel_##name::Compute(KernelComputeContext* ctx) const

PRIMITIVE_OP(unary, .Input("x")) {
  auto primitive = NewPrimitive<ElementwiseUnaryFactory>(
      ctx->device_type(), static_cast<UnaryOp>(ctx->Attr<int32_t>("op")), In(ctx, "x")->data_type(),
      Out(ctx)->data_type(), ctx->Attr<double>("a"), ctx->Attr<double>("b"));
  CHECK(primitive) << "no such primitive";
  primitive->Launch(ctx->stream(), Of(ctx, "x"), Out(ctx)->mut_dptr(), Count(Out(ctx)));
}

PRIMITIVE_OP(binary, .Input("x").Input("y")) {
  auto primitive = NewPrimitive<BroadcastElementwiseBinaryFactory>(
      ctx->device_type(), static_cast<BinaryOp>(ctx->Attr<int32_t>("op")),
      In(ctx, "x")->data_type(), Out(ctx)->data_type(), 8, ctx->Attr<double>("a"),
      ctx->Attr<double>("b"));
  CHECK(primitive) << "no such primitive";
  const auto x = In(ctx, "x")->shape_view(), y = In(ctx, "y")->shape_view();
  primitive->Launch(ctx->stream(), x.NumAxes(), x.ptr(), Of(ctx, "x"), y.NumAxes(), y.ptr(),
                    Of(ctx, "y"), Out(ctx)->mut_dptr());
}

PRIMITIVE_OP(scalar_binary, .Input("x")) {
  auto primitive = NewPrimitive<BroadcastElementwiseBinaryFactory>(
      ctx->device_type(), static_cast<BinaryOp>(ctx->Attr<int32_t>("op")),
      In(ctx, "x")->data_type(), Out(ctx)->data_type(), 8);
  const auto x = In(ctx, "x")->shape_view();
  primitive->Launch(ctx->stream(), x.NumAxes(), x.ptr(), Of(ctx, "x"),
                    Scalar(ctx->Attr<double>("a")), Out(ctx)->mut_dptr());
}

PRIMITIVE_OP(cast, .Input("x")) {
  auto primitive = NewPrimitive<CastFactory>(ctx->device_type(), In(ctx, "x")->data_type(),
                                             Out(ctx)->data_type());
  primitive->Launch(ctx->stream(), Of(ctx, "x"), Out(ctx)->mut_dptr(), Count(Out(ctx)));
}

// op: 0 with the floating-point number a, 1 with the integer n
PRIMITIVE_OP(fill, .Input("x")) {
  auto primitive = NewPrimitive<FillFactory>(ctx->device_type(), Out(ctx)->data_type());
  const Scalar value = ctx->Attr<int32_t>("op") == 0 ? Scalar(ctx->Attr<double>("a"))
                                                     : Scalar(ctx->Attr<int64_t>("n"));
  primitive->Launch(ctx->stream(), Out(ctx)->mut_dptr(), value, Count(Out(ctx)));
}

PRIMITIVE_OP(add, .Input("x").Input("y").Input("z")) {
  auto primitive = NewPrimitive<AddFactory>(ctx->device_type(), Out(ctx)->data_type());
  const void* in[] = {Of(ctx, "x"), Of(ctx, "y"), Of(ctx, "z")};
  primitive->Launch(ctx->stream(), in, 3, Out(ctx)->mut_dptr(), Count(Out(ctx)));
}

PRIMITIVE_OP(where, .Input("c").Input("x").Input("y")) {
  auto primitive = NewPrimitive<WhereFactory>(ctx->device_type(), In(ctx, "c")->data_type(),
                                              Out(ctx)->data_type(), 8);
  const auto c = In(ctx, "c")->shape_view(), x = In(ctx, "x")->shape_view(),
             y = In(ctx, "y")->shape_view();
  primitive->Launch(ctx->stream(), c.NumAxes(), c.ptr(), Of(ctx, "c"), x.NumAxes(), x.ptr(),
                    Of(ctx, "x"), y.NumAxes(), y.ptr(), Of(ctx, "y"), Out(ctx)->mut_dptr());
}

PRIMITIVE_OP(permute, .Input("x")) {
  const auto permutation = ctx->Attr<std::vector<int32_t>>("list");
  auto primitive = NewPrimitive<PermuteFactory>(ctx->device_type(), permutation.size());
  primitive->Launch(ctx->stream(), Out(ctx)->data_type(), permutation.size(),
                    In(ctx, "x")->shape_view().ptr(), In(ctx, "x")->dptr(), permutation.data(),
                    Out(ctx)->mut_dptr());
}

// list: where the box begins in the output, in x, and its sizes; elements of c are around it.
PRIMITIVE_OP(copy_nd, .Input("x").Input("c")) {
  const auto list = ctx->Attr<std::vector<int32_t>>("list");
  const std::vector<int64_t> box(list.begin(), list.end());
  const auto x = In(ctx, "x")->shape_view(), out = Out(ctx)->shape_view();
  const int64_t n = x.NumAxes();
  std::memcpy(Out(ctx)->mut_dptr(), In(ctx, "c")->dptr(),
              Count(Out(ctx)) * GetSizeOfDataType(Out(ctx)->data_type()));
  NewPrimitive<CopyNdFactory>(ctx->device_type(), n)
      ->Launch(ctx->stream(), Out(ctx)->data_type(), n, Out(ctx)->mut_dptr(), out.ptr(), box.data(),
               In(ctx, "x")->dptr(), x.ptr(), box.data() + n, box.data() + 2 * n);
}

PRIMITIVE_OP(broadcast_unary, .Input("x")) {
  auto primitive = NewPrimitive<BroadcastElementwiseUnaryFactory>(
      ctx->device_type(), UnaryOp::kIdentity, In(ctx, "x")->data_type(), Out(ctx)->data_type(), 8);
  const auto x = In(ctx, "x")->shape_view(), out = Out(ctx)->shape_view();
  primitive->Launch(ctx->stream(), x.NumAxes(), x.ptr(), In(ctx, "x")->dptr(), out.NumAxes(),
                    out.ptr(), Out(ctx)->mut_dptr());
}

PRIMITIVE_OP(pad, .Input("x")) {
  const auto before = ctx->Attr<std::vector<int32_t>>("list");
  const auto after = ctx->Attr<std::vector<int32_t>>("more");
  const std::vector<int64_t> from(before.begin(), before.end()), to(after.begin(), after.end());
  auto primitive = NewPrimitive<ConstantPadFactory>(ctx->device_type(), Out(ctx)->data_type());
  primitive->Launch(ctx->stream(), from.size(), In(ctx, "x")->shape_view().ptr(),
                    In(ctx, "x")->dptr(), from.data(), to.data(), Scalar(ctx->Attr<double>("a")),
                    Out(ctx)->mut_dptr());
}

BlasTransposeType Transposed(bool is) { return is ? BlasTransposeType::T : BlasTransposeType::N; }
// op: 1 a is transposed, 2 b is.
PRIMITIVE_OP(matmul, .Input("x").Input("y").Input("c")) {
  const int32_t op = ctx->Attr<int32_t>("op");
  auto primitive = NewPrimitive<BroadcastMatmulFactory>(ctx->device_type(), Out(ctx)->data_type(),
                                                        Transposed(op & 1), Transposed(op & 2), 8);
  const auto x = In(ctx, "x")->shape_view(), y = In(ctx, "y")->shape_view(),
             out = Out(ctx)->shape_view();
  std::memcpy(Out(ctx)->mut_dptr(), In(ctx, "c")->dptr(),
              Count(Out(ctx)) * GetSizeOfDataType(Out(ctx)->data_type()));
  primitive->Launch(ctx->stream(), Scalar(ctx->Attr<double>("a")), x.NumAxes(), x.ptr(),
                    In(ctx, "x")->dptr(), y.NumAxes(), y.ptr(), In(ctx, "y")->dptr(),
                    Scalar(ctx->Attr<double>("b")), out.NumAxes(), out.ptr(), Out(ctx)->mut_dptr());
}

PRIMITIVE_OP(softmax, .Input("x")) {
  const auto x = In(ctx, "x")->shape_view();
  const auto launch = [&](auto primitive) {
    primitive->Launch(ctx->stream(), x.At(0), x.At(1), Of(ctx, "x"), Out(ctx)->mut_dptr());
  };
  if (ctx->Attr<int32_t>("op") == 0) {
    launch(NewPrimitive<SoftmaxFactory>(ctx->device_type(), Out(ctx)->data_type()));
  } else {
    launch(NewPrimitive<LogSoftmaxFactory>(ctx->device_type(), Out(ctx)->data_type()));
  }
}
PRIMITIVE_OP(softmax_grad, .Input("y").Input("dy")) {
  const auto y = In(ctx, "y")->shape_view();
  const auto launch = [&](auto primitive) {
    primitive->Launch(ctx->stream(), y.At(0), y.At(1), Of(ctx, "y"), Of(ctx, "dy"),
                      Out(ctx)->mut_dptr());
  };
  if (ctx->Attr<int32_t>("op") == 0) {
    launch(NewPrimitive<SoftmaxBackwardFactory>(ctx->device_type(), Out(ctx)->data_type()));
  } else {
    launch(NewPrimitive<LogSoftmaxBackwardFactory>(ctx->device_type(), Out(ctx)->data_type()));
  }
}

}  // namespace
}  // namespace oneflow
