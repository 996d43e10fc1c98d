#include "sandbox/graph/function_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text/plural.h"
#include "sandbox/graph/graph_run.h"

namespace sluice::sandbox {

int FunctionGraph::depth() const {
  int least = std::numeric_limits<int>::max();
  for (const GraphStep& step : plan_.steps) least = std::min(least, step.sink->depth());
  return least;
}

Status FunctionGraph::check_open() const {
  if (!is_closed_) return ok_status();
  return terms::runtime_error(RuntimeCode::kFailed, "graph {} is being removed", name());
}

Result<std::uint64_t> FunctionGraph::submit(runtime::Request& request) {
  std::shared_ptr<GraphRun> run;
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(check_open());
    if (request.inputs.size() != signature().inputs.size()) {
      return terms::runtime_error(RuntimeCode::kBadInput, "graph {} has {}, {} came", name(),
                                  counted(signature().inputs.size(), "input"),
                                  request.inputs.size());
    }
    id = ++last_id_;
    run = std::make_shared<GraphRun>(shared_from_this(), id);
    runs_.emplace(id, run);
    statistics_.count_accepted();
  }
  const Status status = run->start(request);
  if (status.is_ok()) return id;
  const std::lock_guard lock(mutex_);
  statistics_.refuse_accepted();
  runs_.erase(id);
  changed_.notify_all();
  return status;
}

bool FunctionGraph::cancel(std::uint64_t id) {
  std::shared_ptr<GraphRun> run;
  {
    const std::lock_guard lock(mutex_);
    const auto it = runs_.find(id);
    if (it == runs_.end()) return false;
    run = it->second;
  }
  run->cancel();
  return true;
}

void FunctionGraph::record(RuntimeCode code, const runtime::RequestTimes& times) {
  const std::lock_guard lock(mutex_);
  statistics_.count_answer(code);
  if (code != RuntimeCode::kOk && code != RuntimeCode::kNumericError) return;
  statistics_.record(times);
  statistics_.record_run(1, 1, times, clock_.now_ns());
}

void FunctionGraph::leave(std::uint64_t id) {
  std::shared_ptr<GraphRun> run;  // goes behind the lock, perhaps as the last owner of the graph
  const std::lock_guard lock(mutex_);
  auto node = runs_.extract(id);
  if (!node.empty()) run = std::move(node.mapped());
  changed_.notify_all();
}

void FunctionGraph::shutdown(std::int64_t drain_deadline_ns) {
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  while (!runs_.empty() && clock_.now_ns() < drain_deadline_ns) {
    clock_.wait_until(lock, changed_, drain_deadline_ns);
  }
  // A copy, and without the lock: a run that is cancelled may leave at once, which changes `runs_`.
  const auto left = runs_;
  lock.unlock();
  for (const auto& [id, run] : left) run->cancel();
  lock.lock();
  // Without a deadline: a cancelled run ends as soon as the function that it is in answers.
  changed_.wait(lock, [this] { return runs_.empty(); });
}

}  // namespace sluice::sandbox
