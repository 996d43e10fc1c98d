#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "contention/team_choice.h"
#include "plugin/barriers/open_accesses.h"
#include "plugin/kernel.h"
#include "plugin/step_log.h"
#include "plugin/step_times.h"
#include "plugin/stop/stop_question.h"
#include "pool/pool.h"

namespace sluice::cpu {

/// Kernels and copies recorded for one context, run by a team of workers that walk the list
/// together; each worker computes its share of every step. A barrier precedes a step only if the
/// step touches memory that an earlier step, since the last barrier, wrote or still reads.
///
/// Under CPU contention the list may run in another TeamMode (contention/controller.h).
///
/// Used by one thread at a time. During a run the workers share the list without a lock: they only
/// read it, except claims_ and stop_ (atomic), status_ and unasked_ns_ (worker 0 only).
class CommandList {
 public:
  explicit CommandList(ThreadPool& pool) : pool_(pool) {}

  /// `kernel` outlives the list.
  Status add_kernel(const Kernel& kernel, std::span<const sluice_argument> inputs,
                    std::span<const sluice_argument> outputs);
  Status add_copy(const sluice_argument& source, const sluice_argument& target,
                  std::int64_t size_bytes);

  /// Plans barriers and takes scratch; nothing is added after it.
  Status finish();

  /// Gives entries of a finished list kernels of the same operations for other shapes. After an
  /// error the list does not run before an exchange of all its kernels succeeds.
  Status exchange(std::span<const std::int32_t> entries, std::span<const Kernel* const> kernels);

  /// Memory of a finished list, scratch included.
  std::int64_t held_bytes() const;

  /// Runs all steps; on the calling thread alone if there is little to divide or the pool is busy.
  Status run(std::span<void* const> bindings);

 private:
  struct Step {
    const Kernel* kernel = nullptr;  ///< null for a copy
    std::int64_t copy_bytes = 0;
    double cost_ns = 0;  ///< of one worker
    std::size_t first_input = 0;
    std::size_t num_inputs = 0;
    std::size_t first_output = 0;
    std::size_t num_outputs = 0;
    std::size_t first_claim = 0;  ///< in claims_, one per phase
    int pieces_per_worker = 1;    ///< in TeamMode::kHelped
    int stop_pieces = 1;          ///< per worker in other modes; between them a run can stop
    bool is_offered = false;      ///< in TeamMode::kHelped: long enough for helpers
    bool serial = false;          ///< worker 0 runs it
    bool barrier_before = false;
  };

  struct FreeBytes {
    void operator()(std::byte* bytes) const;
  };

  using Bytes = std::unique_ptr<std::byte, FreeBytes>;

  static Status take_pages(std::int64_t bytes, Bytes* memory);
  void append(Step step, std::span<const sluice_argument> inputs,
              std::span<const sluice_argument> outputs);
  void set_kernel(const Kernel& kernel, Step* step);
  void find_accesses(const Step& step, std::vector<Access>* all) const;
  void plan_team();
  void plan_barriers();
  void note_use(std::int32_t binding, std::uintptr_t bytes);
  Status take_scratch();
  void start_log();
  void run_steps();
  void run_team();
  void tell_observer();
  void bind(std::span<void* const> bindings);
  bool bindings_overlap(std::span<void* const> bindings);
  void walk(const Member& member);
  void help(const Member& member);
  void run_step(const Step& step, const Worker& worker, const Member& member);
  void run_phase(const Step& step, int phase, const Worker& worker);
  void run_pieces(const Step& step, int phase, const Worker& worker);
  void run_share(const Step& step, int phase, const Worker& worker);
  void ask_after(double work_ns);
  void offer_pieces(const Step& step, int phase, const Worker& worker);
  void plan_pieces();

  ThreadPool& pool_;
  std::vector<Step> steps_;
  std::vector<sluice_argument> arguments_;
  bool finished_ = false;
  bool alone_ = true;  ///< too little work to wake the workers

  /// A buffer that the list uses: those of a model are many, those of a list few.
  struct Used {
    std::int32_t binding;
    std::uintptr_t bytes;  ///< extent; 0 for the pool of texts, and without elements
  };

  std::vector<Used> used_;    ///< by binding, ascending
  std::vector<void*> bound_;  ///< addresses of used_ in the last run
  /// Begin and end of the bindings in use; kept for its memory.
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> extents_;
  std::vector<void*> addresses_;            ///< of arguments_, for those bindings
  std::vector<std::int64_t*> actual_dims_;  ///< of arguments_
  std::int32_t texts_binding_ = 0;          ///< of the pool for outputs of strings; 0: none
  sluice_text_pool* texts_ = nullptr;       ///< for those bindings
  std::vector<std::atomic<int>> claims_;    ///< number of pieces taken, per phase and step
  TeamMode mode_ = TeamMode::kPinned;       ///< of this run
  const Step* offered_step_ = nullptr;      ///< the step of which helpers take pieces
  int offered_phase_ = 0;
  TeamChoice choice_;           ///< of runs while the pool is contended
  bool every_barrier_ = false;  ///< bindings overlap, so the planned barriers do not suffice

  std::int64_t wanted_own_ = 0;     ///< scratch of a worker that its kernels need
  std::int64_t wanted_shared_ = 0;  ///< likewise of all workers
  std::int64_t scratch_stride_ = 0;
  Bytes scratch_;  ///< scratch_stride_ per worker
  Bytes shared_;
  std::int64_t shared_bytes_ = 0;
  Status status_;
  Stop stop_;
  double unasked_ns_ = 0;             ///< about the time since the host was asked last
  std::unique_ptr<StepLog> log_;      ///< null unless the environment asks for it
  std::unique_ptr<StepTimes> times_;  ///< of this run; null unless it is observed or logged
};

}  // namespace sluice::cpu
