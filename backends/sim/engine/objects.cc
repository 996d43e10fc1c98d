#include "engine/objects.h"

#include "engine/random.h"

namespace sluice::sim {

std::uint64_t program_of(const CommandList& list) {
  std::uint64_t program = 0;
  for (const plugin::detail::Command& command : list.commands) {
    if (command.kernel == nullptr) continue;
    const auto* kernel = static_cast<const Kernel*>(command.kernel);
    program = Random(program ^ static_cast<std::uint64_t>(kernel->id)).next();
  }
  return program;
}

}  // namespace sluice::sim
