// How a finished command list runs; command_list.cc has what is planned once.
#include <algorithm>
#include <cstring>
#include <string>

#include "plugin/command_list.h"
#include "plugin/variants.h"
#include "pool/clock.h"

namespace sluice::cpu {
namespace {

/// Workers divide copies at whole pages, so that no two write one cache line.
constexpr std::int64_t kCopyGrain = 4096;
/// The host is asked about so often whether the run shall stop.
constexpr double kAskNs = 2e6;

}  // namespace

bool CommandList::bindings_overlap(std::span<void* const> bindings) {
  extents_.clear();
  for (const Used& used : used_) {
    if (used.bytes == 0) continue;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(bindings[static_cast<std::size_t>(used.binding)]);
    extents_.emplace_back(begin, begin + used.bytes);
  }
  std::ranges::sort(extents_);
  for (std::size_t i = 1; i < extents_.size(); ++i) {
    if (extents_[i].first < extents_[i - 1].second) return true;
  }
  return false;
}

void CommandList::bind(std::span<void* const> bindings) {
  const auto address_of = [&](const Used& used) {
    return bindings[static_cast<std::size_t>(used.binding)];
  };
  if (!bound_.empty() && std::ranges::equal(used_, bound_, {}, address_of)) return;
  bound_.resize(used_.size());
  std::ranges::transform(used_, bound_.begin(), address_of);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const sluice_argument& argument = arguments_[i];
    addresses_[i] = argument.binding == -1 ? argument.address : nullptr;
    const auto binding = static_cast<std::size_t>(argument.binding);
    if (argument.binding >= 0 && binding < bindings.size()) {
      addresses_[i] = static_cast<std::byte*>(bindings[binding]) + argument.offset_bytes;
    }
  }
  if (texts_binding_ > 0) {
    texts_ = static_cast<sluice_text_pool*>(bindings[static_cast<std::size_t>(texts_binding_)]);
  }
  every_barrier_ = bindings_overlap(bindings);
}

/// After a stop nothing is run: indices that a stopped step should have written hold anything. All
/// workers see it, because a barrier stands between a step and those that read its results.
void CommandList::run_phase(const Step& step, int phase, const Worker& worker) {
  if (stop_.is_set()) return;
  const std::span<void* const> addresses(addresses_);
  const auto inputs = addresses.subspan(step.first_input, step.num_inputs);
  const auto outputs = addresses.subspan(step.first_output, step.num_outputs);
  if (step.kernel == nullptr) {
    const Share share = share_of(step.copy_bytes, kCopyGrain, worker);
    if (share.begin < share.end) {
      std::memmove(static_cast<std::byte*>(outputs[0]) + share.begin,
                   static_cast<const std::byte*>(inputs[0]) + share.begin,
                   static_cast<std::size_t>(share.end - share.begin));
    }
    return;
  }
  const Run run(inputs, outputs,
                std::span(actual_dims_).subspan(step.first_output, step.num_outputs), texts_,
                shared_.get(), &status_);
  step.kernel->run(run, phase, worker);
  // Only worker 0 reports errors; the first one ends the list.
  if (worker.index == 0 && !status_.is_ok()) {
    status_ = plugin::at_node(step.kernel->op(), std::move(status_));
  }
}

/// Takes pieces of a phase until none is left. A piece is a worker's share in a larger team, so the
/// kernel needs no code for pieces. Worker 0 takes piece 0, because only worker 0 may report
/// errors; claims begin at 1.
void CommandList::run_pieces(const Step& step, int phase, const Worker& worker) {
  std::atomic<int>& next = claims_[step.first_claim + static_cast<std::size_t>(phase)];
  const int pieces = worker.count * step.pieces_per_worker;
  int piece = worker.index == 0 ? 0 : next.fetch_add(1, std::memory_order_relaxed);
  while (piece < pieces) {
    run_phase(step, phase, {piece, pieces, worker.scratch});
    if (worker.index == 0 && step.stop_pieces > 1) {
      stop_.ask();
    } else if (worker.index == 0) {
      stop_.ask_now_and_then();
    }
    piece = next.fetch_add(1, std::memory_order_relaxed);
  }
}

/// A worker's share of a phase; of a long one in pieces, between which the run can stop.
void CommandList::run_share(const Step& step, int phase, const Worker& worker) {
  const int pieces = worker.count * step.stop_pieces;
  for (int i = 0; i < step.stop_pieces; ++i) {
    if (i > 0 && worker.index == 0) stop_.ask();
    run_phase(step, phase, {worker.index * step.stop_pieces + i, pieces, worker.scratch});
  }
}

/// For many short steps and phases, none of which asks itself. Worker 0 only.
void CommandList::ask_after(double work_ns) {
  unasked_ns_ += work_ns;
  if (unasked_ns_ < kAskNs) return;
  unasked_ns_ = 0;
  stop_.ask();
}

/// Runs a phase with helpers. `withdraw` waits for their last pieces, so the phase is complete.
void CommandList::offer_pieces(const Step& step, int phase, const Worker& worker) {
  offered_step_ = &step;
  offered_phase_ = phase;
  pool_.offer();
  run_pieces(step, phase, worker);
  pool_.withdraw();
}

void CommandList::help(const Member& member) {
  const StopScope scope(&stop_, false);
  std::byte* scratch = scratch_.get() + scratch_stride_ * member.index();
  run_pieces(*offered_step_, offered_phase_, {member.index(), member.count(), scratch});
}

void CommandList::run_step(const Step& step, const Worker& worker, const Member& member) {
  const int phases = step.kernel == nullptr ? 1 : step.kernel->phases();
  for (int phase = 0; phase < phases; ++phase) {
    if (phase > 0 && worker.count > 1) member.sync();
    if (mode_ == TeamMode::kHelped && worker.count > 1) {
      offer_pieces(step, phase, worker);
    } else {
      run_share(step, phase, worker);
    }
    if (worker.index == 0) ask_after(step.cost_ns / (phases * worker.count));
  }
}

void CommandList::walk(const Member& member) {
  std::byte* scratch = scratch_.get() + scratch_stride_ * member.index();
  const StopScope scope(&stop_, member.index() == 0);
  const Worker whole{0, 1, scratch};
  const Worker part{member.index(), member.count(), scratch};
  const bool is_timed = times_ != nullptr;
  StepTimes* times = member.index() == 0 ? times_.get() : nullptr;
  if (times != nullptr) times->begin_run(member.count());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.barrier_before || every_barrier_) member.sync();
    if (times != nullptr) times->begin_step(i);
    const bool is_whole = step.serial || (mode_ == TeamMode::kHelped && !step.is_offered);
    if (!is_whole) {
      run_step(step, part, member);
    } else if (member.index() == 0 && status_.is_ok()) {
      run_step(step, whole, member);
    }
    if (is_timed) member.sync();
    if (times != nullptr) times->end_step(i);
  }
}

Status CommandList::run(std::span<void* const> bindings) {
  if (!finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is not finished"};
  const auto wanted = used_.empty() ? 0 : static_cast<std::size_t>(used_.back().binding) + 1;
  if (bindings.size() < wanted) {
    return {SLUICE_FAILED_PRECONDITION, "the command list names " + std::to_string(wanted) +
                                            " bindings, got " + std::to_string(bindings.size())};
  }
  bind(bindings);
  status_ = plugin::ok();
  start_stop(&stop_);
  const bool is_observed = StepTimes::are_observed();
  if (is_observed || log_ != nullptr) times_ = std::make_unique<StepTimes>(steps_.size());
  run_steps();
  if (log_ != nullptr) log_->add_run(*times_);
  if (is_observed) tell_observer();
  times_ = nullptr;
  if (stop_.is_set()) status_ = {SLUICE_CANCELLED, "the run was stopped"};
  return std::move(status_);
}

void CommandList::tell_observer() {
  std::vector<std::string> kinds;
  kinds.reserve(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Kernel* kernel = steps_[i].kernel;
    kinds.push_back(kernel == nullptr ? "copy" : full_kind(kernel->op()));
    if (kernel != nullptr && kernel->is_generic()) kinds.back() += " (generic)";
    times_->describe(i, kinds.back().c_str(), kernel == nullptr ? "" : kernel->op().name);
  }
  times_->tell_observer();
}

void CommandList::run_steps() {
  const bool is_contended = !alone_ && pool_.is_contended() && !runs_steadily();
  mode_ = alone_ ? TeamMode::kAlone : TeamMode::kPinned;
  const std::int64_t begin_ns = is_contended ? now_ns() : 0;
  if (is_contended) mode_ = choice_.next(begin_ns);
  if (mode_ == TeamMode::kHelped) {
    for (std::atomic<int>& claim : claims_) claim.store(1, std::memory_order_relaxed);
  }
  run_team();
  if (is_contended) {
    const std::int64_t end_ns = now_ns();
    choice_.note(mode_, end_ns);
    if (mode_ != TeamMode::kPinned) pool_.note_unpinned_run(end_ns - begin_ns);
  }
}

void CommandList::run_team() {
  const ThreadPool::Task lead_or_run = [](void* list, const Member& member) {
    static_cast<CommandList*>(list)->walk(member);
  };
  const ThreadPool::Task take_part = [](void* list, const Member& member) {
    static_cast<CommandList*>(list)->help(member);
  };
  switch (mode_) {
    case TeamMode::kPinned: return pool_.run(lead_or_run, this);
    case TeamMode::kHelped: return pool_.lead(lead_or_run, take_part, this);
    case TeamMode::kAlone: return ThreadPool::run_alone(lead_or_run, this);
  }
}

}  // namespace sluice::cpu
