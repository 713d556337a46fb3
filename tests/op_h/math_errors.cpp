// Prints the largest error of each function, in units in the last place, over the whole range.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "oneop/op/math/log.h"
#include "oneop/op/math/trig.h"

namespace {

// A wrong NaN, infinity or sign of zero is an error without end.
template <class T, class Wide>
double ErrorOf(T value, Wide exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(nearest)) return std::isnan(value) ? 0 : HUGE_VAL;
  if (std::isinf(nearest) || std::isinf(value)) return nearest == value ? 0 : HUGE_VAL;
  if (nearest == 0 && value == 0) {
    return std::signbit(nearest) == std::signbit(value) ? 0 : HUGE_VAL;
  }
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(nearest == 0 ? Limits::denorm_min() : nearest, &exponent);
  exponent = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(
      std::fabs((static_cast<Wide>(value) - exact) / std::ldexp(Wide(1), exponent)));
}

template <class T, class Wide, class F, class G>
void Measure(const char* name, const F& function, const G& exact) {
  double worst = 0;
  T at = 0;
  const auto test = [&](T x) {
    const double error = ErrorOf<T, Wide>(function(x), exact(static_cast<Wide>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < 60000; ++i) {
    const uint64_t bits = random();
    T any;
    std::memcpy(&any, &bits, sizeof any);
    test(any);
    test(std::ldexp(static_cast<T>(static_cast<int64_t>(random())), -60));
    test(std::ldexp(static_cast<T>(static_cast<int64_t>(random())), -53));
    test(T(1) + std::ldexp(static_cast<T>(static_cast<int64_t>(random())), -64 - i % 50));
  }
  const double special[] = {0.0,     -0.0,   1,     -1,       INFINITY, -INFINITY, NAN,    88.7,
                            88.7228, 88.73,  -87.4, -103.9,   -104,     709.7,     709.79, -708.4,
                            -745.13, -745.2, -746,  4.9e-324, 1e-45,    1e-40,     3.4e38, 1.7e308};
  for (double x : special) test(static_cast<T>(x));
  std::printf("%s %s %.3f %a\n", name, sizeof(T) == 4 ? "float" : "double", worst,
              static_cast<double>(at));
}

}  // namespace

#define BOTH(name)                                                 \
  Measure<float, double>(                                          \
      #name, [](float x) { return oneop::vector_math::name(x); },  \
      [](double x) { return std::name(x); });                      \
  Measure<double, long double>(                                    \
      #name, [](double x) { return oneop::vector_math::name(x); }, \
      [](long double x) { return std::name(x); });

namespace std {
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
}  // namespace std

int main() {
  BOTH(exp)
  BOTH(expm1)
  BOTH(log)
  BOTH(log1p)
  BOTH(tanh)
  BOTH(erf)
  BOTH(sin)
  BOTH(cos)
  BOTH(sigmoid)
}
