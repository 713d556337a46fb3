// Reads lines of `type size text`, the text in hexadecimal digits, and prints what the text is.
#include <cstdio>
#include <iostream>

#include "oneop/op.h"

namespace {

void PrintReal(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  std::printf("%016llx ", static_cast<unsigned long long>(bits));
}

void PrintBytes(const oneop_span& span) {
  std::printf("[ ");
  for (int64_t i = 0; i < span.count; ++i) {
    std::printf("%d ", static_cast<const unsigned char*>(span.data)[i]);
  }
  std::printf("] ");
}

template <class T>
void PrintIntegers(const oneop_span& span) {
  std::printf("[ ");
  for (int64_t i = 0; i < span.count; ++i) {
    std::printf("%lld ", static_cast<long long>(static_cast<const T*>(span.data)[i]));
  }
  std::printf("] ");
}

template <class T>
void PrintReals(const oneop_span& span) {
  for (int64_t i = 0; i < span.count; ++i) {
    PrintReal(static_cast<double>(static_cast<const T*>(span.data)[i]));
  }
}

template <class F>
void PrintSpans(const oneop_span& span, const F& print) {
  for (int64_t i = 0; i < span.count; ++i) {
    print(static_cast<const oneop_span*>(span.data)[i]);
  }
}

void Print(const oneop_attr& attr) {
  std::printf("ok %d ", attr.type);
  switch (attr.type) {
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return PrintReal(attr.value.f);
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      return PrintBytes(attr.value.list);
    case ONEOP_ATTR_COMPLEX_DOUBLE:
    case ONEOP_ATTR_LIST_DOUBLE:
      return PrintReals<double>(attr.value.list);
    case ONEOP_ATTR_LIST_FLOAT:
      return PrintReals<float>(attr.value.list);
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return PrintIntegers<int64_t>(attr.value.list);
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      return PrintIntegers<int32_t>(attr.value.list);
    case ONEOP_ATTR_LIST_BOOL:
      return PrintIntegers<uint8_t>(attr.value.list);
    case ONEOP_ATTR_LIST_SHAPE:
      return PrintSpans(attr.value.list, &PrintIntegers<int64_t>);
    case ONEOP_ATTR_LIST_STRING:
      return PrintSpans(attr.value.list, &PrintBytes);
    default:
      std::printf("%lld ", static_cast<long long>(attr.value.i));
  }
}

}  // namespace

int main() {
  int type = 0;
  int size = 0;
  std::string digits;
  while (std::cin >> type >> size >> digits) {
    std::string text;
    for (size_t i = 1; i + 1 < digits.size(); i += 2) {  // after a mark, so that it is never empty
      text.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
    oneop_attr attr{};
    oneop::op::DefaultReader reader(text, size);
    if (reader.Read(type, &attr)) {
      Print(attr);
    } else {
      std::printf(reader.is_too_large() ? "large" : "none");
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}
