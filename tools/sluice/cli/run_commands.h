// The main function that both command programs share.
#pragma once

#include <memory>
#include <vector>

#include "sluice/cli/command.h"

namespace sluice::tool {

/// Parses a command line of "sluice" and runs the subcommand that it names. Exit codes: 0 done, 1
/// failed, 2 wrong usage. `lists_remote`: the help lists the commands of sluice-remote, too.
int run_commands(const std::vector<std::unique_ptr<Command>>& commands, bool lists_remote, int argc,
                 char** argv);

}  // namespace sluice::tool
