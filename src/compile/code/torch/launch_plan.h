// The work of a model as launches of kernels in order, for a program without Sluice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "package/executable.h"

namespace sluice::compile {

enum class LaunchMemory : std::uint8_t { kInput, kOutput, kConstant, kWorkspace };

/// Where a kernel finds a tensor: the number of an input, output or constant, or a byte of the
/// workspace.
struct LaunchPlace {
  LaunchMemory memory = LaunchMemory::kInput;
  std::int64_t at = 0;
};

/// All ids are of the main subgraph.
struct LaunchPlan {
  struct Parameter {
    bool is_output = false;
    ir::OperandId operand;  ///< of the first call
  };
  struct Kernel {
    std::string name;  ///< code_name
    const ir::KernelCode* code = nullptr;
    bool reports_indices = false;
    std::vector<Parameter> parameters;
  };
  struct Call {
    std::size_t kernel = 0;
    std::string operation;  ///< for messages
    std::vector<LaunchPlace> arguments;
  };
  struct Copy {
    LaunchPlace from;
    LaunchPlace to;
    std::int64_t bytes = 0;
  };

  /// By input: the number of the constant that a call which leaves it out reads; -1: it may not.
  std::vector<std::int64_t> defaults;
  std::vector<ir::OperandId> constants;  ///< those that a kernel, an output or a default needs
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<Copy> copies;  ///< behind the calls: outputs that no kernel writes in their memory
  std::int64_t workspace_bytes = 0;
};

/// Where tensors of a device start: as its allocator's.
inline constexpr std::int64_t kLaunchAlignment = 256;

/// Plans the launches of an executable whose operations all have compiled kernels. The plan borrows
/// its code.
/// Fails: kInvalidArgument  naming operations without a kernel and who runs them, inputs and
///                          outputs of unknown shapes or without numbers, constants left out, and
///                          kernels with a mask
Result<LaunchPlan> plan_launches(const package::Executable& executable);

}  // namespace sluice::compile
