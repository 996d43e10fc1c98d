#include "plan/tasks.h"

#include <algorithm>
#include <numeric>

namespace sluice::plan {
namespace {

constexpr std::size_t kMaxTasks = 4096;

/// A kernel on several cores: the part by which it misses an even share, and the time to start and
/// end it together. Short kernels run on one core. Branches side by side hand over once on either
/// side. All as `cpu` does on two cores; bench/executors.py compares.
constexpr double kUnevenShare = 1.03;
constexpr double kJoinNs = 2'000;
constexpr double kShortNs = 10'000;
constexpr double kHandOverNs = 60'000;

double on_all_cores_ns(double work_ns, std::size_t num_lanes) {
  if (work_ns < kShortNs) return work_ns;
  return work_ns / static_cast<double>(num_lanes) * kUnevenShare + kJoinNs;
}

std::size_t index_of(std::int32_t number) { return static_cast<std::size_t>(number); }

void add_unique(std::vector<std::int32_t>& list, std::int32_t value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

/// By step: the steps that it must follow directly. The last writer of a memory and all readers
/// since then are known.
std::vector<std::vector<std::int32_t>> find_dependencies(std::span<const Step> steps,
                                                         const StorageAssignment& storage,
                                                         std::span<const StepSite> sites) {
  std::vector<std::vector<std::int32_t>> before(steps.size());
  std::vector<std::int32_t> writer(storage.root_of.size(), -1);
  std::vector<std::vector<std::int32_t>> readers(storage.root_of.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (sites[i].group < 0) continue;
    for (const std::int32_t value : steps[i].reads) {
      if (value < 0) continue;
      const std::size_t memory = index_of(storage.root_of[index_of(value)]);
      if (writer[memory] >= 0) add_unique(before[i], writer[memory]);
      add_unique(readers[memory], static_cast<std::int32_t>(i));
    }
    for (const std::int32_t value : steps[i].writes) {
      if (value < 0) continue;
      const std::size_t memory = index_of(storage.root_of[index_of(value)]);
      if (writer[memory] >= 0) add_unique(before[i], writer[memory]);
      for (const std::int32_t reader : readers[memory]) {
        if (index_of(reader) != i) add_unique(before[i], reader);
      }
      writer[memory] = static_cast<std::int32_t>(i);
      readers[memory].clear();
    }
    std::erase(before[i], static_cast<std::int32_t>(i));
  }
  return before;
}

class Divider {
 public:
  Divider(std::span<const Step> steps, const StorageAssignment& storage,
          std::span<const StepSite> sites, std::span<const std::vector<std::int32_t>> lanes)
      : sites_(sites), lanes_(lanes), before_(find_dependencies(steps, storage, sites)) {}

  std::optional<TaskGraph> run() {
    make_chains();
    if (graph_.tasks.size() > kMaxTasks) return std::nullopt;
    connect();
    join_regions();
    connect();
    join_neighbours();
    connect();
    choose_lanes();
    return std::move(graph_);
  }

 private:
  Task& task(std::int32_t number) { return graph_.tasks[index_of(number)]; }

  /// A step joins the task of the only step it depends on if nothing else depends on that one. So
  /// the results of a task leave it at its end, and a step that must follow a reader in another
  /// task, because it overwrites what that one reads, is the first of its task.
  void make_chains() {
    std::vector<int> num_dependents(before_.size(), 0);
    for (const auto& list : before_) {
      for (const std::int32_t step : list) ++num_dependents[index_of(step)];
    }
    graph_.task_of_step.assign(before_.size(), -1);
    std::int32_t previous = -1;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const StepSite& site = sites_[i];
      if (site.group < 0) continue;
      const auto joins = [&](std::int32_t other) {
        const StepSite& there = sites_[index_of(other)];
        return there.group == site.group && there.is_whole == site.is_whole;
      };
      std::int32_t joined = -1;
      if (site.is_whole) {
        if (previous >= 0 && joins(previous)) joined = previous;
      } else if (before_[i].size() == 1 && joins(before_[i][0]) &&
                 num_dependents[index_of(before_[i][0])] == 1) {
        joined = before_[i][0];
      }
      if (joined < 0) graph_.tasks.push_back({site.group, {}, 0});
      graph_.task_of_step[i] = joined >= 0 ? graph_.task_of_step[index_of(joined)]
                                           : static_cast<std::int32_t>(graph_.tasks.size() - 1);
      previous = static_cast<std::int32_t>(i);
    }
    is_whole_.assign(graph_.tasks.size(), false);
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (sites_[i].group >= 0) is_whole_[index_of(graph_.task_of_step[i])] = sites_[i].is_whole;
    }
  }

  /// Order, work and ranks of the tasks as they are divided now.
  void connect() {
    work_.assign(graph_.tasks.size(), 1);  // never 0, so that ranks fall along every edge
    together_.assign(graph_.tasks.size(), 0);
    for (Task& each : graph_.tasks) each.after.clear();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const std::int32_t here = graph_.task_of_step[i];
      if (here < 0) continue;
      work_[index_of(here)] += sites_[i].work_ns;
      const std::size_t num_lanes =
          std::max<std::size_t>(lanes_[index_of(sites_[i].group)].size(), 1);
      together_[index_of(here)] += on_all_cores_ns(sites_[i].work_ns, num_lanes);
      for (const std::int32_t step : before_[i]) {
        const std::int32_t there = graph_.task_of_step[index_of(step)];
        if (there != here) add_unique(task(here).after, there);
      }
    }
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) graph_.tasks[i].rank = work_[i];
    for (std::size_t i = graph_.tasks.size(); i-- > 0;) {
      for (const std::int32_t other : graph_.tasks[i].after) {
        task(other).rank =
            std::max(task(other).rank, work_[index_of(other)] + graph_.tasks[i].rank);
      }
    }
    find_serial();
  }

  /// A task is serial if every other task ends before it starts, or starts after it ends.
  void find_serial() {
    const TaskOrder order(graph_.tasks);
    const auto count = static_cast<std::int32_t>(graph_.tasks.size());
    is_serial_.assign(graph_.tasks.size(), true);
    for (std::int32_t a = 0; a < count; ++a) {
      for (std::int32_t b = 0; b < a; ++b) {
        if (order.are_ordered(a, b)) continue;
        is_serial_[index_of(a)] = is_serial_[index_of(b)] = false;
      }
    }
  }

  /// Gives the tasks new numbers; tasks of equal numbers become one. Numbers are those of their
  /// first tasks, in order.
  void renumber(const std::vector<std::int32_t>& joined) {
    std::vector<std::int32_t> number_of(graph_.tasks.size(), -1);
    std::vector<Task> tasks;
    std::vector<bool> is_whole;
    for (std::size_t i = 0; i < joined.size(); ++i) {
      if (index_of(joined[i]) == i) {
        number_of[i] = static_cast<std::int32_t>(tasks.size());
        tasks.push_back(std::move(graph_.tasks[i]));
        is_whole.push_back(is_whole_[i]);
      } else {
        number_of[i] = number_of[index_of(joined[i])];
      }
    }
    for (std::int32_t& number : graph_.task_of_step) {
      if (number >= 0) number = number_of[index_of(number)];
    }
    graph_.tasks = std::move(tasks);
    is_whole_ = std::move(is_whole);
  }

  std::vector<std::int32_t> identity() const {
    std::vector<std::int32_t> joined(graph_.tasks.size());
    std::iota(joined.begin(), joined.end(), 0);
    return joined;
  }

  /// A region is a sequence of tasks between two serial ones: its first task follows the serial one
  /// before it, and its last precedes the next.
  void join_regions() {
    std::vector<std::int32_t> joined = identity();
    for (std::size_t begin = 0; begin < joined.size();) {
      if (is_serial_[begin]) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      while (end < joined.size() && !is_serial_[end]) ++end;
      if (!is_worth_splitting(begin, end)) {
        std::fill(joined.begin() + static_cast<std::ptrdiff_t>(begin),
                  joined.begin() + static_cast<std::ptrdiff_t>(end),
                  static_cast<std::int32_t>(begin));
      }
      begin = end;
    }
    renumber(joined);
  }

  bool is_worth_splitting(std::size_t begin, std::size_t end) const {
    const std::int32_t group = graph_.tasks[begin].lane;
    double together_ns = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (graph_.tasks[i].lane != group) return true;  // on several devices, which overlap
      together_ns += together_[i];
    }
    const auto& lanes = lanes_[index_of(group)];
    return lanes.size() > 1 && schedule(begin, end, lanes, nullptr) + kHandOverNs <= together_ns;
  }

  /// List scheduling: by falling rank, each task to the lane where it ends first. Returns when the
  /// last one ends; stores the lanes unless `chosen` is null.
  double schedule(std::size_t begin, std::size_t end, const std::vector<std::int32_t>& lanes,
                  std::vector<std::int32_t>* chosen) const {
    std::vector<std::size_t> by_rank(end - begin);
    std::iota(by_rank.begin(), by_rank.end(), begin);
    std::ranges::stable_sort(by_rank, [&](std::size_t a, std::size_t b) {
      return graph_.tasks[a].rank > graph_.tasks[b].rank;
    });
    std::vector<double> ends(graph_.tasks.size(), 0);
    std::vector<double> free(lanes.size(), 0);
    for (const std::size_t i : by_rank) {
      double ready = 0;
      for (const std::int32_t other : graph_.tasks[i].after) {
        ready = std::max(ready, ends[index_of(other)]);
      }
      const auto start = [&](std::size_t lane) { return std::max(free[lane], ready); };
      std::size_t best = 0;
      for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
        // The lane that was idle for the shortest, if several are free in time: mostly that of the
        // task before.
        const bool is_earlier = start(lane) < start(best);
        if (is_earlier || (start(lane) == start(best) && free[lane] > free[best])) best = lane;
      }
      ends[i] = free[best] = start(best) + work_[i];
      if (chosen != nullptr) (*chosen)[i] = lanes[best];
    }
    return *std::ranges::max_element(free);
  }

  /// Joins serial tasks of one group that follow each other.
  void join_neighbours() {
    std::vector<std::int32_t> joined = identity();
    for (std::size_t i = 1; i < joined.size(); ++i) {
      const bool is_one = is_serial_[i] && is_serial_[i - 1] && is_whole_[i] == is_whole_[i - 1] &&
                          graph_.tasks[i].lane == graph_.tasks[i - 1].lane;
      if (is_one) joined[i] = joined[i - 1];
    }
    renumber(joined);
  }

  /// Serial tasks run on all cores of their group, the others on the lanes of it.
  void choose_lanes() {
    std::vector<std::int32_t> chosen;
    for (const Task& each : graph_.tasks) chosen.push_back(each.lane);
    for (std::size_t begin = 0; begin < graph_.tasks.size();) {
      std::size_t end = begin;
      while (end < graph_.tasks.size() && !is_serial_[end]) ++end;
      if (end > begin) choose_lanes(begin, end, chosen);
      begin = end + 1;
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) graph_.tasks[i].lane = chosen[i];
  }

  void choose_lanes(std::size_t begin, std::size_t end, std::vector<std::int32_t>& chosen) const {
    for (std::int32_t group = 0; index_of(group) < lanes_.size(); ++group) {
      if (lanes_[index_of(group)].empty()) continue;
      std::vector<std::int32_t> all = chosen;
      schedule(begin, end, lanes_[index_of(group)], &all);
      for (std::size_t i = begin; i < end; ++i) {
        if (graph_.tasks[i].lane == group) chosen[i] = all[i];
      }
    }
  }

  std::span<const StepSite> sites_;
  std::span<const std::vector<std::int32_t>> lanes_;
  std::vector<std::vector<std::int32_t>> before_;  ///< by step
  TaskGraph graph_;
  std::vector<double> work_;      // by task: on one core, in ns
  std::vector<double> together_;  // by task: on all cores of its group, in ns
  std::vector<bool> is_whole_;
  std::vector<bool> is_serial_;
};

}  // namespace

std::optional<TaskGraph> divide(std::span<const Step> steps, const StorageAssignment& storage,
                                std::span<const StepSite> sites,
                                std::span<const std::vector<std::int32_t>> lanes) {
  return Divider(steps, storage, sites, lanes).run();
}

}  // namespace sluice::plan
