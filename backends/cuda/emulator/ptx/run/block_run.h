// Runs the warps of one block after the other until each waits or has ended, as often as it takes.
#pragma once

#include <vector>

#include "emulator/ptx/memory/block.h"
#include "emulator/ptx/run/barriers.h"
#include "emulator/ptx/run/groups.h"

namespace sluice::cuda::ptx {

struct WarpRun {
  Warp warp;
  Groups groups;
};

/// One block's warps; reused for the blocks of a launch, one by one.
class BlockRun {
 public:
  /// Requires: sizes that `run` of module.h allows. The arguments outlive the object.
  BlockRun(const Kernel& kernel, const Launch& launch, GlobalMemory* memory, Counts* counts);

  /// Runs block `number`, counted along x, y, z. `budget`: instructions that are left to the
  /// launch. Fails as `run` of module.h says; texts name line and thread.
  Status run(std::uint64_t number, std::uint64_t* budget);

 private:
  void start(std::uint64_t number);
  void fill_registers(Warp& warp);
  std::uint64_t initial_value(const InitialValue& value, const Warp& warp, int lane) const;

  /// Runs a warp until it waits, has ended, failed, or used its turn. False if it did nothing.
  bool run_warp(WarpRun& run);
  /// Instructions of one group until lanes part or may join.
  void run_group(WarpRun& run, Group& group);
  /// What changes where lanes are. True if the group goes on as it was.
  bool follow(WarpRun& run, Group& group, const Instruction& in, std::uint32_t mask);
  bool branch(WarpRun& run, Group& group, std::uint32_t mask, std::uint32_t target);
  void branch_by_table(WarpRun& run, std::size_t index, const Instruction& in, std::uint32_t mask);
  void return_from(WarpRun& run, std::size_t index, std::uint32_t mask);
  void end_lanes(WarpRun& run, std::size_t index, std::uint32_t mask);
  bool run_together(WarpRun& run, Group& group, const Instruction& in, std::uint32_t mask);
  void arrive(WarpRun& run, std::size_t index, const Instruction& in, std::uint32_t mask);
  void open_barriers();
  void release(std::uint32_t number);

  Status failure_of(const WarpRun& run) const;
  Status deadlock() const;
  std::string thread_text(std::uint64_t thread) const;

  const Kernel& kernel_;
  const Program& program_;
  Block block_;
  Barriers barriers_;
  std::vector<WarpRun> warps_;
  std::vector<std::byte> files_;  ///< registers of all warps
  std::uint32_t live_ = 0;        ///< threads
  std::uint64_t* budget_ = nullptr;
  std::uint64_t turn_ = 0;  ///< instructions left of a warp's turn
  bool is_first_block_ = true;
  std::uint32_t failed_at_ = 0;  ///< instruction
};

}  // namespace sluice::cuda::ptx
