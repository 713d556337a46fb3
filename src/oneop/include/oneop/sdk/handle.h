// Tensors of the host as authors hold them: one::Tensor and TensorTuple. No data can be read here,
// only what a tensor is.
#ifndef ONEOP_SDK_HANDLE_H_
#define ONEOP_SDK_HANDLE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "oneflow/core/common/maybe.h"
#include "oneflow/core/framework/device.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Hosts from 1.3 on; what came later is asked for by HostHas.
inline const oneop_host* Host() {
  if (library.host == nullptr || library.host->size < offsetof(oneop_host, describe)) {
    ThrowText(ONEOP_ERROR_RUNTIME, {"this host cannot call functions"});
  }
  return library.host;
}
inline bool HostHas(size_t offset) { return Host()->size > offset; }

// Where a function of the host's puts its error; thrown as an exception of oneop.
struct HostStatus {
  oneop_status status;
  std::string text;
  HostStatus() : status{sizeof(oneop_status), ONEOP_OK, &Report} {}
  ONEOP_COLD static void Report(oneop_status* status, int32_t kind, const char* message,
                                int64_t length, const char*, int32_t) {
    status->kind = kind;
    reinterpret_cast<HostStatus*>(status)->text.assign(message, static_cast<size_t>(length));
  }
  void Check(int32_t code) {
    if (!ONEOP_LIKELY(code == ONEOP_OK && status.kind == ONEOP_OK)) {
      Throw(oneflow::Error(status.kind != ONEOP_OK ? status.kind : code, nullptr, 0, text));
    }
  }
};

// Memory for the tensor objects of a thread's next calls: most functors make and drop two of them.
// It has no destructor, so that to reach it costs one look-up; Sweeper stands in.
struct Blocks {
  static constexpr size_t kSize = 64;
  static constexpr int32_t kKept = 8;

  void* free[kKept];
  int32_t count;
  int32_t limit;  // 0 before the first block comes back, and again when the thread ends

  void* Take() { return ONEOP_LIKELY(count > 0) ? free[--count] : ::operator new(kSize); }
  void Give(void* block) {
    if (ONEOP_LIKELY(count < limit)) {
      free[count++] = block;
    } else {
      GiveFirst(block);
    }
  }

 private:
  struct Sweeper {
    Blocks* blocks;
    ~Sweeper() {
      while (blocks->count > 0) {
        ::operator delete(blocks->free[--blocks->count]);
      }
      blocks->limit = 0;
    }
  };
  ONEOP_COLD void GiveFirst(void* block) {
    ::operator delete(block);
    if (limit == 0 && !is_swept) {
      static thread_local Sweeper sweeper{this};
      (void)sweeper;
      is_swept = true;
      limit = kKept;
    }
  }
  bool is_swept;
};

struct Recorder;

// What a library keeps for each thread.
struct ThreadState {
  Recorder* recorder;  // of the gradient that is being made
  Blocks blocks;
};
inline thread_local ThreadState thread_state{};
// How many threads record: while it is none, no call has to look for its recorder.
inline int32_t num_recording = 0;

template <class T>
struct BlockAllocator {
  using value_type = T;
  BlockAllocator() = default;
  template <class U>
  BlockAllocator(const BlockAllocator<U>&) {}  // NOLINT: implicit, as allocators are
  T* allocate(size_t) {
    static_assert(sizeof(T) <= Blocks::kSize, "a block holds one tensor object");
    return static_cast<T*>(thread_state.blocks.Take());
  }
  void deallocate(T* block, size_t) { thread_state.blocks.Give(block); }
  friend bool operator==(const BlockAllocator&, const BlockAllocator&) { return true; }
  friend bool operator!=(const BlockAllocator&, const BlockAllocator&) { return false; }
};

inline bool IsSymbol(oneop_handle handle) { return (reinterpret_cast<uintptr_t>(handle) & 1) != 0; }
inline oneop_symbol* SymbolOf(oneop_handle handle) {
  return reinterpret_cast<oneop_symbol*>(reinterpret_cast<uintptr_t>(handle) - 1);
}
inline void Retain(oneop_handle handle) {
  if (IsSymbol(handle)) {
    ++SymbolOf(handle)->references;
  } else {
    Host()->retain(handle);
  }
}
inline void Release(oneop_handle handle) {
  if (!IsSymbol(handle)) {
    library.host->release(handle);
  } else if (--SymbolOf(handle)->references == 0) {
    SymbolOf(handle)->destroy(SymbolOf(handle));
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class NdSbp;
class ParallelDesc;

class DType {
 public:
  DType() = default;
  explicit DType(DataType type) : type_(type) {}
  DataType data_type() const { return type_; }
  bool is_floating_point() const { return IsFloatingDataType(type_); }
  bool is_complex() const { return IsComplexDataType(type_); }
  bool is_integer() const { return IsIntegralDataType(type_); }
  bool is_signed() const {
    return type_ != kBool && type_ != kUInt8 && type_ != kUInt16 && type_ != kUInt32 &&
           type_ != kUInt64;
  }
  std::string name() const { return FactsOf(type_).name; }
  Maybe<size_t> bytes() const { return GetSizeOfDataType(type_); }

  // By which types are promoted: whole numbers by their width, then real ones, then complex ones.
  struct PriorityOrder {
    int operator[](DataType type) const {
      const int kind = IsComplexDataType(type)    ? 300
                       : IsFloatingDataType(type) ? 200
                       : type == kBool            ? 0
                                                  : 100;
      return kind + static_cast<int>(GetSizeOfDataType(type));
    }
  };
  static constexpr PriorityOrder priority_order{};

  // DType::Float() and the like, and Get(kFloat).
  static Maybe<const Symbol<DType>&> Get(DataType type);
#define ONEOP_NAMED_DTYPE(Name) static const Symbol<DType>& Name();
#define ONEOP_NAMED_DTYPES(each)                                                                \
  each(InvalidDataType) each(Bool) each(Char) each(Float16) each(Float) each(Double) each(Int8) \
      each(Int16) each(Int32) each(Int64) each(UInt8) each(UInt16) each(UInt32) each(UInt64)    \
          each(BFloat16) each(Complex32) each(Complex64) each(Complex128)
  ONEOP_NAMED_DTYPES(ONEOP_NAMED_DTYPE)
#undef ONEOP_NAMED_DTYPE
  friend bool operator==(const DType& a, const DType& b) { return a.type_ == b.type_; }

 private:
  DataType type_ = kInvalidDataType;
};

// A reference that stays: the types of a library are few.
inline const Symbol<DType>& KeptDType(DataType type) {
  static const std::vector<Symbol<DType>> types = [] {
    std::vector<Symbol<DType>> list;
    for (int32_t code = 0; code != 64; ++code) {
      list.push_back(DType(static_cast<DataType>(code)));
    }
    return list;
  }();
  return types.at(static_cast<size_t>(type));
}
inline Maybe<const Symbol<DType>&> DType::Get(DataType type) { return KeptDType(type); }
#define ONEOP_NAMED_DTYPE(Name) \
  inline const Symbol<DType>& DType::Name() { return KeptDType(k##Name); }
ONEOP_NAMED_DTYPES(ONEOP_NAMED_DTYPE)
#undef ONEOP_NAMED_DTYPE
#undef ONEOP_NAMED_DTYPES
inline const Symbol<DType>& GetDefaultDType() { return DType::Float(); }

namespace one {

class Tensor {
 public:
  // Takes over a handle that the caller owns.
  explicit Tensor(oneop_handle owned, bool owns = true) : handle_(owned), owns_(owns) {}
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
#if defined(ONEOP_PORT)
  virtual  // sources from inside OneFlow ask of which class a tensor is
#endif
      ~Tensor() {
    if (owns_) {
      ::oneop::sdk::Release(handle_);
    }
  }

  static std::shared_ptr<Tensor> OneopOwn(oneop_handle owned) {
    return std::allocate_shared<Tensor>(::oneop::sdk::BlockAllocator<Tensor>(), owned);
  }
  static std::shared_ptr<Tensor> OneopBorrow(oneop_handle handle) {
    ::oneop::sdk::Retain(handle);
    return OneopOwn(handle);
  }
  // For as long as the caller holds the tensor. Whoever lends asks OneopKeep of what is still in
  // use then. A reference of its own would be dear: the host may have to lock for it.
  static std::shared_ptr<Tensor> OneopLend(oneop_handle handle) {
    return std::allocate_shared<Tensor>(::oneop::sdk::BlockAllocator<Tensor>(), handle, false);
  }
  void OneopKeep() {
    ::oneop::sdk::Retain(handle_);
    owns_ = true;
  }
  // Hands the reference over to the caller; false where this object has none to give.
  bool OneopGive(oneop_handle* handle) {
    *handle = handle_;
    return std::exchange(owns_, false);
  }
  oneop_handle oneop_handle_ptr() const { return handle_; }

  std::shared_ptr<const Shape> shape() const {
    const oneop_tensor view = View();
    return std::make_shared<const Shape>(view.shape, view.shape + view.ndim);
  }
#if defined(ONEOP_PORT) && ONEOP_PORT == 2022
  using OneopStride = Maybe<const Stride>;
#else
  using OneopStride = std::shared_ptr<const Stride>;
#endif
  OneopStride stride() const {
    const oneop_tensor view = View();
    return std::make_shared<const Stride>(view.stride, view.stride + view.ndim);
  }
  Symbol<DType> dtype() const { return DType(static_cast<DataType>(Kind().dtype)); }
  Maybe<Symbol<Device>> device() const {
    const oneop_tensor kind = Kind();
    return ::oneflow::SymbolOf(
        Device(static_cast<DeviceType>(kind.device_type), kind.device_index));
  }
  int64_t ndim() const { return Kind().ndim; }
  int64_t nelement() const { return View().elem_cnt; }
  int64_t dim(int64_t i) const { return shape()->At(i); }
  bool is_contiguous() const {
    const oneop_tensor view = View();
    return Stride(Shape(view.shape, view.shape + view.ndim)) ==
           Stride(view.stride, view.stride + view.ndim);
  }
  bool requires_grad() const {
    return ::oneop::sdk::IsSymbol(handle_) ? ::oneop::sdk::SymbolOf(handle_)->requires_grad != 0
                                           : ::oneop::sdk::Host()->requires_grad(handle_) != 0;
  }
  bool is_local() const { return true; }
  bool is_global() const { return false; }
  bool is_consistent() const { return false; }  // as 0.8 calls it
  bool is_lazy() const { return false; }
  bool is_eager() const { return true; }
  bool is_cuda() const { return Kind().device_type == kCUDA; }
  // See oneop/sdk/tensor_state.h.
  bool is_leaf() const;
  Maybe<void> set_requires_grad(bool requires_grad) const;
  Maybe<int64_t> storage_offset() const;
  std::shared_ptr<Tensor> contiguous() const;
  Maybe<Tensor> detach() const;
  Maybe<Tensor> clone() const;
  void set_is_leaf(bool) const {}  // torch knows itself which tensors are leaves
  // Of a tensor over several devices, which none is here: an error.
  template <class Placement = ParallelDesc>
  Maybe<Symbol<Placement>> parallel_desc() const {
    return OneopNotShared("placement");
  }
  template <class Sbp = NdSbp>
  Maybe<Symbol<Sbp>> nd_sbp() const {
    return OneopNotShared("SBP signature");
  }

 private:
  // Without shape and strides. Only who needs sizes may ask for them (View): under torch.compile
  // that makes the compiled program one for these sizes.
  ONEOP_COLD oneop_tensor Kind() const {
    if (::oneop::sdk::IsSymbol(handle_) || !::oneop::sdk::HostHas(offsetof(oneop_host, describe))) {
      return View();
    }
    oneop_tensor kind{};
    ::oneop::sdk::HostStatus status;
    status.Check(::oneop::sdk::Host()->describe(handle_, &kind, &status.status));
    return kind;
  }
  ONEOP_COLD oneop_tensor View() const {
    oneop_tensor view{};
    ::oneop::sdk::HostStatus status;
    if (::oneop::sdk::IsSymbol(handle_)) {
      oneop_symbol* symbol = ::oneop::sdk::SymbolOf(handle_);
      const oneop_tensor* meta = symbol->meta(symbol, &status.status);
      status.Check(meta == nullptr ? ONEOP_ERROR_RUNTIME : ONEOP_OK);
      return *meta;
    }
    status.Check(::oneop::sdk::Host()->view(handle_, &view, &status.status));
    return view;
  }

  static Error OneopNotShared(const char* what) {
    return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
           << "a functor asks a tensor for its " << what << ": every tensor is on one device here";
  }

  oneop_handle handle_;
  bool owns_;
};

// An input of a call, for as long as the caller holds the tensor. Null is an optional input that is
// not given.
struct OneopInput {
  OneopInput(const std::shared_ptr<Tensor>& tensor)  // NOLINT: implicit, so that {x, y} is a list
      : handle(tensor == nullptr ? nullptr : tensor->oneop_handle_ptr()) {}
  OneopInput(std::nullptr_t) : handle(nullptr) {}  // NOLINT
  oneop_handle handle;
};
static_assert(sizeof(OneopInput) == sizeof(oneop_handle), "a list of inputs is one of handles");

class TensorTuple : public std::vector<std::shared_ptr<Tensor>> {
 public:
  using std::vector<std::shared_ptr<Tensor>>::vector;
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_HANDLE_H_
