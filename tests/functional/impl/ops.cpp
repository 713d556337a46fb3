// Ops that the functors of this folder call.
#include "oneop/op.h"

OP("im_sine(Tensor x) -> Tensor y")
    .elementwise<float, double>([](auto x) { return sin(x); })
    .gradient("dx = im_sine_grad(x, dy)");
OP("im_sine_grad(Tensor x, Tensor dy) -> Tensor dx")
    .elementwise<float, double>([](auto x, auto dy) { return cos(x) * dy; });

OP("im_scale(Tensor x, *, float by) -> Tensor y")
    .elementwise<float, double>([](auto x, auto by) { return x * by; })
    .gradient("dx = im_scale(dy, by=by)");

OP("im_mul(Tensor x, Tensor y) -> Tensor z")
    .elementwise<float, double, int64_t>([](auto x, auto y) { return x * y; })
    .gradient("dx = im_mul(dz, y); dy = im_mul(dz, x)");
OP("im_mul3(Tensor x, Tensor y, Tensor dz) -> Tensor dx")
    .elementwise<float, double>([](auto x, auto y, auto dz) { return x * y * dz; });
