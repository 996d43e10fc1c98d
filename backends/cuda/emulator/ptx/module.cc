#include "emulator/ptx/module.h"

#include <numeric>

#include "emulator/ptx/decode/body.h"
#include "emulator/ptx/memory/random.h"
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/run/block_run.h"
#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

// A thread may have 512 KiB of local memory, all threads of a block together this much.
constexpr std::uint64_t kMaxLocalBytes = std::uint64_t{256} << 20;

Status check_launch(const Kernel& kernel, const Launch& launch) {
  const auto wrong = [&](const std::string& why) {
    return plugin::invalid_argument("kernel " + kernel.name + ": " + why);
  };
  const Dim3 grid = launch.grid, block = launch.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return wrong("a grid and a block have at least one thread in each direction");
  }
  if (grid.x > 0x7fffffffu || grid.y > 0xffffu || grid.z > 0xffffu) {
    return wrong("a grid has at most 2147483647, 65535 and 65535 blocks along x, y and z");
  }
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > kernel.max_threads) {
    return wrong("a block of " + std::to_string(block.count()) + " threads; at most " +
                 std::to_string(kernel.max_threads) +
                 " are allowed, and 1024, 1024 and 64 along x, y and z");
  }
  if (launch.parameters.size() != kernel.parameter_bytes) {
    return wrong(std::to_string(launch.parameters.size()) +
                 " bytes of parameters; the kernel takes " +
                 std::to_string(kernel.parameter_bytes));
  }
  const std::uint64_t shared =
      std::uint64_t{launch.dynamic_shared_bytes} + kernel.static_shared_bytes;
  if (shared > kMaxSharedBytes) {
    return wrong(std::to_string(shared) + " bytes of shared memory; a block has at most " +
                 std::to_string(kMaxSharedBytes));
  }
  if ((block.count() + kLanes) * kernel.local_bytes > kMaxLocalBytes) {
    return wrong("its threads need more than " + std::to_string(kMaxLocalBytes) +
                 " bytes of local memory");
  }
  return plugin::ok();
}

/// Blocks run as start, start + step, ...: with a step that has no factor in
/// common with `count`, each runs once.
std::uint64_t draw_step(Random& random, std::uint64_t count) {
  constexpr std::uint64_t kMaxStep = 1 << 20;
  for (;;) {
    const std::uint64_t step = random.below(std::min(count, kMaxStep)) + 1;
    if (std::gcd(step, count) == 1) return step;
  }
}

}  // namespace

Status Module::parse(std::string_view text, Module* module) {
  *module = Module();
  if (text.size() > kMaxTextBytes) {
    return {SLUICE_RESOURCE_EXHAUSTED, "the PTX text has " + std::to_string(text.size()) +
                                           " bytes; at most " + std::to_string(kMaxTextBytes) +
                                           " are read"};
  }
  try {
    ModuleText parsed = parse_module(text);
    Module made;
    made.architecture_ = parsed.architecture;
    made.version_ = parsed.version;
    for (const EntryText& entry : parsed.kernels) {
      made.kernels_.push_back(compile_kernel(parsed, entry, find_opcode));
    }
    *made.variables_ = std::move(parsed.variables);
    for (Kernel& kernel : made.kernels_) {
      kernel.variables = made.variables_;
    }
    *module = std::move(made);
    return plugin::ok();
  } catch (const Refusal& refusal) {
    return refusal.status;
  }
}

const Kernel* Module::find(std::string_view name) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

Status run(const Kernel& kernel, const Launch& launch, GlobalMemory* memory, Counts* counts) {
  const Status status = check_launch(kernel, launch);
  if (!status.is_ok()) return status;
  BlockRun blocks(kernel, launch, memory, counts);
  const std::uint64_t count = launch.grid.count();
  Random random(launch.seed);
  const bool is_in_order = launch.seed == 0 || count == 1;
  const std::uint64_t start = is_in_order ? 0 : random.below(count),
                      step = is_in_order ? 1 : draw_step(random, count);
  std::uint64_t budget = launch.max_instructions;
  for (std::uint64_t turn = 0, number = start; turn < count;
       ++turn, number = (number + step) % count) {
    Status result = blocks.run(number, &budget);
    if (!result.is_ok()) return result;
  }
  return plugin::ok();
}

}  // namespace sluice::cuda::ptx
