#include <stdexcept>

#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"

namespace oneflow::one::functional {
namespace impl {

class Leaky {
 public:
  Leaky() { op_ = CHECK_JUST(one::OpBuilder("fn_leaky").Input("x").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::shared_ptr<one::Tensor>& x, const float& alpha) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<float>("alpha", alpha));
    return OpInterpUtil::Dispatch<one::Tensor>(*op_, {x}, attrs);
  }

 private:
  std::shared_ptr<OpExpr> op_;
};

class Previous {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    std::shared_ptr<Tensor> last = last_ == nullptr ? x : last_;
    last_ = x;
    return last;
  }

 private:
  mutable std::shared_ptr<Tensor> last_;
};

class ByInt {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, int64_t n) const {
    return FnLeaky(x, static_cast<float>(n));  // a functor calls another function
  }
};
class ByString {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::string& mode) const {
    CHECK_OR_RETURN(mode == "same") << "unknown mode " << mode;
    return x;
  }
};
class ByTensor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& other,
                           bool twice) const {
    std::shared_ptr<Tensor> sum = JUST(Call("aten::add.Tensor", x, other));
    return twice ? Call("aten::add.Tensor", sum, sum) : Maybe<Tensor>(sum);
  }
};

class Types {
 public:
  Maybe<std::string> operator()(
      bool b, int32_t i, int64_t l, float f, double d, const std::string& s, const Scalar& sc,
      const std::vector<int32_t>& il, const Optional<std::vector<int64_t>>& ll,
      const std::vector<float>& fl, const Optional<std::vector<std::string>>& sl,
      const std::vector<bool>& bl, const Symbol<DType>& t, const Optional<Shape>& sh,
      const Optional<std::vector<Shape>>& shs, const Optional<std::vector<Symbol<DType>>>& ts,
      const Optional<Symbol<Device>>& dev, const Optional<std::vector<Scalar>>& scs) const {
    Error text = Error::RuntimeError();  // the SDK prints values into errors
    text << b << "|" << i << "|" << l << "|" << f << "|" << d << "|" << s << "|" << sc.As<double>()
         << "|" << il << "|" << (ll ? *JUST(ll) : std::vector<int64_t>{}) << "|" << fl << "|"
         << (sl ? *JUST(sl) : std::vector<std::string>{}) << "|" << static_cast<int>(bl.size())
         << "|" << t->data_type() << "|" << (sh ? *JUST(sh) : Shape({})) << "|"
         << (shs ? JUST(shs)->size() : 0) << "|" << (ts ? JUST(ts)->size() : 0) << "|"
         << (dev ? JUST(dev)->type() : std::string("none")) << "|" << (scs ? JUST(scs)->size() : 0);
    return text.msg();
  }
};

class Pair {
 public:
  Maybe<TensorTuple> operator()(const std::shared_ptr<Tensor>& x) const {
    return std::make_shared<TensorTuple>(TensorTuple{x, JUST(FnLeaky(x, 0.5f))});
  }
};
class Pack {
 public:
  Maybe<Shape> operator()(const Shape& size) const { return size; }
};
class Torch {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x,
                           const std::shared_ptr<Tensor>& y) const {
    return Call("aten::mul.Tensor", x, y);
  }
};
class Ones {
 public:
  Maybe<Tensor> operator()(const Shape& size) const { return Call("aten::ones", size); }
};
class Fails {
 public:
  Maybe<void> operator()(int64_t how) const {
    CHECK_NE_OR_RETURN(how, 1) << "how is one";
    if (how == 2) {
      return Error::TypeError() << "how is two";
    }
    if (how == 3) {
      throw std::runtime_error("how is three");
    }
    if (how == 4) {
      JUST(Call("aten::no_such_op"));
    }
    if (how == 5) {
      JUST(RecordForOldHost());
    }
    if (how == 6) {
      JUST(CallWithOldSymbol());
    }
    return Maybe<void>::Ok();
  }

 private:
  // As under a host of ABI 1.2, whose sink ends after `bind`.
  static Maybe<Tensor> RecordForOldHost() {
    oneop_frame frame{};
    frame.op_type_name = "fn_leaky";
    oneop_grad_sink sink{};
    sink.size = offsetof(oneop_grad_sink, add_call);
    ::oneop::sdk::GradTrace trace(&frame, &sink);
    return Call("aten::cos", trace.NewTensor(0, nullptr, false));
  }
  // As a library of ABI 1.2 would, whose symbols end after `requires_grad`.
  static Maybe<Tensor> CallWithOldSymbol() {
    oneop_symbol symbol{};
    symbol.size = offsetof(oneop_symbol, record_function);
    symbol.references = 2;
    return Call("aten::cos", std::make_shared<Tensor>(reinterpret_cast<char*>(&symbol) + 1));
  }
};
class ShapeOf {
 public:
  Maybe<Shape> operator()(const std::shared_ptr<Tensor>& x) const {
    CHECK_EQ_OR_RETURN(x->ndim(), x->shape()->NumAxes());
    return *x->shape();
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::Leaky>("FnLeaky");
  m.add_functor<impl::ByInt>("FnByInt");
  m.add_functor<impl::Previous>("FnPrevious");
  m.add_functor<impl::ByString>("FnByString");
  m.add_functor<impl::ByTensor>("FnByTensor");
  m.add_functor<impl::Types>("FnTypes");
  m.add_functor<impl::Pair>("FnPair");
  m.add_functor<impl::Pack>("FnPack");
  m.add_functor<impl::Torch>("FnTorch");
  m.add_functor<impl::Ones>("FnOnes");
  m.add_functor<impl::Fails>("FnFails");
  m.add_functor<impl::ShapeOf>("FnShapeOf");
}

}  // namespace oneflow::one::functional
