// The main function that both command programs share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sluice/cli/command.h"

namespace sluice::tool {

/// Parses a command line of "sluice" and runs the subcommand that it names. Exit codes: 0 done, 1
/// failed, 2 wrong usage. `listed`: names and summaries that only the help has.
int run_commands(const std::vector<std::unique_ptr<Command>>& commands,
                 const std::vector<std::pair<const char*, const char*>>& listed, int argc,
                 char** argv);

}  // namespace sluice::tool
