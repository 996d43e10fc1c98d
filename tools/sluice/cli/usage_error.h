// What the program prints about a wrong command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sluice/cli/command_table.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name in CLI11
class App;
class Error;
}  // namespace CLI

namespace sluice::tool {

/// One line: the command, what is wrong, what to write instead, and where help is.
std::string describe_usage_error(const CLI::App& app, const CLI::Error& error);

/// One line about a command that does not exist: its new name, or the nearest one.
std::string describe_unknown_command(std::span<const CommandInfo> commands, std::string_view typed);

}  // namespace sluice::tool
