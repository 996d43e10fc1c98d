#include "daemon/telemetry/access_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "daemon/telemetry/append.h"
#include "telemetry/access_line.h"

namespace sluice::daemon {
namespace {

constexpr mode_t kFileMode = 0640;
/// The end of the daemon waits for this thread.
constexpr int kPatienceMs = 200;

static_assert(telemetry::kMaxLineBytes <= PIPE_BUF);

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& target,
                                                   std::function<void(const Status&)> on_failure) {
  std::unique_ptr<AccessLog> made(new AccessLog(target, std::move(on_failure)));
  std::span<const Record> none;
  SLUICE_TRY(made->take(none));  // a wrong path shows at start
  const auto work = [raw = made.get()](const Records& records) { raw->write(records); };
  made->thread_ = SLUICE_TRY(telemetry::BatchThread<Record>::start({}, work));
  return made;
}

void AccessLog::write(const Records& records) {
  std::span<const Record> rest(records);
  const Status status = take(rest);
  num_lost_ += std::ssize(rest);
  if (!status.is_ok() && !is_failing_) on_failure_(status);
  is_failing_ = !status.is_ok();
}

Status AccessLog::take(std::span<const Record>& rest) {
  if (target_ == "stderr") {
    for (; !rest.empty(); rest = rest.subspan(1)) {
      SLUICE_TRY(
          write_line(STDERR_FILENO, telemetry::access_line(*rest.front()), kPatienceMs, is_torn_));
    }
    return ok_status();
  }
  return write_file(rest);
}

/// A disk may be full in the middle of a line. The next batch begins a new one, but in a file that
/// took the place of the torn one.
Status AccessLog::write_file(std::span<const Record>& rest) {
  const FileDescriptor file = SLUICE_TRY(open_to_append(target_, kFileMode));
  struct stat info = {};
  is_torn_ = is_torn_ && fstat(file.get(), &info) == 0 && info.st_size > 0;
  std::string lines = is_torn_ ? "\n" : "";
  for (const Record& record : rest) lines += telemetry::access_line(*record);
  std::string_view left = lines;
  Status status = append(file, target_, left);
  const std::string_view written = std::string_view(lines).substr(0, lines.size() - left.size());
  if (!written.empty()) is_torn_ = !written.ends_with('\n');
  const auto num_left = static_cast<std::size_t>(std::ranges::count(left, '\n'));
  rest = rest.last(std::min(num_left, rest.size()));
  return status;
}

}  // namespace sluice::daemon
