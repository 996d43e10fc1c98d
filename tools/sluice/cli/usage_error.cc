#include "sluice/cli/usage_error.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "options/nearest.h"
#include "options/renamed.h"
#include "sluice/cli/description.h"

namespace sluice::tool {
namespace {

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionDescription& option : describe(command).options) {
    for (const std::string& name : option.names) {
      if (name.starts_with("--")) names.push_back(name);
    }
  }
  return names;
}

/// Whether `sluice compile` has an option that `command`, which takes models, lacks.
bool is_of_compile(const CLI::App& app, const CLI::App& command, const std::string& option) {
  const auto found =
      app.get_subcommands([](const CLI::App* one) { return one->get_name() == "compile"; });
  if (found.empty() || found.front() == &command) return false;
  const std::vector<std::string> shared = long_options(command);
  if (std::ranges::find(shared, "--overridable") == shared.end()) return false;
  const std::vector<std::string> names = long_options(*found.front());
  return std::ranges::find(names, option) != names.end();
}

std::string describe_extra(const CLI::App& app, const CLI::App& command, const std::string& extra) {
  if (!extra.starts_with('-')) return fmt::format("unexpected argument \"{}\"", extra);
  const std::string option = extra.substr(0, extra.find('='));
  if (const auto now = options::find_new_option(command.get_name(), option)) {
    return fmt::format("{} is now {}", option, *now);
  }
  if (is_of_compile(app, command, option)) {
    return fmt::format(
        "{0} is an option of `sluice compile`; compile with it, then {1} the .sluice file", option,
        command.get_name());
  }
  if (const auto nearest = options::find_nearest(option, long_options(command))) {
    return fmt::format("no option {}; did you mean {}?", option, *nearest);
  }
  return fmt::format("no option {}", option);
}

/// The first word that looks like an option, else the first: what follows an unknown option may be
/// its value.
std::string culprit(const std::vector<std::string>& extras) {
  const auto option =
      std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with('-'); });
  return option == extras.end() ? extras.front() : *option;
}

}  // namespace

std::string describe_usage_error(const CLI::App& app, const CLI::Error& error) {
  const auto given = app.get_subcommands();
  if (given.empty()) {
    const bool has_no_command =
        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    return fmt::format("sluice: {}; see `sluice --help`\n",
                       has_no_command ? "name a command" : error.what());
  }
  const CLI::App& command = *given.front();
  std::vector<std::string> extras = command.remaining();
  std::erase(extras, "--");  // it only ends the options
  // An unknown option explains more than a missing argument, which CLI11 reports first.
  return fmt::format("sluice {0}: {1}; see `sluice {0} --help`\n", command.get_name(),
                     extras.empty() ? error.what() : describe_extra(app, command, culprit(extras)));
}

std::string describe_unknown_command(std::span<const CommandInfo> commands,
                                     std::string_view typed) {
  if (const auto now = options::find_new_command(typed)) {
    return fmt::format("sluice: '{}' is now {}\n", typed, *now);
  }
  std::vector<std::string> names;
  for (const CommandInfo& info : commands) names.emplace_back(info.name);
  const auto nearest = options::find_nearest(std::string(typed), names);
  return fmt::format(
      "sluice: '{}' is not a command; {}\n", typed,
      nearest ? "did you mean '" + *nearest + "'?" : "`sluice --help` lists the commands");
}

}  // namespace sluice::tool
