// The options of a subcommand as plain data: the source of help, completion and man pages.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name in CLI11
class App;
}  // namespace CLI

namespace sluice::tool {

/// An option, or an argument by position.
struct OptionDescription {
  std::vector<std::string> names;  ///< "-o" and "--output"; one without dashes for an argument
  std::string value;               ///< "TEXT", "INT"; empty for a flag
  std::vector<std::string> words;  ///< the only values; empty if any value may be right
  std::string range;               ///< "0 to 512"; empty for any
  std::string default_value;       ///< empty if the help text states it, or there is none
  std::string environment;         ///< the variable that is read if the option is not given
  std::vector<std::string> needs, excludes;  ///< other options, by name
  std::string help;
  bool is_argument = false;
  bool is_required = false;
  bool is_repeatable = false;
};

struct CommandDescription {
  std::string name;
  std::vector<OptionDescription> options;  ///< arguments first, in order of position
};

/// Reads a subcommand's declarations out of CLI11.
CommandDescription describe(const CLI::App& command);

}  // namespace sluice::tool
