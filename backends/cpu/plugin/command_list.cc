#include "plugin/command_list.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "plugin/variants.h"
#include "pool/clock.h"

namespace sluice::cpu {
namespace {

/// Below this a step is not worth a meeting of workers, and a whole list not worth waking them.
constexpr double kDivideNs = 1500;
constexpr double kWakeNs = 12000;
/// Where pieces are taken as workers come: of steps as long as the first there are two for each
/// worker, or as many of the length of the second. More of them share better, and are waited for
/// less, and read more of what they have in common.
constexpr double kPiecesNs = 60000;
constexpr double kPieceNs = 200000;
constexpr double kMostPieces = 16;
/// Below this a step is not worth offering to helpers.
constexpr double kOfferNs = 10000;
constexpr std::int64_t kPage = 4096;
/// Stands for the list's shared scratch among the bindings.
constexpr std::int32_t kSharedScratch = -2;
constexpr double kCopyBytesPerNs = 10;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

double cost_of_copy(std::int64_t bytes) { return static_cast<double>(bytes) / kCopyBytesPerNs; }

/// Of a step, or of one of its phases, that takes one worker `phase_ns`.
int pieces_per_worker(double phase_ns, int workers) {
  if (phase_ns <= kPiecesNs) return 1;
  return static_cast<int>(std::clamp(phase_ns / workers / kPieceNs, 2.0, kMostPieces));
}

bool overlap(const auto& a, const auto& b) {
  return a.binding == b.binding && a.begin < b.end && b.begin < a.end;
}

Status check_argument(const sluice_op& op, const sluice_operand& operand,
                      const sluice_argument& argument) {
  const bool absent = plugin::is_absent(operand.tensor);
  if (absent != (argument.binding == -2) || argument.binding < -2) {
    return plugin::invalid_argument(plugin::kind_of(op) +
                                    ": arguments and operands disagree on what is absent");
  }
  // Kernels find packed constants through their operand.
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
  if (bytes == 0) return plugin::ok();
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

Status CommandList::add_kernel(const Kernel& kernel, std::span<const sluice_argument> inputs,
                               std::span<const sluice_argument> outputs) {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  if (Status status = check_arguments(kernel.op(), inputs, outputs); !status.is_ok()) return status;
  Step step;
  step.kernel = &kernel;
  step.serial = kernel.is_serial() || kernel.cost_ns() < kDivideNs;
  append(step, inputs, outputs);
  return plugin::ok();
}

Status CommandList::add_copy(const sluice_argument& source, const sluice_argument& target,
                             std::int64_t size_bytes) {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  if (size_bytes < 0) return plugin::invalid_argument("a copy of a negative number of bytes");
  Step step;
  step.copy_bytes = size_bytes;
  step.serial = cost_of_copy(size_bytes) < kDivideNs;
  append(step, {&source, 1}, {&target, 1});
  return plugin::ok();
}

void CommandList::add_access(const sluice_argument& argument, std::int64_t size_bytes, bool write,
                             bool serial, std::vector<Access>* all) const {
  if (argument.binding < -1 || size_bytes <= 0) return;
  const auto begin = argument.binding == -1 ? reinterpret_cast<std::uintptr_t>(argument.address)
                                            : static_cast<std::uintptr_t>(argument.offset_bytes);
  all->push_back(
      {argument.binding, begin, begin + static_cast<std::uintptr_t>(size_bytes), write, serial});
}

std::vector<CommandList::Access> CommandList::accesses(const Step& step) const {
  std::vector<Access> all;
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
    add_access(arguments_[step.first_input + i], size, write, step.serial, &all);
  }
  if (step.kernel != nullptr && step.kernel->shared_bytes() > 0) {
    all.push_back({kSharedScratch, 0, 1, true, step.serial});
  }
  return all;
}

void CommandList::plan_barriers() {
  std::vector<Access> open;  // since the last barrier
  for (Step& step : steps_) {
    const std::vector<Access> own = accesses(step);
    const auto conflicts = [&](const Access& a) {
      return std::any_of(open.begin(), open.end(), [&](const Access& b) {
        return (a.write || b.write) && !(a.serial && b.serial) && overlap(a, b);
      });
    };
    step.barrier_before = std::any_of(own.begin(), own.end(), conflicts);
    if (step.barrier_before) open.clear();
    open.insert(open.end(), own.begin(), own.end());
    for (const Access& access : own) {
      if (access.binding < 0) continue;
      const auto binding = static_cast<std::size_t>(access.binding);
      if (binding >= binding_bytes_.size()) binding_bytes_.resize(binding + 1);
      binding_bytes_[binding] = std::max(binding_bytes_[binding], access.end);
    }
  }
}

Status CommandList::take_scratch() {
  std::int64_t own = 0;
  std::int64_t shared = 0;
  for (const Step& step : steps_) {
    if (step.kernel == nullptr) continue;
    own = std::max(own, step.kernel->scratch_bytes());
    shared = std::max(shared, step.kernel->shared_bytes());
  }
  scratch_stride_ = whole_pages(own);
  if (Status status = take_pages(scratch_stride_ * pool_.count(), &scratch_); !status.is_ok()) {
    return status;
  }
  return take_pages(whole_pages(shared), &shared_);
}

void CommandList::start_timing() {
  times_ = StepTimes::create_if_wanted();
  if (times_ == nullptr) return;
  for (const Step& step : steps_) {
    if (step.kernel != nullptr) {
      times_->add_step(step.kernel->op());
    } else {
      times_->add_copy(step.copy_bytes);
    }
  }
}

void CommandList::plan_pieces() {
  std::size_t claims = 0;
  for (Step& step : steps_) {
    if (step.serial) continue;
    const int phases = step.kernel == nullptr ? 1 : step.kernel->phases();
    const double cost_ns =
        step.kernel == nullptr ? cost_of_copy(step.copy_bytes) : step.kernel->cost_ns();
    step.first_claim = claims;
    const double phase_ns = cost_ns / phases;
    step.pieces_per_worker = pieces_per_worker(phase_ns, pool_.count());
    step.is_offered = phase_ns > kOfferNs;
    claims += static_cast<std::size_t>(phases);
  }
  claims_ = std::vector<std::atomic<int>>(claims);
}

Status CommandList::finish() {
  if (finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
  double divided_ns = 0;
  for (const Step& step : steps_) {
    if (step.serial) continue;
    divided_ns += step.kernel != nullptr ? step.kernel->cost_ns() : cost_of_copy(step.copy_bytes);
  }
  alone_ = divided_ns < kWakeNs;
  plan_barriers();
  plan_pieces();
  if (Status status = take_scratch(); !status.is_ok()) return status;
  addresses_.resize(arguments_.size());
  for (const sluice_argument& argument : arguments_) {
    actual_dims_.push_back(argument.actual_dims);
    texts_binding_ = std::max(texts_binding_, argument.texts);
  }
  const auto num_bindings = static_cast<std::size_t>(texts_binding_) + 1;
  if (texts_binding_ > 0 && binding_bytes_.size() < num_bindings) {
    binding_bytes_.resize(num_bindings);
  }
  start_timing();
  finished_ = true;
  return plugin::ok();
}

bool CommandList::bindings_overlap(std::span<void* const> bindings) const {
  for (std::size_t i = 0; i < binding_bytes_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto a = reinterpret_cast<std::uintptr_t>(bindings[i]);
      const auto b = reinterpret_cast<std::uintptr_t>(bindings[j]);
      if (a < b + binding_bytes_[j] && b < a + binding_bytes_[i]) return true;
    }
  }
  return false;
}

void CommandList::bind(std::span<void* const> bindings) {
  if (!bound_.empty() && std::equal(bound_.begin(), bound_.end(), bindings.begin())) return;
  bound_.assign(bindings.begin(),
                bindings.begin() + static_cast<std::ptrdiff_t>(binding_bytes_.size()));
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

void CommandList::run_phase(const Step& step, int phase, const Worker& worker) {
  const std::span<void* const> addresses(addresses_);
  const auto inputs = addresses.subspan(step.first_input, step.num_inputs);
  const auto outputs = addresses.subspan(step.first_output, step.num_outputs);
  if (step.kernel == nullptr) {
    const Share share = share_of(step.copy_bytes, kPage, worker);
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
}

/// Plays one worker of a larger team after another, until all of them have been played. Worker 0
/// plays worker 0, who alone may fail.
void CommandList::run_pieces(const Step& step, int phase, const Worker& worker) {
  std::atomic<int>& next = claims_[step.first_claim + static_cast<std::size_t>(phase)];
  const int pieces = worker.count * step.pieces_per_worker;
  int piece = worker.index == 0 ? 0 : next.fetch_add(1, std::memory_order_relaxed);
  while (piece < pieces) {
    run_phase(step, phase, {piece, pieces, worker.scratch});
    piece = next.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Until all are done; helpers take some.
void CommandList::offer_pieces(const Step& step, int phase, const Worker& worker) {
  offered_step_ = &step;
  offered_phase_ = phase;
  pool_.offer();
  run_pieces(step, phase, worker);
  pool_.withdraw();
}

void CommandList::help(const Member& member) {
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
      run_phase(step, phase, worker);
    }
  }
}

void CommandList::walk(const Member& member) {
  std::byte* scratch = scratch_.get() + scratch_stride_ * member.index();
  const Worker whole{0, 1, scratch};
  const Worker part{member.index(), member.count(), scratch};
  const bool is_timed = times_ != nullptr || record_ != nullptr;
  StepTimes* times = member.index() == 0 ? times_.get() : nullptr;
  StepRecord* record = member.index() == 0 ? record_.get() : nullptr;
  if (times != nullptr) times->begin_run(member.count());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.barrier_before || every_barrier_) member.sync();
    if (record != nullptr) record->begin_step(i);
    const bool is_whole = step.serial || (mode_ == TeamMode::kHelped && !step.is_offered);
    if (!is_whole) {
      run_step(step, part, member);
    } else if (member.index() == 0 && status_.is_ok()) {
      run_step(step, whole, member);
    }
    if (is_timed) member.sync();
    if (record != nullptr) record->end_step(i);
    if (times != nullptr) times->end_step(i);
  }
}

Status CommandList::run(std::span<void* const> bindings) {
  if (!finished_) return {SLUICE_FAILED_PRECONDITION, "the command list is not finished"};
  if (bindings.size() < binding_bytes_.size()) {
    return plugin::invalid_argument("the command list names " +
                                    std::to_string(binding_bytes_.size()) + " bindings, got " +
                                    std::to_string(bindings.size()));
  }
  bind(bindings);
  status_ = plugin::ok();
  if (!StepRecord::is_wanted()) {
    run_steps();
  } else {
    record_ = std::make_unique<StepRecord>(steps_.size());
    run_steps();
    tell_observer();
    record_ = nullptr;
  }
  return std::move(status_);
}

void CommandList::tell_observer() {
  std::vector<std::string> kinds;
  kinds.reserve(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Kernel* kernel = steps_[i].kernel;
    kinds.push_back(kernel == nullptr ? "copy" : full_kind(kernel->op()));
    record_->describe(i, kinds.back().c_str(), kernel == nullptr ? "" : kernel->op().name);
  }
  record_->tell();
}

void CommandList::run_steps() {
  const bool is_strained = !alone_ && pool_.is_strained() && !runs_steadily();
  mode_ = alone_ ? TeamMode::kAlone : TeamMode::kPinned;
  const std::int64_t begin_ns = is_strained ? now_ns() : 0;
  if (is_strained) mode_ = choice_.next(begin_ns);
  if (mode_ == TeamMode::kHelped) {
    for (std::atomic<int>& claim : claims_) claim.store(1, std::memory_order_relaxed);
  }
  run_team();
  if (is_strained) {
    const std::int64_t end_ns = now_ns();
    choice_.note(mode_, end_ns);
    if (mode_ != TeamMode::kPinned) pool_.look_around(end_ns - begin_ns);
  }
}

void CommandList::run_team() {
  const WorkerPool::Task lead_or_run = [](void* list, const Member& member) {
    static_cast<CommandList*>(list)->walk(member);
  };
  const WorkerPool::Task take_part = [](void* list, const Member& member) {
    static_cast<CommandList*>(list)->help(member);
  };
  switch (mode_) {
    case TeamMode::kPinned: return pool_.run(lead_or_run, this);
    case TeamMode::kHelped: return pool_.lead(lead_or_run, take_part, this);
    case TeamMode::kAlone: return WorkerPool::run_alone(lead_or_run, this);
  }
}

}  // namespace sluice::cpu
