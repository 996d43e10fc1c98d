// Names of commands and options that earlier versions had.
#pragma once

#include <optional>
#include <string_view>

namespace sluice::options {

/// The words to use instead of a subcommand, such as "operator-times" for "measure". Nullopt if
/// no version had it.
std::optional<std::string_view> find_new_command(std::string_view name);

/// The words to use instead of an option of a subcommand: "--put" for "--keep" of "infer".
/// Nullopt if no version had it.
std::optional<std::string_view> find_new_option(std::string_view command, std::string_view name);

}  // namespace sluice::options
