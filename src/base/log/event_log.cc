#include "base/log/event_log.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace sluice {
namespace {

constexpr int kSilent = 0;  // below every level

std::atomic<int> g_most = kSilent;  // NOLINT: the sink is the process's

/// Callers of the sink hold `mutex` shared, so that whoever replaces it waits for them.
struct SinkHolder {
  std::shared_mutex mutex;
  LogSink sink;
};

SinkHolder& sink_holder() {
  static auto* const kHolder = new SinkHolder;  // threads may log while the process exits
  return *kHolder;
}

thread_local bool g_is_in_sink = false;  // NOLINT: ends recursion

}  // namespace

Status set_log_sink(LogSink sink, LogLevel most) {
  if (g_is_in_sink) {
    return make_error(Code::kFailedPrecondition, "a log callback cannot replace itself");
  }
  SinkHolder& holder = sink_holder();
  const std::unique_lock lock(holder.mutex);
  g_most = sink ? static_cast<int>(most) : kSilent;
  holder.sink = std::move(sink);
  return ok_status();
}

bool is_logged(LogLevel level) {
  return static_cast<int>(level) <= g_most.load(std::memory_order_relaxed);
}

void write_log(LogLevel level, std::string_view event) {
  if (g_is_in_sink) return;
  SinkHolder& holder = sink_holder();
  const std::shared_lock lock(holder.mutex);
  if (!holder.sink || !is_logged(level)) return;
  g_is_in_sink = true;
  try {
    holder.sink(level, event);
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody to report it to
  }
  g_is_in_sink = false;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxBytes = 200;
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  if (text.size() > kMaxBytes) out += "...";
  return out + "\"";
}

}  // namespace sluice
