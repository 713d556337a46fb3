// tests/engine/testing.h: tests that register themselves, and the checks they use.
#pragma once

#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace engine_test {

struct Test {
  std::string name;
  std::function<void()> run;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

struct Registrar {
  Registrar(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& text) {
  std::ostringstream where;
  where << file << ":" << line << ": " << text;
  throw std::runtime_error(where.str());
}

template <typename A, typename B>
void check_equal(const A& found, const B& expected, const char* file, int line) {
  if (!(found == expected)) {
    std::ostringstream text;
    text << "expected " << expected << ", found " << found;
    fail(file, line, text.str());
  }
}

// The message of the error that `act` throws.
template <typename E, typename Act>
std::string error_of(const Act& act, const char* file, int line) {
  try {
    act();
  } catch (const E& error) {
    return std::string(error.cls()) + ": " + error.what();
  }
  fail(file, line, "nothing was thrown");
}

}  // namespace engine_test

#define TEST(name)                                             \
  static void name();                                          \
  static engine_test::Registrar registrar_##name(#name, name); \
  static void name()
#define EQUAL(found, expected) engine_test::check_equal(found, expected, __FILE__, __LINE__)
#define TRUE(condition)                                                              \
  do {                                                                               \
    if (!(condition)) engine_test::fail(__FILE__, __LINE__, #condition " is false"); \
  } while (false)
#define ERROR_OF(...) \
  engine_test::error_of<oneop::Error>([&] { (void)(__VA_ARGS__); }, __FILE__, __LINE__)
