// Functors that draw random numbers, ask tensors what they are, and return odd things; ops with
// attributes of rare types; gradient classes that leave something out. See test_drawing.py and
// test_functor_types.py.
#include <complex>
#include <random>

#include "oneflow/core/common/complex.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/framework/random_generator.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/common.h"
#include "oneflow/core/functional/tensor_processor.h"
#include "oneop/sdk/function_table.h"

namespace oneflow {

// Zeros and ones that follow from a seed.
REGISTER_USER_OP("fr_mask")
    .Input("x")
    .Output("mask")
    .Attr<int64_t>("seed")
    .NoGrad()
    .SetLogicalTensorDescInferFn(&user_op::TensorDescInferFnUtil::Unchanged<user_op::InferContext>);
template <class T>
class Mask final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* mask = ctx->Tensor4ArgNameAndIndex("mask", 0);
    std::mt19937_64 bits(static_cast<uint64_t>(ctx->Attr<int64_t>("seed")));
    for (int64_t i = 0; i != mask->shape().elem_cnt(); ++i) {
      mask->mut_dptr<T>()[i] = static_cast<T>(bits() >> 63);
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fr_mask").SetCreateFn<Mask<float>>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == GetDataType<float>::value);
REGISTER_USER_KERNEL("fr_mask").SetCreateFn<Mask<double>>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == GetDataType<double>::value);

// As many outputs as the caller asks for: y_i = x + i.
REGISTER_USER_OP("fr_split")
    .Input("x")
    .OutputWithMinimum("ys", 1)
    .SetLogicalTensorDescInferFn(&user_op::TensorDescInferFnUtil::Unchanged<user_op::InferContext>);
class Split final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    for (int32_t k = 0; k != ctx->output_size("ys"); ++k) {
      float* y = ctx->Tensor4ArgNameAndIndex("ys", k)->mut_dptr<float>();
      for (int64_t i = 0; i != x->shape().elem_cnt(); ++i) {
        y[i] = x->dptr<float>()[i] + k;
      }
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fr_split")
    .SetCreateFn<Split>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);

// y = x * real(z) + the sum of all bytes.
REGISTER_USER_OP("fr_values")
    .Input("x")
    .Output("y")
    .Attr<std::vector<char>>("data")
    .Attr<std::complex<double>>("z")
    .SetLogicalTensorDescInferFn(&user_op::TensorDescInferFnUtil::Unchanged<user_op::InferContext>);
class Values final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    float sum = 0;
    for (const char byte : ctx->Attr<std::vector<char>>("data")) {
      sum += static_cast<unsigned char>(byte);
    }
    const auto z = ctx->Attr<std::complex<double>>("z");
    for (int64_t i = 0; i != x->shape().elem_cnt(); ++i) {
      y[i] = x->dptr<float>()[i] * static_cast<float>(z.real() + 10 * z.imag()) + sum;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fr_values")
    .SetCreateFn<Values>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);

namespace one {
namespace functional {
namespace impl {

using TensorPtr = std::shared_ptr<Tensor>;

// y = x * mask; the op fr_mask makes the mask of a seed.
class Masks {
 public:
  Masks() { op_ = CHECK_JUST(one::OpBuilder("fr_mask").Input("x").Output("mask").Build()); }

 protected:
  Maybe<Tensor> Mask(const TensorPtr& x, uint64_t bits) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<int64_t>("seed", static_cast<int64_t>(bits >> 1)));
    const TensorPtr mask = JUST(OpInterpUtil::Dispatch<Tensor>(*op_, {x}, attrs));
    return Call("aten::mul.Tensor", x, mask);
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class Drop : public Masks {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x, const Optional<one::Generator>& generator) const {
    const auto own = generator ? JUST(generator) : JUST(one::DefaultAutoGenerator());
    return Mask(x, own->random64());
  }
};
class DropTwice : public Masks {
 public:
  Maybe<TensorTuple> operator()(const TensorPtr& x) const {
    const auto generator = JUST(one::DefaultAutoGenerator());
    const TensorPtr first = JUST(Mask(x, generator->random64()));
    return TensorTuple{first, JUST(Mask(x, generator->random64()))};
  }
};
// Draws until it likes a number.
class DropPicky : public Masks {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x) const {
    const auto generator = JUST(one::DefaultAutoGenerator());
    uint64_t bits = generator->random64();
    while (bits % 4 != 0) {
      bits = generator->random64();
    }
    return Mask(x, bits);
  }
};
// Calls another function that draws.
class DropNested {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x, const TensorTuple& others, double scale) const {
    const TensorPtr y = JUST(Call("FrDrop", x, NullOpt));
    const TensorPtr sum = JUST(Call("aten::add.Tensor", y, others.at(0)));
    return Call("aten::mul.Scalar", sum, scale);
  }
};
class DropMixed : public Masks {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x) const {
    const TensorPtr y = JUST(Mask(x, JUST(one::DefaultAutoGenerator())->random64()));
    return Call("aten::bernoulli.p", y, 0.5);
  }
};
class DropInPlace : public Masks {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x) const {
    const TensorPtr y = JUST(Mask(x, JUST(one::DefaultAutoGenerator())->random64()));
    JUST(Call("aten::add_.Scalar", x, 1));
    return y;
  }
};
class DropAndArgument : public Masks {
 public:
  Maybe<TensorTuple> operator()(const TensorPtr& x) const {
    return TensorTuple{x, JUST(Mask(x, JUST(one::DefaultAutoGenerator())->random64()))};
  }
};
class DrawNumber {
 public:
  Maybe<int64_t> operator()(const TensorPtr&) const {
    return static_cast<int64_t>(JUST(one::DefaultAutoGenerator())->random64() >> 1);
  }
};
class AskSeed : public Masks {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x) const {
    return Mask(x, JUST(one::DefaultAutoGenerator())->current_seed());
  }
};

// Asks for nothing that has to do with sizes.
class SumLast {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x, int64_t axis) const {
    CHECK_OR_RETURN(JUST(x->device())->enum_type() == DeviceType::kCPU);
    CHECK_OR_RETURN(x->dtype()->is_floating_point());
    const std::vector<int64_t> axes{JUST(maybe_wrap_dim(axis, x->ndim()))};
    TensorProcessor processor;
    JUST(processor.PromoteInputsToCommonDtype(true).AddInputs({x}, DType(kDouble)).Apply());
    const TensorTuple& inputs = JUST(processor.GetInputs());
    return Call("aten::sum.dim_IntList", inputs.at(0), axes, false, NullOpt);
  }
};
// Asks for sizes.
class TimesRows {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x) const {
    CHECK_EQ_OR_RETURN(x->nelement(), x->shape()->elem_cnt());
    return Call("aten::mul.Scalar", x, x->dim(0));
  }
};

class SplitInto {
 public:
  Maybe<TensorTuple> operator()(const TensorPtr& x, int32_t count) const {
    const auto op = JUST(one::OpBuilder("fr_split").Input("x").Output("ys", count).Build());
    return OpInterpUtil::Dispatch<TensorTuple>(*op, {x});
  }
};
class WithNull {
 public:
  Maybe<TensorTuple> operator()(const TensorPtr& x) const { return TensorTuple{x, nullptr, x}; }
};
// What another function returned, null and all.
class PassesNull {
 public:
  Maybe<TensorTuple> operator()(const TensorPtr& x) const {
    return Call<TensorTuple>("FrWithNull", x);
  }
};
class Full {
 public:
  Full() { op_ = CHECK_JUST(one::OpBuilder("fr_full").Output("y").Build()); }
  Maybe<Tensor> operator()(const Shape& size, const Optional<Symbol<Device>>& device) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<Shape>("size", size));
    return OpInterpUtil::Dispatch<Tensor>(*op_, TensorTuple{}, OpExprInterpContext(attrs, device));
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class FullLike {
 public:
  FullLike() { op_ = CHECK_JUST(one::OpBuilder("fr_mask").Input("x").Output("mask").Build()); }
  Maybe<Tensor> operator()(const TensorPtr& x, const Symbol<Device>& device) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<int64_t>("seed", 1));
    return OpInterpUtil::Dispatch<Tensor>(*op_, {x}, OpExprInterpContext(attrs, device));
  }

 private:
  std::shared_ptr<OpExpr> op_;
};

class DivTensorScalar {
 public:
  Maybe<Tensor> operator()(const TensorPtr& x, const Scalar& y) const {
    return Call("aten::div.Scalar", x, y);
  }
};
class DivScalarTensor {
 public:
  Maybe<Tensor> operator()(const Scalar& x, const TensorPtr& y) const {
    return Call("aten::mul.Scalar", JUST(Call("aten::reciprocal", y)), x);
  }
};
#define ONEOP_PRINTER(Name, Type)                                            \
  struct Name {                                                              \
    Maybe<std::string> operator()(Type) const { return std::string(#Name); } \
  }
ONEOP_PRINTER(OfInt, int64_t);
ONEOP_PRINTER(OfDouble, double);
ONEOP_PRINTER(OfBool, bool);
ONEOP_PRINTER(OfString, const std::string&);
ONEOP_PRINTER(OfInts, const std::vector<int64_t>&);
ONEOP_PRINTER(OfFloats, const std::vector<float>&);
ONEOP_PRINTER(OfTensor, const TensorPtr&);
ONEOP_PRINTER(OfTensors, const TensorTuple&);
ONEOP_PRINTER(OfOptional, const Optional<int32_t>&);

// From C++ the same functors are chosen: by type where there is one, else without losing anything.
class FromCpp {
 public:
  Maybe<std::string> operator()(int32_t which) const {
    switch (which) {
      case 0:
        return Call<std::string>("FrOf", 2.5);
      case 1:
        return Call<std::string>("FrOf", int64_t{2});
      case 2:
        return Call<std::string>("FrOf", 2.5f);
      case 3:
        return Call<std::string>("FrOf", true);
      case 4:
        return Call<std::string>("FrOf", std::vector<float>{1});
      case 5:
        return Call<std::string>("FrOf", NullOpt);
      default:
        return Call<std::string>("FrOf", Shape({1}), Shape({1}));
    }
  }
};

// Every type of a signature against every type of a functor: "type functor-type linked?" lines.
class TypeMatrix {
 public:
  Maybe<std::string> operator()() const {
    std::string report;
    const char* const mistake = ::oneop::sdk::library.description.mistake;
    for (int32_t wanted = ONEOP_TYPE_TENSOR; wanted <= ONEOP_TYPE_MEMORY_FORMAT; ++wanted) {
      for (int32_t found = ONEOP_TYPE_TENSOR; found <= ONEOP_TYPE_GENERATOR; ++found) {
        for (int32_t optional = 0; optional != 4; ++optional) {
          report += Line(wanted, found, (optional & 1) != 0, (optional & 2) != 0);
        }
      }
    }
    ::oneop::sdk::library.description.mistake = mistake;
    return report;
  }

 private:
  static std::string Line(int32_t wanted, int32_t found, bool wants_none, bool takes_none) {
    using namespace ::oneop::sdk;
    oneop_function_arg arg{};
    arg.size = sizeof arg;
    arg.type = wanted;
    arg.flags = wants_none ? ONEOP_ARG_OPTIONAL : 0;
    arg.name = "a";
    const oneop_function_arg* const args[] = {&arg};
    FunctionEntry entry{};
    entry.def.size = sizeof entry.def;
    entry.def.file = "api.yaml";
    entry.def.line = 7;
    entry.def.name = entry.def.cpp_name = "fr_matrix";
    entry.def.text = "the signature";
    entry.def.return_type = ONEOP_TYPE_STRING;
    entry.def.num_args = 1;
    entry.def.args = args;
    entry.ops[0] = entry.ops[1] = "no op";
    const ParamType param{found, takes_none};
    FunctorEntry functor{"fr_matrix", 1,         &param, ONEOP_TYPE_STRING, &Never,
                         nullptr,     "the.cpp", 9,      functors};
    library.description.mistake = nullptr;
    functors = &functor;
    LinkFunction(&entry);
    functors = functor.next;
    const std::string said = library.description.mistake == nullptr ? "" : "refused";
    return Join({ValueTypeOf(wanted).name, wants_none ? "?" : "", " ", ValueTypeOf(found).name,
                 takes_none ? "?" : "", " ", entry.def.call != nullptr ? "linked" : said, "\n"});
  }
  static int32_t Never(void*, const oneop_value*, int32_t, oneop_result*, oneop_status*) {
    return ONEOP_ERROR_RUNTIME;
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::Drop>("FrDrop");
  m.add_functor<impl::DropTwice>("FrDropTwice");
  m.add_functor<impl::DropPicky>("FrDropPicky");
  m.add_functor<impl::DropNested>("FrDropNested");
  m.add_functor<impl::DropMixed>("FrDropMixed");
  m.add_functor<impl::DropInPlace>("FrDropInPlace");
  m.add_functor<impl::DropAndArgument>("FrDropAndArgument");
  m.add_functor<impl::DrawNumber>("FrDrawNumber");
  m.add_functor<impl::AskSeed>("FrAskSeed");
  m.add_functor<impl::SumLast>("FrSumLast");
  m.add_functor<impl::TimesRows>("FrTimesRows");
  m.add_functor<impl::SplitInto>("FrSplitInto");
  m.add_functor<impl::WithNull>("FrWithNull");
  m.add_functor<impl::PassesNull>("FrPassesNull");
  m.add_functor<impl::Full>("FrFull");
  m.add_functor<impl::FullLike>("FrFullLike");
  m.add_functor<impl::DivTensorScalar, impl::DivScalarTensor>("FrScalarDiv");
  m.add_functor<impl::OfInt, impl::OfDouble, impl::OfBool, impl::OfString, impl::OfInts,
                impl::OfFloats, impl::OfTensor, impl::OfTensors, impl::OfOptional>("FrOf");
  m.add_functor<impl::FromCpp>("FrFromCpp");
  m.add_functor<impl::TypeMatrix>("FrTypeMatrix");
}

}  // namespace functional

// Uses the gradient of every output, also of those that have none.
class AllOutputs : public OpExprGradFunction<AutoGradCaptureState> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(AutoGradCaptureState*, const TensorTuple&, const TensorTuple&,
                      const AttrMap&) const override {
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const AutoGradCaptureState*, const TensorTuple& dys,
                    TensorTuple* dxs) const override {
    std::shared_ptr<Tensor> sum = dys.at(0);
    for (size_t i = 1; i < dys.size(); ++i) {
      sum = JUST(functional::Call("aten::add.Tensor", sum, dys.at(i)));
    }
    dxs->assign({sum});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fr_parts", AllOutputs);
REGISTER_OP_EXPR_GRAD_FUNCTION("fr_to_int", AllOutputs);

class LeavesNull : public AllOutputs {
  Maybe<void> Apply(const AutoGradCaptureState*, const TensorTuple&,
                    TensorTuple* dxs) const override {
    dxs->resize(1);
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fr_null_grad", LeavesNull);

class DrawsInGradient : public AllOutputs {
  Maybe<void> Apply(const AutoGradCaptureState*, const TensorTuple& dys,
                    TensorTuple* dxs) const override {
    const double scale = JUST(one::DefaultAutoGenerator())->random64() % 2 == 0 ? 1 : 2;
    dxs->assign({JUST(functional::Call("aten::mul.Scalar", dys.at(0), scale))});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fr_drawn_grad", DrawsInGradient);

}  // namespace one
}  // namespace oneflow
