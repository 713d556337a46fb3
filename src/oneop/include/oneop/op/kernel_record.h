// What is registered of one kernel: for which device and dtypes it is, and the functor behind it.
#ifndef ONEOP_OP_KERNEL_RECORD_H_
#define ONEOP_OP_KERNEL_RECORD_H_

#include "oneflow/core/common/device_type.h"
#include "oneop/op/record.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// Lives as long as the library. The host's kernel object is this record: kernels have no state.
struct KernelRecord {
  KernelRecord(const OpRecord* its_op, const void* its_functor)
      : op(its_op), functor(its_functor) {}

  const OpRecord* op;
  const void* functor;
  oneop_kernel_def def{};
  sdk::PointerList facts{};
  std::string predicate;
  int32_t ins[kMostArguments] = {}, outs[kMostArguments] = {};  // the dtypes of the arguments
  int32_t device = ONEOP_DEVICE_CPU;
  uint32_t declared = 0;         // ONEOP_KERNEL_... that the author said, and so keeps
  KernelRecord* next = nullptr;  // of this op
};

ONEOP_COLD inline void AddFact(KernelRecord* kernel, int32_t kind, int32_t value, const char* arg,
                               std::string_view text) {
  auto* fact = new oneop_fact{};
  fact->size = sizeof *fact;
  fact->kind = kind;
  fact->value = value;
  fact->arg = arg;
  fact->text = sdk::library.arena.CopyText(text);
  kernel->facts.Add(fact);
  kernel->predicate = kernel->predicate.empty()
                          ? std::string(text)
                          : sdk::Join({"(", kernel->predicate, " && ", text, ")"});
}
ONEOP_COLD inline void AddDtypeFact(KernelRecord* kernel, const char* arg, int32_t dtype) {
  AddFact(kernel, ONEOP_FACT_DTYPE, dtype, arg,
          sdk::Join({"data_type(\"", arg,
                     "\", 0) == ", OneopEnumName(static_cast<::oneflow::DataType>(dtype))}));
}

ONEOP_COLD inline int32_t IsMatched(void* self, oneop_frame* frame, int32_t* matched,
                                    oneop_status*) {
  const KernelRecord* kernel = static_cast<KernelRecord*>(self);
  *matched = 1;
  for (int32_t i = 0; i != kernel->facts.count; ++i) {
    const auto* fact = static_cast<const oneop_fact*>(kernel->facts.data[i]);
    if (fact->kind == ONEOP_FACT_DEVICE) {
      *matched = *matched != 0 && frame->device_type == fact->value;
    } else {
      const int32_t number = sdk::FindTensor(frame, fact->arg, 0);
      *matched = *matched != 0 && number >= 0 && sdk::TensorAt(frame, number)->dtype == fact->value;
    }
  }
  return ONEOP_OK;
}

// Two kernels for one device and the same dtypes of inputs: no call could choose between them.
ONEOP_COLD inline void CheckAlone(const OpRecord& op, const KernelRecord& kernel, int32_t device,
                                  const int32_t* ins) {
  for (const KernelRecord* other = op.kernels; other != nullptr; other = other->next) {
    if (other->predicate == kernel.predicate) {
      std::string dtypes;
      for (int i = 0; i < op.schema->num_inputs; ++i) {
        dtypes.append(i == 0 ? "" : ", ").append(DtypeText(ins[i]));
      }
      op.Mistake({"two of its kernels are for ", device == ONEOP_DEVICE_CPU ? "the CPU" : "CUDA",
                  " and inputs of (", dtypes,
                  ")\n  name each dtype once in .elementwise, .rows and "
                  ".kernel; kernels that differ in their outputs alone are not possible"});
    }
  }
}

// The dtypes of a call are those that the kernel reads and writes. Which kernel runs is chosen by
// the inputs, so what inference says of the outputs has to be compared here, once for each call.
inline void CheckDtypes(const KernelRecord& kernel, const oneop_frame* frame) {
  for (int32_t i = 0; i != frame->num_inputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->inputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      CheckDtype(*sdk::TensorAt(frame, arg->first + k), kernel.ins[i], "input", arg->name);
    }
  }
  for (int32_t i = 0; i != frame->num_outputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->outputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      CheckDtype(*sdk::TensorAt(frame, arg->first + k), kernel.outs[i], "output", arg->name);
    }
  }
}

using ComputeFn = int32_t (*)(void*, oneop_frame*, void*, const void*, oneop_status*);

// `ins` and `outs` are dtypes, one for each argument. An optional input is not asked for its dtype
// here but where the kernel looks at it; the outputs count where there is no input to ask.
ONEOP_COLD inline KernelRecord* NewKernel(OpRecord* op, int32_t device, const int32_t* ins,
                                          const int32_t* outs, const void* functor,
                                          ComputeFn compute) {
  auto* kernel = new KernelRecord(op, functor);
  AddFact(
      kernel, ONEOP_FACT_DEVICE, device, nullptr,
      sdk::Join({"device_type == ", OneopEnumName(static_cast<::oneflow::DeviceType>(device))}));
  for (int i = 0; i < op->schema->num_inputs; ++i) {
    if (!op->schema->inputs[i].is_optional) {
      AddDtypeFact(kernel, op->def.inputs[i]->name, ins[i]);
    }
  }
  for (int i = 0; i < op->schema->num_outputs && kernel->facts.count == 1; ++i) {
    AddDtypeFact(kernel, op->def.outputs[i]->name, outs[i]);
  }
  oneop_kernel_def& def = kernel->def;
  def.size = sizeof def;
  def.op_type_name = op->def.name;
  def.file = op->place.file;
  def.line = op->place.line;
  def.num_facts = kernel->facts.count;
  def.facts = reinterpret_cast<const oneop_fact* const*>(kernel->facts.data);
  def.predicate = kernel->predicate.c_str();
  def.self = kernel;
  def.is_matched = &IsMatched;
  def.create = [](void* self, oneop_frame*, void** made, oneop_status*) -> int32_t {
    *made = self;
    return ONEOP_OK;
  };
  def.destroy = [](void*) {};
  def.always_compute = [](void*) -> int32_t { return 0; };
  def.compute = compute;
  sdk::library.kernels.Add(&def);
  for (int i = 0; i < kMostArguments; ++i) {
    kernel->ins[i] = ins[i];
    kernel->outs[i] = outs[i];
  }
  CheckAlone(*op, *kernel, device, ins);
  kernel->device = device;
  kernel->next = op->kernels;
  op->kernels = kernel;
  return kernel;
}

// The callback of a kernel whose work is Work::Run(functor, frame). kHasTypes: it takes tensors of
// the dtypes that it is registered for, and does not ask for them itself.
template <class Work, class F>
int32_t Compute(void* self, oneop_frame* frame, void*, const void*, oneop_status* status) {
  const KernelRecord* kernel = static_cast<KernelRecord*>(self);
  try {
    if constexpr (Work::kHasTypes) {
      CheckDtypes(*kernel, frame);
    }
    Work::Run(*static_cast<const F*>(kernel->functor), frame);
    return ONEOP_OK;
  } catch (...) {
    const Place place = kernel->op->place;
    return sdk::ReportCurrentException(frame, status, {place.file, place.line});
  }
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_KERNEL_RECORD_H_
