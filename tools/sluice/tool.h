// What `sluice` and `sluice-remote` share: a command line with subcommands.
#pragma once

#include <memory>
#include <vector>

#include "sluice/command.h"

namespace sluice::tool {

/// Parses, runs the subcommand that is named, and gives the exit code: 0 done, 1 failed, 2 wrong
/// usage. Exceptions of libraries end here.
int run_tool(int argc, char** argv, const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace sluice::tool
