// Pre-decoded instructions: what a kernel's text becomes once, and every launch runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/ptx/code/kernel.h"

namespace sluice::cuda::ptx {

struct Warp;
struct Instruction;

/// Computes one instruction for the lanes of `warp.mask`.
using Step = void (*)(Warp& warp, const Instruction& instruction);

/// Where lanes go after an instruction. All but kNext and kTogether are the scheduler's work.
enum class Flow : std::uint8_t {
  kNext,      ///< run `step`, go on behind
  kTogether,  ///< the same, once all lanes that in[3] names are here
  kBranch,    ///< to `target`
  kTable,     ///< to the target that in[0] counts in the list
  kCall,      ///< to `target`, and back behind
  kReturn,    ///< behind the call; out of a kernel: the lane ends
  kExit,
  kBarrier,
  kYield,  ///< let other warps run
  kTrap,
};

/// A place is the first byte of a register in a warp's register file: 32 lanes of 4 bytes, or of 8
/// if the place is odd (the register then begins one byte earlier). A predicate is one mask of 32
/// bits.
using Place = std::uint32_t;

struct Instruction {
  Step step = nullptr;
  Flow flow = Flow::kNext;
  bool is_guarded = false, is_negated = false;  ///< @p, @!p
  std::uint8_t bytes = 0;                       ///< of an element in memory
  std::uint8_t count = 0;                       ///< elements of a vector, matrices, ...
  std::uint32_t modifiers = 0;                  ///< each family's own bits
  Place guard = 0;
  Place out = 0;
  Place in[4] = {};
  std::uint32_t list = 0;    ///< first of its places in Program::list
  std::uint32_t target = 0;  ///< instruction
  std::int64_t offset = 0;   ///< added to an address
  std::uint32_t line = 0;
  std::uint32_t opcode = 0;  ///< in Program::opcodes
};

/// Modifiers of kBarrier.
inline constexpr std::uint32_t kBarrierArrives = 1, kBarrierReduces = 2, kBarrierNegates = 4;
inline constexpr std::uint32_t kBarrierOperationShift = 4;  ///< 0 popc, 1 and, 2 or

/// What a register holds before the first instruction.
enum class Initial : std::uint8_t {
  kNumber,
  kVariable,
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kLanemaskEq,
  kLanemaskLt,
  kLanemaskLe,
  kLanemaskGt,
  kLanemaskGe,
  kDynamicSharedSize,
  kTotalSharedSize,
};

struct InitialValue {
  Place place = 0;
  Initial what = Initial::kNumber;
  std::uint64_t bits = 0;  ///< the number, or what is added to the variable's address
  std::uint32_t variable = 0;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<std::uint32_t> list;  ///< places, targets or offsets of instructions with many
  std::vector<InitialValue> initial;
  std::vector<std::string> opcodes;
  std::uint32_t file_bytes = 0;  ///< of one warp's registers
  std::uint32_t static_shared_bytes = 0, local_bytes = 0;
};

}  // namespace sluice::cuda::ptx
