// The time that an assignment takes, by the cost model.
#pragma once

#include <vector>

#include "compile/schedule/problem.h"

namespace sluice::compile {

/// Plays assignments of one problem. Tasks start in one fixed order, that of their distance to the
/// end (longest first; ties by index), which is the rank of HEFT (Topcuoglu, Hariri, Wu, 2002). A
/// tensor is copied to a device once, when its first reader there needs it. A device's memory holds
/// the constants of its tasks and, from their first use to their last, the tensors that it reads
/// and writes.
///
/// Keeps a reference to the problem. One thread at a time.
class MakespanModel {
 public:
  explicit MakespanModel(const ScheduleProblem& problem);

  /// In ns; infinity where a device cannot run its task or lacks memory.
  double makespan_ns(const Assignment& assignment);

  /// Task indices in the order in which tasks start.
  const std::vector<int>& order() const { return order_; }

  /// Peak of the bytes that each device held in the last call of makespan_ns.
  const std::vector<std::int64_t>& peak_bytes() const { return peak_bytes_; }

 private:
  void rank_tasks();
  double ready_ns(int tensor, std::size_t device);
  void hold(int tensor, std::size_t device);
  void release_inputs(const Task& task);

  const ScheduleProblem& problem_;
  std::vector<int> order_;
  std::vector<int> num_readers_;  ///< by tensor

  // State of one play; kept to be allocated once.
  std::vector<double>
      at_ns_;  ///< by tensor and place (devices, then host): there from when on; < 0 never
  std::vector<int> readers_left_;
  std::vector<double> device_free_ns_;
  std::vector<double> link_free_ns_;
  std::vector<std::int64_t> held_bytes_;
  std::vector<std::int64_t> peak_bytes_;
  double now_ns_ = 0;  ///< of a sequential play
};

}  // namespace sluice::compile
