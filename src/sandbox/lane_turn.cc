// The part of Lane that computes the requests of a turn.

#include "sandbox/lane.h"
#include "terms/runtime_code.h"

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;

struct Lane::Progress {
  std::atomic<std::size_t> num_left = 0;  ///< requests
  std::atomic<bool> is_suspect = false;
  std::atomic<std::int64_t> num_ok = 0;
  std::atomic<bool> was_late = false;
};

namespace {

bool is_device_failure(RuntimeCode code) {
  return code == RuntimeCode::kDeviceError || code == RuntimeCode::kModelFailed;
}

/// A run that would grow beyond the quota ends, and only its function's owner can do something.
void name_quota(const Function& function, Reply& reply) {
  if (function.options.memory_bytes == 0) return;
  reply.errors.add(
      terms::runtime_error(RuntimeCode::kOutOfResources,
                           "function \"{}\" has a memory quota of {} bytes; ask for less, or "
                           "deploy it with a larger one",
                           function.name, function.options.memory_bytes));
}

}  // namespace

/// As many requests as the model runs at the same time, the rows of joined ones counted, so that a
/// turn is not longer than a run or two. Requires: a request of the function is waiting, and
/// `mutex_` is held.
Lane::Turn Lane::take(Function& function) {
  Turn turn;
  const std::int64_t rows_of_run = function.joining ? function.joining->max_rows : 1;
  std::int64_t room = function.load.depth * rows_of_run;
  while (!function.line.empty() && room > 0) {
    function.line.put_passed_first();
    const auto next = pending_.at(*function.line.front());
    const std::int64_t rows =
        function.joining ? runtime::rows_of(next->request, *function.joining) : 0;
    room -= rows > 0 ? rows : rows_of_run;
    turn.push_back(next);
    leave_line(*next);
  }
  return turn;
}

/// Returns after all replies. Whether a device failed.
bool Lane::run_turn(const Turn& turn) {
  const auto progress = std::make_shared<Progress>();
  progress->num_left = turn.size();
  Function& function = *turn.front()->function;
  const auto sink = function.sink;
  const std::size_t run_class = runtime::Forecast::class_of(turn.front()->request);
  const std::int64_t start_ns = clock_.now_ns();
  for (const auto& pending : turn) start(pending, progress, *sink);
  const auto is_done = [&] { return progress->num_left.load() == 0; };
  while (!sink->wait(is_done, kNoDeadline)) {
  }
  const std::int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  if (progress->num_ok > 0) {
    function.forecast.complete(now_ns, progress->num_ok);
    function.forecast.note_run(run_class, start_ns, now_ns);
  } else if (progress->was_late) {
    function.forecast.note_stopped(run_class, start_ns, now_ns);
  }
  return progress->is_suspect;
}

void Lane::start(const std::shared_ptr<Pending>& pending, const std::shared_ptr<Progress>& progress,
                 runtime::RequestSink& sink) {
  Request request = std::move(pending->request);  // its numbers stay, for `answer`
  request.will_wait = true;                       // this thread runs it, in `run_turn`
  request.on_done = [this, pending, progress](Reply reply) {
    if (is_device_failure(reply.code)) progress->is_suspect = true;
    if (reply.code == RuntimeCode::kOk) progress->num_ok.fetch_add(1);
    if (reply.code == RuntimeCode::kTimeout) progress->was_late = true;
    if (reply.code == RuntimeCode::kOutOfResources) name_quota(*pending->function, reply);
    answer(*pending, std::move(reply));
    progress->num_left.fetch_sub(1);
  };
  const auto id = sink.submit(request);
  if (!id.is_ok()) return request.on_done(runtime::failed_reply(id.status()));
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    pending->inner_id = *id;
    pending->sink = pending->function->sink;  // that is `sink`
    is_cancelled = pending->is_cancelled;
  }
  if (is_cancelled) sink.cancel(*id);
}

}  // namespace sluice::sandbox
