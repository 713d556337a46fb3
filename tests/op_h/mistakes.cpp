// Prints what is said about wrong registrations. Standard input has a case on each line:
//   schema|schema of another op|...|gradient: text   or axes: text   or sbp: text   or functor:
//   name
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "oneop/op.h"

namespace {

void TooFew() {
  OP("few(Tensor x, *, float alpha) -> Tensor y").elementwise<float>([](auto x) { return x; });
}
void WrongType() {
  OP("typed(Tensor x) -> Tensor y").elementwise<double>([](const char*) { return 1; });
}
void NoResult() {
  OP("silent(Tensor x) -> Tensor y").elementwise<float>([](auto) {});
}
void OneResult() {
  OP("half_done(Tensor x) -> (Tensor y, Tensor z)").elementwise<float>([](auto x) { return x; });
}
void Lists() {
  OP("lists(Tensor[] x) -> Tensor y").elementwise<float>([](auto x) { return x; });
}
void RowLists() {
  OP("row_lists(Tensor? x) -> Tensor y").rows<float>([](auto, auto) {});
}
void Signatures() {
  OP("signed(Tensor x, Tensor i) -> Tensor y").elementwise<float(float)>([](auto x) { return x; });
}
void Rows() {
  OP("row_wise(Tensor x, *, int k) -> Tensor y").rows<float>([](auto) {});
}
void Views() {
  OP("viewed(Tensor x) -> Tensor y").same_shape().kernel<float>([](int) {});
}
void Nothing() {
  OP("unknown(Tensor x) -> Tensor y").kernel<float>([](auto, auto) {});
  oneop::op::FinishRecords();
}

// --- Kernels of an op that another source defines ---
void KernelsOfNone() {
  OP("extended(Tensor x) -> Tensor y").same_shape();
  OP_KERNELS("extended_too(Tensor x) -> Tensor y").kernel<float>([](auto, auto) {});
  oneop::op::FinishRecords();
}
void KernelsOfAnother() {
  OP("reworded(Tensor x, *, int k=1) -> Tensor y").same_shape();
  OP_KERNELS("reworded(Tensor x, *, float k) -> Tensor y").kernel<float>([](auto, auto) {});
  oneop::op::FinishRecords();
}
void KernelsTwice() {
  OP_KERNELS("twice_there(Tensor x) -> Tensor y").kernel<float>([](auto, auto) {});
  OP_KERNELS("twice_there(Tensor x) -> Tensor y").kernel<double, float>([](auto, auto) {});
  OP("twice_there(Tensor x) -> Tensor y").same_shape();
  oneop::op::FinishRecords();
}
void KernelsApart() {
  OP_KERNELS("apart(Tensor x, *, int k) -> Tensor y").kernel<float>([](auto, auto) {});
  OP("apart(Tensor x, *, int k=2) -> Tensor y").same_shape().kernel<double>([](auto, auto) {});
  oneop::op::FinishRecords();
}

// --- What is known once the whole chain is: in whatever order it is written ---
void StridedElements() {
  OP("strided_a(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x; }).strided();
  oneop::op::FinishRecords();
}
void StridedElementsFirst() {
  OP("strided_b(Tensor x) -> Tensor y").strided().elementwise<float>([](auto x) { return x; });
  oneop::op::FinishRecords();
}
void StridedRows() {
  OP("strided_c(Tensor x) -> Tensor y").rows<float>([](auto, auto) {}).strided();
  oneop::op::FinishRecords();
}
void StridedRowsFirst() {
  OP("strided_d(Tensor x) -> Tensor y").strided().rows<float>([](auto, auto) {});
  oneop::op::FinishRecords();
}
void ReshapedElements() {
  OP("reshaped(Tensor x) -> Tensor y").infer("a b -> b a").elementwise<float>([](auto x) {
    return x;
  });
  oneop::op::FinishRecords();
}
void SharedRowOutput() {
  OP("columns(Tensor x) -> Tensor y").rows<float>([](auto, auto) {}).infer("r n -> n");
  oneop::op::FinishRecords();
}
void UnknownRowInput() {
  OP("other_rows(Tensor x, Tensor w) -> Tensor y")
      .infer("r n, n k -> r n")
      .rows<float>([](auto, auto, auto) {});
  oneop::op::FinishRecords();
}
void TwoMinds() {
  OP("two_minds(Tensor x) -> Tensor y").same_shape().no_grad().gradient("dx = dy");
}
void OtherMind() {
  OP("other_mind(Tensor x) -> Tensor y").gradient("dx = dy").same_shape().no_grad();
}
void OutputsTwice() { OP("outputs_twice(Tensor x) -> Tensor y").same_shape().infer("n -> n"); }
void SameDtype() {
  OP("same_dtype(Tensor x) -> Tensor y").elementwise<float, double, float>([](auto x) {
    return x;
  });
}
void OtherOutput() {
  OP("other_output(Tensor x, Tensor i) -> Tensor y")
      .same_shape()
      .kernel<float(float, int64_t), double(float, int64_t)>([](auto, auto, auto) {});
}
void SameDtypeInRows() {
  OP("same_rows(Tensor x) -> Tensor y").rows<float>([](auto, auto) {}).rows<float>([](auto, auto) {
  });
}

// --- Parameters that cannot hold what they get ---
void NarrowInt() {
  OP("narrow_int(Tensor x) -> Tensor y").elementwise<int64_t>([](int x) { return x; });
}
void NarrowFloat() {
  OP("narrow_float(Tensor x, Tensor z) -> Tensor y").elementwise<float, double>([](float x, float) {
    return x;
  });
}
void NarrowSecond() {
  OP("narrow_second(Tensor a, Tensor b) -> Tensor y")
      .elementwise<double>([](double a, const float& b) { return a + b; });
}
void NarrowSign() {
  OP("narrow_sign(Tensor x) -> Tensor y").elementwise<int8_t>([](uint8_t x) { return x; });
}
void NarrowFraction() {
  OP("narrow_fraction(Tensor x) -> Tensor y").elementwise<float>([](int64_t x) { return x; });
}
void NarrowBool() {
  OP("narrow_bool(Tensor x) -> Tensor y").elementwise<float>([](bool x) { return x; });
}
void NarrowAttr() {
  OP("narrow_attr(Tensor x, *, int k) -> Tensor y").elementwise<float>([](auto x, int k) {
    return x * k;
  });
}
void NarrowReal() {
  OP("narrow_real(Tensor x, *, bool b, float k) -> Tensor y")
      .elementwise<double>([](auto x, auto, float k) { return x * k; });
}
void NarrowOptional() {
  OP("narrow_optional(Tensor x, *, int? k) -> Tensor y")
      .elementwise<float>([](auto x, std::optional<int> k) { return x * *k; });
}
void NarrowRow() {
  OP("narrow_row(Tensor x, *, int k) -> Tensor y").rows<float>([](auto, auto, int16_t) {});
}
struct Typed {
  int by;
  template <class T>
  T operator()(T x, int k) const {
    return x * k * by;
  }
};
void NarrowStruct() {
  OP("narrow_struct(Tensor x, *, int k) -> Tensor y").elementwise<float>(Typed{2});
}
// These hold what they get: nothing is said.
void Wide() {
  OP("wide(Tensor x, Tensor z, *, int k, int32 j, bool b, float f, float32 g, int? o, str s) -> "
     "Tensor y")
      .elementwise<float(bool, int32_t)>([](int x, double z, int64_t k, int j, bool b, double f,
                                            float g, std::optional<int64_t> o, std::string_view s) {
        return static_cast<float>(x + z + k + j + b + f + g + *o + s.size());
      });
  OP("wide_32(Tensor x, *, float32 g, int k) -> Tensor y")
      .elementwise<double>([](const auto& x, float g, float k) { return x * g * k; });
  OP("wide_half(Tensor x, *, float g) -> Tensor y").elementwise<half>([](float x, float g) {
    return x * g;
  });
  OP("wide_rows(Tensor x, *, int32 k, float? a) -> Tensor y")
      .rows<float>([](auto, auto, int64_t, std::optional<double>) {});
  oneop::op::FinishRecords();
}

void RunFunctor(const std::string& name) {
  const std::pair<const char*, void (*)()> cases[] = {
      {"few", TooFew},
      {"typed", WrongType},
      {"silent", NoResult},
      {"half_done", OneResult},
      {"lists", Lists},
      {"row_lists", RowLists},
      {"signed", Signatures},
      {"row_wise", Rows},
      {"viewed", Views},
      {"unknown", Nothing},
      {"strided_a", StridedElements},
      {"strided_b", StridedElementsFirst},
      {"strided_c", StridedRows},
      {"strided_d", StridedRowsFirst},
      {"reshaped", ReshapedElements},
      {"columns", SharedRowOutput},
      {"other_rows", UnknownRowInput},
      {"two_minds", TwoMinds},
      {"other_mind", OtherMind},
      {"outputs_twice", OutputsTwice},
      {"same_dtype", SameDtype},
      {"other_output", OtherOutput},
      {"same_rows", SameDtypeInRows},
      {"narrow_int", NarrowInt},
      {"narrow_float", NarrowFloat},
      {"narrow_second", NarrowSecond},
      {"narrow_sign", NarrowSign},
      {"narrow_fraction", NarrowFraction},
      {"narrow_bool", NarrowBool},
      {"narrow_attr", NarrowAttr},
      {"narrow_real", NarrowReal},
      {"narrow_optional", NarrowOptional},
      {"narrow_row", NarrowRow},
      {"narrow_struct", NarrowStruct},
      {"kernels_of_none", KernelsOfNone},
      {"kernels_of_another", KernelsOfAnother},
      {"kernels_twice", KernelsTwice},
      {"kernels_apart", KernelsApart},
      {"wide", Wide},
  };
  for (const auto& [known, run] : cases) {
    if (name == known) run();
  }
}

void RunCase(const std::vector<std::string>& parts) {
  using namespace oneop::op;
  OpRecord* last = nullptr;
  for (const std::string& part : parts) {
    const char* text = (new std::string(part.substr(part.find(": ") + 1)))->c_str();
    if (part.rfind("functor: ", 0) == 0) {
      RunFunctor(text + 1);
    } else if (part.rfind("gradient: ", 0) == 0) {
      last->gradient_text = text;
      GradientParser(last).Parse();
    } else if (part.rfind("axes: ", 0) == 0) {
      AxesParser(*last, text).Parse();
    } else if (part.rfind("sbp: ", 0) == 0) {
      SbpParser(*last, text).Parse();
    } else {
      const auto* kept = new std::string(part);
      OpRecord* record = NewRecord(new Schema(ParseSchema(*kept)), {"ops.cpp", 7});
      last = last == nullptr ? record : last;
    }
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> parts;
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find('|', at), line.size());
      parts.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    oneop::sdk::library.ops = {};
    oneop::sdk::library.description.mistake = nullptr;
    oneop::op::first_record = nullptr;
    oneop::op::first_gradient = nullptr;
    RunCase(parts);
    const char* mistake = oneop::sdk::library.description.mistake;
    std::cout << (mistake == nullptr ? "nothing" : mistake) << "\n----\n";
  }
}
