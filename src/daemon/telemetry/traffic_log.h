// Records the requests that models get, to a file that `sluice perf --replay` sends again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/result.h"
#include "telemetry/batch_thread.h"
#include "telemetry/traffic_file.h"

namespace sluice::daemon {

/// Writes until the next request would take the file past `max_bytes`; a thread does. A request
/// that finds its queue full is left out. Safe across threads.
class TrafficLog {
 public:
  /// A file that is there, a recording of an earlier daemon or of one that this one follows, gets
  /// the name PATH.old, and its daemon goes on with it. `on_end` is told, once and on the thread,
  /// why no more is written: ok at `max_bytes`. Fails: kUnavailable for a file that cannot be
  /// written or renamed; as start_thread.
  static Result<std::unique_ptr<TrafficLog>> create(const std::string& path, std::int64_t max_bytes,
                                                    std::function<void(const Status&)> on_end);

  /// Memory for a request with so many bytes of inputs, from before they are copied until they are
  /// written: 256 MiB for all together. Fails: kResourceExhausted; kUnavailable after the end.
  Result<ByteCharge> room_for(std::int64_t input_bytes);
  /// Its arrival is on the machine's monotonic clock.
  void add(telemetry::RecordedRequest request) { thread_->push(std::move(request)); }

 private:
  using Requests = std::vector<telemetry::RecordedRequest>;

  TrafficLog(std::string path, FileDescriptor file, std::int64_t max_bytes,
             std::function<void(const Status&)> on_end);
  void write(Requests requests);
  void write_one(telemetry::RecordedRequest& request);
  void end(const Status& why);

  const std::string path_;
  const FileDescriptor file_;
  const std::int64_t start_ns_ = system_clock().now_ns();
  const std::shared_ptr<ByteBudget> memory_;
  const std::function<void(const Status&)> on_end_;
  std::int64_t room_bytes_;  ///< of the file; the thread's
  std::atomic<bool> has_ended_ = false;
  std::unique_ptr<telemetry::BatchThread<telemetry::RecordedRequest>> thread_;  ///< ends first
};

}  // namespace sluice::daemon
