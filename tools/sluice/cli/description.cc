#include "sluice/cli/description.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>

namespace sluice::tool {
namespace {

std::string main_name(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  return option.get_snames().empty() ? option.get_name() : "-" + option.get_snames().front();
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(main_name(*option));
  std::ranges::sort(names);  // the set has them by address
  return names;
}

/// Splits "TEXT:{linear,parallel}" or "INT:0 to 512" into value, words and range.
void read_type(const std::string& type, OptionDescription& out) {
  const std::size_t colon = type.find(':');
  out.value = type.substr(0, colon);
  if (colon == std::string::npos) return;
  const std::string rest = type.substr(colon + 1);
  if (rest.starts_with("SIZE")) {
    out.value = "SIZE";
  } else if (rest.starts_with('{') && rest.ends_with('}')) {
    out.words = CLI::detail::split(rest.substr(1, rest.size() - 2), ',');
  } else {
    out.range = rest;
  }
}

OptionDescription describe_option(const CLI::Option& option) {
  OptionDescription out;
  out.is_argument = option.get_positional();
  if (out.is_argument) {
    out.names = {option.get_name()};
  } else {
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  }
  if (option.get_type_size() != 0) read_type(option.get_type_name(), out);
  out.default_value = CLI::detail::trim_copy(option.get_default_str());
  if (out.default_value.starts_with('[') && out.default_value.ends_with(']')) {  // of a vector
    out.default_value = out.default_value.substr(1, out.default_value.size() - 2);
  }
  out.environment = option.get_envname();
  out.needs = names_of(option.get_needs());
  out.excludes = names_of(option.get_excludes());
  out.help = option.get_description();
  out.is_required = option.get_required();
  out.is_repeatable = option.get_expected_max() > 1;
  return out;
}

}  // namespace

CommandDescription describe(const CLI::App& command) {
  CommandDescription out{command.get_name(), {}};
  for (const CLI::Option* option : command.get_options())
    out.options.push_back(describe_option(*option));
  std::stable_partition(out.options.begin(), out.options.end(),  // clang 14 rejects std::ranges'
                        [](const OptionDescription& option) { return option.is_argument; });
  return out;
}

}  // namespace sluice::tool
