// The texts of `sluice --help` and `sluice COMMAND --help`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sluice/cli/command_table.h"
#include "sluice/cli/description.h"

namespace sluice::tool {

/// An example, then the commands under the headings of their groups. `commands` are in the order of
/// the table.
std::string program_help(std::span<const CommandInfo> commands);

/// Examples, the summary, and every option in lines of at most 100 columns.
std::string command_help(const CommandInfo& info, const CommandDescription& command);

/// "model TEXT", "-o, --output TEXT", "--executor linear|parallel"
std::string option_title(const OptionDescription& option);

/// What an option does, with its range, default and environment variable.
std::string option_text(const OptionDescription& option);

}  // namespace sluice::tool
