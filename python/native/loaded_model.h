// A model of a runtime.
#pragma once

#include <sluice/runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calls/calls.h"
#include "replies.h"
#include "tensors.h"

namespace sluice::python {

/// An input or output of the signature.
struct TensorInfo {
  std::string name;
  std::int32_t element_type = 0;
};

/// How a request runs. Times in nanoseconds; 0: no limit.
struct RequestTerms {
  std::int64_t timeout_ns = 0;
  std::int32_t priority = 0;
  std::vector<bool> kept = {};   ///< outputs that stay in the daemon's exchange; may be shorter
  std::int64_t ttl_ns = 0;       ///< of those; 0: the daemon's default
  std::string traceparent = {};  ///< of the caller's span; empty: none
};

/// Any thread may use it; calls release the GIL. Destruction unloads a model that this object owns,
/// and waits for its requests. The runtime may be closed earlier: a closed runtime is a number that
/// libsluice does not find.
class NativeLoadedModel {
 public:
  NativeLoadedModel(sluice_runtime* runtime, std::uint64_t id, bool is_owner);
  ~NativeLoadedModel();
  NativeLoadedModel(const NativeLoadedModel&) = delete;
  NativeLoadedModel& operator=(const NativeLoadedModel&) = delete;

  std::uint64_t id() const { return id_; }
  nb::dict info() const;

  /// As NativeModel::call_arrays.
  nb::object call_arrays(const nb::handle& arguments) const;
  /// As NativeModel::run. An integer is an input in the daemon's exchange, or an output that is
  /// kept there.
  nb::list run(const nb::list& inputs, const std::vector<bool>& wanted, const nb::object& out,
               std::int64_t timeout_ns, std::int32_t priority, std::vector<bool> kept,
               std::int64_t ttl_ns, std::string traceparent) const;
  /// Starts a request whose end `replies` returns with `future`. Returns its id for `cancel`.
  std::uint64_t submit(std::shared_ptr<Replies> replies, nb::object future, const nb::list& inputs,
                       std::int64_t timeout_ns, std::int32_t priority, std::vector<bool> kept,
                       std::int64_t ttl_ns, std::string traceparent) const;
  // For models of a daemon: requests that it keeps.
  std::uint64_t post(const nb::list& inputs, std::int64_t timeout_ns, std::int32_t priority,
                     std::vector<bool> kept, std::int64_t ttl_ns, std::string traceparent) const;
  nb::list take(std::uint64_t request, std::int64_t wait_ns) const;
  /// Without effect on a request that has ended.
  void cancel(std::uint64_t request) const;

  void start();
  void stop(std::int64_t drain_ns);
  void reset();
  /// Later calls fail.
  void unload(std::int64_t drain_ns);

  nb::dict statistics() const;
  nb::dict health() const;

 private:
  /// The C interface says of an unknown number only that it is unknown.
  void require_loaded() const {
    if (is_unloaded_) throw Failure(Code::kFailedPrecondition, "the model was unloaded");
  }
  std::vector<InputTensor> read_inputs(const nb::list& values) const;
  ReplyPointer infer(const std::vector<InputTensor>& inputs, const std::vector<WriteArray>& out,
                     const RequestTerms& terms) const;

  sluice_runtime* runtime_;
  std::uint64_t id_;
  bool is_owner_;
  std::atomic<bool> is_unloaded_ = false;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
};

void bind_loaded_model(nb::module_& module);

}  // namespace sluice::python
