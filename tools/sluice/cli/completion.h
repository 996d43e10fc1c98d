// Completion of command lines in shells, made of the tables that make the help.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/cli/command_table.h"
#include "sluice/cli/description.h"

namespace sluice::tool {

enum class Shell { kBash, kZsh, kFish };

/// Nullopt for another word than "bash", "zsh" or "fish".
std::optional<Shell> parse_shell(std::string_view name);

// A script is its start, then lines for each command in any order, then its end. So two programs
// can print the lines of their own commands one after the other.

std::string completion_start(Shell shell);
std::string completion_of(Shell shell, const CommandInfo& info, const CommandDescription& command);
std::string completion_end(Shell shell);

}  // namespace sluice::tool
