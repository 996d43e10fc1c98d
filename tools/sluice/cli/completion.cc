#include "sluice/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace sluice::tool {
namespace {

// Tables are keyed by COMMAND, or by COMMAND/WORD for the values that may follow WORD.

// bash splits words at `=`: `--option=value` comes as three words, and the value is completed as
// behind a blank.
constexpr const char* kBashStart =
    R"(# bash completion for sluice; `sluice completion bash` printed it
declare -gA _sluice_options=() _sluice_values=()
_sluice() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    words="${!_sluice_options[*]} --help --version"
  elif [[ -n ${_sluice_values[${COMP_WORDS[1]}/$before]-} ]]; then
    words=${_sluice_values[${COMP_WORDS[1]}/$before]}
  elif [[ $word == -* ]]; then
    words=${_sluice_options[${COMP_WORDS[1]}]-}
  fi
  COMPREPLY=()
  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _sluice sluice
)";

constexpr const char* kZshStart = R"(#compdef sluice
# zsh completion for sluice; `sluice completion zsh` printed it
typeset -ga _sluice_commands=()
typeset -gA _sluice_options=() _sluice_values=()
_sluice() {
  local values=${_sluice_values[$words[2]/$words[CURRENT-1]]}
  local -a found
  if ((CURRENT == 2)); then
    _describe command _sluice_commands
  elif [[ -n $values ]]; then
    compadd -- ${=values}
  elif [[ $PREFIX == -* ]]; then
    found=("${(@f)_sluice_options[$words[2]]}")
    _describe -o option found
  else
    _files
  fi
}
)";

constexpr const char* kZshEnd = R"(if [[ ${funcstack[1]} == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
)";

constexpr const char* kFishStart =
    "# fish completion for sluice; `sluice completion fish` printed it\n";

/// The part of a help text that fits a list: up to a semicolon.
std::string brief(std::string_view help) { return std::string(help.substr(0, help.find(';'))); }

/// In single quotes. A quote within is `quote`.
std::string shell_text(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

std::string shell_text(std::string_view text) { return shell_text(text, "'\\''"); }

/// The word that the values of an option, or of the first argument, follow.
std::vector<std::string> words_before(const OptionDescription& option, const std::string& command) {
  return option.is_argument ? std::vector<std::string>{command} : option.names;
}

/// Lines that bash and zsh share.
std::string values_of(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    if (option.words.empty()) continue;
    for (const std::string& before : words_before(option, command.name)) {
      text += fmt::format("_sluice_values[{}/{}]={}\n", command.name, before,
                          shell_text(fmt::format("{}", fmt::join(option.words, " "))));
    }
  }
  return text;
}

std::string bash_of(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options) {
    if (!option.is_argument) names.push_back(option.names.back());
  }
  return fmt::format("_sluice_options[{}]='{}'\n", command.name, fmt::join(names, " ")) +
         values_of(command);
}

std::string zsh_of(const CommandInfo& info, const CommandDescription& command) {
  std::string lines;
  for (const OptionDescription& option : command.options) {
    if (option.is_argument) continue;
    lines +=
        fmt::format("{}{}:{}", lines.empty() ? "" : "\n", option.names.back(), brief(option.help));
  }
  return fmt::format("_sluice_commands+=({})\n",
                     shell_text(fmt::format("{}:{}", info.name, info.summary))) +
         fmt::format("_sluice_options[{}]={}\n", command.name, shell_text(lines)) +
         values_of(command);
}

std::string fish_text(std::string_view text) { return shell_text(text, "\\'"); }

std::string fish_of(const CommandInfo& info, const CommandDescription& command) {
  std::string text = fmt::format("complete -c sluice -n __fish_use_subcommand -f -a {} -d {}\n",
                                 info.name, fish_text(info.summary));
  for (const OptionDescription& option : command.options) {
    if (option.is_argument && option.words.empty()) continue;
    text += fmt::format("complete -c sluice -n '__fish_seen_subcommand_from {}'", command.name);
    for (const std::string& name : option.names) {
      if (option.is_argument) continue;
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.words.empty()) {
      text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
    } else if (!option.value.empty()) {
      text += " -r";
    }
    text += fmt::format(" -d {}\n", fish_text(brief(option.help)));
  }
  return text;
}

}  // namespace

std::optional<Shell> parse_shell(std::string_view name) {
  if (name == "bash") return Shell::kBash;
  if (name == "zsh") return Shell::kZsh;
  if (name == "fish") return Shell::kFish;
  return std::nullopt;
}

std::string completion_start(Shell shell) {
  switch (shell) {
    case Shell::kBash: return kBashStart;
    case Shell::kZsh: return kZshStart;
    case Shell::kFish: return kFishStart;
  }
  return "";
}

std::string completion_of(Shell shell, const CommandInfo& info, const CommandDescription& command) {
  switch (shell) {
    case Shell::kBash: return bash_of(command);
    case Shell::kZsh: return zsh_of(info, command);
    case Shell::kFish: return fish_of(info, command);
  }
  return "";
}

std::string completion_end(Shell shell) { return shell == Shell::kZsh ? kZshEnd : ""; }

}  // namespace sluice::tool
