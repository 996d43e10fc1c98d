// Memory of Python objects goes into queues, and comes back when the model is done.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <sluice/session.h>

#include <memory>
#include <string>
#include <utility>

#include "calls/calls.h"
#include "replies.h"
#include "runtime.h"
#include "session.h"

namespace sluice::python {
namespace {

/// Called by a thread of the runtime, without the GIL. `code` is a SLUICE_RUNTIME_CODE_.
void report_entry(void* user_data, std::int32_t code, std::int64_t size_bytes) {
  std::unique_ptr<Pending> ended(static_cast<Pending*>(user_data));
  ended->status = code;
  ended->size_bytes = size_bytes;
  Replies& replies = *ended->replies;
  replies.push(std::move(ended));
}

/// Destruction closes the queues, and waits for requests that use their memory.
class NativeQueues {
 public:
  NativeQueues(const NativeRuntime& runtime, std::uint64_t model, std::int32_t capacity)
      : runtime_(runtime.handle()) {
    sluice_queue_options options = {};
    options.struct_size = sizeof(options);
    options.capacity = capacity;
    without_gil([&] { check(sluice_runtime_open_queues(runtime_, model, &options, &id_)); });
  }
  ~NativeQueues() {
    const nb::gil_scoped_release released;
    (void)sluice_runtime_close_queues(runtime_, id_);
  }
  NativeQueues(const NativeQueues&) = delete;
  NativeQueues& operator=(const NativeQueues&) = delete;

  /// `array`: as read_input takes it; writable if it is an output's.
  void put(std::shared_ptr<Replies> replies, nb::object future, const std::string& name,
           const nb::object& array, std::int64_t timeout_ns) {
    auto pending = std::make_unique<Pending>();
    pending->replies = std::move(replies);
    pending->future = std::move(future);
    InputTensor& tensor = pending->inputs.emplace_back();
    if (!read_input(array, tensor) || tensor.is_sequence) {
      throw Failure(Code::kInvalidArgument, "\"" + name + "\" is no contiguous array");
    }
    const sluice_array view = tensor.view();
    without_gil([&] {
      check(sluice_runtime_enqueue(runtime_, id_, name.c_str(), view.data, view.size_bytes,
                                   &report_entry, pending.get(), timeout_ns));
      (void)pending.release();  // report_entry has it
    });
  }
  void close() {
    without_gil([&] { check(sluice_runtime_close_queues(runtime_, id_)); });
  }

 private:
  sluice_runtime* runtime_;
  std::uint64_t id_ = 0;
};

}  // namespace

void bind_queues(nb::module_& module) {
  nb::class_<NativeQueues>(module, "Queues", "Queues of a model; sluice.Queues wraps them.")
      .def(nb::init<const NativeRuntime&, std::uint64_t, std::int32_t>(), nb::arg("runtime"),
           nb::arg("model"), nb::arg("capacity"))
      .def("put", &NativeQueues::put, nb::arg("replies"), nb::arg("future"), nb::arg("name"),
           nb::arg("array"), nb::arg("timeout_ns"))
      .def("close", &NativeQueues::close);
}

}  // namespace sluice::python
