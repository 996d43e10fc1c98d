// The begin and the end of a block: first values of registers, turns of warps, texts of errors.
#include <algorithm>

#include "emulator/ptx/run/block_run.h"

namespace sluice::cuda::ptx {
namespace {

/// Bits of all lanes below, or from, a lane.
std::uint32_t below(int lane) { return (1u << lane) - 1; }

std::string tuple(std::uint64_t index, Dim3 size) {
  return "(" + std::to_string(index % size.x) + "," + std::to_string(index / size.x % size.y) +
         "," + std::to_string(index / size.x / size.y) + ")";
}

}  // namespace

BlockRun::BlockRun(const Kernel& kernel, const Launch& launch, GlobalMemory* memory, Counts* counts)
    : kernel_(kernel), program_(*kernel.program) {
  const std::uint64_t threads = launch.block.count();
  const auto warps = static_cast<std::size_t>((threads + kLanes - 1) / kLanes);
  block_.program = &program_;
  block_.launch = &launch;
  block_.global = memory;
  block_.counts = counts;
  block_.shared.resize(std::size_t{program_.static_shared_bytes} + launch.dynamic_shared_bytes);
  block_.local.resize(warps * kLanes * program_.local_bytes);
  block_.random = Random(launch.seed);
  warps_.resize(warps);
  files_.resize(warps * program_.file_bytes);
}

Status BlockRun::run(std::uint64_t number, std::uint64_t* budget) {
  budget_ = budget;
  start(number);
  const std::size_t first = block_.launch->seed == 0 ? 0 : block_.random.below(warps_.size());
  while (live_ > 0) {
    bool has_moved = false;
    for (std::size_t i = 0; i < warps_.size(); ++i) {
      WarpRun& run = warps_[(first + i) % warps_.size()];
      has_moved |= run_warp(run);
      if (run.warp.has_failed) return failure_of(run);
    }
    if (!has_moved) return deadlock();
  }
  return plugin::ok();
}

void BlockRun::start(std::uint64_t number) {
  const Dim3 grid = block_.launch->grid;
  const std::uint64_t threads = block_.launch->block.count();
  block_.number = number;
  block_.index = {static_cast<std::uint32_t>(number % grid.x),
                  static_cast<std::uint32_t>(number / grid.x % grid.y),
                  static_cast<std::uint32_t>(number / grid.x / grid.y)};
  // What a block leaves in memory of the chip is nothing that another may read.
  std::fill(block_.shared.begin(), block_.shared.end(), std::byte{0xcd});
  std::fill(block_.local.begin(), block_.local.end(), std::byte{0xcd});
  block_.races.reset(block_.shared.size(), block_.launch->refuses_races);
  block_.copies.assign(warps_.size(), Copies());
  barriers_ = {};
  live_ = static_cast<std::uint32_t>(threads);
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[i].warp;
    const std::uint64_t lanes = std::min<std::uint64_t>(threads - i * kLanes, kLanes);
    warp = Warp();
    warp.file = files_.data() + i * program_.file_bytes;
    warp.live = lanes == kLanes ? kAllLanes : below(static_cast<int>(lanes));
    warp.index = static_cast<std::uint32_t>(i);
    warp.block = &block_;
    fill_registers(warp);
    warps_[i].groups.start(warp.live);
  }
  is_first_block_ = false;
}

void BlockRun::fill_registers(Warp& warp) {
  for (const InitialValue& value : program_.initial) {
    // No instruction writes these registers: most keep what the first block found in them.
    const bool is_of_block = value.what >= Initial::kCtaidX && value.what <= Initial::kCtaidZ;
    if (!is_first_block_ && !is_of_block && value.what != Initial::kSmId) continue;
    for (int lane = 0; lane < kLanes; ++lane)
      warp.write(value.place, lane, initial_value(value, warp, lane));
  }
}

std::uint64_t BlockRun::initial_value(const InitialValue& value, const Warp& warp, int lane) const {
  const Launch& launch = *block_.launch;
  const std::uint64_t thread =
      std::uint64_t{warp.index} * kLanes + static_cast<std::uint64_t>(lane);
  switch (value.what) {
    case Initial::kNumber: return value.bits;
    case Initial::kVariable: return (*kernel_.variables)[value.variable].address + value.bits;
    case Initial::kTidX: return thread % launch.block.x;
    case Initial::kTidY: return thread / launch.block.x % launch.block.y;
    case Initial::kTidZ: return thread / launch.block.x / launch.block.y;
    case Initial::kNtidX: return launch.block.x;
    case Initial::kNtidY: return launch.block.y;
    case Initial::kNtidZ: return launch.block.z;
    case Initial::kCtaidX: return block_.index.x;
    case Initial::kCtaidY: return block_.index.y;
    case Initial::kCtaidZ: return block_.index.z;
    case Initial::kNctaidX: return launch.grid.x;
    case Initial::kNctaidY: return launch.grid.y;
    case Initial::kNctaidZ: return launch.grid.z;
    case Initial::kLaneId: return static_cast<std::uint64_t>(lane);
    case Initial::kWarpId: return warp.index;
    case Initial::kNwarpId: return warps_.size();
    case Initial::kSmId:
      return launch.multiprocessors.empty()
                 ? 0
                 : launch.multiprocessors[block_.number % launch.multiprocessors.size()];
    case Initial::kNsmId: return launch.multiprocessor_count;
    case Initial::kGridId: return 1;
    case Initial::kLanemaskEq: return 1u << lane;
    case Initial::kLanemaskLt: return below(lane);
    case Initial::kLanemaskLe: return below(lane) | 1u << lane;
    case Initial::kLanemaskGt: return ~(below(lane) | 1u << lane);
    case Initial::kLanemaskGe: return ~below(lane);
    case Initial::kDynamicSharedSize: return launch.dynamic_shared_bytes;
    case Initial::kTotalSharedSize: return block_.shared.size();
  }
  return 0;
}

std::string BlockRun::thread_text(std::uint64_t thread) const {
  return "thread " + tuple(thread, block_.launch->block) + " of block " +
         tuple(block_.number, block_.launch->grid);
}

Status BlockRun::failure_of(const WarpRun& run) const {
  const Instruction& in = program_.code[failed_at_];
  const std::uint64_t thread =
      std::uint64_t{run.warp.index} * kLanes + static_cast<std::uint64_t>(run.warp.failure.lane);
  return {run.warp.failure.code, "kernel " + kernel_.name + ", PTX line " +
                                     std::to_string(in.line) + " (" + program_.opcodes[in.opcode] +
                                     "), " + thread_text(thread) + ": " + run.warp.failure.why};
}

Status BlockRun::deadlock() const {
  std::string waits;
  for (const WarpRun& run : warps_) {
    for (const Group& group : run.groups.all()) {
      const Instruction& in = program_.code[group.at];
      const auto first = static_cast<std::uint64_t>(std::countr_zero(group.mask));
      if (waits.size() > 400) continue;  // the first ones show what happened
      waits += (waits.empty() ? "" : "; ") +
               thread_text(std::uint64_t{run.warp.index} * kLanes + first) + " and " +
               std::to_string(std::popcount(group.mask) - 1) +
               " others of its warp wait at PTX line " + std::to_string(in.line) + " (" +
               program_.opcodes[in.opcode] + ")";
    }
  }
  return {SLUICE_FAILED_PRECONDITION,
          "kernel " + kernel_.name + ": threads wait for each other for ever: " + waits};
}

}  // namespace sluice::cuda::ptx
