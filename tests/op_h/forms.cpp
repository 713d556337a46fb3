// Ops whose attributes are bool[], lists of a fixed length and scalars, in schemas of oneop/op.h.
#include "oneop/op.h"

using oneop::Attrs;
using oneop::List;
using oneop::Scalar;
using oneop::View;

namespace {

// A number that differs for 2, 2.0, True and 2j.
double Mark(const Scalar& k) {
  const double kind = k.IsBool()            ? 0.125
                      : k.IsIntegral()      ? 0.25
                      : k.IsFloatingPoint() ? 0.5
                      : k.IsComplex()       ? 0.75
                                            : 0;
  return k.As<double>() * 8 + kind;
}

}  // namespace

OP("oh_bools(Tensor x, *, bool[] on, bool[]? more=None) -> Tensor y")
    .elementwise<float, double>([](auto x, List<bool> on, std::optional<List<bool>> more) {
      double sum = more ? 100.0 : 0.0;
      for (int64_t i = 0; i < on.size(); ++i) {
        sum += on[i] ? double(int64_t{1} << i) : 0.0;
      }
      for (int64_t i = 0; more && i < more->size(); ++i) {
        sum += (*more)[i] ? 1000.0 * double(int64_t{1} << i) : 0.0;
      }
      return x * static_cast<float>(sum);
    })
    .gradient("dx = oh_bools(dy, on=on, more=more)");

OP("oh_pairs(Tensor x, int[2] k=1, *, float[2] f=0.5, bool[2] b=True, str[2] s=[\"a\", \"bc\"], "
   "int[2]? o=None) -> Tensor y")
    .same_shape()
    .kernel<float>([](View<const float> x, View<float> y, Attrs attrs) {
      const auto k = attrs.get<std::vector<int64_t>>("k");
      const auto f = attrs.get<std::vector<double>>("f");
      const auto b = attrs.get<std::vector<bool>>("b");
      const auto s = attrs.get<std::vector<std::string>>("s");
      const auto o = attrs.get<std::optional<std::vector<int64_t>>>("o");
      const double sum = double(k[0]) + 10.0 * double(k[1]) + 100 * f[0] + 1000 * f[1] +
                         (b[0] ? 1e4 : 0) + (b[1] ? 2e4 : 0) + 1e5 * double(s[0].size()) +
                         1e6 * double(s[1].size()) + (o ? 5e6 * double((*o)[0] + 2 * (*o)[1]) : 0);
      for (int64_t i = 0; i != x.numel(); ++i) {
        y[i] = x[i] * static_cast<float>(sum);
      }
    })
    .gradient("dx = oh_pairs(dy, k=k, f=f, b=b, s=s, o=o)");

OP("oh_scalar(Tensor x, Scalar k=2, *, Scalar? j=1.0) -> Tensor y")
    .elementwise<float, double>([](auto x, Scalar k, std::optional<Scalar> j) {
      return x * static_cast<float>(Mark(k) + (j ? 100 * Mark(*j) : 0));
    })
    .gradient("dx = oh_scalar(dy, k=k, j=j)");

// A gradient that gives literals, and numbers of other types, as scalars.
OP("oh_literals(Tensor x, *, int n=3, float f=2.0, bool b=True) -> Tensor y")
    .elementwise<float>([](auto x, int64_t, double, bool) { return x * 1.0f; })
    .gradient(
        "a = oh_scalar(dy, k=n, j=f); c = oh_scalar(a, k=b, j=None); dx = oh_scalar(c, k=2, "
        "j=2.0)");

// A gradient that gives a list of any length to an attribute of two.
OP("oh_listed(Tensor x, *, int[] k) -> Tensor y")
    .elementwise<float>([](auto x, List<int64_t>) { return x * 1.0f; })
    .gradient("dx = oh_pairs(dy, k=k)");

OP("oh_asked_scalar(Tensor x, *, Scalar k) -> Tensor y")
    .same_shape()
    .kernel<float>([](View<const float> x, View<float> y, Attrs attrs) {
      const auto k = attrs.get<Scalar>("k");
      for (int64_t i = 0; i != x.numel(); ++i) {
        y[i] = x[i] * static_cast<float>(Mark(k));
      }
    });
