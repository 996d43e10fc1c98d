#include "sluice/cli/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::tool {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kTextColumn = 30;  ///< of an option's text
constexpr int kNameWidth = 16;           ///< of a command in the list of all

/// A title, then its text in lines that start in one column.
std::string entry(const std::string& title, std::string_view text) {
  std::string line = "  " + title;
  std::string out;
  if (line.size() + 2 > kTextColumn) {
    out = line + "\n";
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  // The text breaks at the last blank that fits. A longer word stands on a line of its own.
  while (text.size() > kColumns - kTextColumn) {
    std::size_t end = text.rfind(' ', kColumns - kTextColumn);
    if (end == std::string_view::npos) end = text.find(' ');
    if (end == std::string_view::npos) break;  // one long word
    out += line.append(text.substr(0, end)) + "\n";
    line.assign(kTextColumn, ' ');
    text.remove_prefix(end + 1);
  }
  return out + line.append(text) + "\n";
}

std::string entries(const char* heading, const CommandDescription& command, bool arguments) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    if (option.is_argument == arguments) text += entry(option_title(option), option_text(option));
  }
  return text.empty() ? text : fmt::format("\n{}:\n{}", heading, text);
}

std::string indented_lines(std::string_view lines) {
  std::string text = "  ";
  for (const char c : lines) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return text + "\n";
}

std::string usage_of(const CommandDescription& command) {
  std::string text = "sluice " + command.name + " [OPTIONS]";
  for (const OptionDescription& option : command.options) {
    if (!option.is_argument) continue;
    const std::string name = option.names.front() + (option.is_repeatable ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text;
}

}  // namespace

std::string option_title(const OptionDescription& option) {
  std::string title = fmt::format("{}", fmt::join(option.names, ", "));
  if (option.is_argument) return title + (option.is_repeatable ? "..." : "");
  if (!option.words.empty()) return fmt::format("{} {}", title, fmt::join(option.words, "|"));
  if (!option.value.empty()) title += " " + option.value;
  return title;
}

std::string option_text(const OptionDescription& option) {
  std::vector<std::string> facts;
  if (option.is_required && !option.is_argument) facts.push_back("required");
  if (!option.range.empty()) facts.push_back(option.range);
  std::string source = option.environment.empty() ? "" : "$" + option.environment;
  if (!option.default_value.empty()) {
    source += (source.empty() ? "" : ", else ") + option.default_value;
  }
  if (!source.empty()) facts.push_back("default: " + source);
  if (!option.needs.empty()) facts.push_back(fmt::format("with {}", fmt::join(option.needs, ", ")));
  if (!option.excludes.empty()) {
    facts.push_back(fmt::format("not with {}", fmt::join(option.excludes, ", ")));
  }
  if (facts.empty()) return option.help;
  return fmt::format("{} [{}]", option.help, fmt::join(facts, "; "));
}

std::string program_help(std::span<const CommandInfo> commands) {
  std::string text =
      "  sluice run model.onnx --input random\n"
      "Compiles neural networks and runs them. Usage: sluice COMMAND [--help | OPTIONS]\n";
  const CommandInfo* before = nullptr;
  // No blank lines: the help fits a screen of 50 lines, and headings begin where nothing else does.
  for (const CommandInfo& info : commands) {
    if (before == nullptr || before->group != info.group) {
      text += fmt::format("{}:\n", group_title(info.group));
    }
    text += fmt::format("  {:<{}}{}\n", info.name, kNameWidth, info.summary);
    before = &info;
  }
  return text;
}

std::string command_help(const CommandInfo& info, const CommandDescription& command) {
  return indented_lines(info.examples) + fmt::format("\n{}\n\n", info.summary) +
         fmt::format("Usage: {}\n", usage_of(command)) +
         entries("Arguments", command, /*arguments=*/true) +
         entries("Options", command, /*arguments=*/false);
}

}  // namespace sluice::tool
