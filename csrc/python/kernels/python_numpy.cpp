// python_numpy.cpp: kernels that are Python functions of numpy arrays. The arrays are views of the
// tensors' memory.
#include <c10/util/SmallVector.h>
#include <pybind11/numpy.h>

#include <cstring>

#include "engine/ops/host.h"
#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"

namespace py = pybind11;

namespace oneop {
namespace {

using Api = py::detail::npy_api;

struct NumpyKernel final : PythonKernel {
  std::vector<std::string> attrs;  // those that the function takes
  PyShared names;                  // tuple of the keywords: the attributes, then `out`
  bool takes_out = false;
  PyShared dtype_of;  // torch dtype -> numpy dtype
  std::vector<bool> input_is_list;
  std::vector<bool> input_is_mutable;

  static const NumpyKernel& of(void* self) {
    return static_cast<const NumpyKernel&>(*PythonKernel::of(self));
  }
};

// What does not change between calls of one plan.
struct Prepared {
  std::vector<PyShared> dtypes;  // of each tensor
  std::vector<int64_t> item_sizes;
  std::vector<PyShared> attrs;                    // values, in the order of NumpyKernel::attrs
  std::vector<std::vector<Py_intptr_t>> strides;  // in bytes; empty where the tensor is contiguous
};

int32_t create_cache_numpy(void* self, oneop_frame* frame, void** cache, oneop_status* status) {
  const NumpyKernel& kernel = NumpyKernel::of(self);
  Gil gil;
  try {
    auto prepared = std::make_unique<Prepared>();
    const py::handle dtype_of(kernel.dtype_of.get());
    for (int32_t i = 0; i < frame->num_input_tensors + frame->num_output_tensors; ++i) {
      const oneop_tensor& tensor = frame->tensors[i];
      const py::object dtype = dtype_of(dtype_to_python(tensor.dtype));
      prepared->dtypes.push_back(share(dtype.ptr()));
      const auto item_size = py::cast<int64_t>(dtype.attr("itemsize"));
      prepared->item_sizes.push_back(item_size);
      std::vector<Py_intptr_t> strides;
      int64_t step = 1;
      bool is_contiguous = true;
      for (int32_t d = tensor.ndim - 1; d >= 0; --d) {
        is_contiguous = is_contiguous && (tensor.stride[d] == step || tensor.shape[d] == 1);
        step *= tensor.shape[d];
      }
      if (!is_contiguous && tensor.elem_cnt > 0) {
        for (int32_t d = 0; d < tensor.ndim; ++d) {
          strides.push_back(tensor.stride[d] * item_size);
        }
      }
      prepared->strides.push_back(std::move(strides));
    }
    for (const std::string& name : kernel.attrs) {
      for (int32_t i = 0; i < frame->num_attrs; ++i) {
        if (name == frame->attrs[i].name) {
          prepared->attrs.push_back(share(to_python(frame->attrs[i]).ptr()));
        }
      }
    }
    *cache = prepared.release();
    return ONEOP_OK;
  } catch (py::error_already_set& raised) {
    raised.restore();
    return report_raised(status, kernel.source);
  }
}

void destroy_cache_numpy(void* cache) { delete static_cast<Prepared*>(cache); }

// The arrays of one call. A function may keep one (in a list, in a traceback): it then gets an
// owner for its memory.
class Arrays {
 public:
  Arrays(const Prepared& prepared, const oneop_frame& frame) : prepared_(prepared), frame_(frame) {}
  ~Arrays() { let_go(); }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  // False if an array was kept whose memory nothing can own.
  bool let_go() {
    bool is_safe = true;
    for (const auto& [array, data] : made_) {
      if (Py_REFCNT(array) > 1 && data != nullptr) {
        is_safe = keep_memory(array, data) && is_safe;
      }
      Py_DECREF(array);
    }
    made_.clear();
    return is_safe;
  }

  // A borrowed reference; null with an exception set.
  PyObject* make(int32_t i, bool is_writable) {
    const Api& api = Api::get();
    const oneop_tensor& tensor = frame_.tensors[i];
    static_assert(sizeof(Py_intptr_t) == sizeof(int64_t));
    const auto* shape = reinterpret_cast<const Py_intptr_t*>(tensor.shape);
    const auto& strides = prepared_.strides[i];
    constexpr int kPlain = Api::NPY_ARRAY_C_CONTIGUOUS_ | Api::NPY_ARRAY_ALIGNED_;
    const int flags = (strides.empty() ? kPlain : Api::NPY_ARRAY_ALIGNED_) |
                      (is_writable ? Api::NPY_ARRAY_WRITEABLE_ : 0);
    PyObject* dtype = prepared_.dtypes[i].get();
    Py_INCREF(dtype);  // taken over by the array
    PyObject* array = api.PyArray_NewFromDescr_(api.PyArray_Type_, dtype, tensor.ndim, shape,
                                                strides.empty() ? nullptr : strides.data(),
                                                tensor.data, flags, nullptr);
    if (array != nullptr) {
      made_.emplace_back(array, tensor.data);
    }
    return array;
  }

 private:
  bool keep_memory(PyObject* array, void* data) {
    const auto* pool = static_cast<const ScratchPool*>(frame_.host_data);
    std::shared_ptr<void> owner = pool == nullptr ? nullptr : pool->owner_of(data);
    if (owner == nullptr) {
      return false;
    }
    py::capsule capsule(new std::shared_ptr<void>(std::move(owner)),
                        [](void* held) { delete static_cast<std::shared_ptr<void>*>(held); });
    return Api::get().PyArray_SetBaseObject_(array, capsule.release().ptr()) == 0;
  }

  const Prepared& prepared_;
  const oneop_frame& frame_;
  c10::SmallVector<std::pair<PyObject*, void*>, 8> made_;
};

std::string array_text(PyObject* array) {
  const auto* proxy = py::detail::array_proxy(array);
  std::string text = py::cast<std::string>(py::str(py::handle(proxy->descr))) + "[";
  for (int d = 0; d < proxy->nd; ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(proxy->dimensions[d]);
  }
  return text + "]";
}

// Names the i-th output tensor and what it must be.
std::string expected_text(const oneop_frame& frame, int32_t i) {
  const oneop_tensor& tensor = frame.tensors[frame.num_input_tensors + i];
  std::string name;
  for (int32_t a = 0; a < frame.num_outputs; ++a) {
    const oneop_arg& arg = frame.outputs[a];
    const int32_t index = frame.num_input_tensors + i - arg.first;
    if (index >= 0 && index < arg.count) {
      name = arg.name + (arg.count > 1 ? "[" + std::to_string(index) + "]" : std::string());
    }
  }
  return "output " + oneop::in_quotes(name) + ": expected " +
         (tensor.is_dynamic != 0 ? "at most " : "") +
         tensor_text(tensor.dtype, tensor.shape, tensor.ndim) + " in a numpy array, found ";
}

// Copies a result into the i-th output after checking that it fits.
int32_t store(const oneop_frame& frame, const Prepared& prepared, int32_t i, PyObject* result,
              oneop_status* status) {
  const Api& api = Api::get();
  const oneop_tensor& tensor = frame.tensors[frame.num_input_tensors + i];
  PyObject* dtype = prepared.dtypes[frame.num_input_tensors + i].get();
  py::object holder;
  if (!api.PyArray_Check_(result)) {
    // Reductions give numpy scalars; they are arrays of no dimension.
    const bool is_scalar = PyObject_HasAttrString(result, "dtype") != 0 &&
                           PyObject_HasAttrString(result, "__array_interface__") != 0;
    if (!is_scalar) {
      return Status::fail(status, ONEOP_ERROR_TYPE,
                          expected_text(frame, i) + Py_TYPE(result)->tp_name);
    }
    holder =
        py::reinterpret_steal<py::object>(api.PyArray_FromAny_(result, nullptr, 0, 0, 0, nullptr));
    if (!holder) {
      throw py::error_already_set();
    }
    result = holder.ptr();
  }
  const auto* proxy = py::detail::array_proxy(result);
  bool fits = proxy->nd == tensor.ndim;
  for (int d = 0; fits && d < proxy->nd; ++d) {
    fits = takes_size(tensor, d, proxy->dimensions[d]);
  }
  if (!fits || (proxy->descr != dtype && !api.PyArray_EquivTypes_(proxy->descr, dtype))) {
    return Status::fail(status, fits ? ONEOP_ERROR_TYPE : ONEOP_ERROR_VALUE,
                        expected_text(frame, i) + array_text(result));
  }
  int64_t count = tensor.elem_cnt;
  if (tensor.is_dynamic != 0) {  // then the shape is this call's own, and dense
    std::copy(proxy->dimensions, proxy->dimensions + proxy->nd, tensor.shape);
    count = 1;
    for (int d = 0; d < proxy->nd; ++d) {
      count *= proxy->dimensions[d];
    }
  }
  if (count == 0) {
    return ONEOP_OK;
  }
  if ((proxy->flags & Api::NPY_ARRAY_C_CONTIGUOUS_) != 0) {
    const int64_t item_size = prepared.item_sizes[frame.num_input_tensors + i];
    std::memmove(tensor.data, proxy->data, count * item_size);
    return ONEOP_OK;
  }
  Arrays target(prepared, frame);
  PyObject* array = target.make(frame.num_input_tensors + i, true);
  if (array == nullptr || api.PyArray_CopyInto_(array, result) != 0) {
    throw py::error_already_set();
  }
  return ONEOP_OK;
}

int32_t store_all(const oneop_frame& frame, const Prepared& prepared, PyObject* result,
                  oneop_status* status) {
  const int32_t count = frame.num_output_tensors;
  const bool is_sequence = PyTuple_Check(result) || PyList_Check(result);
  if (count == 1 && !is_sequence) {
    return store(frame, prepared, 0, result, status);
  }
  if (count == 0 && result == Py_None) {
    return ONEOP_OK;
  }
  const std::string wanted = std::to_string(count) + (count == 1 ? " array" : " arrays");
  if (!is_sequence || PySequence_Fast_GET_SIZE(result) != count) {
    const std::string found = is_sequence ? std::to_string(PySequence_Fast_GET_SIZE(result))
                                          : std::string(Py_TYPE(result)->tp_name);
    return Status::fail(status, is_sequence ? ONEOP_ERROR_VALUE : ONEOP_ERROR_TYPE,
                        "expected " + wanted + " (a tuple), found " + found);
  }
  for (int32_t i = 0; i < count; ++i) {
    const int32_t code = store(frame, prepared, i, PySequence_Fast_GET_ITEM(result, i), status);
    if (code != ONEOP_OK) {
      return code;
    }
  }
  return ONEOP_OK;
}

py::object make_list(Arrays* arrays, const oneop_arg& arg, bool is_writable) {
  py::list list;
  for (int32_t i = arg.first; i < arg.first + arg.count; ++i) {
    PyObject* array = arrays->make(i, is_writable);
    if (array == nullptr) {
      throw py::error_already_set();
    }
    list.append(py::handle(array));
  }
  return list;
}

int32_t call(const NumpyKernel& kernel, const oneop_frame& frame, const Prepared& prepared,
             oneop_status* status) {
  Arrays arrays(prepared, frame);
  c10::SmallVector<PyObject*, 16> args;  // borrowed
  c10::SmallVector<py::object, 2> lists;
  for (int32_t a = 0; a < frame.num_inputs; ++a) {
    const oneop_arg& arg = frame.inputs[a];
    if (kernel.input_is_list[a]) {
      lists.push_back(make_list(&arrays, arg, kernel.input_is_mutable[a]));
      args.push_back(lists.back().ptr());
    } else if (arg.count == 0) {
      args.push_back(Py_None);
    } else {
      args.push_back(arrays.make(arg.first, kernel.input_is_mutable[a]));
      if (args.back() == nullptr) {
        return report_raised(status, kernel.source);
      }
    }
  }
  for (const PyShared& attr : prepared.attrs) {
    args.push_back(attr.get());
  }
  PyObject* out = nullptr;
  if (kernel.takes_out) {
    if (frame.num_output_tensors == 1) {
      out = arrays.make(frame.num_input_tensors, true);
    } else {
      const oneop_arg all = {"", frame.num_input_tensors, frame.num_output_tensors};
      lists.push_back(py::tuple(make_list(&arrays, all, true)));
      out = lists.back().ptr();
    }
    if (out == nullptr) {
      return report_raised(status, kernel.source);
    }
    args.push_back(out);
  }
  auto result = py::reinterpret_steal<py::object>(PyObject_Vectorcall(
      kernel.function.get(), args.data(), frame.num_inputs, kernel.names.get()));
  if (!result) {
    return report_raised(status, kernel.source);
  }
  if (out == nullptr) {
    const int32_t code = store_all(frame, prepared, result.ptr(), status);
    if (code != ONEOP_OK) {
      return code;
    }
  } else if (!result.is_none() && result.ptr() != out) {
    return Status::fail(status, ONEOP_ERROR_TYPE,
                        std::string("it takes `out` and so must return None or `out`, found ") +
                            Py_TYPE(result.ptr())->tp_name);
  }
  result = py::object();
  lists.clear();
  if (arrays.let_go()) {
    return ONEOP_OK;
  }
  return Status::fail(
      status, ONEOP_ERROR_RUNTIME,
      "it keeps an array that is a view of this call's memory: keep a copy, x.copy()");
}

int32_t compute_numpy(void* self, oneop_frame* frame, void*, const void* cache,
                      oneop_status* status) {
  const NumpyKernel& kernel = NumpyKernel::of(self);
  Gil gil;
  try {
    return call(kernel, *frame, *static_cast<const Prepared*>(cache), status);
  } catch (py::error_already_set& raised) {
    raised.restore();
    return report_raised(status, kernel.source);
  }
}

}  // namespace

void set_numpy_kernel(const py::dict& info, KernelDef* def) {
  auto kernel = std::make_shared<NumpyKernel>();
  kernel->attrs = py::cast<std::vector<std::string>>(info["attrs"]);
  kernel->takes_out = py::cast<bool>(info["takes_out"]);
  kernel->dtype_of = share(py::object(info["dtype_of"]).ptr());
  kernel->input_is_list = py::cast<std::vector<bool>>(info["input_is_list"]);
  kernel->input_is_mutable = py::cast<std::vector<bool>>(info["input_is_mutable"]);
  std::vector<std::string> names = kernel->attrs;
  if (kernel->takes_out) {
    names.emplace_back("out");
  }
  py::tuple keywords(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    keywords[i] = py::reinterpret_steal<py::object>(PyUnicode_InternFromString(names[i].c_str()));
  }
  if (!names.empty()) {
    kernel->names = share(keywords.ptr());
  }
  def->abi.create_cache = &create_cache_numpy;
  def->abi.destroy_cache = &destroy_cache_numpy;
  def->abi.compute = &compute_numpy;
  def->holds_gil = true;
  set_matching(info, std::move(kernel), def);
}

}  // namespace oneop
