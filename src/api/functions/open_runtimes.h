// The runtimes that C handles stand for.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "api/functions/callbacks.h"
#include "api/functions/queues.h"
#include "api/last_error.h"
#include "api/read_options.h"
#include "api/runtime/request_table.h"
#include "api/runtime/runtime.h"
#include "sluice/runtime.h"

namespace sluice::api {

struct OpenRuntime {
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<RequestTable> requests = std::make_unique<RequestTable>();
  QueueTable queues;
  std::atomic<int> num_calls = 0;
};

/// A running call, for which `close` waits. Move-only.
class Call {
 public:
  explicit Call(std::shared_ptr<OpenRuntime> open) : open_(std::move(open)) {}
  Call(Call&&) noexcept = default;
  Call& operator=(Call&&) = delete;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();
  Runtime& operator*() const { return *open_->runtime; }
  Runtime* operator->() const { return open_->runtime.get(); }
  RequestTable& requests() const { return *open_->requests; }
  QueueTable& queues() const { return open_->queues; }

 private:
  std::shared_ptr<OpenRuntime> open_;
};

/// A handle is the number of a runtime, not an address: a closed one is recognised, not read. In
/// the child of a fork no handle of the parent is valid.
sluice_runtime* add_runtime(std::unique_ptr<Runtime> runtime);
/// Fails: kInvalidArgument for null; kFailedPrecondition for a closed runtime.
Result<Call> enter(sluice_runtime* handle);
/// As sluice_runtime_close.
Status close_runtime(sluice_runtime* handle, std::int64_t drain_ns);

/// For a result that has no place.
Status null_result();

/// `function(Call&)` after `result` is cleared. Fails for null.
template <typename T, typename Function>
auto filling(T* result, Function function) {
  return [result, function = std::move(function)](Call& call) -> Status {
    if (result == nullptr) return null_result();
    *result = T{};
    return function(call);
  };
}

/// Runs `function(Call&)`, which returns a Status.
template <typename Function>
std::int32_t with_runtime(sluice_runtime* handle, Function&& function) noexcept {
  return guard([&]() -> Status {
    Call call = SLUICE_TRY(enter(handle));
    return std::forward<Function>(function)(call);
  });
}

/// As with_runtime, and refuses callers in a callback.
template <typename Function>
std::int32_t with_runtime_blocking(sluice_runtime* handle, Function&& function) noexcept {
  return guard([&]() -> Status {
    SLUICE_TRY(refuse_in_callback());
    Call call = SLUICE_TRY(enter(handle));
    return std::forward<Function>(function)(call);
  });
}

/// As with_runtime, of a function that fills `result`: 0 or null until then. Refuses null for it.
template <typename T, typename Function>
std::int32_t with_result(sluice_runtime* handle, T* result, Function&& function) noexcept {
  return with_runtime(handle, filling(result, std::forward<Function>(function)));
}

/// The same of with_runtime_blocking.
template <typename T, typename Function>
std::int32_t with_result_blocking(sluice_runtime* handle, T* result, Function&& function) noexcept {
  return with_runtime_blocking(handle, filling(result, std::forward<Function>(function)));
}

}  // namespace sluice::api
