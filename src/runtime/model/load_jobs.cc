#include "runtime/model/load_jobs.h"

#include <utility>

namespace sluice::runtime {

bool LoadJob::is_done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

std::optional<Result<std::uint64_t>> LoadJob::wait(Clock& clock, std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  while (!result_ && clock.now_ns() < deadline_ns) clock.wait_until(lock, done_, deadline_ns);
  return result_;
}

std::shared_ptr<LoadJob> LoadJobs::start(LoadRequest request, Load load) {
  auto job = std::make_shared<LoadJob>();
  request.on_progress = [job, also = std::move(request.on_progress)](LoadPhase phase) {
    job->phase_.store(phase, std::memory_order_relaxed);
    if (also) also(phase);
  };
  const std::lock_guard lock(mutex_);
  sweep();
  entries_.push_back(
      {job, std::jthread([job, request = std::move(request), load = std::move(load)] {
         auto result = load(request, job->stop_.get_token());
         {
           const std::lock_guard own(job->mutex_);
           job->result_ = std::move(result);
         }
         job->done_.notify_all();
       })});
  return job;
}

/// Joins threads of finished jobs; the threads are about to end, so the call does not block
/// for long.
void LoadJobs::sweep() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.job->is_done(); });
}

void LoadJobs::close() {
  std::list<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries.swap(entries_);
  }
  for (const Entry& entry : entries) entry.job->cancel();
}

}  // namespace sluice::runtime
