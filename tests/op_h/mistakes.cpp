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

void RunFunctor(const std::string& name) {
  const std::pair<const char*, void (*)()> cases[] = {
      {"few", TooFew},   {"typed", WrongType},    {"silent", NoResult},   {"half_done", OneResult},
      {"lists", Lists},  {"row_lists", RowLists}, {"signed", Signatures}, {"row_wise", Rows},
      {"viewed", Views}, {"unknown", Nothing},
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
