#include "plugin/command_list.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace sluice::cpu {
namespace {

/// A shorter step runs on worker 0 alone: a barrier costs about as much as the step.
constexpr double kDivideNs = 1500;
/// A list with less to divide runs on the caller alone: waking a sleeping worker takes longer.
constexpr double kWakeNs = 12000;
/// Sizes of pieces in TeamMode::kHelped. A phase longer than kPiecesNs has at least two pieces per
/// worker, and pieces of about kPieceNs if it is long. More pieces divide more evenly and are
/// waited for less, but read more of their common operands.
constexpr double kPiecesNs = 60000;
constexpr double kPieceNs = 200000;
constexpr double kMaxPieces = 16;
/// A shorter phase is not offered to helpers: opening and closing the gate costs too much.
constexpr double kOfferNs = 10000;
/// A longer share of a phase is run in pieces, so that the run can stop between them. Pieces read
/// more of their common operands than a whole share, so they are long.
constexpr double kStopNs = 5e7;
constexpr double kMaxStopPieces = 4096;
constexpr std::int64_t kPage = 4096;
/// The binding number of the list's shared scratch, for plan_barriers.
constexpr std::int32_t kSharedScratch = -2;
constexpr double kCopyBytesPerNs = 10;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Pieces per worker of a phase that takes one worker `phase_ns`.
int pieces_per_worker(double phase_ns, int workers) {
  if (phase_ns <= kPiecesNs) return 1;
  return static_cast<int>(std::clamp(phase_ns / workers / kPieceNs, 2.0, kMaxPieces));
}

int stop_pieces(const Kernel* kernel, double share_ns) {
  if (share_ns <= 2 * kStopNs || kernel == nullptr) return 1;
  if (dynamic_cast<const LooksAtStop*>(kernel) != nullptr) return 1;
  return static_cast<int>(std::min(share_ns / kStopNs, kMaxStopPieces));
}

Status check_argument(const sluice_op& op, const sluice_operand& operand,
                      const sluice_argument& argument) {
  const bool absent = plugin::is_absent(operand.tensor);
  if (absent != (argument.binding == -2) || argument.binding < -2) {
    return plugin::invalid_argument(plugin::kind_of(op) +
                                    ": arguments and operands disagree on what is absent");
  }
  // A packed constant needs no address: the kernel finds it through its operand.
  if (argument.binding == -1 && argument.address == nullptr && operand.tensor.size_bytes > 0 &&
      operand.packed == nullptr) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": an argument has no address");
  }
  return plugin::ok();
}

Status check_arguments(const sluice_op& op, std::span<const sluice_argument> inputs,
                       std::span<const sluice_argument> outputs) {
  const auto fixed = static_cast<std::size_t>(op.num_inputs);
  if (inputs.size() != fixed + static_cast<std::size_t>(op.num_body_inputs) ||
      outputs.size() != static_cast<std::size_t>(op.num_outputs)) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": wrong number of arguments");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const sluice_operand& operand = i < fixed ? op.inputs[i] : op.body_inputs[i - fixed];
    if (Status status = check_argument(op, operand, inputs[i]); !status.is_ok()) return status;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (Status status = check_argument(op, op.outputs[i], outputs[i]); !status.is_ok()) {
      return status;
    }
  }
  return plugin::ok();
}

}  // namespace

void CommandList::FreeBytes::operator()(std::byte* bytes) const { std::free(bytes); }

Status CommandList::take_pages(std::int64_t bytes, Bytes* memory) {
  memory->reset();
  memory->reset(static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(kPage), static_cast<std::size_t>(bytes))));
  if (*memory != nullptr) return plugin::ok();
  return {SLUICE_RESOURCE_EXHAUSTED,
          "no memory for " + std::to_string(bytes) + " bytes of kernel scratch"};
}

void CommandList::append(Step step, std::span<const sluice_argument> inputs,
                         std::span<const sluice_argument> outputs) {
  step.first_input = arguments_.size();
  step.num_inputs = inputs.size();
  arguments_.insert(arguments_.end(), inputs.begin(), inputs.end());
  step.first_output = arguments_.size();
  step.num_outputs = outputs.size();
  arguments_.insert(arguments_.end(), outputs.begin(), outputs.end());
  steps_.push_back(step);
}

void CommandList::set_kernel(const Kernel& kernel, Step* step) {
  step->kernel = &kernel;
  step->cost_ns = kernel.cost_ns();
  step->serial = kernel.is_serial() || step->cost_ns < kDivideNs;
  wanted_own_ = std::max(wanted_own_, kernel.scratch_bytes());
  wanted_shared_ = std::max(wanted_shared_, kernel.shared_bytes());
}

Status CommandList::add_kernel(const Kernel& kernel, std::span<const sluice_argument> inputs,
                               std::span<const sluice_argument> outputs) {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  if (Status status = check_arguments(kernel.op(), inputs, outputs); !status.is_ok()) return status;
  Step step;
  set_kernel(kernel, &step);
  append(step, inputs, outputs);
  return plugin::ok();
}

Status CommandList::add_copy(const sluice_argument& source, const sluice_argument& target,
                             std::int64_t size_bytes) {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  if (size_bytes < 0) return plugin::invalid_argument("a copy of a negative number of bytes");
  Step step;
  step.copy_bytes = size_bytes;
  step.cost_ns = static_cast<double>(size_bytes) / kCopyBytesPerNs;
  step.serial = step.cost_ns < kDivideNs;
  append(step, {&source, 1}, {&target, 1});
  return plugin::ok();
}

void CommandList::find_accesses(const Step& step, std::vector<Access>* all) const {
  all->clear();
  for (std::size_t i = 0; i < step.num_inputs + step.num_outputs; ++i) {
    const bool write = i >= step.num_inputs;
    std::int64_t size = step.copy_bytes;
    if (step.kernel != nullptr) {
      const sluice_op& op = step.kernel->op();
      const auto fixed = static_cast<std::size_t>(op.num_inputs);
      size = write       ? op.outputs[i - step.num_inputs].tensor.size_bytes
             : i < fixed ? op.inputs[i].tensor.size_bytes
                         : op.body_inputs[i - fixed].tensor.size_bytes;
    }
    const sluice_argument& argument = arguments_[step.first_input + i];
    if (argument.binding < -1 || size <= 0) continue;
    const auto begin = argument.binding == -1 ? reinterpret_cast<std::uintptr_t>(argument.address)
                                              : static_cast<std::uintptr_t>(argument.offset_bytes);
    all->push_back(
        {argument.binding, begin, begin + static_cast<std::uintptr_t>(size), write, step.serial});
  }
  if (step.kernel != nullptr && step.kernel->shared_bytes() > 0) {
    all->push_back({kSharedScratch, 0, 1, true, step.serial});
  }
}

void CommandList::plan_barriers() {
  // Invariant: steps since the last barrier have no conflicting accesses in `open`. One worker
  // needs no barriers.
  OpenAccesses open;
  std::vector<Access> own;
  for (Used& used : used_) used.bytes = 0;
  for (Step& step : steps_) {
    find_accesses(step, &own);
    step.barrier_before = !alone_ && std::ranges::any_of(own, [&](const Access& access) {
      return open.conflicts_with(access);
    });
    if (step.barrier_before) open.clear();
    for (const Access& access : own) {
      if (!alone_) open.add(access);
      if (access.binding >= 0) note_use(access.binding, access.end);
    }
  }
}

void CommandList::note_use(std::int32_t binding, std::uintptr_t bytes) {
  const auto at = std::ranges::lower_bound(used_, binding, {}, &Used::binding);
  if (at != used_.end() && at->binding == binding) {
    at->bytes = std::max(at->bytes, bytes);
  } else {
    used_.insert(at, {binding, bytes});
  }
}

/// Scratch never shrinks: kernels that need as much may come back.
Status CommandList::take_scratch() {
  if (whole_pages(wanted_own_) > scratch_stride_) {
    scratch_stride_ = 0;
    const std::int64_t stride = whole_pages(wanted_own_);
    Status status = take_pages(stride * pool_.count(), &scratch_);
    if (!status.is_ok()) return status;
    scratch_stride_ = stride;
  }
  if (whole_pages(wanted_shared_) > shared_bytes_) {
    shared_bytes_ = 0;
    Status status = take_pages(whole_pages(wanted_shared_), &shared_);
    if (!status.is_ok()) return status;
    shared_bytes_ = whole_pages(wanted_shared_);
  }
  return plugin::ok();
}

std::int64_t CommandList::held_bytes() const {
  const std::size_t arguments = sizeof(arguments_[0]) + sizeof(void*) + sizeof(std::int64_t*);
  return scratch_stride_ * pool_.count() + shared_bytes_ +
         static_cast<std::int64_t>(
             sizeof(*this) + steps_.size() * sizeof(Step) + arguments_.size() * arguments +
             claims_.size() * sizeof(claims_[0]) + used_.size() * (sizeof(Used) + sizeof(void*)));
}

void CommandList::start_log() {
  log_ = StepLog::create_if_wanted();
  if (log_ == nullptr) return;
  for (const Step& step : steps_) {
    if (step.kernel != nullptr) {
      log_->add_step(step.kernel->op());
    } else {
      log_->add_copy(step.copy_bytes);
    }
  }
}

void CommandList::plan_pieces() {
  std::size_t claims = 0;
  for (Step& step : steps_) {
    if (step.serial) continue;
    const int phases = step.kernel == nullptr ? 1 : step.kernel->phases();
    step.first_claim = claims;
    const double phase_ns = step.cost_ns / phases;
    step.pieces_per_worker = pieces_per_worker(phase_ns, pool_.count());
    step.is_offered = phase_ns > kOfferNs;
    step.stop_pieces = stop_pieces(step.kernel, phase_ns / pool_.count());
    step.pieces_per_worker = std::max(step.pieces_per_worker, step.stop_pieces);
    claims += static_cast<std::size_t>(phases);
  }
  claims_ = std::vector<std::atomic<int>>(claims);
}

Status CommandList::finish() {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  addresses_.resize(arguments_.size());
  for (const sluice_argument& argument : arguments_) {
    actual_dims_.push_back(argument.actual_dims);
    texts_binding_ = std::max(texts_binding_, argument.texts);
    // Those of tensors without elements too: after an exchange they may have some.
    if (argument.binding >= 0) note_use(argument.binding, 0);
  }
  if (texts_binding_ > 0) note_use(texts_binding_, 0);
  plan_team();
  if (Status status = take_scratch(); !status.is_ok()) return status;
  start_log();
  finished_ = true;
  return plugin::ok();
}

void CommandList::plan_team() {
  double divided_ns = 0;
  for (const Step& step : steps_) divided_ns += step.serial ? 0 : step.cost_ns;
  const bool was_alone = finished_ && alone_;
  alone_ = divided_ns < kWakeNs;
  bound_.clear();
  if (was_alone && alone_) return;  // what is planned for a team is not used
  plan_barriers();
  plan_pieces();
}

Status CommandList::exchange(std::span<const std::int32_t> entries,
                             std::span<const Kernel* const> kernels) {
  if (!finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is not finished"};
  const std::span<const sluice_argument> arguments(arguments_);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = static_cast<std::size_t>(entries[i]);
    if (entry >= steps_.size() || steps_[entry].kernel == nullptr) {
      return plugin::invalid_argument("the command list has no kernel as entry " +
                                      std::to_string(entries[i]));
    }
    Step& step = steps_[entry];
    const auto inputs = arguments.subspan(step.first_input, step.num_inputs);
    const auto outputs = arguments.subspan(step.first_output, step.num_outputs);
    Status status = check_arguments(kernels[i]->op(), inputs, outputs);
    if (!status.is_ok()) return status;
    set_kernel(*kernels[i], &step);
  }
  plan_team();
  if (log_ != nullptr) start_log();
  return take_scratch();
}

}  // namespace sluice::cpu
