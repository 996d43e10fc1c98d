#include "sluice/cli/run_commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/no_memory.h"
#include "base/text/version.h"
#include "sluice/cli/command_table.h"
#include "sluice/cli/completion.h"
#include "sluice/cli/help_text.h"
#include "sluice/cli/usage_error.h"

namespace sluice::tool {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

/// Writes what stdout buffers; `code` if all output arrived. A reader that left early (EPIPE) is no
/// news to the user, but output on a full disk is.
int finish_output(const std::string& program, int code) {
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  const int reason = errno;
  if (is_flushed && std::ferror(stdout) == 0) return code;
  if (reason != EPIPE) {
    std::fprintf(stderr, "%s: output is lost: cannot write to stdout: %s\n", program.c_str(),
                 reason == 0 ? "an earlier write failed" : std::strerror(reason));
  }
  return kFailed;
}

int run_command(Command& command) {
  const std::string program = std::string("sluice ") + command.name();
  const auto code = catch_no_memory([&] { return command.run(); });
  if (!code.is_ok()) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), code.status().to_string().c_str());
  }
  return finish_output(program, code.is_ok() ? *code : kFailed);
}

/// Null if this program has no such command.
const CLI::App* find_app(const CLI::App& app, std::string_view name) {
  const auto found = app.get_subcommands(
      [&](const CLI::App* command) { return std::string_view(command->get_name()) == name; });
  return found.empty() ? nullptr : found.front();
}

/// What the table says of the program's own commands, and of those of sluice-remote.
std::vector<CommandInfo> list_commands(const CLI::App& app, Program program) {
  std::vector<CommandInfo> listed;
  for (const CommandInfo& info : command_table()) {
    const bool is_here = info.program == program.itself && find_app(app, info.name) != nullptr;
    const bool is_remote = program.has_remote && info.program == CommandProgram::kRemote;
    if (is_here || is_remote) listed.push_back(info);
  }
  return listed;
}

std::string help_of(const CLI::App& app, const std::vector<CommandInfo>& commands) {
  const CommandInfo* info = find_command(app.get_name());
  return info == nullptr ? program_help(commands) : command_help(*info, describe(app));
}

/// The script, or the part of it that the other program does not print.
int print_completion(const CLI::App& app, const std::vector<CommandInfo>& listed, Program program,
                     std::string_view shell_name) {
  const std::optional<Shell> shell = parse_shell(shell_name);
  if (!shell) return kWrongUsage;  // the option refuses other words
  std::string text;
  if (program.itself == CommandProgram::kSluice) text = completion_start(*shell);
  for (const CommandInfo& info : listed) {
    const CLI::App* command = find_app(app, info.name);
    if (command != nullptr) text += completion_of(*shell, info, describe(*command));
  }
  if (!program.has_remote) text += completion_end(*shell);
  std::fputs(text.c_str(), stdout);
  return finish_output("sluice completion", 0);
}

int parse_and_run(const std::vector<std::unique_ptr<Command>>& commands, Program program, int argc,
                  char** argv) {
  CLI::App app("", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("sluice {}", kSluiceVersion));
  app.failure_message([](const CLI::App* root, const CLI::Error& error) {
    return describe_usage_error(*root, error);
  });
  std::vector<CommandInfo> listed;
  app.formatter_fn([&](const CLI::App* shown, const std::string&, CLI::AppFormatMode) {
    return help_of(*shown, listed);
  });
  for (const auto& command : commands) {
    Options options(*app.add_subcommand(command->name()));
    command->add_options(options);
  }
  std::string shell;
  Options(*app.add_subcommand("completion"))
      .add("shell", shell, "The shell that reads the script")
      .required()
      .one_of({"bash", "zsh", "fish"});
  listed = list_commands(app, program);
  if (argc > 1 && argv[1][0] != '-' && find_app(app, argv[1]) == nullptr) {
    std::fputs(describe_unknown_command(listed, argv[1]).c_str(), stderr);
    return kWrongUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) != 0) return kWrongUsage;
    return finish_output("sluice", 0);
  }
  for (const auto& command : commands) {
    if (app.got_subcommand(command->name())) return run_command(*command);
  }
  return print_completion(app, listed, program, shell);
}

}  // namespace

int run_commands(const std::vector<std::unique_ptr<Command>>& commands, Program program, int argc,
                 char** argv) {
  try {
    return parse_and_run(commands, program, argc, argv);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0)
      return finish_output("sluice", kFailed);  // fmt throws its failure
    std::fprintf(stderr, "sluice: internal error: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace sluice::tool
