// tests/engine/engine_test.cpp: the engine without torch and without Python. It loads an op
// library, plans and runs calls on plain memory. Arguments: the library, then the names of tests
// (none: all).
#include <atomic>
#include <cstdio>
#include <thread>

#include "c_host/attr_words.h"
#include "c_host/plain_host.h"
#include "c_host/registration.h"
#include "engine/frames/arg_counts.h"
#include "engine/ops/bytes_text.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "engine/ops/plugin.h"
#include "engine/plans/cost.h"
#include "engine/plans/gradient.h"
#include "engine/plans/plan.h"
#include "engine/plans/sbp.h"
#include "engine/registry/registry.h"
#include "testing.h"

using namespace oneop;  // NOLINT

namespace {

std::string library_path;

void install(const std::string& name) { register_file(library_path, name, ""); }

RecordPtr record_of(const std::string& op) { return Registry::global().get(op); }

CallSpec spec_of(const std::string& op, std::vector<int64_t> shape,
                 int32_t dtype = ONEOP_DTYPE_FLOAT32) {
  CallSpec spec;
  spec.input_counts = {1};
  spec.output_counts = {1};
  TensorMeta x;
  x.dtype = dtype;
  x.stride = TensorMeta::contiguous_stride(shape);
  x.shape = std::move(shape);
  spec.inputs = {x};
  for (const AttrDef& attr : record_of(op)->op->attrs) {
    spec.attrs.push_back(attr.default_value);
  }
  return spec;
}

std::vector<float> run(const CallPlan& plan, std::vector<float> x) {
  std::vector<float> y(plan.output(0).elem_cnt);
  void* data[] = {x.data(), y.data()};
  plan.run(data, nullptr, nullptr, nullptr);
  return y;
}

TEST(bytes_travel_as_text_and_back) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  EQUAL(bytes_of_text(text_of_bytes(all)), all);
  EQUAL(text_of_bytes("plain"), "plain");
}

TEST(values_with_equal_parts_have_different_keys) {
  AttrValue one;
  one.type = ONEOP_ATTR_LIST_STRING;
  one.strings = {"ab", "c"};
  AttrValue other = one;
  other.strings = {"a", "bc"};
  PlanKey first, second;
  one.append_key(&first);
  other.append_key(&second);
  TRUE(first != second);
}

TEST(attribute_values_travel_as_words) {
  OpDef op;
  op.name = "all";
  std::vector<AttrValue> values(9);
  for (size_t i = 0; i < values.size(); ++i) {
    const int32_t types[] = {ONEOP_ATTR_INT64,       ONEOP_ATTR_DOUBLE,     ONEOP_ATTR_STRING,
                             ONEOP_ATTR_LIST_STRING, ONEOP_ATTR_LIST_SHAPE, ONEOP_ATTR_LIST_FLOAT,
                             ONEOP_ATTR_NONE,        ONEOP_ATTR_LIST_BOOL,  ONEOP_ATTR_BOOL};
    values[i].type = types[i];
    AttrDef attr;
    attr.name = "a" + std::to_string(i);
    attr.type = types[i] == ONEOP_ATTR_NONE ? ONEOP_ATTR_BOOL : types[i];
    attr.is_optional = types[i] == ONEOP_ATTR_NONE;
    op.attrs.push_back(attr);
  }
  op.attrs[7].list_size = 2;
  op.attrs[8].type = ONEOP_ATTR_SCALAR;
  values[7].bools = {1, 0};
  values[8].i = 1;
  values[0].i = -3;
  values[1].f = 0.1;
  values[2].text = std::string("nine \0 bytes", 12);
  values[3].strings = {"", "two", "three and more"};
  values[4].shapes = {{}, {1, 2}};
  values[5].floats = {0.5f};
  std::vector<int64_t> words = words_of(values);
  const std::vector<AttrValue> read = values_of(op, words.data(), words.size());
  for (size_t i = 0; i < values.size(); ++i) {
    TRUE(read[i].equals(values[i]));
  }
  const std::string refused = "its attributes were written for another definition of it";
  for (size_t size = 0; size < words.size(); ++size) {
    TRUE(ERROR_OF(values_of(op, words.data(), size)).find(refused) != std::string::npos);
  }
  words.push_back(0);
  TRUE(ERROR_OF(values_of(op, words.data(), words.size())).find(refused) != std::string::npos);
  words[0] = ONEOP_ATTR_FLOAT;
  TRUE(ERROR_OF(values_of(op, words.data(), words.size())).find(refused) != std::string::npos);
}

TEST(a_file_that_is_no_library_is_refused) {
  const std::string error = ERROR_OF(read_library("/nowhere/lib.so", "nowhere"));
  TRUE(error.rfind("LoadError: ", 0) == 0 && error.find("/nowhere/lib.so") != std::string::npos);
}

TEST(an_unknown_op_is_named_with_the_nearest) {
  const std::string error = ERROR_OF(record_of("scaly"));
  TRUE(error.find("did you mean \"scale\"?") != std::string::npos);
  const std::vector<std::string> names = {"scale", "SCALES", "sCALE"};
  TRUE(did_you_mean("SCALE", names) == ", did you mean \"scale\"?");
}

TEST(a_call_is_inferred_planned_and_run) {
  const CallPlan plan(record_of("scale"), spec_of("scale", {2, 3}), /*infer_only=*/false);
  EQUAL(plan.num_inputs(), 1);
  EQUAL(plan.num_outputs(), 1);
  EQUAL(plan.output(0).elem_cnt, 6);
  TRUE((run(plan, {1, 2, 3, 4, 5, 6}) == std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(empty_outputs_are_no_work) {
  const CallPlan plan(record_of("scale"), spec_of("scale", {0, 3}), false);
  TRUE(!plan.has_work());
}

TEST(a_dtype_without_a_kernel_is_refused_with_the_candidates) {
  const CallSpec spec = spec_of("scale", {2}, ONEOP_DTYPE_INT64);
  const std::string error = ERROR_OF(CallPlan(record_of("scale"), spec, false));
  TRUE(error.rfind("KernelNotFoundError: ", 0) == 0);
  TRUE(error.find("float32") != std::string::npos && error.find("int64") != std::string::npos);
}

TEST(inference_errors_name_the_op) {
  const std::string error = ERROR_OF(CallPlan(record_of("picky"), spec_of("picky", {2}), true));
  TRUE(error.find("\"picky\"") != std::string::npos);
  TRUE(error.find("never satisfied") != std::string::npos);
}

TEST(a_wrong_number_of_tensors_is_refused) {
  const std::string error = ERROR_OF(check_counts(*record_of("scale")->op, {2}, {1}));
  TRUE(error.find("input \"x\"") != std::string::npos);
}

TEST(kernel_state_is_shared_by_calls_and_used_in_turns) {
  const CallSpec spec = spec_of("count", {1});
  const RecordPtr record = record_of("count");
  std::vector<std::thread> threads;
  std::atomic<int> total{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const CallPlan plan(record, spec, false);  // a plan of its own, the same kernel object
      for (int i = 0; i < 1000; ++i) {
        run(plan, {0});
        ++total;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const CallPlan plan(record, spec, false);
  EQUAL(run(plan, {0})[0], static_cast<float>(total.load() + 1));
}

TEST(a_gradient_is_a_plan_of_steps) {
  const RecordPtr record = record_of("scale");
  Frame frame(*record->op, spec_of("scale", {2}));
  frame.infer();
  const GradPlan plan = make_grad_plan(*record->grad, &frame, {1}, {1});
  EQUAL(plan.steps.size(), size_t{1});
  EQUAL(plan.steps[0].op, "scale");
  EQUAL(plan.saved.size(), size_t{0});  // neither x nor y is read
  EQUAL(plan.steps[0].inputs[0][0], plan.first_grad_blob());
  EQUAL(plan.grad_of_input[0], plan.steps[0].first_output);
}

TEST(signatures_are_those_declared_and_all_broadcast) {
  const SbpAnswer answer = sbp_signatures(*record_of("scale"), spec_of("scale", {4, 6}), 2);
  EQUAL(answer.signatures.size(), size_t{3});
  EQUAL(answer.signatures[0][0].kind, ONEOP_SBP_SPLIT);
  EQUAL(answer.signatures[1][1].axis, 1);
  EQUAL(answer.signatures[2][0].kind, ONEOP_SBP_BROADCAST);
}

TEST(operations_are_counted_by_the_op) {
  EQUAL(count_operations(*record_of("scale"), spec_of("scale", {4, 6})), 24.0);
  const std::string error = ERROR_OF(count_operations(*record_of("count"), spec_of("count", {4})));
  TRUE(error.rfind("OpNotImplementedError: op \"count\" does not say how many", 0) == 0);
}

TEST(a_second_library_with_the_same_op_changes_nothing) {
  const uint64_t epoch = Registry::global().epoch();
  const RecordPtr before = record_of("scale");
  const std::string error =
      ERROR_OF(Registry::global().prepare(read_library(library_path, "another")));
  TRUE(error.rfind("DuplicateOpError: ", 0) == 0);
  EQUAL(Registry::global().epoch(), epoch);
  TRUE(record_of("scale") == before);
}

TEST(a_reload_replaces_the_record_and_calls_keep_theirs) {
  const RecordPtr before = record_of("scale");
  const CallPlan plan(before, spec_of("scale", {1}), false);
  install("ops");
  TRUE(record_of("scale") != before);
  EQUAL(run(plan, {3})[0], 6.0f);
}

TEST(services_that_need_tensors_are_refused_without_a_framework) {
  const oneop_host& services = *host().services();
  int some = 0;
  const auto text_of = [&](const auto& act) {
    Status status;
    TRUE(act(status.abi()) != ONEOP_OK);
    return status.message();
  };
  const std::string refused =
      "this host runs kernels and records gradients; functions that work on tensors need torch";
  oneop_tensor view{};
  EQUAL(text_of([&](oneop_status* s) { return services.view(&some, &view, s); }), refused);
  EQUAL(text_of([&](oneop_status* s) { return services.dispatch(nullptr, nullptr, s); }), refused);
  EQUAL(text_of([&](oneop_status* s) { return services.read(&some, nullptr, 0, s); }), refused);
  EQUAL(text_of([&](oneop_status* s) {
          return services.call_function("aten::cos", nullptr, 0, nullptr, s);
        }),
        refused);
  int64_t state = 1;
  Status status;
  EQUAL(services.state(nullptr, ONEOP_STATE_GRAD_ENABLED, &state, status.abi()), ONEOP_OK);
  EQUAL(state, 0);
  EQUAL(text_of(
            [&](oneop_status* s) { return services.state(&some, ONEOP_STATE_IS_LEAF, &state, s); }),
        refused);
  TRUE(services.find_op("scale", status.abi()) != nullptr);
}

TEST(random_numbers_follow_their_seed) {
  const oneop_host& services = *host().services();
  const auto use = [&](int32_t act, uint64_t value) {
    Status status;
    EQUAL(services.generator(nullptr, act, &value, status.abi()), ONEOP_OK);
    return value;
  };
  use(ONEOP_GENERATOR_SET_SEED, 7);
  const uint64_t first = use(ONEOP_GENERATOR_RANDOM, 0);
  TRUE(use(ONEOP_GENERATOR_RANDOM, 0) != first);
  EQUAL(use(ONEOP_GENERATOR_SEED, 0), uint64_t{7});
  use(ONEOP_GENERATOR_SET_SEED, 7);
  EQUAL(use(ONEOP_GENERATOR_RANDOM, 0), first);
  const uint64_t seed = use(ONEOP_GENERATOR_NEW_SEED, 0);
  EQUAL(use(ONEOP_GENERATOR_SEED, 0), seed);
  uint64_t value = 0;
  int some = 0;
  Status other, unknown;
  TRUE(services.generator(&some, ONEOP_GENERATOR_SEED, &value, other.abi()) != ONEOP_OK);
  EQUAL(other.message(), "this host has one random generator, and no handles of others");
  TRUE(services.generator(nullptr, 99, &value, unknown.abi()) != ONEOP_OK);
  EQUAL(unknown.message(), "this host does not know what to do with its generator");
}

TEST(a_cache_forgets_all_at_its_limit_and_nothing_enters_a_closed_one) {
  KeyedCache<int> cache;
  for (int64_t i = 0; i <= static_cast<int64_t>(kCacheLimit); ++i) {
    cache.insert({i}, std::make_shared<const int>(static_cast<int>(i)));
  }
  EQUAL(cache.size(), size_t{1});
  EQUAL(*cache.find({static_cast<int64_t>(kCacheLimit)}), static_cast<int>(kCacheLimit));
  cache.close();
  cache.insert({1}, std::make_shared<const int>(1));
  EQUAL(cache.size(), size_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [TEST ...]\n", argv[0]);
    return 2;
  }
  if (ERROR_OF(oneop::host()) != "OneopError: the engine has no host: call set_host first") {
    return 1;
  }
  install_plain_host();
  library_path = argv[1];
  install("ops");
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  int failures = 0;
  for (const engine_test::Test& test : engine_test::tests()) {
    bool is_wanted = wanted.empty();
    for (const std::string& name : wanted) {
      is_wanted |= name == test.name;
    }
    if (!is_wanted) {
      continue;
    }
    try {
      test.run();
      std::cout << "ok " << test.name << std::endl;
    } catch (const std::exception& error) {
      ++failures;
      std::cout << "FAILED " << test.name << ": " << error.what() << std::endl;
    }
  }
  return failures == 0 ? 0 : 1;
}
