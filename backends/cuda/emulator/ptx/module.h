// PTX text that the host runs: parsed and decoded once, refused by name where it has what this
// interpreter lacks. docs/decisions/0088-ptx-on-the-host.md says why.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/ptx/code/kernel.h"
#include "emulator/ptx/code/launch.h"

namespace sluice::cuda::ptx {

/// Largest text that is parsed.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

/// The kernels and variables of one PTX text. Movable; kernels keep what they need of a module.
class Module {
 public:
  /// Fails: INVALID_ARGUMENT   the text is no PTX; says line and what was expected
  ///        UNIMPLEMENTED      an instruction or directive that the interpreter lacks, with line
  ///        RESOURCE_EXHAUSTED more text, registers or memory than a module may have
  static Status parse(std::string_view text, Module* module);

  /// Null where the module has no such kernel. Valid as long as the module.
  const Kernel* find(std::string_view name) const;
  std::span<const Kernel> kernels() const { return kernels_; }

  /// The loader sets their addresses; kernels of this module see them.
  std::span<Variable> variables() { return *variables_; }
  std::span<const Variable> variables() const { return *variables_; }

  int architecture() const { return architecture_; }  ///< 80 for sm_80
  int version() const { return version_; }            ///< 78 for PTX 7.8

 private:
  std::vector<Kernel> kernels_;
  std::shared_ptr<std::vector<Variable>> variables_ = std::make_shared<std::vector<Variable>>();
  int architecture_ = 0, version_ = 0;
};

/// Runs every thread of a launch on the calling thread, and adds to `counts`.
///
/// Blocks run one after the other, so a block that waits for a later one never ends by itself.
/// Fails: INVALID_ARGUMENT    sizes that the kernel or a device does not allow
///        OUT_OF_RANGE        an access outside of memory
///        FAILED_PRECONDITION a race in shared memory, or threads that wait for each other for ever
///        DEADLINE_EXCEEDED   max_instructions passed
///        ABORTED             the kernel trapped
/// Each text names kernel, line of the PTX, and thread.
Status run(const Kernel& kernel, const Launch& launch, GlobalMemory* memory, Counts* counts);

}  // namespace sluice::cuda::ptx
