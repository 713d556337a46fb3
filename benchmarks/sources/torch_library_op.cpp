// leaky_relu as torch's own guide writes a C++ op: TORCH_LIBRARY, a CPU kernel, C++ autograd.
#include <torch/extension.h>

namespace {

at::Tensor forward_cpu(const at::Tensor& x, double alpha) {
  const at::Tensor input = x.contiguous();
  at::Tensor y = at::empty_like(input);
  const float* from = input.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  const float slope = static_cast<float>(alpha);
  for (int64_t i = 0, n = input.numel(); i < n; ++i) {
    to[i] = from[i] > 0 ? from[i] : slope * from[i];
  }
  return y;
}

at::Tensor backward_cpu(const at::Tensor& x, const at::Tensor& dy, double alpha) {
  const at::Tensor input = x.contiguous();
  const at::Tensor grad = dy.contiguous();
  at::Tensor dx = at::empty_like(input);
  const float* from = input.const_data_ptr<float>();
  const float* by = grad.const_data_ptr<float>();
  float* to = dx.mutable_data_ptr<float>();
  const float slope = static_cast<float>(alpha);
  for (int64_t i = 0, n = input.numel(); i < n; ++i) {
    to[i] = from[i] > 0 ? by[i] : slope * by[i];
  }
  return dx;
}

at::Tensor call_forward(const at::Tensor& x, double alpha) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("oneop_bench::leaky_relu", "")
                       .typed<decltype(forward_cpu)>();
  return op.call(x, alpha);
}

at::Tensor call_backward(const at::Tensor& x, const at::Tensor& dy, double alpha) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("oneop_bench::leaky_relu_backward", "")
                       .typed<decltype(backward_cpu)>();
  return op.call(x, dy, alpha);
}

struct LeakyRelu : torch::autograd::Function<LeakyRelu> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x,
                            double alpha) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({x});
    ctx->saved_data["alpha"] = alpha;
    return call_forward(x, alpha);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    return {call_backward(x, grads[0], ctx->saved_data["alpha"].toDouble()), at::Tensor()};
  }
};

at::Tensor forward_autograd(const at::Tensor& x, double alpha) {
  return LeakyRelu::apply(x, alpha);
}

}  // namespace

TORCH_LIBRARY(oneop_bench, m) {
  m.def("leaky_relu(Tensor x, float alpha) -> Tensor");
  m.def("leaky_relu_backward(Tensor x, Tensor dy, float alpha) -> Tensor");
}
TORCH_LIBRARY_IMPL(oneop_bench, CPU, m) {
  m.impl("leaky_relu", &forward_cpu);
  m.impl("leaky_relu_backward", &backward_cpu);
}
TORCH_LIBRARY_IMPL(oneop_bench, Autograd, m) { m.impl("leaky_relu", &forward_autograd); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}
