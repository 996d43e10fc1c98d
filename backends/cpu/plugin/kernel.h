#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/worker.h"
#include "plugin/extents.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

using plugin::Status;

/// Addresses of one run, resolved: what a kernel's workers share.
class Run {
 public:
  Run(std::span<void* const> inputs, std::span<void* const> outputs,
      std::span<std::int64_t* const> actual_dims, sluice_text_pool* texts, std::byte* shared,
      Status* status)
      : inputs_(inputs),
        outputs_(outputs),
        actual_dims_(actual_dims),
        texts_(texts),
        shared_(shared),
        status_(status) {}

  /// In the order of the operator's inputs, then the body's; null for absent ones.
  template <typename T>
  const T* input(int index) const {
    return static_cast<const T*>(inputs_[static_cast<std::size_t>(index)]);
  }
  template <typename T>
  T* output(int index) const {
    return static_cast<T*>(outputs_[static_cast<std::size_t>(index)]);
  }
  std::span<void* const> inputs() const { return inputs_; }
  std::span<void* const> outputs() const { return outputs_; }
  std::span<std::int64_t* const> actual_dims() const { return actual_dims_; }
  /// The pool for texts that the kernel creates; null in lists without string outputs.
  sluice_text_pool* texts() const { return texts_; }

  /// Kernel::shared_bytes of memory that all workers of the step see.
  std::byte* shared() const { return shared_; }

  /// Ends the list after this step with the first error. Worker 0 only.
  void fail(Status status) const {
    if (status_->is_ok()) *status_ = std::move(status);
  }

 private:
  std::span<void* const> inputs_;
  std::span<void* const> outputs_;
  std::span<std::int64_t* const> actual_dims_;
  sluice_text_pool* texts_;
  std::byte* shared_;
  Status* status_;
};

/// An operation ready to run by one worker or many. Immutable and shared by all command lists, so
/// `run` is called from several threads at once.
class Kernel {
 public:
  explicit Kernel(const sluice_op& op) : op_(op) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// This worker's share of `phase`. All workers have finished a phase before the next begins.
  virtual void run(const Run& run, int phase, const Worker& worker) const = 0;
  virtual int phases() const { return 1; }

  /// Tells all memory of operands that `run` touches, from the numbers that it computes with.
  /// Packed forms and values of constants are the maker's to check.
  virtual void extents(Extents& extents) const = 0;

  /// Bytes of Worker::scratch that `run` uses.
  virtual std::int64_t scratch_bytes() const { return 0; }

  /// Bytes of Run::shared that `run` uses, in all phases.
  virtual std::int64_t shared_bytes() const { return 0; }

  /// About how long one worker takes; short steps are not worth dividing.
  virtual double cost_ns() const = 0;

  /// Only worker 0 runs it.
  virtual bool is_serial() const { return false; }

  /// Whether it is a reference kernel, for want of a fast one.
  virtual bool is_generic() const { return false; }

  /// See sluice_kernel_info.
  virtual std::uint32_t in_place_inputs() const { return 0; }

  const sluice_op& op() const { return op_; }

 private:
  const sluice_op& op_;
};

}  // namespace sluice::cpu
