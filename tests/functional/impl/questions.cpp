// Functors that ask a tensor, or the SDK, something.
#include "oneflow/core/common/wrap_dim_utils.h"
#include "oneflow/core/framework/tensor_methods.h"
#include "oneflow/core/framework/tensor_util.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/common.h"

namespace oneflow {
namespace one {
namespace functional {
namespace impl {

using Pointer = std::shared_ptr<one::Tensor>;

struct LargestFunctor {
  Maybe<int64_t> operator()(const Pointer& x) const {
    std::vector<int64_t> values(static_cast<size_t>(x->nelement()));
    const auto& callback = [&](uint64_t address) {
      reinterpret_cast<OfBlob*>(address)->AutoMemCopyTo<int64_t>(values.data(), values.size());
    };
    JUST(SyncAccessTensorWithTimeOut(x, callback, "const"));
    return *std::max_element(values.begin(), values.end());
  }
};
struct CountUpFunctor {
  Maybe<void> operator()(const Pointer& x, const std::string& modifier) const {
    std::vector<int64_t> values(static_cast<size_t>(x->nelement()));
    for (size_t i = 0; i != values.size(); ++i) {
      values[i] = (int64_t{1} << 60) + static_cast<int64_t>(i);
    }
    return SyncAccessTensorWithTimeOut(
        x,
        [&](uint64_t address) {
          reinterpret_cast<OfBlob*>(address)->AutoMemCopyFrom<int64_t>(values.data(),
                                                                       values.size());
        },
        modifier);
  }
};
struct FactsFunctor {
  Maybe<std::string> operator()(const Pointer& x) const {
    std::string text = x->is_leaf() ? "leaf" : "made";
    text += x->is_contiguous() ? " dense" : " strided";
    text += " at " + std::to_string(JUST(x->storage_offset()));
    text += " on " + JUST(x->device())->ToString() + (x->is_cuda() ? " (cuda)" : "");
    return text + (x->is_consistent() || x->is_lazy() || !x->is_eager() ? "?" : "");
  }
};
struct CopiesFunctor {
  Maybe<TensorTuple> operator()(const Pointer& x) const {
    return TensorTuple{x->contiguous(), JUST(x->detach()), JUST(x->clone())};
  }
};
struct ViewsFunctor {
  Maybe<TensorTuple> operator()(const Pointer& x) const {
    CHECK_OR_RETURN(view::IsViewApplicable(x));
    const Shape flat{x->nelement()};
    return TensorTuple{JUST(view::Transpose(x, {1, 0})),
                       JUST(view::Slice(x, {0, 1}, {2, 4}, {1, 2})),
                       JUST(view::Narrow(x, 1, 1, 2)),
                       JUST(view::Unsqueeze(x, 1)),
                       JUST(view::Squeeze(JUST(view::Unsqueeze(x, 0)), {0})),
                       JUST(view::Expand(JUST(view::Narrow(x, 0, 0, 1)), {1, 4}, {5, 4})),
                       JUST(view::AsStrided(x, {2, 2}, {1, 2}, 1)),
                       JUST(view::UnfoldTensor(x, 1, 2, 1)),
                       JUST(view::Diagonal(x, 1, 0, 1)),
                       JUST(view::Reshape(x, flat)),
                       JUST(view::Reshape(x, flat, Stride(flat))),
                       JUST(view::BasicView(x, Shape({2}), 3))};
  }
};
struct BadSliceFunctor {
  Maybe<Tensor> operator()(const Pointer& x) const { return view::Slice(x, {0}, {2, 4}, {1}); }
};
struct ViewStrideFunctor {  // empty: there is no such view
  Maybe<Shape> operator()(const std::vector<int64_t>& size, const std::vector<int64_t>& stride,
                          const std::vector<int64_t>& target) const {
    const auto made =
        ComputeStride(Shape(size.begin(), size.end()), Stride(stride.begin(), stride.end()),
                      Shape(target.begin(), target.end()));
    const Stride strides = made.has_value() ? *JUST(made) : Stride();
    return Shape(strides.begin(), strides.end());
  }
};
struct InferShapeFunctor {
  Maybe<Shape> operator()(const Pointer& x, const Shape& shape) const {
    return InferShape(x, shape);
  }
};
struct AxesFunctor {
  Maybe<Shape> operator()(const std::vector<int32_t>& axes, int32_t ndim) const {
    const auto checked = JUST(CheckAxis(axes, ndim));
    return Shape(checked->begin(), checked->end());
  }
};
struct CanExpandFunctor {
  Maybe<bool> operator()(const Shape& shape, const Shape& expanded) const {
    return IsShapeCanExpandTo(shape, expanded);
  }
};
struct WrapDimFunctor {
  Maybe<int64_t> operator()(int64_t dim, int64_t ndim) const {
    return JUST(maybe_wrap_dim(dim, ndim, false));
  }
};
struct ScalarsFunctor {
  Maybe<std::string> operator()(const Scalar& a, const Scalar& b, const Optional<Scalar>& c) const {
    std::string text;
    for (const Scalar& made : {a + b, a - b, a * b, a / b, c.value_or(a)}) {
      text += text.empty() ? "" : " ";
      text += made.IsFloatingPoint() ? std::to_string(made.As<double>())
                                     : std::to_string(made.As<int64_t>());
    }
    return text;
  }
};
struct MisuseFunctor {
  Maybe<void> operator()(const Pointer& x, int32_t which) const {
    ::oneop::sdk::HostStatus status;
    int64_t value = 0;
    const auto* host = ::oneop::sdk::Host();
    const oneop_handle handle = x->oneop_handle_ptr();
    status.Check(which == 0 ? host->state(handle, 99, &value, &status.status)
                            : host->read(handle, &value, 1, &status.status));
    return Maybe<void>::Ok();
  }
};
struct PlacementFunctor {
  Maybe<bool> operator()(const Pointer& x) const {
    return JUST(x->parallel_desc())->parallel_num() == 1;
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::LargestFunctor>("Largest");
  m.add_functor<impl::CountUpFunctor>("CountUp");
  m.add_functor<impl::FactsFunctor>("Facts");
  m.add_functor<impl::CopiesFunctor>("Copies");
  m.add_functor<impl::ViewsFunctor>("Views");
  m.add_functor<impl::BadSliceFunctor>("BadSlice");
  m.add_functor<impl::ViewStrideFunctor>("ViewStride");
  m.add_functor<impl::InferShapeFunctor>("InferShapeOf");
  m.add_functor<impl::AxesFunctor>("Axes");
  m.add_functor<impl::CanExpandFunctor>("CanExpand");
  m.add_functor<impl::WrapDimFunctor>("WrapDim");
  m.add_functor<impl::ScalarsFunctor>("Scalars");
  m.add_functor<impl::MisuseFunctor>("Misuse");
  m.add_functor<impl::PlacementFunctor>("PlacementOf");
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow
