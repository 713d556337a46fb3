// tests/engine/runtime_test.cpp: oneop/runtime.h, as a program in C uses it.
#include "oneop/runtime.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "testing.h"

namespace {

const oneop_runtime& api() { return *oneop_get_runtime(ONEOP_RUNTIME_MAJOR); }

// A call of an op with one input.
struct OneInput {
  std::vector<int64_t> shape;
  oneop_tensor x{};
  oneop_request request{};

  explicit OneInput(std::vector<int64_t> of, int32_t dtype = ONEOP_DTYPE_FLOAT32)
      : shape(std::move(of)) {
    x.shape = shape.data();
    x.ndim = static_cast<int32_t>(shape.size());
    x.dtype = dtype;
    request.size = sizeof request;
    request.num_inputs = 1;
    request.inputs = &x;
  }
};

bool says(const char* cls, const char* part) {
  return std::strcmp(api().last_error_class(), cls) == 0 &&
         std::strstr(api().last_error(), part) != nullptr;
}

std::vector<float> run(const char* op, std::vector<float> x) {
  const OneInput call({static_cast<int64_t>(x.size())});
  oneop_plan* plan = api().prepare(api().find_op(op), &call.request);
  TRUE(plan != nullptr);
  std::vector<float> y(api().output(plan, 0)->elem_cnt);
  void* data[] = {x.data(), y.data()};
  EQUAL(api().run(plan, data, nullptr, nullptr), ONEOP_OK);
  api().release_plan(plan);
  return y;
}

TEST(another_major_version_gets_no_table) {
  TRUE(oneop_get_runtime(ONEOP_RUNTIME_MAJOR + 1) == nullptr);
  EQUAL(api().size, sizeof(oneop_runtime));
}

TEST(ops_are_listed_with_their_definitions) {
  std::vector<std::string> names;
  api().list_ops(
      [](void* context, const oneop_op* op, const char* name) {
        TRUE(api().find_op(name) == op);
        TRUE(std::strcmp(api().definition(op)->name, name) == 0);
        static_cast<std::vector<std::string>*>(context)->push_back(name);
      },
      &names);
  TRUE(std::find(names.begin(), names.end(), "scale") != names.end());
  const oneop_op_def* scale = api().definition(api().find_op("scale"));
  EQUAL(scale->num_attrs, 1);
  EQUAL(std::string(scale->attrs[0]->name), "by");
  TRUE(api().has_gradient(api().find_op("scale")) == 1);
  TRUE(api().has_gradient(api().find_op("count")) == 0);
}

TEST(sizes_that_depend_on_data_come_back) {
  const OneInput call({4});
  oneop_plan* plan = api().prepare(api().find_op("positive"), &call.request);
  TRUE(plan != nullptr);
  TRUE(api().output(plan, 0)->is_dynamic != 0);
  EQUAL(api().output(plan, 0)->shape[0], 4);
  std::vector<float> x = {1, -2, 3, -4}, y(4);
  void* data[] = {x.data(), y.data()};
  int64_t size = -1;
  int64_t* shapes[] = {&size};
  EQUAL(api().run_dynamic(plan, data, nullptr, nullptr, shapes), ONEOP_OK);
  EQUAL(size, 2);
  EQUAL(y[1], 3);
  x = {-1, -2, -3, -4};
  EQUAL(api().run_dynamic(plan, data, nullptr, nullptr, shapes), ONEOP_OK);
  EQUAL(size, 0);
  EQUAL(api().output(plan, 0)->shape[0], 4);  // the plan is as it was
  TRUE(api().run(plan, data, nullptr, nullptr) != ONEOP_OK);
  TRUE(says("OpNotImplementedError", "which this way to call it cannot tell"));
  api().release_plan(plan);
  EQUAL(run("scale", {1, 2}).size(), 2u);
}

TEST(outputs_are_inferred_without_a_kernel) {
  const OneInput call({2, 3}, ONEOP_DTYPE_INT64);  // no kernel takes it
  oneop_plan* plan = api().infer(api().find_op("scale"), &call.request);
  EQUAL(api().num_outputs(plan), 1);
  EQUAL(api().output(plan, 0)->shape[1], 3);
  EQUAL(api().output(plan, 0)->dtype, ONEOP_DTYPE_INT64);
  TRUE(api().output(plan, 1) == nullptr);
  api().release_plan(plan);
  TRUE(api().prepare(api().find_op("scale"), &call.request) == nullptr);
  TRUE(says("KernelNotFoundError", "int64"));
}

TEST(an_attribute_takes_any_number_and_nothing_else) {
  OneInput call({2});
  oneop_attr by{};
  by.name = "by";
  by.type = ONEOP_ATTR_INT64;
  by.value.i = 3;
  call.request.attrs = &by;
  call.request.num_attrs = 1;
  oneop_plan* plan = api().prepare(api().find_op("scale"), &call.request);
  float x[] = {1, 2}, y[] = {0, 0};
  void* data[] = {x, y};
  EQUAL(api().run(plan, data, nullptr, nullptr), ONEOP_OK);
  EQUAL(y[1], 6.0f);
  api().release_plan(plan);
  by.type = ONEOP_ATTR_STRING;
  TRUE(api().prepare(api().find_op("scale"), &call.request) == nullptr);
  TRUE(says("ArgumentError", "attribute \"by\": expected float, found string"));
  by.name = "bye";
  TRUE(api().prepare(api().find_op("scale"), &call.request) == nullptr);
  TRUE(says("ArgumentError", "has no input or attribute \"bye\", did you mean \"by\"?"));
}

TEST(scalars_keep_their_kind_and_lists_have_their_length) {
  OneInput call({1});
  const int64_t numbers[] = {3, 4, 5};
  const uint8_t flags[] = {0, 7};  // whatever is not zero is true
  oneop_attr attrs[3] = {};
  attrs[0].name = "k";
  attrs[1].name = "n";
  attrs[1].type = ONEOP_ATTR_LIST_INT64;
  attrs[1].value.list = {numbers, 2};
  attrs[2].name = "on";
  attrs[2].type = ONEOP_ATTR_LIST_BOOL;
  attrs[2].value.list = {flags, 2};
  call.request.attrs = attrs;
  call.request.num_attrs = 3;
  const auto result = [&] {
    oneop_plan* plan = api().prepare(api().find_op("host_forms"), &call.request);
    TRUE(plan != nullptr);
    float x[] = {1}, y[] = {0};
    void* data[] = {x, y};
    EQUAL(api().run(plan, data, nullptr, nullptr), ONEOP_OK);
    api().release_plan(plan);
    return y[0];
  };
  for (const int32_t type : {ONEOP_ATTR_INT64, ONEOP_ATTR_INT32, ONEOP_ATTR_BOOL}) {
    attrs[0].type = type;
    attrs[0].value.i = 1;
    EQUAL(result(), 143.0f + (type == ONEOP_ATTR_BOOL ? 1.125f : 1.25f));
  }
  for (const int32_t type : {ONEOP_ATTR_DOUBLE, ONEOP_ATTR_FLOAT}) {
    attrs[0].type = type;
    attrs[0].value.f = 1;
    EQUAL(result(), 143.0f + 1.5f);
  }
  attrs[0].type = ONEOP_ATTR_STRING;
  TRUE(api().prepare(api().find_op("host_forms"), &call.request) == nullptr);
  TRUE(says("ArgumentError", "attribute \"k\": expected scalar, found string"));
  attrs[0].type = ONEOP_ATTR_INT64;
  attrs[1].value.list.count = 3;
  TRUE(api().prepare(api().find_op("host_forms"), &call.request) == nullptr);
  TRUE(says("ArgumentError",
            "attribute \"n\": expected a list of ints of length 2, or one int for all, "
            "found [3, 4, 5] of length 3"));
}

TEST(wrong_requests_are_refused) {
  TRUE(api().prepare(nullptr, nullptr) == nullptr);
  TRUE(says("OpNotFoundError", "expected an op, found a null pointer"));
  OneInput call({2});
  call.request.size = 4;
  TRUE(api().prepare(api().find_op("scale"), &call.request) == nullptr);
  TRUE(says("AbiError", "oneop_request.size: expected at least"));
  OneInput two({2});
  two.request.num_inputs = 2;
  TRUE(api().prepare(api().find_op("scale"), &two.request) == nullptr);
  TRUE(says("ArgumentError", "takes 1 inputs for 1 tensors, found 2"));
  OneInput none({2});
  none.request.num_inputs = 0;
  TRUE(api().prepare(api().find_op("scale"), &none.request) == nullptr);
  TRUE(says("ArgumentError", "input \"x\": expected exactly 1 tensor, found 0"));
  OneInput strided({2, 2});
  int64_t stride[] = {1, 2};
  strided.x.stride = stride;
  TRUE(api().prepare(api().find_op("scale"), &strided.request) == nullptr);
  TRUE(says("ArgumentError", "its kernels take contiguous tensors"));
  OneInput coded({2}, 999);
  TRUE(api().infer(api().find_op("scale"), &coded.request) == nullptr);
  TRUE(says("ArgumentError", "op \"scale\": an input has the dtype code 999, which is none of"));
  OneInput negative({2, -3});
  TRUE(api().infer(api().find_op("scale"), &negative.request) == nullptr);
  TRUE(says("ArgumentError", "op \"scale\": an input has the impossible shape float32[2, -3]"));
  OneInput many({2});
  const int32_t counts[] = {INT32_MAX, INT32_MAX, 3};  // 1 in 32 bits
  many.request.input_counts = counts;
  TRUE(api().infer(api().find_op("host_lists"), &many.request) == nullptr);
  TRUE(says("ArgumentError", "takes 3 inputs for 4294967297 tensors, found 1"));
  TRUE(api().find_op("scaly") == nullptr);
  TRUE(says("OpNotFoundError", "did you mean \"scale\"?"));
  EQUAL(api().load("/nowhere/lib.so", "nowhere"), ONEOP_ERROR_RUNTIME);
  TRUE(says("LoadError", "/nowhere/lib.so"));
  EQUAL(api().set_num_threads(0), ONEOP_ERROR_TYPE);
  TRUE(says("ArgumentError", "the number of threads: expected 1 to 1024, found 0"));
}

TEST(a_kernel_that_throws_is_an_error) {
  const OneInput call({2});
  oneop_plan* plan = api().prepare(api().find_op("host_fails"), &call.request);
  float x[2] = {}, y[2] = {};
  void* data[] = {x, y};
  EQUAL(api().run(plan, data, nullptr, nullptr), ONEOP_ERROR_RUNTIME);
  TRUE(says("OpRuntimeError", "out of patience"));
  api().release_plan(plan);
}

TEST(threads_share_a_loop_and_its_scratch_memory) {
  EQUAL(api().set_num_threads(4), ONEOP_OK);
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([] {
      for (int64_t size : {1, 15, 16, 17, 1000}) {
        const std::vector<float> y = run("host_counts", std::vector<float>(size, 0.5f));
        for (int64_t i = 0; i < size; ++i) {
          EQUAL(y[i], static_cast<float>(i) + 0.5f);
        }
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

TEST(a_gradient_is_steps_of_ops) {
  const OneInput call({3});
  oneop_grad* grad = api().differentiate(api().find_op("scale"), &call.request, nullptr);
  EQUAL(api().num_steps(grad), 1);
  const oneop_step* step = api().step(grad, 0);
  EQUAL(std::string(step->name), "scale");
  TRUE(step->op == api().find_op("scale"));
  EQUAL(step->inputs[0], 2);  // x, y, dy
  EQUAL(step->attrs[0].value.f, 2.0);
  EQUAL(api().grad_of_input(grad, 0), 3);
  EQUAL(api().grad_of_input(grad, 1), -1);
  EQUAL(api().num_blobs(grad), 4);
  TRUE(api().step(grad, 1) == nullptr);
  api().release_grad(grad);
  TRUE(api().differentiate(api().find_op("host_no_gradient"), &call.request, nullptr) == nullptr);
  TRUE(says("GradientNotFoundError", "has no gradient, and one is needed"));
}

TEST(steps_of_a_framework_are_the_programs) {
  const OneInput call({2, 2});
  const oneop_op* op = api().find_op("host_sine");
  TRUE(api().differentiate(op, &call.request, nullptr) == nullptr);
  TRUE(says("GradientError", "it calls \"aten::cos\", for which this host has no equivalent"));
  static oneop_framework framework{};
  framework.size = sizeof framework;
  framework.num_outputs = [](void*, const char*, const oneop_value*, int32_t) {
    return int32_t{1};
  };
  framework.infer = [](void*, const char*, const oneop_value*, int32_t, const oneop_tensor* inputs,
                       int32_t, void (*add)(void*, const int64_t*, int32_t, int32_t), void* sink,
                       oneop_status*) -> int32_t {
    add(sink, inputs[0].shape, inputs[0].ndim, inputs[0].dtype);
    return ONEOP_OK;
  };
  api().set_framework(&framework);
  oneop_grad* grad = api().differentiate(op, &call.request, nullptr);
  TRUE(grad != nullptr);
  EQUAL(api().num_steps(grad), 2);
  const oneop_step* product = api().step(grad, 1);
  EQUAL(std::string(product->name), "aten::mul.Tensor");
  TRUE(product->op == nullptr);
  EQUAL(product->num_args, 2);
  EQUAL(product->args[0].kind, ONEOP_VALUE_BLOB);
  EQUAL(product->args[0].value.i, api().step(grad, 0)->first_output);
  EQUAL(product->args[1].value.i, 2);
  api().release_grad(grad);
  api().set_framework(nullptr);
}

}  // namespace
