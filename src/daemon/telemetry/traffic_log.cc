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
constexpr telemetry::BatchLimits kLimits = {.most = 1024, .batch = 64};
constexpr std::int64_t kMaxHeldBytes = std::int64_t{256} << 20;

}  // namespace

TrafficLog::TrafficLog(std::string path, FileDescriptor file, std::int64_t max_bytes,
                       std::function<void(const Status&)> on_end)
    : path_(std::move(path)),
      file_(std::move(file)),
      memory_(std::make_shared<ByteBudget>(kMaxHeldBytes)),
      on_end_(std::move(on_end)),
      room_bytes_(max_bytes - std::ssize(telemetry::kTrafficMagic)) {}

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
  std::string_view magic = telemetry::kTrafficMagic;
  SLUICE_TRY(append(file, path, magic));
  std::unique_ptr<TrafficLog> made(
      new TrafficLog(path, std::move(file), max_bytes, std::move(on_end)));
  const auto work = [raw = made.get()](Requests requests) { raw->write(std::move(requests)); };
  made->thread_ =
      SLUICE_TRY(telemetry::BatchThread<telemetry::RecordedRequest>::start(kLimits, work));
  return made;
}

/// A request with more than all may have together is there alone.
Result<ByteCharge> TrafficLog::room_for(std::int64_t input_bytes) {
  if (has_ended_) return make_error(Code::kUnavailable, "{}: no more is recorded", path_);
  return ByteCharge::take(memory_, std::min(input_bytes, kMaxHeldBytes));
}

/// Requests come in the order in which they ended, and a file has them as they came: a reader sorts
/// by arrival.
void TrafficLog::write(Requests requests) {
  for (auto& request : requests) {
    if (!has_ended_) write_one(request);
    request = {};
  }
}

void TrafficLog::write_one(telemetry::RecordedRequest& request) {
  request.arrival_ns = std::max<std::int64_t>(request.arrival_ns - start_ns_, 0);
  const Status status = catch_no_memory([&]() -> Status {
    const std::string bytes = telemetry::to_bytes(request);
    room_bytes_ -= std::ssize(bytes);
    std::string_view left = bytes;
    return room_bytes_ < 0 ? ok_status() : append(file_, path_, left);
  });
  if (!status.is_ok() || room_bytes_ < 0) end(status);
}

void TrafficLog::end(const Status& why) {
  has_ended_ = true;
  on_end_(why);
}

}  // namespace sluice::daemon
