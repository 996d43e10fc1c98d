// A build without the backend cuda, or without the daemon's shared memory, starts no guests.
#include "sluice/cli/command.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_guest_commands() { return {}; }

}  // namespace sluice::tool
