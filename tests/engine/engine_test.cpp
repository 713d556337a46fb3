// tests/engine/engine_test.cpp: the engine without torch and without Python. It loads an op
// library, plans and runs calls on plain memory. Arguments: the library, then the names of tests
// (none: all).
#include <atomic>
#include <cstdio>
#include <thread>

#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "engine/ops/plugin.h"
#include "engine/ops/registry.h"
#include "engine/plans/gradient.h"
#include "engine/plans/plan.h"
#include "engine/plans/sbp.h"
#include "testing.h"

using namespace oneop;  // NOLINT

namespace {

std::string library_path;

// Services of a program that has no framework: loops are serial, and there are no tensors to hand
// out.
class PlainHost final : public Host {
 public:
  const oneop_host* services() const override {
    static const oneop_host table = [] {
      oneop_host made{};
      made.size = sizeof made;
      made.abi_major = ONEOP_ABI_MAJOR;
      made.abi_minor = ONEOP_ABI_MINOR;
      made.parallel_for = [](int64_t begin, int64_t end, int64_t,
                             void (*body)(void*, int64_t, int64_t),
                             void* context) { body(context, begin, end); };
      made.num_threads = [] { return int32_t{1}; };
      made.log = [](int32_t, const char* message, int64_t length, const char*, int32_t) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(length), message);
      };
      return made;
    }();
    return &table;
  }
  std::shared_ptr<const FrameworkCall> record_call(const char* name, const oneop_value*,
                                                   int32_t) const override {
    throw Error("OpNotFoundError", std::string("this host has no framework to call ") + name);
  }
};

void install(const std::string& name) {
  Registry::Change change = Registry::global().prepare(read_library(library_path, name));
  Registry::global().commit(&change);
  for (const auto& [slot, record] : change.records) {
    if (record != nullptr) {
      record->drop_plans();
    }
  }
}

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
  static const PlainHost host;
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s LIBRARY [TEST ...]\n", argv[0]);
    return 2;
  }
  if (ERROR_OF(oneop::host()) != "OneopError: the engine has no host: call set_host first") {
    return 1;
  }
  set_host(&host);
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
