"""Kernels: every form of Compute, state, cache, scratch, tensors, streams and threads."""

import pytest
from sdk_pieces import SAME, call, kernel, tensor, unit


def op(name: str) -> str:
    return f'REGISTER_USER_OP("{name}").Input("in").OptionalInput("bias").Output("out"){SAME};'


FORMS = """
#define ONLY_CPU .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU)
inline float* Out(user_op::KernelComputeContext* ctx) {
  return ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<float>();
}

class Plain final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override { Out(ctx)[0] = 1; }
};
REGISTER_USER_KERNEL("plain").SetCreateFn<Plain>() ONLY_CPU;

class NonConst final : public oneflow::user_op::OpKernel {
  void Compute(oneflow::user_op::KernelContext* ctx) override {
    oneflow::user_op::Tensor* tmp = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0);
    char* pBuff = tmp->mut_dptr<char>();
    for (int i = 0; i != 1024; ++i) { pBuff[i] = i % 2; }
    Out(ctx)[0] = tmp->shape().elem_cnt();
    CHECK_EQ(tmp->data_type(), kChar);
    CHECK(tmp->dptr<float>() != nullptr);  // scratch is read as anything
  }
};
REGISTER_USER_KERNEL("non_const").SetCreateFn<NonConst>()
    .SetInferTmpSizeFn([](const oneflow::user_op::InferContext*) { return 1024; });

struct Counter final : public user_op::OpKernelState {
  int count = 10;
};
struct Twice final : public user_op::OpKernelCache {
  explicit Twice(int64_t n) : n(2 * n) {}
  int64_t n;
};
class WithState final : public user_op::OpKernel {
 public:
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(user_op::KernelInitContext* ctx) const override {
    CHECK_EQ(ctx->TensorDesc4ArgNameAndIndex("in", 0)->shape().elem_cnt(), 1);
    return std::make_shared<Counter>();
  }

 private:
  using user_op::OpKernel::Compute;
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    Out(ctx)[0] = dynamic_cast<Counter*>(state)->count++;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; }
};
REGISTER_USER_KERNEL("with_state").SetCreateFn<WithState>() ONLY_CPU;

class WithCache final : public user_op::OpKernel {
  std::shared_ptr<user_op::OpKernelCache> InitOpKernelCache(user_op::KernelCacheContext* ctx) const override {
    return std::make_shared<Twice>(ctx->TensorDesc4ArgNameAndIndex("in", 0)->shape().elem_cnt());
  }
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState* state,
               const user_op::OpKernelCache* cache) const override {
    CHECK(state == nullptr);
    Out(ctx)[0] = dynamic_cast<const Twice*>(cache)->n;
  }
};
REGISTER_USER_KERNEL("with_cache").SetCreateFn<WithCache>() ONLY_CPU;

class WithFlags final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 public:
  explicit WithFlags(int number) : number_(number) {}

 private:
  void InitOpKernelCacheWithFlags(user_op::KernelCacheContext*, int8_t flag,
                                  std::shared_ptr<user_op::OpKernelCache>* cache) const override {
    if (flag == kAllMayChanged) { *cache = std::make_shared<Twice>(number_); }
  }
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState*,
               const user_op::OpKernelCache* cache) const override {
    Out(ctx)[0] = dynamic_cast<const Twice*>(cache)->n;
  }
  int number_;
};
REGISTER_USER_KERNEL("with_flags").SetCreateFn([]() { return user_op::NewOpKernel<WithFlags>(21); }) ONLY_CPU
    .SetPriority(user_op::kKernelPriorityOptimized);

class FromContext final : public user_op::OpKernel {
 public:
  explicit FromContext(const user_op::KernelInitContext& ctx) : name_(ctx.op_name()) {}

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override { Out(ctx)[0] = name_.size(); }
  std::string name_;
};
REGISTER_USER_KERNEL("from_context")
    .SetCreateFn([](const oneflow::user_op::KernelInitContext& ctx) { return new FromContext(ctx); })
    .SetIsMatchedPred([](const oneflow::user_op::KernelRegContext& ctx) { return ctx.device_type() == kCPU; })
    .SetInplaceProposalFn([](const user_op::InferContext& ctx, user_op::AddInplaceArgPair add) -> Maybe<void> {
      CHECK_OR_RETURN(ctx.has_input("in", 0));
      OF_RETURN_IF_ERROR(add("out", 0, "in", 0, true));
      return Maybe<void>::Ok();
    });

class Empty final : public user_op::OpKernel {};
REGISTER_USER_KERNEL("empty").SetCreateFn<Empty>() ONLY_CPU;
"""
NAMES = ["plain", "non_const", "with_state", "with_cache", "with_flags", "from_context", "empty"]


@pytest.fixture(scope="module")
def forms(builder):
    return builder.library(unit(*map(op, NAMES), FORMS))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("plain", ["always_compute 0", "out 2 (1) (1) 1", "out 2 (1) (1) 1", "run 0"]),
        ("non_const", ["tmp 1024", "always_compute 0", *["out 2 (1) (1) 1024"] * 2, "run 0"]),
        ("with_state", ["always_compute 1", "out 2 (1) (1) 10", "out 2 (1) (1) 11", "run 0"]),
        ("with_cache", ["always_compute 0", *["out 2 (1) (1) 2"] * 2, "run 0"]),
        ("with_flags", ["always_compute 0", *["out 2 (1) (1) 42"] * 2, "run 0"]),
        ("from_context", ["always_compute 0", *["out 2 (1) (1) 14"] * 2, "run 0"]),
        ("empty", ["always_compute 0", 'error 5 - the kernel of op "empty" overrides no Compute function', "run 5"]),
    ],
)
def test_every_form_of_kernel(name, lines, forms, drive):
    assert drive(forms, *call(name, 5), "run 2") == lines


def test_a_call_allocates_nothing(forms, drive):
    for name in ("plain", "with_state", "with_cache"):
        assert drive(forms, *call(name, 5), "run 2", "allocations")[-1] == "allocations 0"


def test_state_and_cache_are_declared_only_where_they_exist(forms, drive):
    words = {line.split()[1]: line for line in drive(forms, "describe") if line.startswith("kernel")}
    assert {name: (" state" in line, " cache" in line) for name, line in words.items()} == {
        "plain": (False, False),
        "non_const": (False, False),
        "with_state": (True, False),
        "with_cache": (False, True),
        "with_flags": (False, True),
        "from_context": (False, False),
        "empty": (False, False),
    }
    assert "priority=10 flags=1" in words["with_flags"]  # and may be captured into a CUDA graph
    assert words["from_context"].endswith("if predicate")


def test_inplace_proposals(forms, drive):
    assert drive(forms, *call("from_context", 5), "inplace") == ["inplace 0 0 1", "done 0"]


TENSORS = [
    op("misread"),
    kernel("misread", "in_tensor->dptr<double>();", "Misread"),
    op("miswrite"),
    kernel("miswrite", "out_tensor->mut_dptr<int32_t>();", "Miswrite"),
    op("misnamed"),
    kernel("misnamed", 'ctx->Tensor4ArgNameAndIndex("inn", 0)->dptr();', "Misnamed"),
    op("bytes"),
    kernel(
        "bytes",
        """
    CHECK(static_cast<const void*>(in_tensor->dptr<char>()) == in_tensor->dptr<void>());
    CHECK(static_cast<const void*>(in_tensor->dptr<unsigned char>()) == in_tensor->dptr());
    CHECK(in_tensor->raw_dptr() == in_tensor->dptr() && out_tensor->mut_raw_dptr() == out_tensor->mut_dptr());
    CHECK_EQ(in_tensor->shape_view().At(1), 3);
    CHECK_EQ(in_tensor->shape().Count(1), 3);
    CHECK_EQ(in_tensor->stride(), Stride({3, 1}));
    CHECK_EQ(out_tensor->mut_shape_view().NumAxes(), 2);
    CHECK_EQ(out_tensor->mut_shape()->At(0), 2);
    CHECK(in_tensor->data_type() == kFloat && in_tensor->mem_case().has_host_mem());
    Shape shape;
    in_tensor->shape().ToShape(&shape);
    CHECK_EQ(shape, in_tensor->shape());
    CHECK(ctx->Tensor4ArgNameAndIndex("bias", 0) == nullptr);
    CHECK(ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0) == nullptr);
    CHECK(ctx->Tensor4ArgNameAndIndex(std::string("in"), 0) == in_tensor);
    CHECK(!ctx->has_input("i", 0) && !ctx->has_input("inn", 0));
    CHECK(ctx->TensorDesc4ArgNameAndIndex("in", 0)->data_type() == kFloat);
    CHECK(ctx->device_type() == kCPU && ctx->has_input("in", 0) && ctx->input_size("in") == 1);
    CHECK(!ctx->has_input("bias", 0));
    AutoMemset(ctx->stream(), out_tensor->mut_dptr(), 1, n * sizeof(float), out_tensor->mem_case());
    CHECK_EQ(static_cast<const char*>(out_tensor->raw_dptr())[0], 1);
    Memset<DeviceType::kCPU>(ctx->stream(), out_tensor->mut_dptr(), 0, n * sizeof(float));
    Memcpy<DeviceType::kCPU>(ctx->device_ctx(), out_tensor->mut_dptr(), in_tensor->dptr(), sizeof(float));
    AutoMemcpy(ctx->stream(), out_tensor, in_tensor);""",
        "Bytes",
    ),
    op("threads"),
    kernel(
        "threads",
        """
    const float* in = in_tensor->dptr<float>();
    float* out = out_tensor->mut_dptr<float>();
    oneop::parallel_for(0, n, 1, [&](int64_t b, int64_t e) { for (int64_t i = b; i != e; ++i) { out[i] = in[i]; } });
    oneop::parallel_for(ctx, 0, n, 1, [&](int64_t b, int64_t e) { while (b != e) { out[b++] += 1; } });
    MultiThreadLoop(n, [&](size_t i) { out[i] *= 2; });
    user_op::MultiThreadLoopInOpKernel(n, [&](size_t i) { out[i] += 1; });
    const auto add_one = [&](int64_t b, int64_t e) { while (b != e) { out[b++] += 1; } };
    ctx->stream()->As<ep::CpuStream>()->ParallelFor(0, n, add_one);
    ctx->stream()->As<ep::CpuStream>()->ParallelFor(0, n, add_one, 1);
    CHECK_EQ(oneop::num_threads(), 2);""",
        "Threads",
    ),
    op("thread_error"),
    kernel("thread_error", "MultiThreadLoop(n, [&](size_t i) { CHECK_LT(i, 1); });", "ThreadError"),
    op("cuda_stream"),
    kernel("cuda_stream", "cudaStream_t s = ctx->stream()->As<ep::CudaStream>()->cuda_stream(); (void)s;", "Cuda"),
    op("foreign"),
    kernel("foreign", "throw std::bad_alloc();", "Foreign"),
    op("stranger"),
    kernel("stranger", "throw 'x';", "Stranger"),
    op("logs"),
    kernel("logs", 'LOG(INFO) << "n is " << n; LOG(WARNING) << in_tensor->shape() << std::string("!");', "Logs"),
]


@pytest.fixture(scope="module")
def tensors(builder):
    return builder.library(unit(*TENSORS))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("misread", 'error 2 - tensor "in" of op "misread" holds kFloat, the kernel asks for dptr<double>'),
        ("miswrite", 'error 2 - tensor "out" of op "miswrite" holds kFloat, the kernel asks for mut_dptr<int32_t>'),
        ("misnamed", 'error 4 - op "misnamed" has no argument "inn"; its arguments are: in, out'),
        ("thread_error", "Check failed: i < 1 ("),
        ("cuda_stream", "error 2 - the stream is one of kCPU, the kernel wants an ep::CudaStream"),
        ("foreign", "error 1 - std::bad_alloc"),
        ("stranger", "error 1 - an exception of an unknown type"),
    ],
)
def test_what_goes_wrong_in_a_kernel_is_reported(name, error, tensors, drive):
    lines = drive(tensors, *call(name, 1, 2, 3, 4), "run")
    assert error in lines[1]
    assert lines[2] == f"run {lines[1].split()[1]}"


def test_tensors(tensors, drive):
    script = ["op bytes", "in in", tensor("float", (2, 3), [1, 2, 3, 4, 5, 6]), "in bias", "out out", "run"]
    assert drive(tensors, *script)[1] == "out 2 (2,3) (3,1) 1 2 3 4 5 6"


def test_threads(tensors, drive):
    assert drive(tensors, *call("threads", 1, 2, 3, 4), "run")[1] == "out 2 (4) (1) 7 9 11 13"
    assert drive(tensors, *call("threads", shape=(0,)), "run")[1] == "out 2 (0) (1)"


def test_log_goes_to_the_host(tensors, drive):
    logs = [line.split(" ", 3) for line in drive(tensors, *call("logs", 1, 2), "run") if line.startswith("log")]
    assert [(level, text) for _, level, _, text in logs] == [("1", "n is 2"), ("2", "(2)!")]
    assert logs[0][2].startswith("ops0.cpp:")
