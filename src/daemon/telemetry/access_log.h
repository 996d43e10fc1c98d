// The access log: a line of JSON for each request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "telemetry/batch_thread.h"
#include "telemetry/request_record.h"

namespace sluice::daemon {

/// Requests leave their records in a bounded queue; a thread writes them. Safe across threads.
class AccessLog {
 public:
  /// `target`: "stderr", or an absolute path, whose file is opened anew for each batch of lines, so
  /// that another program may rename it at any time. `on_failure` is told, on the thread, why the
  /// first line is lost after others were written.
  /// Fails: kUnavailable for a file that cannot be written; as start_thread.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& target,
                                                 std::function<void(const Status&)> on_failure);

  void add(std::shared_ptr<const telemetry::RequestRecord> record) {
    thread_->push(std::move(record));
  }
  /// Lines that found the queue full, or could not be written.
  std::int64_t num_lost() const { return num_lost_.load() + thread_->num_dropped(); }

 private:
  using Record = std::shared_ptr<const telemetry::RequestRecord>;
  using Records = std::vector<Record>;

  AccessLog(std::string target, std::function<void(const Status&)> on_failure)
      : target_(std::move(target)), on_failure_(std::move(on_failure)) {}
  void write(const Records& records);
  /// Writes records in their order, and leaves those that it could not.
  Status take(std::span<const Record>& rest);
  Status write_file(std::span<const Record>& rest);

  const std::string target_;
  const std::function<void(const Status&)> on_failure_;
  bool is_failing_ = false;  ///< the thread's, as the next one
  bool is_torn_ = false;     ///< the target ends with half a line
  std::atomic<std::int64_t> num_lost_ = 0;
  std::unique_ptr<telemetry::BatchThread<Record>> thread_;  ///< ends first
};

}  // namespace sluice::daemon
