#include "sluice/cli/run_commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "base/no_memory.h"
#include "options/nearest.h"

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

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : all) names.push_back(command->get_name());
  return names;
}

int report_unknown_command(const std::vector<std::string>& names, const char* typed) {
  const std::optional<std::string> nearest = options::find_nearest(typed, names);
  std::fprintf(stderr, "sluice: '%s' is no command; %s\n", typed,
               nearest ? ("did you mean '" + *nearest + "'?").c_str()
                       : "`sluice --help` lists the commands");
  return kWrongUsage;
}

/// One line: the command, what is wrong, and where help is.
std::string describe_usage_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> given = app->get_subcommands();
  const std::string program = given.empty() ? "sluice" : "sluice " + given.front()->get_name();
  return program + ": " + error.what() + "; see `" + program + " --help`\n";
}

int parse_and_run(const std::vector<std::unique_ptr<Command>>& commands,
                  const std::vector<std::pair<const char*, const char*>>& listed, int argc,
                  char** argv) {
  CLI::App app("Compiles neural networks and runs them.", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sluice 0.1.0");
  app.failure_message(describe_usage_error);
  for (const auto& command : commands) {
    Options options(*app.add_subcommand(command->name(), command->summary()));
    command->add_options(options);
  }
  for (const auto& [name, summary] : listed) app.add_subcommand(name, summary);
  const std::vector<std::string> names = command_names(app);
  if (argc > 1 && argv[1][0] != '-' &&
      std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    return report_unknown_command(names, argv[1]);
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
  return kWrongUsage;
}

}  // namespace

int run_commands(const std::vector<std::unique_ptr<Command>>& commands,
                 const std::vector<std::pair<const char*, const char*>>& listed, int argc,
                 char** argv) {
  try {
    return parse_and_run(commands, listed, argc, argv);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0)
      return finish_output("sluice", kFailed);  // fmt throws its failure
    std::fprintf(stderr, "sluice: internal error: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace sluice::tool
