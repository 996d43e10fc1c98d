// The main function that both command programs share.
#pragma once

#include <memory>
#include <vector>

#include "sluice/cli/command.h"
#include "sluice/cli/command_table.h"

namespace sluice::tool {

/// Which program runs, and whether sluice-remote runs after it with the same arguments where that
/// adds something: its commands are in the help, and it prints their lines of a completion.
struct Program {
  CommandProgram itself = CommandProgram::kSluice;
  bool has_remote = false;
};

/// Parses a command line of "sluice" and runs the subcommand that it names; answers `completion`
/// itself. Exit codes: 0 done, 1 failed, 2 wrong usage.
int run_commands(const std::vector<std::unique_ptr<Command>>& commands, Program program, int argc,
                 char** argv);

}  // namespace sluice::tool
