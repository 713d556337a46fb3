// bounds_module.cpp: `with _core.Bounds() as bounds`, see bounds.h.
#include "python/module/bounds_module.h"

#include <pybind11/stl.h>

#include <memory>

#include "torch_host/calls/bounds.h"

namespace py = pybind11;

namespace oneop {
namespace {

// Blocks of one thread end in the reverse order of their beginnings, as scopes must.
struct Bounds {
  std::unique_ptr<BoundsScope> scope;
  std::set<std::string> ops;

  void leave() {
    ops = scope->ops();
    scope.reset();
  }
};

}  // namespace

void bind_bounds(py::module_& m) {
  py::class_<Bounds>(m, "Bounds")
      .def(py::init<>())
      .def(
          "__enter__",
          [](Bounds& bounds) -> Bounds& {
            bounds.scope = std::make_unique<BoundsScope>();
            return bounds;
          },
          py::return_value_policy::reference)
      .def("__exit__", [](Bounds& bounds, const py::args&) { bounds.leave(); })
      .def_readonly("ops", &Bounds::ops)
      .def_static("is_asked", &BoundsScope::is_asked);
}

}  // namespace oneop
