#include "daemon/telemetry/traffic_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/no_memory.h"
#include "daemon/telemetry/append.h"

namespace sluice::daemon {
namespace {

/// Requests hold whatever clients sent.
constexpr mode_t kTrafficMode = 0600;
/// Records hold inputs, so that few may wait.
constexpr telemetry::BatchLimits kLimits = {.most = 1024, .batch = 64};
constexpr std::int64_t kMaxWaitingBytes = std::int64_t{64} << 20;

std::int64_t bytes_of(const telemetry::RecordedRequest& request) {
  std::int64_t bytes = 0;
  for (const auto& input : request.inputs) bytes += std::ssize(input.bytes);
  return bytes;
}

/// A request with more than all may have together waits alone.
bool has_place(std::int64_t waiting_bytes, std::int64_t bytes) {
  return waiting_bytes == 0 || waiting_bytes + bytes <= kMaxWaitingBytes;
}

}  // namespace

Result<std::unique_ptr<TrafficLog>> TrafficLog::create(const std::string& path,
                                                       std::int64_t max_bytes,
                                                       std::function<void(const Status&)> on_end) {
  const std::string old = path + ".old";
  std::error_code error;
  std::filesystem::rename(path, old, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return make_error(Code::kUnavailable, "{}: the recording that is there cannot become {}: {}",
                      path, old, error.message());
  }
  FileDescriptor file = SLUICE_TRY(open_to_append(path, kTrafficMode));
  SLUICE_TRY(append(file, path, telemetry::kTrafficMagic));
  std::unique_ptr<TrafficLog> made(
      new TrafficLog(path, std::move(file), max_bytes, std::move(on_end)));
  const auto work = [raw = made.get()](Requests requests) { raw->write(std::move(requests)); };
  made->thread_ =
      SLUICE_TRY(telemetry::BatchThread<telemetry::RecordedRequest>::start(kLimits, work));
  return made;
}

bool TrafficLog::takes(std::int64_t input_bytes) {
  if (room_bytes_.load(std::memory_order_relaxed) < 0) return false;
  if (!has_place(waiting_bytes_.load(std::memory_order_relaxed), input_bytes)) return false;
  const std::int64_t bytes = telemetry::expected_bytes(input_bytes);
  return room_bytes_.fetch_sub(bytes) >= bytes;
}

void TrafficLog::add(telemetry::RecordedRequest request) {
  const std::int64_t bytes = bytes_of(request);
  const std::int64_t before = waiting_bytes_.fetch_add(bytes);
  if (!has_place(before, bytes) || !thread_->push(std::move(request))) waiting_bytes_ -= bytes;
}

/// Requests come in the order in which they ended, and a file has them as they came: a reader sorts
/// by arrival.
void TrafficLog::write(Requests requests) {
  for (auto& request : requests) {
    const std::int64_t bytes = bytes_of(request);
    if (!has_ended_) write_one(request);
    request.inputs = {};
    waiting_bytes_ -= bytes;
  }
  if (!has_ended_ && room_bytes_.load() < 0) end(ok_status());
}

void TrafficLog::write_one(telemetry::RecordedRequest& request) {
  if (first_ns_ == 0) first_ns_ = request.arrival_ns;
  request.arrival_ns = std::max<std::int64_t>(request.arrival_ns - first_ns_, 0);
  const Status status =
      catch_no_memory([&] { return append(file_, path_, telemetry::to_bytes(request)); });
  if (!status.is_ok()) end(status);
}

void TrafficLog::end(const Status& why) {
  has_ended_ = true;
  room_bytes_ = -1;
  on_end_(why);
}

}  // namespace sluice::daemon
