// In place of the commands that talk to a daemon, in a build without it.
#include "sluice/command.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_remote_commands() { return {}; }

}  // namespace sluice::tool
