// The ways to run the command lists of a range.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sluice::exec {

enum class ExecutorKind : std::uint8_t {
  kAsCompiled,  ///< what the package says, else linear
  kLinear,      ///< one list after another, in the order of the graph
  kDataflow,    ///< one thread; whatever is ready goes to its device, most urgent first
  kParallel,    ///< a thread for each device and each lane of cores; branches run side by side
};

/// "linear", "dataflow" or "parallel"; "" is kAsCompiled.
/// Fails: kInvalidArgument.
Result<ExecutorKind> parse_executor(std::string_view name);
/// The inverse of parse_executor.
std::string_view executor_name(ExecutorKind kind);

/// Key of the graph's metadata that names the executor a package was compiled for.
inline constexpr const char* kExecutorFact = "sluice.executor";

}  // namespace sluice::exec
