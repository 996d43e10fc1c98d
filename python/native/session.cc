// A program runs without the GIL, and its callbacks take it. An exception of a callback waits here
// until the program has ended.
#include "session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <sluice/session.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calls/calls.h"
#include "calls/path.h"
#include "tensors.h"

namespace sluice::python {
namespace {

constexpr std::int32_t kInternal = 13;

nb::tuple describe_tensor(const sluice_program_tensor& tensor) {
  return nb::make_tuple(tensor.name, tensor.type, tensor.role, tensor.program);
}

class NativeSession;

struct FreeSession {
  void operator()(sluice_session* session) const { sluice_session_free(session); }
};

/// A function of the caller for one tensor.
struct TensorFunction {
  NativeSession* session;
  PyObject* function;  // sluice.Session keeps it
};

/// Use it from one thread at a time. The caller keeps arrays and functions that it binds.
class NativeSession {
 public:
  NativeSession(const Path& path, std::int32_t num_threads, const Path& folder,
                const nb::object& binds_stored, std::optional<std::uint64_t> seed) {
    sluice_session_options options = {};
    options.struct_size = sizeof(options);
    options.num_threads = num_threads;
    if (!folder.bytes.empty()) options.stored_folder = folder.bytes.c_str();
    if (!binds_stored.is_none()) options.binds_stored = &ask;
    TensorFunction predicate = {this, binds_stored.ptr()};
    options.user_data = &predicate;
    options.has_seed = seed ? 1 : 0;
    options.seed = seed.value_or(0);
    sluice_session* made = nullptr;
    without_gil([&] { check_call(sluice_session_create(path.bytes.c_str(), &options, &made)); });
    handle_.reset(made);
    raise_failure();
  }
  NativeSession(const NativeSession&) = delete;
  NativeSession& operator=(const NativeSession&) = delete;

  nb::list tensors() const {
    nb::list described;
    for (std::size_t i = 0; i < sluice_session_num_tensors(handle_.get()); ++i) {
      described.append(describe_tensor(*sluice_session_tensor(handle_.get(), i)));
    }
    return described;
  }

  void bind_source(const std::string& name, const nb::object& array) {
    const auto tensor = std::make_unique<InputTensor>();
    if (!read_input(array, *tensor) || tensor->is_sequence) {
      throw Failure(Code::kInvalidArgument, "\"" + name + "\" is no contiguous array");
    }
    const sluice_array view = tensor->view();
    check(sluice_session_bind_source(handle_.get(), name.c_str(), &view));
  }
  void bind_sink(const std::string& name, const WriteArray& array) {
    check(sluice_session_bind_sink(handle_.get(), name.c_str(), array.data(),
                                   static_cast<std::int64_t>(array.nbytes())));
  }
  void bind_provider(const std::string& name, const nb::object& function) {
    check(sluice_session_bind_provider(handle_.get(), name.c_str(), &fill, keep(function)));
  }
  void bind_consumer(const std::string& name, const nb::object& function) {
    check(sluice_session_bind_consumer(handle_.get(), name.c_str(), &pass, keep(function)));
  }

  void verify(std::int32_t program) const { check(sluice_session_verify(handle_.get(), program)); }
  void run(std::int32_t program) {
    without_gil([&] { check_call(sluice_session_run(handle_.get(), program)); });
    raise_failure();
  }

 private:
  TensorFunction* keep(const nb::object& function) {
    functions_.push_back(std::make_unique<TensorFunction>(TensorFunction{this, function.ptr()}));
    return functions_.back().get();
  }
  /// An exception of a callback says more than the failure that it caused.
  void check_call(std::int32_t status) const {
    if (failure_ == nullptr) check(status);
  }
  void raise_failure() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  template <typename Function>
  static std::int32_t guarded(void* user_data, Function function) {
    const auto& bound = *static_cast<TensorFunction*>(user_data);
    const nb::gil_scoped_acquire acquired;
    try {
      return function(nb::borrow(bound.function));
    } catch (...) {
      bound.session->failure_ = std::current_exception();
      return kInternal;
    }
  }

  static std::int32_t ask(void* user_data, const sluice_program_tensor* tensor) {
    return guarded(user_data, [&](const nb::object& function) {
      return nb::cast<bool>(function(describe_tensor(*tensor))) ? 1 : 0;
    });
  }
  /// Calls the function for an array, and copies it to the tensor.
  static std::int32_t fill(void* user_data, const sluice_array* target) {
    return guarded(user_data, [&](const nb::object& function) {
      InputTensor tensor;
      const nb::object given = function();
      if (!read_input(given, tensor) || tensor.is_sequence) {
        throw Failure(Code::kInvalidArgument, "a provider returns a contiguous array");
      }
      const sluice_array view = tensor.view();
      if (view.element_type != target->element_type || view.size_bytes != target->size_bytes) {
        throw Failure(
            Code::kInvalidArgument,
            "a provider's array has another type or size: " + std::to_string(view.size_bytes) +
                " bytes instead of " + std::to_string(target->size_bytes));
      }
      std::memcpy(target->data, view.data, static_cast<std::size_t>(view.size_bytes));
      return 0;
    });
  }
  /// Calls the function with a copy of the tensor.
  static std::int32_t pass(void* user_data, const sluice_array* source) {
    return guarded(user_data, [&](const nb::object& function) {
      OutputTensor copy;
      copy.memory = allocate(source->size_bytes);
      copy.size_bytes = source->size_bytes;
      copy.element_type = source->element_type;
      copy.dims.assign(source->dims, source->dims + source->rank);
      std::memcpy(copy.memory.get(), source->data, static_cast<std::size_t>(source->size_bytes));
      function(to_python(std::move(copy)));
      return 0;
    });
  }

  std::vector<std::unique_ptr<TensorFunction>> functions_;
  std::exception_ptr failure_;
  std::unique_ptr<sluice_session, FreeSession> handle_;
};

}  // namespace

void bind_session(nb::module_& module) {
  using Native = NativeSession;
  nb::class_<Native>(module, "Session",
                     "A package with sources and sinks; sluice.Session wraps it.")
      .def(nb::init<const Path&, std::int32_t, const Path&, const nb::object&,
                    std::optional<std::uint64_t>>(),
           nb::arg("path"), nb::arg("num_threads"), nb::arg("folder"),
           nb::arg("binds_stored").none(), nb::arg("seed").none())
      .def("tensors", &Native::tensors)
      .def("bind_source", &Native::bind_source, nb::arg("name"), nb::arg("array"))
      .def("bind_sink", &Native::bind_sink, nb::arg("name"), nb::arg("array").noconvert())
      .def("bind_provider", &Native::bind_provider, nb::arg("name"), nb::arg("function"))
      .def("bind_consumer", &Native::bind_consumer, nb::arg("name"), nb::arg("function"))
      .def("verify", &Native::verify, nb::arg("program"))
      .def("run", &Native::run, nb::arg("program"));
}

}  // namespace sluice::python
