"""Attributes that are no numbers: what contexts return is a reference that stays valid, as in OneFlow since 0.4."""

import pytest
import torch

import oneop

SOURCE = """
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/attr_map.h"
#include "oneop/sdk/parallel.h"
namespace oneflow {
namespace {
// Memory that was freed gets other contents.
void Scribble() {
  for (size_t size = 1; size != 40; ++size) {
    std::vector<std::vector<int64_t>> junk(4, std::vector<int64_t>(size, 77));
    std::vector<std::string> text(4, std::string(8 * size, 'z'));
    volatile size_t used = junk.size() + text.size();
    (void)used;
  }
}
// Pointers into what every type of list, string and shape holds, taken in one statement each and read later. Ask::Of
// asks `from` in the words of its class.
template <class Ask, class From>
void LookAt(From& from) {
  auto& list = Ask::template Of<std::vector<int64_t>>(from, "l");
  const int64_t* longs = Ask::template Of<std::vector<int64_t>>(from, "l").data();
  const int32_t* ints = Ask::template Of<std::vector<int32_t>>(from, "i").data();
  const float* floats = Ask::template Of<std::vector<float>>(from, "f").data();
  const DataType* types = Ask::template Of<std::vector<DataType>>(from, "t").data();
  const Shape* shapes = Ask::template Of<std::vector<Shape>>(from, "ls").data();
  const char* word = Ask::template Of<std::vector<std::string>>(from, "lw").at(1).c_str();
  const char* text = Ask::template Of<std::string>(from, "s").c_str();
  const int64_t* dims = Ask::template Of<Shape>(from, "sh").dim_vec().data();
  const auto& vector = Ask::template Of<Shape>(from, "sh").dim_vec();
  const auto& number = Ask::template Of<double>(from, "d");
  const int64_t whole = Ask::template Of<int64_t>(from, "n");
  Scribble();
  CHECK_EQ(list.size(), 3);
  CHECK_EQ(list.data(), longs);  // made once
  CHECK(longs[0] == 1 && longs[1] == 2 && longs[2] == int64_t{1} << 40);
  CHECK(ints[0] == 4 && ints[1] == 5);
  CHECK(floats[0] == 0.5f && floats[1] == 1.5f);
  CHECK(types[0] == kFloat && types[1] == kDouble);
  CHECK(shapes[1] == Shape({4, 5}));
  CHECK_STREQ(word, "a word that is too long to be kept in the string");
  CHECK_STREQ(text, "a text that is too long to be kept in the string");
  CHECK(dims[0] == 7 && dims[1] == 8 && vector.size() == 2 && vector[1] == 8);
  CHECK(number == 0.25 && whole == 9);
}
struct OfContext {
  template <class T, class From>
  static decltype(auto) Of(From& from, const char* name) { return from.template Attr<T>(name); }
};
struct OfConf {
  template <class T, class From>
  static decltype(auto) Of(From& from, const char* name) { return from.template attr<T>(name); }
};
struct OfMap {
  template <class T, class From>
  static decltype(auto) Of(From& from, const char* name) {
    return ::oneop::sdk::Unbox(from.template GetAttr<T>(name).OneopTake());
  }
};
template <class Ctx>
void LookAtContext(Ctx* ctx) {
  LookAt<OfContext>(*ctx);
  LookAt<OfConf>(ctx->user_op_conf());
}

#define ATTRS                                                                                               \\
  Attr<std::vector<int64_t>>("l").Attr<std::vector<int32_t>>("i").Attr<std::vector<float>>("f")             \\
      .Attr<std::vector<DataType>>("t").Attr<std::vector<Shape>>("ls").Attr<std::vector<std::string>>("lw") \\
      .Attr<std::string>("s").Attr<Shape>("sh").Attr<double>("d", 0.25).Attr<int64_t>("n", 9)
REGISTER_USER_OP("held").Input("x").Output("y").ATTRS
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      LookAtContext(ctx);
      ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
      ctx->SetOutputDType("y", 0, ctx->InputDType("x", 0));
      return Maybe<void>::Ok();
    })
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      LookAt<OfConf>(conf);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      LookAtContext(ctx);
      return user_op::GetSbpFnUtil::SplitForEachAxis(ctx);
    })
    .SetComputeComplexityFn([](user_op::ComputeComplexityFnContext* ctx) -> Maybe<double> {
      LookAtContext(ctx);
      return 1.0;
    });
struct State final : user_op::OpKernelState {};
class Held final : public user_op::OpKernel {
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(user_op::KernelInitContext* ctx) const override {
    LookAtContext(ctx);
    return std::make_shared<State>();
  }
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState*) const override {
    LookAtContext(ctx);
    AttrMap map(ctx->oneop_frame_ptr());
    LookAt<OfMap>(map);
    ComposedAttrMap composed(map);
    LookAt<OfMap>(composed);
    // All threads ask at once for what nobody asked for before, and get the same.
    const void* first[64] = {};
    ::oneop::parallel_for(ctx, 0, 64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i != end; ++i) {
        first[i] = ctx->Attr<std::optional<std::vector<int64_t>>>("l")->data();
        CHECK_EQ(ctx->inputs().size(), 1);
      }
    });
    for (const void* each : first) {
      CHECK(each == first[0] && each != ctx->Attr<std::vector<int64_t>>("l").data());
    }
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i != x->shape().elem_cnt(); ++i) {
      y->mut_dptr<float>()[i] = x->dptr<float>()[i] * 2;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("held").SetCreateFn<Held>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) &
    (user_op::HobAttr<std::string>("s") == std::string("a text that is too long to be kept in the string")));
REGISTER_USER_OP_GRAD("held").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
  LookAt<OfConf>(ctx->FwOp());
  ctx->DefineOp("grad", [&](user_op::BackwardOpBuilder& builder) {
    auto& fw = ctx->FwOp();
    return builder.OpTypeName("held").InputBind("x", fw.output_grad("y", 0)).Output("y")
        .Attr("l", fw.attr<std::vector<int64_t>>("l")).Attr("i", fw.attr<std::vector<int32_t>>("i"))
        .Attr("f", fw.attr<std::vector<float>>("f")).Attr("t", fw.attr<std::vector<DataType>>("t"))
        .Attr("ls", fw.attr<std::vector<Shape>>("ls")).Attr("lw", fw.attr<std::vector<std::string>>("lw"))
        .Attr("s", fw.attr<std::string>("s")).Attr("sh", fw.attr<Shape>("sh"))
        .Attr("d", fw.attr<double>("d")).Attr("n", fw.attr<int64_t>("n")).Build();
  });
  LookAt<OfConf>(ctx->GetOp("grad"));
  user_op::UserOpConfWrapper other = ctx->FwOp();  // an object that is assigned forgets what it had
  other.attr<std::string>("s");
  other = ctx->GetOp("grad");
  CHECK_EQ(other.input("x", 0), ctx->FwOp().output_grad("y", 0));
  LookAt<OfConf>(other);
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&]() { return ctx->GetOp("grad").output("y", 0); });
  return Maybe<void>::Ok();
});
}  // namespace
}  // namespace oneflow
"""
VALUES = {
    "l": [1, 2, 1 << 40],
    "i": [4, 5],
    "f": [0.5, 1.5],
    "t": [torch.float32, torch.float64],
    "ls": [(2, 3), (4, 5)],
    "lw": ["one", "a word that is too long to be kept in the string"],
    "s": "a text that is too long to be kept in the string",
    "sh": (7, 8),
}


#: For each generation the SDK's functions are compiled again, 8 seconds.
GENERATIONS = [None, 2022, *(pytest.param(year, marks=pytest.mark.slow) for year in (2020, 2024))]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_pointers_into_attributes_are_held_across_statements(generation):
    defines = {} if generation is None else {"ONEOP_PORT": generation}
    source = SOURCE.replace('"held"', f'"held_{generation}"')
    oneop.load_inline(f"t_held_{generation}", source, defines=defines)
    op = getattr(oneop.ops, f"held_{generation}")
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        x = torch.ones(4, requires_grad=True)
        for _ in range(3):
            y = op(x, **VALUES)
            assert y.tolist() == [2.0] * 4
            (grad,) = torch.autograd.grad(y.sum(), x)
            assert grad.tolist() == [2.0] * 4
    finally:
        torch.set_num_threads(threads)
    assert op.flops((4,), **VALUES) == 1
    assert len(oneop.sbp_signatures(f"held_{generation}", [(4,)], **VALUES)) == 2
