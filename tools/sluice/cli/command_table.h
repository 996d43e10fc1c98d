// What help, completion and man pages print of each subcommand: one table, in the order of
// `sluice --help`.
#pragma once

#include <span>
#include <string_view>

namespace sluice::tool {

/// A heading of `sluice --help`.
enum class CommandGroup { kModels, kMachine, kDaemon, kFunctions };

/// Which program has the command. `sluice` becomes `sluice-remote` for those that talk to a daemon,
/// so that only they load gRPC's libraries.
enum class CommandProgram { kSluice, kRemote };

struct CommandInfo {
  const char* name;
  CommandGroup group;
  CommandProgram program;
  const char* summary;   ///< at most 60 characters, so that a line of the help has 80
  const char* examples;  ///< calls, one a line, the smallest useful one first
};

/// All commands, those of a group side by side.
std::span<const CommandInfo> command_table();

/// Null for an unknown name.
const CommandInfo* find_command(std::string_view name);

/// "Models"
const char* group_title(CommandGroup group);

}  // namespace sluice::tool
