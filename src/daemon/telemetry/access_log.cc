#include "daemon/telemetry/access_log.h"

#include <unistd.h>

#include <climits>

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

Status AccessLog::take(std::span<const Record>& rest) const {
  if (target_ == "stderr") {
    for (; !rest.empty(); rest = rest.subspan(1)) {
      SLUICE_TRY(write_line(STDERR_FILENO, telemetry::access_line(*rest.front()), kPatienceMs));
    }
    return ok_status();
  }
  std::string lines;
  for (const Record& record : rest) lines += telemetry::access_line(*record);
  const FileDescriptor file = SLUICE_TRY(open_to_append(target_, kFileMode));
  SLUICE_TRY(append(file, target_, lines));
  rest = {};
  return ok_status();
}

}  // namespace sluice::daemon
