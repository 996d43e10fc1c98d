#include <algorithm>
#include <chrono>
#include <optional>

#include "exec/executors/list_run.h"

namespace sluice::exec {
namespace {

class Dataflow {
 public:
  explicit Dataflow(const ListRun& run)
      : run_(run),
        num_awaited_(run.tasks.size(), 0),
        dependents_(run.tasks.size()),
        running_(run.streams.size()),
        submissions_(run.streams.size()) {
    for (std::size_t i = 0; i < run.tasks.size(); ++i) {
      num_awaited_[i] = run.tasks[i].after.size();
      for (const std::int32_t other : run.tasks[i].after) {
        dependents_[static_cast<std::size_t>(other)].push_back(i);
      }
      if (num_awaited_[i] == 0) ready_.push_back(i);
    }
  }

  Status run() {
    Status status = ok_status();
    while (status.is_ok() && num_ended_ < run_.tasks.size()) status = step();
    // After an error: what still runs uses the caller's memory.
    for (std::size_t group = 0; group < running_.size(); ++group) {
      if (running_[group]) static_cast<void>(run_.streams[group]->wait());
    }
    return status;
  }

 private:
  Status step() {
    if (num_ended_ > 0) SLUICE_TRY(run_.check());
    if (const auto next = take_ready()) return submit(*next);
    bool is_progress = false;
    for (std::size_t group = 0; group < running_.size(); ++group) {
      if (running_[group]) is_progress = SLUICE_TRY(poll(group)) || is_progress;
    }
    return is_progress ? ok_status() : wait_for_first();
  }

  /// The ready list of highest rank whose stream is free.
  std::optional<std::size_t> take_ready() {
    const auto is_better = [&](std::size_t a, std::size_t b) {
      const TaskList& x = run_.tasks[a];
      const TaskList& y = run_.tasks[b];
      if (x.is_on_host != y.is_on_host) return y.is_on_host;
      return x.rank != y.rank ? x.rank > y.rank : a < b;
    };
    auto best = ready_.end();
    for (auto it = ready_.begin(); it != ready_.end(); ++it) {
      if (running_[run_.tasks[*it].group]) continue;
      if (best == ready_.end() || is_better(*it, *best)) best = it;
    }
    if (best == ready_.end()) return std::nullopt;
    const std::size_t found = *best;
    ready_.erase(best);
    return found;
  }

  Status submit(std::size_t index) {
    const TaskList& task = run_.tasks[index];
    SLUICE_TRY(submissions_[task.group].submit(run_, index));
    running_[task.group] = index;
    return task.is_on_host ? Status(poll(task.group).status()) : ok_status();
  }

  /// Whether the list that runs on the stream of `group` has ended.
  Result<bool> poll(std::size_t group) {
    const Status status = run_.streams[group]->wait(std::chrono::nanoseconds(0));
    if (status.code() == Code::kDeadlineExceeded) return false;
    SLUICE_TRY(end(group, status));
    return true;
  }

  /// Waits for one group; others that end meanwhile are seen by the polls afterwards.
  Status wait_for_first() {
    const auto first =
        std::ranges::find_if(running_, [](const auto& task) { return task.has_value(); });
    if (first == running_.end()) return internal_error("lists wait for each other");
    const auto group = static_cast<std::size_t>(first - running_.begin());
    return end(group, run_.streams[group]->wait());
  }

  Status end(std::size_t group, const Status& status) {
    const std::size_t index = *running_[group];
    running_[group].reset();
    SLUICE_TRY(Status(status));
    submissions_[group].end(run_);
    ++num_ended_;
    for (const std::size_t other : dependents_[index]) {
      if (--num_awaited_[other] == 0) ready_.push_back(other);
    }
    return ok_status();
  }

  const ListRun& run_;
  std::vector<std::size_t> num_awaited_;              ///< by list
  std::vector<std::vector<std::size_t>> dependents_;  ///< by list
  std::vector<std::size_t> ready_;
  std::vector<std::optional<std::size_t>> running_;  ///< by group
  std::vector<Submission> submissions_;              ///< by group, of what runs
  std::size_t num_ended_ = 0;
};

}  // namespace

Status run_dataflow(const ListRun& run) { return Dataflow(run).run(); }

}  // namespace sluice::exec
