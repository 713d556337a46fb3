// python_spec.cpp: from the ABI's values to Python's.
#include "python/kernels/python_spec.h"

#include <torch/csrc/DynamicTypes.h>

#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

template <typename T>
py::tuple numbers(const oneop_span& list) {
  py::tuple tuple(list.count);
  for (int64_t i = 0; i < list.count; ++i) {
    tuple[i] = py::cast(static_cast<const T*>(list.data)[i]);
  }
  return tuple;
}

py::str text(const oneop_span& span) {
  return py::str(static_cast<const char*>(span.data), static_cast<size_t>(span.count));
}

template <typename Convert>
py::tuple spans(const oneop_span& list, const Convert& convert) {
  py::tuple tuple(list.count);
  for (int64_t i = 0; i < list.count; ++i) {
    tuple[i] = convert(static_cast<const oneop_span*>(list.data)[i]);
  }
  return tuple;
}

py::object dtype_object(c10::ScalarType type) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(torch::getTHPDtype(type)));
}

}  // namespace

py::object dtype_to_python(int32_t dtype) {
  const c10::ScalarType type = to_torch(dtype);
  if (type == c10::ScalarType::Undefined) {
    return py::none();
  }
  return dtype_object(type);
}

py::object to_python(const oneop_attr& attr) {
  const oneop_span& list = attr.value.list;
  switch (attr.type) {
    case ONEOP_ATTR_NONE:
      return py::none();
    case ONEOP_ATTR_BOOL:
      return py::bool_(attr.value.i != 0);
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return py::float_(attr.value.f);
    case ONEOP_ATTR_STRING:
      return text(list);
    case ONEOP_ATTR_BYTES:
      return py::bytes(static_cast<const char*>(list.data), list.count);
    case ONEOP_ATTR_DTYPE:
      return dtype_to_python(static_cast<int32_t>(attr.value.i));
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return numbers<int64_t>(list);
    case ONEOP_ATTR_LIST_INT32:
      return numbers<int32_t>(list);
    case ONEOP_ATTR_LIST_FLOAT:
      return numbers<float>(list);
    case ONEOP_ATTR_LIST_DOUBLE:
      return numbers<double>(list);
    case ONEOP_ATTR_LIST_SHAPE:
      return spans(list, numbers<int64_t>);
    case ONEOP_ATTR_LIST_STRING:
      return spans(list, text);
    case ONEOP_ATTR_LIST_BOOL: {
      py::tuple tuple(list.count);
      for (int64_t i = 0; i < list.count; ++i) {
        tuple[i] = py::bool_(static_cast<const uint8_t*>(list.data)[i] != 0);
      }
      return tuple;
    }
    case ONEOP_ATTR_LIST_DTYPE: {
      py::tuple tuple(list.count);
      for (int64_t i = 0; i < list.count; ++i) {
        tuple[i] = dtype_to_python(static_cast<const int32_t*>(list.data)[i]);
      }
      return tuple;
    }
    case ONEOP_ATTR_COMPLEX_DOUBLE: {
      const auto* parts = static_cast<const double*>(list.data);
      return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(parts[0], parts[1]));
    }
    default:
      return py::int_(attr.value.i);
  }
}

py::object to_python(const AttrValue& value) {
  std::vector<oneop_span> spans;
  return to_python(value.view("", &spans));
}

py::dict attrs_to_python(const oneop_frame& frame) {
  py::dict attrs;
  for (int32_t i = 0; i < frame.num_attrs; ++i) {
    attrs[frame.attrs[i].name] = to_python(frame.attrs[i]);
  }
  return attrs;
}

py::dict attrs_to_python(const Layout& layout, const c10::IValue* args) {
  py::dict attrs;
  for (size_t i = 0; i < layout.op->attrs.size(); ++i) {
    const AttrDef& attr = layout.op->attrs[i];
    attrs[attr.name.c_str()] =
        to_python(checked_attr(*layout.op, attr, args[layout.first_attr + i]));
  }
  return attrs;
}

py::list specs_to_python(const oneop_frame& frame, const oneop_arg* args, int32_t count) {
  py::list all;
  for (int32_t a = 0; a < count; ++a) {
    py::list specs;
    for (int32_t i = args[a].first; i < args[a].first + args[a].count; ++i) {
      const oneop_tensor& tensor = frame.tensors[i];
      specs.append(py::make_tuple(numbers<int64_t>({tensor.shape, tensor.ndim}),
                                  dtype_to_python(tensor.dtype)));
    }
    all.append(std::move(specs));
  }
  return all;
}

py::list specs_to_python(const CallTensors& call) {
  py::list all;
  size_t at = 0;
  for (int32_t count : call.counts) {
    py::list specs;
    for (int32_t k = 0; k < count; ++k, ++at) {
      const at::Tensor& tensor = *call.tensors[at];
      py::tuple shape(tensor.dim());
      for (int64_t d = 0; d < tensor.dim(); ++d) {
        shape[d] = py::cast(tensor.sym_size(d));
      }
      specs.append(py::make_tuple(std::move(shape), dtype_object(tensor.scalar_type())));
    }
    all.append(std::move(specs));
  }
  return all;
}

}  // namespace oneop
