#include "api/last_error.h"

#include <string>

#include "base/log/event_log.h"
#include "base/utf8.h"

namespace sluice::api {
namespace {

// NOLINTBEGIN: the interface promises one per thread
thread_local Status g_last_status;
thread_local std::string g_last_text;
// NOLINTEND

}  // namespace

const Status& last_status() { return g_last_status; }

const char* last_error() { return g_last_text.c_str(); }

std::int32_t report(const Status& status) {
  if (!status.is_ok()) {
    g_last_status = status;
    g_last_text = valid_utf8(status.message());  // files have names of any bytes
    log_event(LogLevel::kDebug, "call.failed code={} reason={}", static_cast<int>(status.code()),
              in_quotes(status.message()));
  }
  return static_cast<std::int32_t>(status.code());
}

}  // namespace sluice::api
