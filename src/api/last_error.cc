#include "api/last_error.h"

#include "base/log/event_log.h"

namespace sluice::api {
namespace {

thread_local Status g_last_status;  // NOLINT: the interface promises one per thread

}  // namespace

const Status& last_status() { return g_last_status; }

const char* last_error() { return g_last_status.message().c_str(); }

std::int32_t report(const Status& status) {
  if (!status.is_ok()) {
    g_last_status = status;
    log_event(LogLevel::kDebug, "call.failed code={} reason={}", static_cast<int>(status.code()),
              in_quotes(status.message()));
  }
  return static_cast<std::int32_t>(status.code());
}

}  // namespace sluice::api
