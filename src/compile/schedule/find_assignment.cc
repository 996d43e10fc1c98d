#include "compile/schedule/find_assignment.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "compile/schedule/makespan.h"

namespace sluice::compile {
namespace {

int fastest_device(const Task& task) {
  const auto least = std::ranges::min_element(task.cost_ns);
  if (least == task.cost_ns.end() || *least == kCannotRun) return -1;
  return static_cast<int>(least - task.cost_ns.begin());
}

class Search {
 public:
  Search(const ScheduleProblem& problem, int max_plays)
      : problem_(problem), model_(problem), plays_left_(max_plays) {}

  ScheduleOutcome run() {
    best_.reserve(problem_.tasks.size());
    for (const Task& task : problem_.tasks) best_.push_back(fastest_device(task));
    best_ns_ = play(best_);
    ScheduleOutcome outcome;
    for (std::size_t device = 0; device < problem_.devices.size(); ++device) {
      outcome.single_device_ns.push_back(try_alone(static_cast<int>(device)));
    }
    try_earliest_finish();
    improve(problem_.tasks.size());
    while (plays_left_ > 0 && problem_.devices.size() > 1 && !best_.empty()) kick();
    outcome.makespan_ns = model_.makespan_ns(best_);
    outcome.peak_bytes = model_.peak_bytes();
    outcome.assignment = std::move(best_);
    return outcome;
  }

 private:
  double play(const Assignment& assignment) {
    --plays_left_;
    return model_.makespan_ns(assignment);
  }

  /// Keeps `assignment` if it is better than the best.
  bool take(const Assignment& assignment) {
    const double ns = play(assignment);
    // Less than a millionth is rounding, and could let two moves alternate.
    if (!(ns < best_ns_ * (1 - 1e-6)) && !(best_ns_ == kCannotRun && ns < kCannotRun)) return false;
    best_ = assignment;
    best_ns_ = ns;
    return true;
  }

  /// Gives one device all tasks that it supports. Returns the time if it runs all of them.
  double try_alone(int device) {
    Assignment alone;
    bool runs_all = true;
    for (const Task& task : problem_.tasks) {
      const bool runs = task.cost_ns[static_cast<std::size_t>(device)] != kCannotRun;
      const int fastest = fastest_device(task);
      runs_all = runs_all && (runs || fastest < 0);
      alone.push_back(runs ? device : fastest);
    }
    take(alone);
    return runs_all ? play(alone) : kCannotRun;
  }

  /// In the model's order, each task where the whole so far ends first with the others as they are
  /// in the best assignment.
  void try_earliest_finish() {
    Assignment greedy = best_;
    for (const int index : model_.order()) {
      const Task& task = problem_.tasks[static_cast<std::size_t>(index)];
      int& device = greedy[static_cast<std::size_t>(index)];
      if (device < 0) continue;
      int choice = device;
      double least = kCannotRun;
      for (std::size_t other = 0; other < task.cost_ns.size() && plays_left_ > 0; ++other) {
        if (task.cost_ns[other] == kCannotRun) continue;
        device = static_cast<int>(other);
        const double ns = play(greedy);
        if (ns >= least) continue;
        least = ns;
        choice = device;
      }
      device = choice;
    }
    take(greedy);
  }

  /// Moves runs of at most `longest` tasks, in the model's order, to another device.
  void improve(std::size_t longest) {
    const std::size_t count = problem_.tasks.size();
    bool has_moved = true;
    while (has_moved && plays_left_ > 0) {
      has_moved = false;
      std::size_t length = 1;
      while (length * 2 <= longest) length *= 2;
      for (; length > 0; length /= 2) {
        const std::size_t step = std::max<std::size_t>(1, length / 4);
        for (std::size_t begin = 0; begin + length <= count && plays_left_ > 0; begin += step) {
          has_moved = move_run(begin, begin + length) || has_moved;
        }
      }
    }
  }

  bool move_run(std::size_t begin, std::size_t end) {
    bool has_moved = false;
    for (std::size_t device = 0; device < problem_.devices.size() && plays_left_ > 0; ++device) {
      Assignment moved = best_;
      for (std::size_t i = begin; i < end; ++i) {
        const auto index = static_cast<std::size_t>(model_.order()[i]);
        if (problem_.tasks[index].cost_ns[device] != kCannotRun)
          moved[index] = static_cast<int>(device);
      }
      if (moved != best_) has_moved = take(moved) || has_moved;
    }
    return has_moved;
  }

  /// Leaves a local optimum: moves a few random tasks, improves from there, and goes back to the
  /// best assignment unless that was better.
  void kick() {
    const Assignment best = best_;
    const double best_ns = best_ns_;
    const std::uint64_t count = 2 + random_() % 6;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(random_() % problem_.tasks.size());
      const auto device = static_cast<std::size_t>(random_() % problem_.devices.size());
      if (problem_.tasks[index].cost_ns[device] != kCannotRun)
        best_[index] = static_cast<int>(device);
    }
    best_ns_ = play(best_);
    improve(1);
    if (best_ns_ < best_ns) return;
    best_ = best;
    best_ns_ = best_ns;
  }

  const ScheduleProblem& problem_;
  MakespanModel model_;
  std::mt19937_64 random_{1};  // the same each time
  int plays_left_;
  Assignment best_;
  double best_ns_ = kCannotRun;
};

}  // namespace

ScheduleOutcome find_assignment(const ScheduleProblem& problem, int max_plays) {
  return Search(problem, max_plays).run();
}

}  // namespace sluice::compile
