// The part of Lane that computes the requests of a turn. A run of several requests is submitted as
// one joined request. Its requests stay in `pending_` meanwhile: whoever answers one first, the
// run, a cancel or its deadline, claims it by removing it there, and the others find nothing to
// answer. Their inputs were copied before, so an early answer leaves no reader behind.
#include <algorithm>

#include "sandbox/joined_rows.h"
#include "sandbox/lane.h"

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;
using runtime::runtime_error;
using runtime::RuntimeCode;

struct Lane::Progress {
  std::atomic<std::size_t> num_left = 0;  ///< runs
  std::atomic<bool> is_suspect = false;
  std::mutex mutex;
  Run again;  ///< requests of joined runs that failed; guarded by `mutex`
};

namespace {

bool is_device_failure(RuntimeCode code) {
  return code == RuntimeCode::kDeviceError || code == RuntimeCode::kModelFailed;
}

/// Whether one request of a joined run may be the cause, so that the others deserve another run.
bool may_be_of_one(RuntimeCode code) {
  return !is_device_failure(code) && code != RuntimeCode::kTimeout &&
         code != RuntimeCode::kCancelled;
}

}  // namespace

/// Up to `depth` runs. Requires: a request of the function is waiting, and `mutex_` is held.
Lane::Turn Lane::take(Function& function) {
  Turn turn;
  while (!function.line.empty() && std::ssize(turn) < function.load.depth) {
    turn.push_back(take_run(function));
  }
  return turn;
}

/// The next request, and those behind it whose rows still fit. The first one that does not fit ends
/// the run, so that requests keep their order.
Lane::Run Lane::take_run(Function& function) {
  Run run;
  std::int64_t num_rows = 0;
  while (!function.line.empty()) {
    const auto next = pending_.at(*function.line.front());
    const std::int64_t rows =
        function.options.batch_rows > 1 ? rows_of(next->request, function.signature) : 0;
    const bool fits = rows > 0 && rows <= function.options.batch_rows - num_rows;
    if (!run.empty() && (!fits || !has_same_rows(run.front()->request, next->request))) break;
    run.push_back(next);
    leave_line(*next);
    if (!fits) break;
    num_rows += rows;
  }
  return run;
}

/// Returns after all replies. Whether a device failed.
bool Lane::run_turn(const Turn& turn) {
  const auto progress = std::make_shared<Progress>();
  compute(turn, progress);
  // One by one: what failed a joined run fails alone now.
  Turn part;
  const Run again = std::move(progress->again);
  for (const auto& pending : again) {
    if (!part_again(*pending)) continue;
    part.push_back({pending});
    if (std::ssize(part) < pending->function->load.depth) continue;
    compute(part, progress);
    part.clear();
  }
  compute(part, progress);
  return progress->is_suspect;
}

/// Starts the runs and waits for their ends. Requires: no more than the model's depth.
void Lane::compute(const Turn& turn, const std::shared_ptr<Progress>& progress) {
  if (turn.empty()) return;
  progress->num_left = turn.size();
  const auto sink = turn.front().front()->function->sink;
  for (const Run& run : turn) {
    if (run.size() == 1) {
      start_alone(run.front(), progress, *sink);
    } else {
      start_joined(run, progress, *sink);
    }
  }
  const auto is_done = [&] { return progress->num_left.load() == 0; };
  while (!sink->wait(is_done, next_deadline_ns(turn))) {
    for (const Run& run : turn) {
      if (run.size() > 1) expire(run);
    }
  }
}

void Lane::start_alone(const std::shared_ptr<Pending>& pending,
                       const std::shared_ptr<Progress>& progress, runtime::RequestSink& sink) {
  Request request = std::move(pending->request);  // its numbers stay, for `answer`
  request.will_wait = true;                       // this thread runs it, in `wait`
  request.on_done = [this, pending, progress](Reply reply) {
    if (is_device_failure(reply.code)) progress->is_suspect = true;
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

void Lane::start_joined(const Run& run, const std::shared_ptr<Progress>& progress,
                        runtime::RequestSink& sink) {
  std::vector<const Request*> parts;
  for (const auto& pending : run) parts.push_back(&pending->request);
  auto request = join(parts);
  const auto on_done = [this, run, progress](const Reply& reply) {
    finish_joined(run, reply, *progress);
    progress->num_left.fetch_sub(1);
  };
  if (!request) {
    return on_done(runtime::failed_reply(
        runtime_error(RuntimeCode::kOutOfResources, "no memory to join requests")));
  }
  Run cancelled_before;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& pending : run) {
      pending->is_joined = true;
      if (pending->is_cancelled) cancelled_before.push_back(pending);
    }
  }
  for (const auto& pending : cancelled_before) refuse(*pending, cancelled(*pending->function));
  request->will_wait = true;
  request->on_done = on_done;
  const auto id = sink.submit(*request);
  if (!id.is_ok()) on_done(runtime::failed_reply(id.status()));
}

void Lane::finish_joined(const Run& run, const Reply& reply, Progress& progress) {
  std::int64_t num_rows = 0;
  for (const auto& pending : run) num_rows += pending->request.inputs.front().dims.front();
  const Function& function = *run.front()->function;
  if (reply.code == RuntimeCode::kOk && has_rows(reply, num_rows)) {
    count_joined(run, RuntimeCode::kOk);
    expire(run);
    std::int64_t first_row = 0;
    for (const auto& pending : run) {
      const Request& request = pending->request;
      if (claim(*pending)) {
        deliver(*pending, part_of(reply, num_rows, first_row, request, function.signature));
      }
      first_row += request.inputs.front().dims.front();
    }
  } else if (may_be_of_one(reply.code)) {
    const std::lock_guard lock(progress.mutex);
    progress.again.insert(progress.again.end(), run.begin(), run.end());
  } else {
    if (is_device_failure(reply.code)) progress.is_suspect = true;
    count_joined(run, reply.code);
    for (const auto& pending : run) answer(*pending, reply);
  }
}

/// The model has counted the run as one request.
void Lane::count_joined(const Run& run, RuntimeCode code) {
  const auto more = static_cast<std::int64_t>(run.size()) - 1;
  runtime::ModelStatisticsSnapshot others;
  others.accepted = more;
  others.answered = {{code, more}};
  const std::lock_guard lock(mutex_);
  Function& function = *run.front()->function;
  function.retired.merge(others);
  function.state.num_joined += more + 1;
}

/// Whether the request of a joined run that failed still waits for an answer; it is on its own now.
bool Lane::part_again(Pending& pending) {
  const std::lock_guard lock(mutex_);
  pending.is_joined = false;
  return pending_.contains(pending.id);
}

std::int64_t Lane::next_deadline_ns(const Turn& turn) const {
  const std::int64_t now_ns = clock_.now_ns();
  std::int64_t next_ns = kNoDeadline;
  for (const Run& run : turn) {
    if (run.size() == 1) continue;  // the model keeps its deadline
    for (const auto& pending : run) {
      if (pending->request.deadline_ns > now_ns) {
        next_ns = std::min(next_ns, pending->request.deadline_ns);
      }
    }
  }
  return next_ns;
}

/// Answers the requests of a joined run whose deadlines have passed.
void Lane::expire(const Run& run) {
  const std::int64_t now_ns = clock_.now_ns();
  for (const auto& pending : run) {
    if (pending->request.deadline_ns > now_ns) continue;
    refuse(*pending, runtime_error(RuntimeCode::kTimeout,
                                   "function \"{}\": the deadline passed during the run",
                                   pending->function->name));
  }
}

}  // namespace sluice::sandbox
