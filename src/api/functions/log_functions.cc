// The log of sluice/sluice.h.
#include <string>

#include "api/last_error.h"
#include "base/log/event_log.h"
#include "sluice/sluice.h"

int32_t sluice_set_log(sluice_log_callback callback, void* user_data, int32_t max_level) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (max_level < SLUICE_LOG_ERROR || max_level > SLUICE_LOG_TRACE) {
      return sluice::invalid_argument("log level {} is not between {} and {}", max_level,
                                      SLUICE_LOG_ERROR, SLUICE_LOG_TRACE);
    }
    sluice::LogSink sink;
    if (callback != nullptr) {
      sink = [callback, user_data](sluice::LogLevel level, std::string_view event) {
        callback(user_data, static_cast<std::int32_t>(level), std::string(event).c_str());
      };
    }
    return sluice::set_log_sink(std::move(sink), static_cast<sluice::LogLevel>(max_level));
  });
}
