#include "exec/executors/executor_kind.h"

#include <array>

namespace sluice::exec {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"", "linear", "dataflow", "parallel"};

}  // namespace

Result<ExecutorKind> parse_executor(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ExecutorKind>(i);
  }
  return invalid_argument("executor \"{}\" does not exist; there are linear, dataflow and parallel",
                          name);
}

std::string_view executor_name(ExecutorKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

}  // namespace sluice::exec
