#include "compile/schedule/makespan.h"

#include <algorithm>
#include <numeric>

namespace sluice::compile {
namespace {

/// Mean over the devices that can run the task; 0 if none can.
double mean_cost_ns(const Task& task) {
  double sum = 0;
  int count = 0;
  for (const double cost : task.cost_ns) {
    if (cost == kCannotRun) continue;
    sum += cost;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace

MakespanModel::MakespanModel(const ScheduleProblem& problem)
    : problem_(problem), num_readers_(problem.tensors.size()) {
  for (const Task& task : problem_.tasks) {
    for (const int tensor : task.inputs) ++num_readers_[static_cast<std::size_t>(tensor)];
  }
  for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
    // The caller reads a result, so its memory is held to the end.
    num_readers_[i] += problem_.tensors[i].is_result ? 1 : 0;
  }
  order_.resize(problem_.tasks.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (!problem_.is_sequential) rank_tasks();
}

void MakespanModel::rank_tasks() {
  std::vector<double> tensor_rank(problem_.tensors.size(), 0);
  // Backwards: readers have higher indices than producers, so their ranks are known.
  std::vector<double> rank(problem_.tasks.size(), 0);
  for (std::size_t i = problem_.tasks.size(); i-- > 0;) {
    const Task& task = problem_.tasks[i];
    double after = 0;
    for (const int tensor : task.outputs) {
      after = std::max(after, tensor_rank[static_cast<std::size_t>(tensor)]);
    }
    // The epsilon keeps a reader of a free task behind it.
    rank[i] = after + mean_cost_ns(task) + 1e-3;
    for (const int tensor : task.inputs) {
      double& longest = tensor_rank[static_cast<std::size_t>(tensor)];
      longest = std::max(longest, rank[i]);
    }
  }
  std::ranges::stable_sort(order_, [&](int a, int b) {
    return rank[static_cast<std::size_t>(a)] > rank[static_cast<std::size_t>(b)];
  });
}

void MakespanModel::hold(int tensor, std::size_t device) {
  if (device >= problem_.devices.size()) return;  // the host
  held_bytes_[device] += problem_.tensors[static_cast<std::size_t>(tensor)].size_bytes;
  peak_bytes_[device] = std::max(peak_bytes_[device], held_bytes_[device]);
}

double MakespanModel::ready_ns(int tensor, std::size_t device) {
  const std::size_t places = problem_.devices.size() + 1;
  const TaskTensor& moved = problem_.tensors[static_cast<std::size_t>(tensor)];
  double* at = &at_ns_[static_cast<std::size_t>(tensor) * places];
  if (at[device] >= 0) return at[device];
  // From the place that had it first.
  std::size_t from = problem_.host();
  for (std::size_t place = 0; place < places; ++place) {
    if (at[place] >= 0 && (at[from] < 0 || at[place] < at[from])) from = place;
  }
  const double copy_ns = problem_.transfers[from][device].of(moved.size_bytes);
  // A sequential run copies and computes one thing at a time, so the copy moves the common clock.
  if (problem_.is_sequential) {
    now_ns_ += copy_ns;
    at[device] = now_ns_;
  } else {
    double& free_ns = link_free_ns_[from * places + device];
    free_ns = std::max(free_ns, at[from]) + copy_ns;
    at[device] = free_ns;
  }
  hold(tensor, device);
  return at[device];
}

void MakespanModel::release_inputs(const Task& task) {
  const std::size_t places = problem_.devices.size() + 1;
  for (const int tensor : task.inputs) {
    const auto index = static_cast<std::size_t>(tensor);
    // After its last reader a tensor is held no more, on any device that got a copy.
    if (--readers_left_[index] > 0) continue;
    for (std::size_t device = 0; device < problem_.devices.size(); ++device) {
      if (at_ns_[index * places + device] >= 0) {
        held_bytes_[device] -= problem_.tensors[index].size_bytes;
      }
    }
  }
}

double MakespanModel::makespan_ns(const Assignment& assignment) {
  const std::size_t places = problem_.devices.size() + 1;
  at_ns_.assign(problem_.tensors.size() * places, -1);
  readers_left_ = num_readers_;
  device_free_ns_.assign(problem_.devices.size(), 0);
  link_free_ns_.assign(places * places, 0);
  held_bytes_.assign(problem_.devices.size(), 0);
  now_ns_ = 0;
  for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
    if (assignment[i] >= 0) {
      held_bytes_[static_cast<std::size_t>(assignment[i])] += problem_.tasks[i].constant_bytes;
    }
  }
  // Constants are there before the first task starts.
  peak_bytes_ = held_bytes_;
  for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
    // The model's inputs are in host memory at time 0.
    if (problem_.tensors[i].producer < 0) at_ns_[i * places + problem_.host()] = 0;
  }
  double end_ns = 0;
  int last = -1;  // device
  for (const int index : order_) {
    const Task& task = problem_.tasks[static_cast<std::size_t>(index)];
    const int chosen = assignment[static_cast<std::size_t>(index)];
    const auto device = chosen < 0 ? problem_.host() : static_cast<std::size_t>(chosen);
    double cost_ns = chosen < 0 ? 0 : task.cost_ns[device];
    if (cost_ns == kCannotRun) return kCannotRun;
    if (chosen >= 0) {
      if (chosen != last) cost_ns += problem_.devices[device].launch_ns;
      last = chosen;
    }
    double start_ns = chosen < 0 ? 0 : device_free_ns_[device];
    // With side effects: ready_ns() plays the copy that brings the tensor to the device.
    for (const int tensor : task.inputs) start_ns = std::max(start_ns, ready_ns(tensor, device));
    if (problem_.is_sequential) start_ns = now_ns_;
    const double done_ns = start_ns + cost_ns;
    if (problem_.is_sequential) now_ns_ = done_ns;
    if (chosen >= 0) device_free_ns_[device] = done_ns;
    for (const int tensor : task.outputs) {
      at_ns_[static_cast<std::size_t>(tensor) * places + device] = done_ns;
      hold(tensor, device);
    }
    end_ns = std::max(end_ns, done_ns);
    release_inputs(task);
  }
  // The caller reads results in host memory.
  for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
    if (problem_.tensors[i].is_result) {
      end_ns = std::max(end_ns, ready_ns(static_cast<int>(i), problem_.host()));
    }
  }
  for (std::size_t device = 0; device < problem_.devices.size(); ++device) {
    const std::int64_t limit = problem_.devices[device].memory_bytes;
    if (limit > 0 && peak_bytes_[device] > limit) return kCannotRun;
  }
  return end_ns;
}

}  // namespace sluice::compile
