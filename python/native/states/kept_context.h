// A context of a model with states, for as long as they lie on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "calls/process.h"
#include "sluice/sluice.h"
#include "tensors.h"

namespace sluice::python {

struct ContextDelete {
  void operator()(sluice_context* context) const { sluice_context_free(context); }
};
using ContextPointer = std::unique_ptr<sluice_context, ContextDelete>;

/// A context with states in arrays of Python, which may lie on a device between runs. Runs of it
/// happen one after the other.
class KeptContext {
 public:
  /// `pairs`: inputs and outputs of the model, by index.
  explicit KeptContext(std::vector<std::pair<std::size_t, std::size_t>> pairs)
      : pairs_(std::move(pairs)), is_changed_(pairs_.size(), true) {}
  ~KeptContext();
  KeptContext(const KeptContext&) = delete;
  KeptContext& operator=(const KeptContext&) = delete;

  /// Copies values to their arrays, but for those that the caller changed.
  void bring();
  /// The caller has changed the array of a pair: the next run takes its value.
  void set_changed(std::size_t pair);
  /// As `bring`; then frees the context.
  void release() noexcept;
  /// Frees the context, whose arrays may go from now on.
  void end() noexcept;
  /// 0 while a run uses the context.
  std::int64_t recorded_bytes();
  std::int64_t kept_bytes();
  bool has_output(std::size_t index) const;

 private:
  friend class NativeModel;
  /// Holds `mutex_`, but in a forked child, where the thread that had it may not exist.
  std::unique_lock<std::mutex> lock();
  void bring_locked();
  /// The pair that has the input; null without any.
  const std::pair<std::size_t, std::size_t>* find_input(std::size_t index) const;

  const std::uint32_t generation_ = fork_generation();
  const std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::mutex mutex_;                  // of what follows; held by a run; before NativeModel::mutex_
  std::vector<bool> is_changed_;      // by pair; the array has a value that the context has not
  ContextPointer context_;            // null: the arrays have all values
  std::vector<std::string> outputs_;  // names, by pair
};

/// What Python holds of it; the model holds it weakly, and ends it when the model is closed.
struct KeptStates {
  explicit KeptStates(std::vector<std::pair<std::size_t, std::size_t>> pairs)
      : context(std::make_shared<KeptContext>(std::move(pairs))) {}
  ~KeptStates() { context->end(); }
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;

  const std::shared_ptr<KeptContext> context;
  std::vector<WriteArray> arrays;  ///< by pair, from the first run on
};

void bind_kept_states(nb::module_& module);

}  // namespace sluice::python
