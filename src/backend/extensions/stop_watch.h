#pragma once

#include <functional>

#include "backend/backend.h"
#include "sluice/extensions/stop.h"

namespace sluice::backend {

/// Null if the plug-in lacks the extension "sluice.stop/1": its kernels run to their end.
const sluice_stop* find_stop(const Backend& backend);

/// While it lives, lists that this thread submits to the backend ask `check` and end early at its
/// first error. `table` is that of find_stop.
class StopWatch {
 public:
  StopWatch(const Backend& backend, const sluice_stop* table, const std::function<Status()>& check);
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  /// The first error of `check`, which ended the lists.
  const Status& reason() const { return reason_; }

 private:
  static std::int32_t ask(void* user) noexcept;

  const Backend& backend_;
  const sluice_stop* table_;
  const std::function<Status()>& check_;
  Status reason_;
};

}  // namespace sluice::backend
