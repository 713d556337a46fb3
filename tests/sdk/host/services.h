// tests/sdk/host/services.h: what the host offers a library: services, and a status that prints.
#ifndef TESTS_SDK_HOST_SERVICES_H_
#define TESTS_SDK_HOST_SERVICES_H_

#include <cstddef>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include "oneop/abi.h"

namespace test_host {

inline void ParallelFor(int64_t begin, int64_t end, int64_t grain,
                        void (*body)(void*, int64_t, int64_t), void* context) {
  const int64_t middle = begin + (end - begin) / 2;
  if (middle - begin < grain) {
    return body(context, begin, end);
  }
  std::thread other([=] { body(context, begin, middle); });
  body(context, middle, end);
  other.join();
}

inline std::string OneLine(const std::string& text) {
  std::string line;
  for (char c : text) {
    c == '\n' ? line += "\\n" : line += c;
  }
  return line;
}
inline std::string Place(const char* file, int32_t line) {
  if (file == nullptr) {
    return "-";
  }
  const char* slash = std::strrchr(file, '/');
  return std::string(slash == nullptr ? file : slash + 1) + ":" + std::to_string(line);
}

inline void Log(int32_t level, const char* message, int64_t length, const char* file,
                int32_t line) {
  std::cout << "log " << level << " " << Place(file, line) << " " << std::string(message, length)
            << "\n";
}

// A host of ABI 1.0: it has no functions, and says so by its size.
inline const oneop_host kHost = [] {
  oneop_host host{};
  host.size = offsetof(oneop_host, retain);
  host.abi_major = ONEOP_ABI_MAJOR;
  host.parallel_for = &ParallelFor;
  host.num_threads = [] { return 2; };
  host.log = &Log;
  return host;
}();

struct Status : oneop_status {
  Status() : oneop_status{sizeof(oneop_status), ONEOP_OK, &Report} {}
  static void Report(oneop_status* status, int32_t kind, const char* message, int64_t length,
                     const char* file, int32_t line) {
    status->kind = kind;
    std::cout << "error " << kind << " " << Place(file, line) << " "
              << OneLine(std::string(message, length)) << "\n";
  }
};

}  // namespace test_host

#endif  // TESTS_SDK_HOST_SERVICES_H_
