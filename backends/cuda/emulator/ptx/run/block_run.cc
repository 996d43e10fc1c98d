#include "emulator/ptx/run/block_run.h"

#include <algorithm>

namespace sluice::cuda::ptx {
namespace {

// Long enough that switching costs nothing, short enough that a warp that polls shared memory soon
// lets the one that it waits for run.
constexpr std::uint64_t kTurn = 20000;

}  // namespace

bool BlockRun::run_warp(WarpRun& run) {
  const std::uint64_t before = *budget_;
  turn_ = std::min(kTurn, *budget_);
  while (turn_ > 0 && !run.warp.has_failed) {
    Group* group = run.groups.choose();
    if (group == nullptr) break;
    const std::uint64_t clock = block_.clock;
    run_group(run, *group);
    *budget_ -= std::min(*budget_, block_.clock - clock);
    if (*budget_ == 0 && !run.groups.is_empty()) {
      run.warp.fail(SLUICE_DEADLINE_EXCEEDED, std::countr_zero(run.warp.live | 1u << 31),
                    "the launch ran " + std::to_string(block_.launch->max_instructions) +
                        " instructions of warps without an end");
    }
  }
  return *budget_ != before;
}

void BlockRun::run_group(WarpRun& run, Group& group) {
  Warp& warp = run.warp;
  const std::uint32_t meeting = run.groups.next_meeting(group);
  const Instruction* const code = program_.code.data();
  std::uint64_t executed = 0, limit = turn_;
  bool goes_on = true;
  while (goes_on && executed < limit) {
    const Instruction& in = code[group.at];
    failed_at_ = group.at;
    ++executed;
    std::uint32_t mask = group.mask;
    if (in.is_guarded) mask &= in.is_negated ? ~warp.predicate(in.guard) : warp.predicate(in.guard);
    if (mask == 0) {
      ++group.at;
    } else if (in.flow == Flow::kNext) {
      warp.mask = mask;
      in.step(warp, in);
      ++group.at;
      goes_on = !warp.has_failed;
    } else {
      block_.clock += executed;
      block_.counts->warp_instructions += executed;
      turn_ -= std::min(turn_, executed);
      limit -= executed;
      executed = 0;
      goes_on = follow(run, group, in, mask);
      limit = std::min(limit, turn_);
      if (!goes_on) return;  // `group` may be gone
    }
    goes_on = goes_on && group.at < meeting;
  }
  block_.clock += executed;
  block_.counts->warp_instructions += executed;
  turn_ -= std::min(turn_, executed);
}

bool BlockRun::follow(WarpRun& run, Group& group, const Instruction& in, std::uint32_t mask) {
  const std::size_t index = run.groups.index_of(group);
  switch (in.flow) {
    case Flow::kTogether: return run_together(run, group, in, mask);
    case Flow::kBranch: return branch(run, group, mask, in.target);
    case Flow::kTable: branch_by_table(run, index, in, mask); return false;
    case Flow::kCall: {
      const std::uint32_t behind = ++group.at;
      run.groups.split(index, mask, in.target);
      // The lanes that call are the last group, or took the place of this one.
      Group& called =
          run.groups[index].at == in.target ? run.groups[index] : run.groups.all().back();
      called.returns.push_back(behind);
      return false;
    }
    case Flow::kReturn: return_from(run, index, mask); return false;
    case Flow::kExit:
      ++group.at;
      end_lanes(run, index, mask);
      return false;
    case Flow::kBarrier: arrive(run, index, in, mask); return false;
    case Flow::kYield:
      ++group.at;
      turn_ = 0;
      return false;
    default:
      run.warp.fail(SLUICE_ABORTED, std::countr_zero(mask), "the kernel trapped");
      return false;
  }
}

bool BlockRun::branch(WarpRun& run, Group& group, std::uint32_t mask, std::uint32_t target) {
  if (mask == group.mask) {
    const bool is_back = target <= group.at;
    group.at = target;
    // Backwards another group may stand in between.
    return !is_back || run.groups.all().size() == 1;
  }
  ++group.at;
  if (group.at != target) run.groups.split(run.groups.index_of(group), mask, target);
  return false;
}

void BlockRun::branch_by_table(WarpRun& run, std::size_t index, const Instruction& in,
                               std::uint32_t mask) {
  const std::uint32_t* choice = run.warp.lanes<std::uint32_t>(in.in[0]);
  for_lanes(mask, [&](int lane) {
    if (choice[lane] >= static_cast<std::uint64_t>(in.offset)) {
      run.warp.fail(
          SLUICE_OUT_OF_RANGE, lane,
          "entry " + std::to_string(choice[lane]) + " of a table of " + std::to_string(in.offset));
    }
  });
  if (run.warp.has_failed) return;
  ++run.groups[index].at;  // lanes whose guard is false
  while (mask != 0) {
    const std::uint32_t chosen = choice[std::countr_zero(mask)];
    std::uint32_t same = 0;
    for_lanes(mask, [&](int lane) { same |= std::uint32_t{choice[lane] == chosen} << lane; });
    mask &= ~same;
    run.groups.split(index, same, program_.list[in.list + chosen]);
  }
}

void BlockRun::return_from(WarpRun& run, std::size_t index, std::uint32_t mask) {
  Group& group = run.groups[index];
  ++group.at;
  if (group.returns.empty()) return end_lanes(run, index, mask);
  const std::uint32_t behind = group.returns.back();
  const bool is_whole = group.mask == mask;
  run.groups.split(index, mask, behind);
  Group& returned = is_whole ? run.groups[index] : run.groups.all().back();
  returned.returns.pop_back();
}

void BlockRun::end_lanes(WarpRun& run, std::size_t index, std::uint32_t mask) {
  run.warp.live &= ~mask;
  live_ -= static_cast<std::uint32_t>(std::popcount(mask));
  run.groups.end(index, mask);
  open_barriers();  // fewer threads are awaited now
}

bool BlockRun::run_together(WarpRun& run, Group& group, const Instruction& in, std::uint32_t mask) {
  Warp& warp = run.warp;
  const int first = std::countr_zero(mask);
  const std::uint32_t members = warp.lanes<std::uint32_t>(in.in[3])[first];
  if ((members & mask) != mask) {
    warp.fail(SLUICE_FAILED_PRECONDITION, first,
              "a lane executes this without being in its mask of members");
    return false;
  }
  if ((members & warp.live & ~group.mask) != 0) {
    group.state = Group::State::kAwaitsLanes;
    return false;
  }
  warp.mask = mask;
  in.step(warp, in);
  ++group.at;
  return !warp.has_failed && run.groups.all().size() == 1;
}

void BlockRun::arrive(WarpRun& run, std::size_t index, const Instruction& in, std::uint32_t mask) {
  Warp& warp = run.warp;
  const int first = std::countr_zero(mask);
  const std::uint32_t number = warp.lanes<std::uint32_t>(in.in[0])[first];
  if (number >= kBarriers) {
    return warp.fail(SLUICE_OUT_OF_RANGE, first,
                     "a block has " + std::to_string(kBarriers) + " barriers, no number " +
                         std::to_string(number));
  }
  Barrier& barrier = barriers_[number];
  const auto threads = static_cast<std::uint32_t>(std::popcount(mask));
  barrier.arrived += threads;
  barrier.counted += mask == warp.live ? static_cast<std::uint32_t>(kLanes) : threads;
  barrier.line = in.line;
  if (in.count == 1) barrier.expected = warp.lanes<std::uint32_t>(in.in[1])[first];
  if ((in.modifiers & kBarrierReduces) != 0) {
    const std::uint32_t bits = warp.predicate(in.in[2]);
    barrier.holds += static_cast<std::uint32_t>(
        std::popcount(mask & ((in.modifiers & kBarrierNegates) != 0 ? ~bits : bits)));
  }
  const std::uint32_t at = run.groups[index].at;
  ++run.groups[index].at;
  if ((in.modifiers & kBarrierArrives) == 0) {
    const bool is_whole = run.groups[index].mask == mask;
    run.groups.split(index, mask, at);  // released groups go on behind it
    Group& waiting = is_whole ? run.groups[index] : run.groups.all().back();
    waiting.state = Group::State::kAtBarrier;
    waiting.barrier = static_cast<std::uint8_t>(number);
  }
  open_barriers();
}

void BlockRun::open_barriers() {
  for (std::uint32_t number = 0; number < kBarriers; ++number) {
    if (barriers_[number].is_open(live_)) release(number);
  }
}

void BlockRun::release(std::uint32_t number) {
  const Barrier barrier = barriers_[number];
  barriers_[number] = {};
  block_.races.begin_epoch();
  for (WarpRun& run : warps_) {
    for (Group& group : run.groups.all()) {
      if (group.state != Group::State::kAtBarrier || group.barrier != number) continue;
      const Instruction& in = program_.code[group.at++];
      group.state = Group::State::kReady;
      if ((in.modifiers & kBarrierReduces) == 0) continue;
      const std::uint32_t operation = in.modifiers >> kBarrierOperationShift;
      run.warp.mask = group.mask;
      if (operation == 0) {
        for_lanes(group.mask, [&](int lane) { run.warp.write(in.out, lane, barrier.holds); });
      } else {
        const bool result = operation == 1 ? barrier.holds == barrier.arrived : barrier.holds > 0;
        run.warp.store_predicate(in.out, result ? kAllLanes : 0);
      }
    }
  }
}

}  // namespace sluice::cuda::ptx
